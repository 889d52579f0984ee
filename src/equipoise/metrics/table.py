"""The group table: metrics for every group, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import Rate
from equipoise.faces import Columns, Face, paragraph, table, text_lines
from equipoise.metrics.audit import Audit, Draws, stratified_rows, unstratified_rows
from equipoise.metrics.disparities import Method
from equipoise.metrics.intervals import (
    Interval,
    Kind,
    percentiles,
    rate_intervals,
)
from equipoise.metrics.predictive import Predictive
from equipoise.metrics.summaries import (
    Pairs,
    Summary,
    few_people,
    named,
    pairs_of,
    summary_interval,
)
from equipoise.metrics.unknown import RATES_OF_GROUPS, UnknownPeople

#: One number, or with control features one for each stratum.
PerStratum = Any


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Face):
    """Metrics by group.

    Attributes
    ----------
    groups : tuple
        What each row is about: ``"overall"``, a value, or a tuple of values.
    features : tuple of str
        The sensitive features that the values belong to, joined by " x "; empty for everybody.
    columns : dict from name to array
        ``count``, then ``base_rate``, ``selection_rate``, ``true_positive_rate``,
        ``false_positive_rate``, ``error_rate``, or the metrics asked for; with intervals each has
        ``.._low`` and ``.._high`` beside it. NaN where it is not defined, such as for a group that
        has nobody with the label.
    strata : tuple
        The values of the control features that each row is within; None without any.
    level : float
        Of the intervals.
    draws : dict from name to array of shape (n_draws, rows)
        Metrics in the resamples of the bootstrap.
    unknown : UnknownPeople or None, those in no row
    """

    groups: tuple[Hashable, ...]
    features: tuple[str, ...]
    columns: dict[str, NDArray[Any]]
    strata: tuple[Hashable, ...] = ()
    level: float = 0.95
    draws: dict[str, Array] = field(default_factory=dict)
    unknown: UnknownPeople | None = None

    def __post_init__(self) -> None:
        if not self.strata:
            object.__setattr__(self, "strata", (None,) * len(self.groups))

    @classmethod
    def from_audit(
        cls,
        audit: Audit,
        groups: str = "both",
        *,
        rates: Mapping[str, Rate | Predictive] | None = None,
        interval: Kind | None = "analytic",
        level: float = 0.95,
        draws: Draws | None = None,
        stratified: bool = True,
    ) -> GroupTable:
        """Return the table of an audit, see `group_table`; all strata together if it says so."""
        within = stratified_rows if stratified else unstratified_rows
        rows = list(within(audit, groups))
        strata, features, names, masks = zip(*rows, strict=True)
        inside, drawn = np.array(masks), {}
        columns: dict[str, NDArray[Any]] = {"count": inside @ audit.cells.count}
        if rates is None:
            rates = RATES_OF_GROUPS
        for name, rate in rates.items():
            if interval is None:
                columns[name] = audit.rate(rate, inside)
            else:
                value, low, high = rate_intervals(audit, rate, inside, level, draws)
                columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
            if draws is not None:
                drawn[name] = audit.rate(rate, inside, draws)
        return cls(names, features, columns, strata, level, drawn, UnknownPeople.of(audit, groups))

    def with_functions(
        self, values: Mapping[str, Array], drawn: Mapping[str, Array] | None, order: Iterable[str]
    ) -> GroupTable:
        """Return the table with further metrics, and all of them in this order."""
        columns = {**self.columns, **values}
        for name, draws in (drawn or {}).items():
            columns[f"{name}_low"], columns[f"{name}_high"] = percentiles(
                values[name], draws, self.level
            )
        names = ("count", *(f"{name}{end}" for name in order for end in ("", "_low", "_high")))
        ordered = {name: columns[name] for name in names if name in columns}
        return replace(self, columns=ordered, draws={**self.draws, **(drawn or {})})

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.groups)

    def row(
        self, group: Hashable, feature: str | None = None, stratum: Hashable = None
    ) -> dict[str, Any]:
        """Return the row of one group by column name.

        Say of which feature, and within which values of the control features, if there are several.
        """
        rows = enumerate(zip(self.features, self.groups, self.strata, strict=True))
        found = [
            at
            for at, (of, name, within) in rows
            if name == group and feature in (None, of) and stratum in (None, within)
        ]
        if len(found) != 1:
            known = {
                "groups": self.groups,
                "features": self.features,
                "strata": [each for each in self.strata if each is not None],
            }
            names = (
                f"{what} {', '.join(map(repr, dict.fromkeys(values)))}"
                for what, values in known.items()
                if values
            )
            raise KeyError(
                f"{len(found)} rows are called {group!r} (feature={feature!r}, stratum={stratum!r})"
                f"; there are the {'; '.join(names)}."
            )
        return {name: values[found[0]].item() for name, values in self.columns.items()}

    @property
    def overall(self) -> dict[Any, Any]:
        """The row of everybody; with control features, by stratum."""
        strata = dict.fromkeys(self.strata)
        found = {stratum: self.row("overall", "", stratum) for stratum in strata}
        return found.get(None, found)

    def min(self, column: str, *, feature: str | None = None) -> PerStratum:
        """Return the least value of a group; with control features, by stratum.

        ``feature`` says whose groups to compare; by default the combinations of all features.
        """
        return self._summary("min", column, feature)

    def max(self, column: str, *, feature: str | None = None) -> PerStratum:
        """Return the largest value of a group; see `min`."""
        return self._summary("max", column, feature)

    def difference(
        self, column: str, *, feature: str | None = None, method: Method = "between_groups"
    ) -> PerStratum:
        """Return the largest difference, between groups or from everybody; see `min`, `Between`."""
        return self._summary("difference", column, feature, method)

    def ratio(
        self, column: str, *, feature: str | None = None, method: Method = "between_groups"
    ) -> PerStratum:
        """Return the smallest ratio, between groups or to everybody; see `min`, `Between`.

        Of a metric that is not negative; one where both values are zero.
        """
        return self._summary("ratio", column, feature, method)

    def interval(
        self,
        summary: Summary,
        column: str,
        *,
        feature: str | None = None,
        method: Method = "between_groups",
    ) -> Any:
        """Return "min", "max", "difference" or "ratio" with an interval, from the bootstrap.

        An `Interval`; with control features, a dictionary of them by stratum. In small groups
        `confidence_interval` is better, where the metric is one of `equipoise.metrics`.

        Examples
        --------
        >>> from equipoise.metrics import group_table
        >>> rng = np.random.default_rng(0)
        >>> A, y_true, y_pred = rng.integers(0, 2, size=(3, 500))
        >>> table = group_table(y_true, y_pred, sensitive_features=A, interval="bootstrap")
        >>> print(table.interval("difference", "error_rate"))
        0.0731 [0.0000, 0.1597]
        """
        if column not in self.draws:
            raise ValueError(
                f"there are no resamples of {column!r}; there are those of "
                f"{', '.join(map(repr, self.draws)) or 'nothing'}. Make the table with "
                "interval='bootstrap'."
            )
        if summary not in get_args(Summary):
            raise ValueError(f"summary is {summary!r}; expected one of {get_args(Summary)}.")
        drawn, people = self.draws[column], self.columns["count"]
        found = {
            stratum: summary_interval(summary, value, drawn[:, at], people[at], pairs, self.level)
            if len(at)
            else Interval(np.nan, np.nan, np.nan)
            for stratum, at, value, pairs in self._compared(column, feature, method)
        }
        return found.get(None, found)

    def _summary(
        self,
        summary: Summary,
        column: str,
        feature: str | None,
        method: Method = "between_groups",
    ) -> PerStratum:
        found = {
            stratum: named(summary, value, pairs, [(self.groups[r], self["count"][r]) for r in at])
            for stratum, at, value, pairs in self._compared(column, feature, method)
        }
        return found.get(None, found)

    def _compared(
        self, column: str, feature: str | None, method: Method
    ) -> Iterator[tuple[Hashable, NDArray[np.intp], Array, Pairs]]:
        """Yield the stratum, its rows to compare, their known values, and the pairs of them."""
        feature = self.features[-1] if feature is None else feature
        names = list(dict.fromkeys(name for name in self.features if name))
        if feature not in names or method not in ("between_groups", "to_overall"):
            raise ValueError(
                f"feature is {feature!r} and method {method!r}; expected one of "
                f"{', '.join(map(repr, names))}, and 'between_groups' or 'to_overall'."
            )
        last = [""] if method == "to_overall" else []
        for stratum in dict.fromkeys(self.strata):
            at = np.array(
                [
                    row
                    for of in (feature, *last)
                    for row, where in enumerate(zip(self.features, self.strata, strict=True))
                    if where == (of, stratum) and np.isfinite(self.columns[column][row])
                ],
                dtype=np.intp,
            )
            yield stratum, at, self.columns[column][at], pairs_of(len(at), method)

    def _columns(self) -> Columns:
        names: dict[str, list[str]] = {}
        if any(stratum is not None for stratum in self.strata):
            names["stratum"] = list(map(group_name, self.strata))
        names |= {"feature": list(self.features), "group": list(map(group_name, self.groups))}
        return {**names, **self.columns}

    def _repr_html_(self) -> str:
        shown = dict(self._columns())
        if len(set(self.features)) <= 2:  # everybody, and one feature
            del shown["feature"]
        return table(shown) + "".join(map(paragraph, self._notes()))

    def to_pandas(self) -> Any:
        """Return a data frame of pandas, indexed by stratum if there is one, feature and group."""
        named = [name for name in self._columns() if name not in self.columns]
        return super().to_pandas().set_index(named)

    def __str__(self) -> str:
        columns = self._columns()
        names = [name for name in columns if name not in (*self.columns, "feature")]
        shown = [name for name in self.columns if not name.endswith(("_low", "_high"))]
        lines = [[*names, *shown]] + [
            [*(columns[name][at] for name in names), *(self._cell(c, at) for c in shown)]
            for at in range(len(self))
        ]
        return "\n".join(text_lines(lines, names) + self._notes())

    __repr__ = __str__

    def _notes(self) -> list[str]:
        """Return what the numbers do not say by themselves."""
        few = few_people(self.features, self.groups, self.columns["count"])
        return [*few, *([] if self.unknown is None else self.unknown.sentences())]

    def _cell(self, column: str, at: int) -> str:
        value = self.columns[column][at]
        if column == "count":
            return f"{value:,}"
        if f"{column}_low" not in self.columns:
            return f"{value:.4f}"
        low, high = self.columns[f"{column}_low"][at], self.columns[f"{column}_high"][at]
        return f"{value:.3f} [{low:.3f}, {high:.3f}]"
