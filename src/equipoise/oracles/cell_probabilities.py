"""Probabilities of the cells given the features: P(Y | X) times P(A | X, Y)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable
from equipoise.oracles.decisions import Guard
from equipoise.oracles.trainers import weight_parameter
from equipoise.rows.bins import in_bins
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import read_columns

Rows = NDArray[np.intp]
#: From rows X to one probability for each class, of shape (n, classes).
ProbabilityModel = Callable[[Any], Array]


class CellProbabilities:
    """P(cell | x), as the product of P(Y | X) and P(A | X, Y).

    Parameters
    ----------
    table : CellGroups
    label : callable
        From X to P(Y | X), of shape (n, V).
    group : sequence of V callables
        From X to P(A | X, Y) for each label, of shape (n, n_groups); none where A is read from X
        instead.
    """

    def __init__(
        self, table: CellGroups, label: ProbabilityModel, group: Sequence[ProbabilityModel]
    ) -> None:
        self.table, self.label, self.group = table, label, list(group)
        self.aware = not self.group

    @classmethod
    def learned(
        cls, estimator: Any, X: Any, cells: Cells, table: CellGroups, rows: Rows, aware: bool
    ) -> CellProbabilities:
        """Return the probabilities as learned from some rows; ``aware`` reads A from X instead."""
        if cells.weight is not None:  # not every learner bears a class without any weight
            rows = rows[cells.weight[rows] > 0]
        label, group = cells.label[cells.code], table.group[cells.code]
        given = [
            ClassProbabilities.learned(
                estimator, X, rows[label[rows] == y], group, table.n_groups, cells.weight
            )
            for y in (() if aware else range(cells.n_decisions))
        ]
        own = ClassProbabilities.learned(estimator, X, rows, label, cells.n_decisions, cells.weight)
        return cls(table, own, given)

    def __call__(self, X: Any) -> Array:
        """Return the probabilities of all cells, of shape (n, C)."""
        label = self.label(X)
        if self.aware:
            group = self.table.read_groups(X)
            groups = np.equal.outer(group, np.arange(self.table.n_groups)).astype(float)
            given = [groups] * label.shape[1]
        else:
            given = [probabilities(X) for probabilities in self.group]
        result = np.empty((len(label), len(self.table.label)))
        for cell, (y, g) in enumerate(zip(self.table.label, self.table.group, strict=True)):
            result[:, cell] = label[:, y] * given[y][:, g]
        return result


class ClassProbabilities:
    """A learner's P(class | x), with a column for each class, those it never met included.

    Parameters
    ----------
    model : fitted classifier or None
        Knows the classes ``known``, in this order; None where there was but one or none.
    known : array of int
    n_classes : int
    """

    def __init__(self, model: Any, known: NDArray[np.integer], n_classes: int) -> None:
        self.model, self.known, self.n_classes = model, known, n_classes

    @classmethod
    def learned(
        cls,
        estimator: Any,
        X: Any,
        rows: Rows,
        target: NDArray[np.integer],
        n_classes: int,
        weight: Array | None,
    ) -> ClassProbabilities:
        """Return the probabilities as learned from some rows."""
        known, codes = np.unique(target[rows], return_inverse=True)
        if len(known) < 2:  # most learners refuse a single class
            return cls(None, known, n_classes)
        own = None if weight is None else weight[rows]
        given = {} if own is None else {weight_parameter(estimator): own}
        model = clone(estimator, safe=False)
        with config_context(enable_metadata_routing=False):
            model.fit(take_rows(X, rows), codes, **given)  # copies, all of them
        return cls(model, known, n_classes)

    def __call__(self, X: Any) -> Array:
        """Return the probabilities, of shape (n, n_classes)."""
        n = _num_samples(X)
        result = np.zeros((n, self.n_classes))
        if self.model is None:
            # Without a single example, no group is likelier than another.
            result[:, self.known if len(self.known) else slice(None)] = 1.0 / max(
                len(self.known) or self.n_classes, 1
            )
            return result
        found = np.asarray(Guard()(self.model.predict_proba, X), dtype=float)
        if found.shape != (n, len(self.known)) or not np.isfinite(found).all():
            raise ValueError(
                f"{type(self.model).__name__}.predict_proba returned an array of shape "
                f"{found.shape}; expected {len(self.known)} finite probabilities for each of "
                f"{n} rows."
            )
        result[:, self.known] = found
        return result


class OneAgainstRest:
    """P(class | x) from models of one class against all others, scaled to sum to one.

    Parameters
    ----------
    parts : sequence of ClassProbabilities
        Each of two classes, 1 being the one it is about.

    Examples
    --------
    >>> half = ClassProbabilities(None, np.array([], dtype=int), 2)
    >>> OneAgainstRest([half, half, half])(np.zeros((1, 1))).round(2).tolist()
    [[0.33, 0.33, 0.33]]
    """

    def __init__(self, parts: Sequence[ClassProbabilities]) -> None:
        self.parts = list(parts)

    def __call__(self, X: Any) -> Array:
        """Return the probabilities, of shape (n, n_classes)."""
        each = np.column_stack([part(X)[:, 1] for part in self.parts])
        total = each.sum(axis=1, keepdims=True)
        even = np.full_like(each, 1.0 / len(self.parts))
        return np.divide(each, total, out=even, where=total > 0)


class CellGroups:
    """The label and the group of each cell, and the values that make a group."""

    def __init__(self, cells: CellTable) -> None:
        columns: Mapping[str, NDArray] = {**cells.control, **cells.sensitive}
        keys = list(zip(*(values.tolist() for values in columns.values()), strict=True))
        self.names = list(columns)
        self.number: dict[tuple[Hashable, ...], int] = {}
        for key in keys:
            self.number.setdefault(key, len(self.number))
        self.label, self.rules = cells.label, cells.rules
        self.group = np.array([self.number[key] for key in keys])

    @property
    def n_groups(self) -> int:
        """The number of groups, combinations of sensitive and control values."""
        return len(self.number)

    def read_groups(self, X: Any) -> NDArray[np.intp]:
        """Return the number of the group of each row, from the columns of a data frame."""
        native = nw.from_native(X, eager_only=True, pass_through=True)
        columns = native.columns if isinstance(native, nw.DataFrame) else []
        if missing := [name for name in self.names if name not in columns]:
            raise ValueError(
                f"aware=True reads the group from X, but X has no column {missing[0]!r}. Pass a "
                "data frame with columns called like the sensitive and control features."
            )
        rows, rules = native[self.names].to_native(), self.rules
        found = read_columns(rows, len(native), "X", "group", rules.missing)
        found |= {name: in_bins(found[name], edges, name) for name, edges in rules.bins.items()}
        keys = list(zip(*(found[name].tolist() for name in self.names), strict=True))
        if strange := set(keys) - set(self.number):
            raise ValueError(
                f"X has the group {min(map(str, strange))}, which was not seen in fit; expected "
                f"one of {', '.join(map(str, list(self.number)[:4]))}."
            )
        return np.array([self.number[key] for key in keys], dtype=np.intp)

    def check_groups(self, X: Any, cells: Cells) -> None:
        """Check that X says the same about groups as the cells do."""
        if (differ := self.read_groups(X) != self.group[cells.code]).any():
            raise ValueError(
                f"columns {', '.join(map(repr, self.names))} of X differ from the sensitive or "
                f"control features in {int(differ.sum())} rows; with aware=True they must agree."
            )
