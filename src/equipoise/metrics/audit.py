"""Audits and tallies: what a classifier decided, added up cell by cell.

Every rate of a classifier, for every group, is a ratio of two sums over cells. So the people are
met once, here; what comes after works on a few numbers per cell, one row of them for the data and
one for each draw of a bootstrap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from equipoise.cells.codes import add_up, factorize
from equipoise.cells.groups import plain_group
from equipoise.cells.layered import AnyCells
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.cells.values import Missing
from equipoise.constraints.rates import Rate
from equipoise.metrics.predictive import Predictive
from equipoise.rows.favourable import favourable_of
from equipoise.rows.validation import check_index, read_columns, read_weights

#: Below this many rows for each distinct one, a bootstrap draws rows rather than counts of them.
_ROWS_PER_ATOM = 10
#: Weight of people who get a decision that is there by rounding alone.
_NOBODY = 1e-12
#: Numbers that are held at a time, where there would be too many of them.
CHUNK = 1 << 22

#: Mass and selected weight by cell in each draw of a bootstrap: two arrays of shape (n_draws, C).
Draws = tuple[Array, Array]
#: Sums over cells of w^2, w^2 h and w^2 h^2.
Squares = tuple[Array, Array, Array]


class Tally(NamedTuple):
    """Decisions on some data, added up by cell: nothing of the size of the data, nobody's row.

    Attributes
    ----------
    cells : CellTable
    s : array of shape (C,)
        The selected shares.
    squares : three arrays of shape (C,), or None
        Sums over cells of w^2, w^2 h and w^2 h^2, where the weights w sum to one. None where people
        count in more than one way (`equipoise.cells.layered`): then there are no intervals. Of V
        decisions the last two are tables like s.
    """

    cells: CellTable
    s: Array
    squares: Squares | None

    @classmethod
    def of_people(cls, cells: AnyCells, h: Array) -> Tally:
        """Add up decisions, or the probabilities of them, person by person."""
        table, s = cells.table(), cells.sum(h)
        rows = cells.plain_rows()
        if rows is None or cells.n_decisions > 2:
            return cls.of_shares(cells, s)
        square = np.full(len(h), len(h) ** -2.0)
        if rows.weight is not None:
            square = np.square(rows.weight / rows.total_weight)
        w2h, w2hh = (add_up(rows.code, rows.n_cells, square * part) for part in (h, h**2))
        return cls(table, s, (table.square, w2h, w2hh))

    @classmethod
    def of_shares(cls, cells: CellTable, s: Array) -> Tally:
        """Make a tally from selected shares alone, as a pool of classifiers knows them.

        Decisions count as drawn, which makes intervals of a mixture a little wider, and weights
        as unrelated to decisions within a cell.
        """
        table = cells.table()
        if not table.is_plain:
            return cls(table, s, None)
        square, mass = (
            np.repeat(each, table.n_decisions - 1) for each in (table.square, table.mass)
        )
        drawn = square * np.clip(s / np.maximum(mass, 1e-300), 0.0, 1.0)
        return cls(table, s, (table.square, drawn, drawn))

    def part(self, inside: Mask, cells: CellTable) -> Tally:
        """Return the tally of the people of some cells alone, whose table is ``cells``."""
        share = float(self.cells.mass[inside].sum()) or 1.0
        entries = np.repeat(inside, self.cells.n_decisions - 1)
        squares = None
        if self.squares is not None:
            every, first, second = self.squares
            parts = every[inside], first[entries], second[entries]
            squares = parts[0] / share**2, parts[1] / share**2, parts[2] / share**2
        return Tally(cells, self.s[entries] / share, squares)


@dataclass(frozen=True, eq=False)
class Audit:
    """What a classifier decided, for whom, and what was true.

    >>> audit = Audit.read([0, 1, 1, 0], [0, 1, 0.5, 0], ["F", "F", "M", "M"])
    >>> audit.cells.label.tolist(), audit.selected.tolist()
    ([0, 1, 0, 1], [0.0, 1.0, 0.0, 0.5])
    """

    #: Label, sensitive and control features; `Cells` where decisions are known row by row.
    cells: CellTable
    #: The probability of being selected: 0 or 1 for a deterministic classifier.
    prediction: Array

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        missing: Missing | None = None,
    ) -> Audit:
        """Check the arguments of a metric; ``missing`` as for `FairClassifier.fit`."""
        check_rows(y_true, y_pred, sensitive_features, control_features, sample_weight)
        label, prediction = read_predictions(y_true, y_pred, pos_label)
        about = (sensitive_features, control_features, sample_weight)
        names = (0, 1) if pos_label is None else ("another", pos_label)
        return cls(read_cells(label, *about, missing, names), prediction)

    @classmethod
    def of_sums(cls, cells: CellTable, selected: Array, squares: Squares) -> Audit:
        """Return the audit of rows that workers hold, from sums over cells; weights sum to one."""
        audit = cls(cells, np.empty(0))
        vars(audit).update(mass=cells.mass, selected=selected, squares=squares)
        return audit

    @property
    def rows(self) -> Cells:
        """The cells with their rows; rows that workers hold are not here."""
        rows = self.cells.plain_rows()
        assert rows is not None
        return rows

    @cached_property
    def mass(self) -> Array:
        """Total weight of each cell; the number of people where all weigh the same."""
        return self._sum(self._weight)

    @cached_property
    def selected(self) -> Array:
        """Weight that is selected in each cell, in expectation."""
        return self._sum(self._weight * self.prediction)

    @cached_property
    def squares(self) -> Squares:
        """Sums over cells of w^2, w^2 h and w^2 h^2."""
        square = np.square(self._weight)
        first = square * self.prediction
        return self._sum(square), self._sum(first), self._sum(first * self.prediction)

    @cached_property
    def _weight(self) -> Array:
        return np.ones(len(self.prediction)) if self.rows.weight is None else self.rows.weight

    def _sum(self, values: Array) -> Array:
        return np.bincount(self.rows.code, values, minlength=self.cells.n_cells).astype(float)

    def rate(self, rate: Rate | Predictive, masks: Mask, draws: Draws | None = None) -> Array:
        """Return a rate in each of the masks (G, C): shape (G,), NaN where nobody is.

        For draws of a bootstrap the shape is (n_draws, G).
        """
        mass, selected = (self.mass, self.selected) if draws is None else draws
        if isinstance(rate, Predictive):
            weight, inside = rate.weights(mass, selected), masks.T.astype(float)
            total = weight @ inside
            counted = (weight * rate.counted(self.cells)) @ inside
            known = total > _NOBODY
            share = np.divide(counted, total, out=np.full_like(total, np.nan), where=known)
            return np.clip(share, 0.0, 1.0)
        low, high = rate.table(self.cells).T
        inside = (masks & rate.event(self.cells)).T.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return ((low * (mass - selected) + high * selected) @ inside) / (mass @ inside)

    def draws(self, n_draws: int, rng: np.random.Generator) -> Draws:
        """Resample the people with replacement: mass and selected share by cell, (n_draws, C).

        The nonparametric bootstrap, exactly. Rows that agree in cell, prediction and weight are
        exchangeable, so where there are few distinct ones their counts are drawn, not the rows.
        """
        n, C, code, weight = len(self.prediction), self.cells.n_cells, self.rows.code, self._weight
        selected = weight * self.prediction
        atom, first = _distinct_rows(code, self.prediction, self.rows.weight)
        if len(first) * _ROWS_PER_ATOM <= n:
            count = rng.multinomial(n, np.bincount(atom) / n, size=n_draws)
            member = (code[first][:, None] == np.arange(C)).astype(float)
            return tuple(count @ (member * of[first, None]) for of in (weight, selected))
        return _draw_rows(code, C, weight, selected, n_draws, rng)


def read_cells(
    label: NDArray,
    sensitive: Any,
    control: Any,
    weight: Any,
    missing: Missing | None = None,
    decisions: tuple[Any, ...] = (0, 1),
) -> Cells:
    """Return people of these labels in cells; without groups and strata where there are none."""
    n, groups, strata = len(label), {}, {}
    if sensitive is not None:
        groups = read_columns(sensitive, n, "sensitive_features", "group", missing)
    if control is not None:
        strata = read_columns(control, n, "control_features", "stratum")
    return Cells.from_columns(label, groups, strata, read_weights(weight, n), decisions)


def check_rows(y_true: Any, y_pred: Any, sensitive: Any, control: Any, weight: Any) -> None:
    """Raise where what a metric is called with names its rows in different orders."""
    check_index(
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive,
        control_features=control,
        sample_weight=weight,
    )


def _distinct_rows(
    code: NDArray, prediction: Array, weight: Array | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows; also return where each is first seen."""
    columns = [np.unique(prediction, return_inverse=True)[1], code.astype(np.int64)]
    if weight is not None:
        columns.append(np.unique(weight, return_inverse=True)[1])
    number = np.zeros(len(code), dtype=np.int64)
    for column in columns:
        number = number * (int(column.max()) + 1) + column
    _, first, atom = np.unique(number, return_index=True, return_inverse=True)
    return atom, first


def _draw_rows(
    code: NDArray, C: int, mass: Array, selected: Array, n_draws: int, rng: np.random.Generator
) -> Draws:
    n = len(code)
    out = np.empty((2, n_draws, C))
    block = max(CHUNK // n, 1)
    uniform = bool((mass == 1).all())
    for start in range(0, n_draws, block):
        rows = rng.integers(0, n, size=(min(block, n_draws - start), n), dtype=np.int32)
        for b, drawn in enumerate(rows, start):
            cell = code[drawn]
            out[0, b] = np.bincount(cell, None if uniform else mass[drawn], minlength=C)
            out[1, b] = np.bincount(cell, selected[drawn], minlength=C)
    return out[0], out[1]


def stratified_rows(audit: Audit, groups: str) -> Iterator[tuple[Hashable, str, Hashable, Mask]]:
    """Yield the stratum, the feature, the group and the cells of each row of a table."""
    for stratum, inside in audit.cells.strata().items():
        for feature, group, mask in group_rows(audit, groups):
            yield plain_group(stratum), feature, group, mask & inside


def unstratified_rows(audit: Audit, groups: str) -> Iterator[tuple[None, str, Hashable, Mask]]:
    """Yield the same of all strata together."""
    return ((None, *row) for row in group_rows(audit, groups))


def group_rows(audit: Audit, groups: str) -> Iterator[tuple[str, Hashable, Mask]]:
    """Yield the feature, the group and the cells of each row of a table, all known first."""
    if groups not in ("intersections", "margins", "both"):
        raise ValueError(f"groups is {groups!r}; expected 'intersections', 'margins' or 'both'.")
    yield "", "overall", ~audit.cells.unknown
    names = tuple(audit.cells.sensitive)
    sizes = {"intersections": [len(names)], "margins": [1]}.get(groups, [1, len(names)])
    for size in dict.fromkeys(sizes):
        for on in combinations(names, size):
            for group, mask in audit.cells.groups(on).items():
                yield " x ".join(on), plain_group(group), mask


def read_predictions(
    y_true: Any, y_pred: Any, pos_label: Any = None
) -> tuple[NDArray[np.int8], Array]:
    """Return labels as 0 and 1, and predictions as probabilities of 1.

    Predictions are labels of the same kind as ``y_true``, or numbers in [0, 1]: the probability
    with which a randomized classifier selects, ``predict_proba(X)[:, 1]``. The favourable label is
    ``pos_label``; by default 1, or the one that plain words or the order of numbers say.

    >>> label, prediction = read_predictions(["no", "yes", "no"], ["yes", "yes", "no"])
    >>> label.tolist(), prediction.tolist()
    ([0, 1, 0], [1.0, 1.0, 0.0])
    >>> read_predictions([-1, 1], [0.25, 1.0])[1].tolist()
    [0.25, 1.0]
    """
    true, predicted = _one_column(y_true, "y_true"), _one_column(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise ValueError(
            f"y_true has {len(true)} entries but y_pred has {len(predicted)}; pass one prediction "
            "for each example, in the same order."
        )
    if len(true) == 0:
        raise ValueError("y_true is empty; expected one or more examples.")
    classes = factorize(true)[1].tolist()
    if pos_label is None:
        pos_label = _positive(classes)
    elif len(classes) > 2:
        classes = [pos_label, *(value for value in classes if value != pos_label)]
    label = (true == pos_label).astype(np.int8)
    if true.dtype.kind in "iu" and predicted.dtype.kind == "f" and _are_shares(predicted):
        return label, predicted.astype(float)  # all of them 1, perhaps, which is a label too
    return label, _probabilities(predicted, classes, pos_label)


def _are_shares(values: NDArray) -> bool:
    return bool((values >= 0).all() and (values <= 1).all())


def _one_column(values: Any, name: str) -> NDArray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 2 and name == "y_pred":
        raise ValueError("y_pred has two columns; of predict_proba(X) pass the second, [:, 1].")
    array = column_or_1d(array)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; drop these rows from all arguments.")
    return array


def _positive(classes: list[Any]) -> Any:
    numbers = all(isinstance(value, (bool, int, float)) for value in classes)
    if numbers and (set(classes) <= {0, 1} or set(classes) <= {-1, 1}):
        return 1
    if len(classes) == 2:
        return favourable_of(classes, None, "y_true", "pos_label")
    if numbers and any(value != round(value) for value in classes):
        raise ValueError(
            f"y_true has {len(classes):,} numbers as values, such as {classes[0]}; expected 0 and "
            "1, or two labels. Numbers have no rates: measure predictions of them with "
            "group_table(..., metrics=mean_absolute_error)."
        )
    raise ValueError(
        f"y_true has the values {classes[:4]}; expected 0 and 1, or two labels. Say with pos_label "
        "which label is the favourable one."
    )


def _probabilities(predicted: NDArray, classes: list[Any], pos_label: Any) -> Array:
    values = factorize(predicted)[1] if predicted.dtype.kind in "OUS" else np.unique(predicted)
    numeric = predicted.dtype.kind in "biuf"
    plain = set(classes) <= {0, 1}
    if not plain and set(values.tolist()) <= {*classes, pos_label}:
        return (predicted == pos_label).astype(float)
    if numeric and pos_label == 0 and plain and set(values.tolist()) <= {0, 1}:
        return (predicted == 0).astype(float)
    if numeric and values[0] >= 0 and values[-1] <= 1:
        return predicted.astype(float)
    if numeric and set(values.tolist()) <= {-1, 1} and pos_label == 1:
        return (predicted == 1).astype(float)
    raise ValueError(
        f"y_pred has values such as {values[:3].tolist()}; expected labels like those of y_true, "
        f"{classes[:2]}, or probabilities between 0 and 1."
    )
