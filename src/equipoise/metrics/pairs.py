"""Pairs of groups: how far each two are apart, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.constraints.groups import group_name
from equipoise.faces import Columns, Face, columns_of
from equipoise.metrics.decisions import read_audit
from equipoise.metrics.disparities import DISPARITY_OF, Comparison, Method, ratios
from equipoise.metrics.headline import first
from equipoise.metrics.intervals import Interval, all_limits, check_level

#: Pairs that are printed.
_SHOWN = 10


class Pair(NamedTuple):
    """Two groups and a rate of both: the group of the higher one first.

    Attributes
    ----------
    group, against : group names; ``against`` may be "overall", everybody
    people, against_people : int
        How many people the rates are of.
    rate : str
    value : Interval
        The difference of the rates, or the ratio of the lower to the higher one. All intervals
        hold at once. That of a difference reaches below zero where chance may explain it, that of a
        ratio above one.
    stratum : the values of the control features, None without any
    """

    group: Hashable
    people: int
    against: Hashable
    against_people: int
    rate: str
    value: Interval
    stratum: Hashable = None

    def __str__(self) -> str:
        groups = ((self.group, self.people), (self.against, self.against_people))
        text = " and ".join(f"{group_name(group)} ({people:,})" for group, people in groups)
        return f"{self.value}, {self.rate} of {text}"


@dataclass(frozen=True, repr=False)
class Pairs(Face):
    """Pairs of groups, the headline first, then by the limits of their intervals.

    Attributes
    ----------
    pairs : tuple of Pair
    largest : Pair or None
        The one that is furthest apart by the estimates, perhaps of a few people and by chance.
    """

    pairs: tuple[Pair, ...]
    largest: Pair | None
    ratio: bool = False  #: Whether values are ratios.

    @classmethod
    def ordered(cls, pairs: Sequence[Pair], ratio: bool) -> Pairs:
        """Return these pairs in order."""

        def apart(pair: Pair) -> tuple[float, float]:
            """Return how far a pair is apart for sure, and by the estimate."""
            estimate, low, high = pair.value
            return (-high, -estimate) if ratio else (low, estimate)

        largest = max(pairs, key=lambda pair: apart(pair)[1], default=None)
        in_order = sorted(pairs, key=apart, reverse=True)
        values = [Interval(apart(pair)[1], apart(pair)[0], np.nan) for pair in in_order]
        people = [min(pair.people, pair.against_people) for pair in in_order]
        at = first(values, people, -1.0 if ratio else 0.0)
        if at is not None:
            in_order.insert(0, in_order.pop(at))
        return cls(tuple(in_order), largest, ratio)

    @property
    def headline(self) -> Pair | None:
        """The pair that is furthest apart, as far as intervals tell; None without pairs.

        By the limits of the intervals or, where no difference is certain, by the estimates of 30 or
        more people.
        """
        return self.pairs[0] if self.pairs else None

    def __repr__(self) -> str:
        lines = [f"<Pairs: {len(self.pairs):,} of groups>", *map(str, self.pairs[:_SHOWN])]
        rest = len(self.pairs) - _SHOWN
        return "\n".join(lines + [f"... {rest:,} more: to_pandas() has all of them."] * (rest > 0))

    def _columns(self) -> Columns:
        shown = [
            pair._replace(group=group_name(pair.group), against=group_name(pair.against))
            for pair in self.pairs
        ]
        columns = dict(columns_of(shown))
        if all(pair.stratum is None for pair in shown):
            columns.pop("stratum", None)
        return columns


def compare_groups(
    metric: Callable[..., float],
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    method: Method | None = None,
    level: float = 0.95,
) -> Pairs:
    """Return every pair of groups that a disparity compares, with people and intervals.

    A disparity is the largest of many differences, and the largest estimate is often that of a
    few people. The first pair is the headline: by the limits of the intervals or, where no
    difference is certain, by the estimates of 30 or more people.

    Parameters
    ----------
    metric : function
        A disparity of `equipoise.metrics`, such as `demographic_parity_difference`.
    y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label, method
        Arguments of the metric; of several labels, without ``pos_label``, every decision is
        compared.
    level : float, default=0.95
        Of intervals that hold for all pairs at once.

    Examples
    --------
    >>> from equipoise.metrics import demographic_parity_difference
    >>> group = np.repeat(["few", "a", "b"], [3, 1000, 1000])
    >>> selected = np.repeat([1, 0, 1, 0, 1, 0], [2, 1, 500, 500, 400, 600])
    >>> pairs = compare_groups(
    ...     demographic_parity_difference, np.arange(2003) % 2, selected, sensitive_features=group)
    >>> print(pairs.headline)
    0.1000 [0.0492, 0.1501], selection_rate of a (1,000) and b (1,000)
    >>> print(pairs.largest)
    0.2667 [-0.3281, 0.5826], selection_rate of few (3) and b (1,000)
    """
    check_level(level)
    if metric not in DISPARITY_OF:
        known = ", ".join(function.__name__ for function in DISPARITY_OF)
        raise ValueError(f"metric is {metric!r}; expected a disparity: {known}.")
    disparity, groups = DISPARITY_OF[metric], (sensitive_features, control_features)
    audit = read_audit(y_true, y_pred, *groups, sample_weight, pos_label)
    comparisons = disparity.compared(audit, method)
    limits = all_limits(comparisons, disparity.ratio, level) if comparisons else []
    found = [
        pair
        for comparison, ends in zip(comparisons, limits, strict=True)
        for pair in _pairs(comparison, *ends, disparity.ratio)
    ]
    return Pairs.ordered(found, disparity.ratio)


def _pairs(comparison: Comparison, low: Any, high: Any, ratio: bool) -> list[Pair]:
    """Return the pairs of a comparison, given the limits of their differences or logarithms."""
    rates = comparison.rates()
    inside = comparison.masks & comparison.rate.event(comparison.audit.cells)
    people = (inside @ comparison.audit.cells.count).round().astype(int).tolist()
    found = []
    for at, pair in enumerate(zip(comparison.left, comparison.right, strict=True)):
        first, last = sorted(map(int, pair), key=lambda group: -rates[group])
        ends = (low[at], high[at]) if first == pair[0] else (-high[at], -low[at])
        if ratio:
            value = float(ratios(rates[[first]], rates[[last]])[0])
            ends = (np.exp(-ends[1]), np.exp(-ends[0]))
        else:
            value = float(rates[first] - rates[last])
        interval = Interval(value, min(float(ends[0]), value), max(float(ends[1]), value))
        names = comparison.groups
        about = (names[first], people[first], names[last], people[last], comparison.column)
        found.append(Pair(*about, interval, comparison.stratum))
    return found
