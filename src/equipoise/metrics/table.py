"""The group table: every rate for every group, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Mask
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import GROUP_RATES
from equipoise.metrics.audit import Audit, Draws
from equipoise.metrics.disparities import Method, ratios
from equipoise.metrics.intervals import Kind, rate_intervals, resample


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Rates by group.

    Attributes
    ----------
    groups : tuple
        What each row is about: ``"overall"``, a value, or a tuple of values.
    features : tuple of str
        The sensitive features that the values belong to, joined by " x "; empty for everybody.
    columns : dict from name to array
        ``count``, ``base_rate``, ``selection_rate``, ``true_positive_rate``,
        ``false_positive_rate``, ``error_rate``; with intervals each rate has ``.._low`` and
        ``.._high`` beside it. NaN where a group has nobody with the label.
    """

    groups: tuple[Hashable, ...]
    features: tuple[str, ...]
    columns: dict[str, NDArray[Any]]

    @classmethod
    def from_audit(
        cls,
        audit: Audit,
        groups: str = "both",
        *,
        interval: Kind | None = "analytic",
        level: float = 0.95,
        draws: Draws | None = None,
    ) -> GroupTable:
        """Return the table of an audit; see `group_table`."""
        rows = list(_rows(audit, groups))
        masks = np.array([mask for _, _, mask in rows])
        columns: dict[str, NDArray[Any]] = {"count": masks @ audit.cells.count}
        for rate in GROUP_RATES:
            name = rate.column
            if interval is None:
                columns[name] = audit.rate(rate, masks)
            else:
                value, low, high = rate_intervals(audit, rate, masks, level, draws)
                columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
        features, names, _ = zip(*rows, strict=True)
        return cls(names, features, columns)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.groups)

    def row(self, group: Hashable, feature: str | None = None) -> dict[str, Any]:
        """Return the row of one group by column name; say of which feature if several have it."""
        rows = enumerate(zip(self.features, self.groups, strict=True))
        found = [at for at, row in rows if row[1] == group and feature in (None, row[0])]
        if len(found) != 1:
            raise KeyError(
                f"{len(found)} rows are called {group!r} (feature={feature!r}); the groups are "
                f"{', '.join(map(repr, self.groups))}, of the features "
                f"{', '.join(map(repr, dict.fromkeys(self.features)))}."
            )
        return {name: values[found[0]].item() for name, values in self.columns.items()}

    @property
    def overall(self) -> dict[str, Any]:
        """The row of everybody."""
        return self.row("overall")

    def difference(
        self, column: str, *, feature: str | None = None, method: Method = "between_groups"
    ) -> float:
        """Return the largest difference of a rate, between groups or from everybody.

        ``feature`` says whose groups to compare; by default the combinations of all features.
        """
        rates, reference = self._rates(column, feature, method)
        return float(np.nanmax(np.abs(rates[:, None] - reference)))

    def ratio(
        self, column: str, *, feature: str | None = None, method: Method = "between_groups"
    ) -> float:
        """Return the smallest ratio of a rate, between groups or to everybody's."""
        rates, reference = self._rates(column, feature, method)
        return float(np.nanmin(ratios(rates[:, None], reference)))

    def _rates(
        self, column: str, feature: str | None, method: Method
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        feature = self.features[-1] if feature is None else feature
        inside = [name == feature for name in self.features]
        if not any(inside) or method not in ("between_groups", "to_overall"):
            known = ", ".join(map(repr, dict.fromkeys(self.features[1:])))
            raise ValueError(
                f"feature is {feature!r} and method {method!r}; expected one of {known}, and "
                "'between_groups' or 'to_overall'."
            )
        rates = self.columns[column][inside]
        return rates, rates if method == "between_groups" else self.columns[column][:1]

    def to_pandas(self) -> Any:
        """Return a data frame, indexed by feature and group; needs pandas."""
        import pandas as pd

        index = pd.MultiIndex.from_arrays(
            [self.features, list(map(group_name, self.groups))], names=["feature", "group"]
        )
        return pd.DataFrame(self.columns, index=index)

    def __str__(self) -> str:
        shown = [name for name in self.columns if not name.endswith(("_low", "_high"))]
        lines = [["group", *shown]] + [
            [group_name(group), *(self._cell(column, at) for column in shown)]
            for at, group in enumerate(self.groups)
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in lines
        )

    def _cell(self, column: str, at: int) -> str:
        value = self.columns[column][at]
        if column == "count":
            return f"{value:,}"
        if f"{column}_low" not in self.columns:
            return f"{value:.4f}"
        low, high = self.columns[f"{column}_low"][at], self.columns[f"{column}_high"][at]
        return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def group_table(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    groups: Literal["intersections", "margins", "both"] = "both",
    sample_weight: Any = None,
    pos_label: Any = None,
    interval: Kind | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> GroupTable:
    """Return size, base rate, selection rate, TPR, FPR and error of everybody and of every group.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`: labels, or probabilities of a randomized classifier.
    sensitive_features : array-like or data frame of n rows
        One or several columns.
    groups : "intersections", "margins" or "both", default="both"
        The combinations of all columns, the values of each column by itself, or these and those.
    interval : "analytic" or "bootstrap", optional
        Add an interval to every rate, see `confidence_interval`. Each holds by itself.
    level, n_draws, random_state
        See `confidence_interval`.

    Examples
    --------
    >>> y_true, y_pred = [0, 1, 1, 0, 1], [0, 1, 1, 0, 0.5]
    >>> table = group_table(y_true, y_pred, sensitive_features=list("aabbb"))
    >>> table.groups
    ('overall', 'a', 'b')
    >>> table["selection_rate"].tolist()
    [0.5, 0.5, 0.5]
    >>> table.row("b")["true_positive_rate"]
    0.75
    >>> table.difference("true_positive_rate")
    0.25
    """
    audit = Audit.read(y_true, y_pred, sensitive_features, None, sample_weight, pos_label)
    draws = None if interval is None else resample(audit, interval, n_draws, random_state)
    return GroupTable.from_audit(audit, groups, interval=interval, level=level, draws=draws)


def _rows(audit: Audit, groups: str) -> Iterator[tuple[str, Hashable, Mask]]:
    if groups not in ("intersections", "margins", "both"):
        raise ValueError(f"groups is {groups!r}; expected 'intersections', 'margins' or 'both'.")
    yield "", "overall", np.ones(audit.cells.n_cells, dtype=bool)
    names = tuple(audit.cells.sensitive)
    sizes = {"intersections": [len(names)], "margins": [1]}.get(groups, [1, len(names)])
    for size in dict.fromkeys(sizes):
        for on in combinations(names, size):
            for group, mask in audit.cells.groups(on).items():
                yield " x ".join(on), _plain(group), mask


def _plain(group: Any) -> Hashable:
    """Return Python's own values, which compare without surprises."""
    if isinstance(group, tuple):
        return tuple(map(_plain, group))
    return group.item() if isinstance(group, np.generic) else group
