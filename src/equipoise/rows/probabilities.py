"""A sensitive feature that is not known, but guessed: a probability for each group."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.rows.floats import as_floats


class Probabilities:
    """How likely each person is to belong to each group, where membership itself is not known.

    Pass it as ``sensitive_features``. Every rate of a group is then a weighted mean in which a
    person counts with their probability. This is biased, even where the probabilities are right,
    unless decision and group are independent given the proxy that they come from: what depends
    on the group beyond the proxy is missed. The difference of selection rates between two groups is
    off by E[Cov(decision, group | proxy)] (1/P(A=1) + 1/P(A=0)); with a proxy that is right for
    80 % and decisions that favour one group by 0.1 beyond it, 0.06 of a difference of 0.22 goes
    unseen (``benchmarks/proxy_bias.py``). Check against people whose group is known.

    Parameters
    ----------
    table : data frame or array of shape (n, G)
        One column for each group; entries >= 0, and every row sums to one.
    groups : sequence, optional
        Names of the groups; by default the columns of the frame, or 0, 1, ...
    name : str, default="group"
        Name of the sensitive feature.

    Examples
    --------
    >>> A = Probabilities([[0.9, 0.1], [0.2, 0.8]], groups=["F", "M"], name="sex")
    >>> A
    <Probabilities of sex: F, M for 2 people>
    >>> A[[1]].values.tolist()  # rows can be selected, so cross-validation works
    [[0.2, 0.8]]
    """

    def __init__(self, table: Any, groups: Any = None, name: str = "group") -> None:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            groups = frame.columns if groups is None else groups
            table = frame.to_numpy()
        self.values: Array = as_floats(np.asarray(table), "Probabilities", "numbers in [0, 1]")
        self.name = name
        if self.values.ndim != 2:
            raise ValueError(
                f"Probabilities got an array with {self.values.ndim} dimensions; expected one row "
                "for each person and one column for each group."
            )
        self.groups = _names(range(self.values.shape[1]) if groups is None else groups)
        if len(self.groups) != self.values.shape[1]:
            raise ValueError(
                f"Probabilities got {len(self.groups)} names of groups for "
                f"{self.values.shape[1]} columns; expected one name for each."
            )
        _check(self.values)
        self.values = self.values / self.values.sum(axis=1, keepdims=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of people and number of groups."""
        return self.values.shape[0], self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Probabilities:
        rows = rows[0] if isinstance(rows, tuple) else rows
        return Probabilities(np.atleast_2d(self.values[rows]), self.groups, self.name)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.groups))
        return f"<Probabilities of {self.name}: {shown} for {len(self)} people>"


def split_probabilities(sensitive_features: Any) -> tuple[Any, Probabilities | None]:
    """Return the sensitive features that are known, if any, and the one that is not, if any."""
    if isinstance(sensitive_features, Probabilities):
        return None, sensitive_features
    if not isinstance(sensitive_features, dict):
        return sensitive_features, None
    known = {k: v for k, v in sensitive_features.items() if not isinstance(v, Probabilities)}
    uncertain = [(k, v) for k, v in sensitive_features.items() if isinstance(v, Probabilities)]
    if len(uncertain) > 1:
        raise ValueError(
            f"sensitive_features {', '.join(repr(k) for k, _ in uncertain)} are all given as "
            "Probabilities; expected one. Give the probabilities of their combinations instead: "
            "those of each alone do not determine them."
        )
    if not uncertain:
        return sensitive_features, None
    name, table = uncertain[0]
    return known or None, Probabilities(table.values, table.groups, str(name))


def _names(groups: Any) -> NDArray:
    names = np.empty(len(list(groups)), dtype=object)
    names[:] = list(groups)
    return names


def _check(values: Array) -> None:
    if not np.isfinite(values).all() or (values < 0).any():
        at = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=1))[0])
        raise ValueError(
            f"Probabilities: row {at} is {values[at].tolist()}; expected finite numbers >= 0."
        )
    if (off := np.abs(values.sum(axis=1) - 1) > 1e-6).any():
        at = int(np.flatnonzero(off)[0])
        raise ValueError(
            f"Probabilities: row {at} sums to {values[at].sum():.6g}, and {int(off.sum())} rows in "
            "all do not sum to 1. Divide each row by its sum."
        )
