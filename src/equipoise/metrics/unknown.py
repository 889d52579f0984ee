"""Rates of groups to which some people may belong of whom it is not known.

Of a group's known members ``k`` of ``n`` count as yes, such as selected. Of the people whose group
is unknown and may be this one, some count as yes and some as no. If ``a`` and ``b`` of these belong
to it, its rate is (k + a) / (n + a + b). Nothing is said of a and b in the *worst case*. Under an
*odds ratio* G, hiding one's group depends on the answer only so far: the odds a / b are at least
1/G and at most G times those of the known members, k / (n - k). Either way the largest and the
smallest rate have a closed form, since the rate grows with a and falls with b.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.cells.values import UNKNOWN
from equipoise.constraints.rates import GROUP_RATES
from equipoise.metrics.audit import Audit


class Bounds(NamedTuple):
    """The least and the largest that a rate may be, whoever the unknown are."""

    low: float
    high: float


class UnknownGroup(NamedTuple):
    """How far the rates of one group are known.

    Attributes
    ----------
    feature : str
        The sensitive feature that makes the group, "a x b" for combinations.
    group : value or tuple of values
    worst : dict from the name of a rate to Bounds
        Whatever group the unknown belong to.
    within_odds : dict from the name of a rate to Bounds
        If the odds of hiding one's group differ by a factor at most, between those of the group who
        are selected and those who are not (or right and wrong, for an error rate). The same as
        ``worst`` where no known member, or every one, is selected.
    """

    feature: str
    group: Hashable
    worst: dict[str, Bounds]
    within_odds: dict[str, Bounds]


def share_unknown(cells: CellTable) -> float:
    """Return the share of the people of whom a sensitive feature is unknown, by weight."""
    return float(cells.mass[cells.unknown].sum() / cells.mass.sum())


def read_odds(odds: Any) -> float:
    """Return a checked odds ratio."""
    if not isinstance(odds, (int, float, np.number)) or isinstance(odds, bool) or not odds >= 1:
        raise ValueError(
            f"unknown_odds is {odds!r}; expected a number >= 1: by how much the odds of hiding "
            "one's group may differ between those selected and others. 1 is not at all."
        )
    return float(odds)


def unknown_bounds(
    audit: Audit, rows: Sequence[tuple[str, Hashable, Mask]], odds: float = 2.0
) -> list[UnknownGroup]:
    """Return how far the rates of groups are known; empty where every group is.

    Parameters
    ----------
    audit : Audit
    rows : sequence of (feature, group, mask)
        The groups: see `equipoise.metrics.audit`.
    odds : float >= 1, default=2
        The odds ratio.
    """
    if not audit.cells.unknown.any():
        return []
    found = []
    for feature, group, members in rows:
        if not feature:
            continue
        names = feature.split(" x ") if isinstance(group, tuple) else [feature]
        maybe = _may_belong(audit.cells, names, group if isinstance(group, tuple) else (group,))
        parts = {rate.column: _counts(audit, rate, members, maybe) for rate in GROUP_RATES}
        found.append(
            UnknownGroup(
                feature,
                group,
                {name: rate_bounds(*counts) for name, counts in parts.items()},
                {name: rate_bounds(*counts, odds) for name, counts in parts.items()},
            )
        )
    return found


def rate_bounds(k: float, n: float, yes: float, no: float, odds: float = np.inf) -> Bounds:
    """Return the least and the largest rate of a group of which k of n known members count.

    ``yes`` and ``no`` are those unknown who may belong to it, and count or do not.

    >>> rate_bounds(2, 4, 1, 1)  # 2 of 5 and 3 of 5
    Bounds(low=0.4, high=0.6)
    >>> rate_bounds(2, 4, 1, 1, odds=1)  # as often as those known
    Bounds(low=0.5, high=0.5)
    """
    if n + yes + no <= 0:
        return Bounds(float("nan"), float("nan"))
    if n <= 0:  # nobody is known to belong to it
        return Bounds(float(no <= 0), float(yes > 0))
    known = k / (n - k) if 0 < k < n else np.nan
    if not np.isfinite(odds) or np.isnan(known):
        least, most = (0.0, no), (yes, 0.0)
    else:
        a = min(yes, odds * known * no)
        b = min(no, odds / known * yes)
        least, most = (b * known / odds, b), (a, a / (odds * known))
    low, high = (float((k + a) / (n + a + b)) for a, b in (least, most))
    return Bounds(low, high)


def _may_belong(cells: CellTable, names: Sequence[str], values: Sequence[Hashable]) -> Mask:
    """Return the cells of those who may be in a group, since a feature of theirs is unknown."""
    fits = np.ones(cells.n_cells, dtype=bool)
    unknown = np.zeros(cells.n_cells, dtype=bool)
    for name, value in zip(names, values, strict=True):
        here = cells.sensitive[name].tolist()
        unknown |= np.array([entry is UNKNOWN for entry in here])
        fits &= np.array([entry is UNKNOWN or entry == value for entry in here])
    return fits & unknown


def _counts(audit: Audit, rate: Any, members: Mask, maybe: Mask) -> tuple[float, ...]:
    """Return k and n of the members, and the yes and no of those who may belong to them."""
    low, high = rate.table(audit.cells).T
    yes: Array = low * (audit.mass - audit.selected) + high * audit.selected
    event = rate.event(audit.cells)
    inside, outside = members & event, maybe & event
    k, n = yes[inside].sum(), audit.mass[inside].sum()
    return float(k), float(n), float(yes[outside].sum()), float((audit.mass - yes)[outside].sum())
