"""Rates of groups to which some people may belong of whom it is not known.

Of a group's known members ``k`` of ``n`` count as yes, such as selected. Of the people whose group
is unknown and may be this one, some count as yes and some as no. If ``a`` and ``b`` of these belong
to it, its rate is (k + a) / (n + a + b). Nothing is said of a and b in the *worst case*. Under an
*odds ratio* G, hiding one's group depends on the answer only so far: the odds a / b are at least
1/G and at most G times those of the known members, k / (n - k). Either way the largest and the
smallest rate have a closed form, since the rate grows with a and falls with b.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.cells.values import UNKNOWN, is_number
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import GROUP_RATES, SELECTION, Rate, rate_and_decision
from equipoise.faces import Columns, Face
from equipoise.metrics.audit import Audit, group_rows

#: The odds ratio that bounds are about, unless another is asked for.
ODDS = 2.0
#: The rates that tables of groups show, by their columns.
RATES_OF_GROUPS = {rate.column: rate for rate in GROUP_RATES}


class Bounds(NamedTuple):
    """The least and the largest that a rate may be, whoever the unknown are."""

    low: float
    high: float


class UnknownGroup(NamedTuple):
    """How far the rates of one group are known.

    Attributes
    ----------
    stratum : value of the control features, or None
    feature : str
        The sensitive feature that makes the group, "a x b" for combinations.
    group : value or tuple of values
    worst : dict from the name of a rate to Bounds
        Whatever group the unknown belong to.
    within_odds : dict from the name of a rate to Bounds
        Under the odds ratio. The same as ``worst`` where of the known members nobody counts, or
        everybody does: those have no odds.
    """

    stratum: Hashable
    feature: str
    group: Hashable
    worst: dict[str, Bounds]
    within_odds: dict[str, Bounds]


@dataclass(frozen=True, repr=False)
class UnknownPeople(Face):
    """People whose group is unknown: their share, and what the rates of groups may be with them.

    Sampling error is not in it: the bounds are about these people.

    Attributes
    ----------
    share : float
        The weight of people who lack a sensitive feature, as a share of all.
    odds : float
        The odds ratio that ``within_odds`` of the groups is about.
    groups : tuple of UnknownGroup
    """

    share: float
    odds: float
    groups: tuple[UnknownGroup, ...]

    @classmethod
    def of(
        cls,
        audit: Audit,
        groups: str = "both",
        odds: float = ODDS,
        rates: Mapping[str, Rate] = RATES_OF_GROUPS,
    ) -> UnknownPeople | None:
        """Return what is known of groups as for `group_table`; None if nobody is unknown."""
        odds, cells = _read_odds(odds), audit.cells
        if not cells.unknown.any():
            return None
        found = []
        for stratum, inside in cells.strata().items():
            for feature, group, members in group_rows(audit, groups):
                if feature:
                    maybe = _may_belong(cells, feature, group) & inside
                    parts = {
                        name: _counts(audit, rate, members & inside, maybe)
                        for name, rate in rates.items()
                    }
                    worst = {name: rate_bounds(*counts) for name, counts in parts.items()}
                    within = {name: rate_bounds(*counts, odds) for name, counts in parts.items()}
                    found.append(UnknownGroup(stratum, feature, group, worst, within))
        return cls(share_unknown(cells), odds, tuple(found))

    @classmethod
    def joined(cls, parts: Iterable[UnknownPeople | None]) -> UnknownPeople | None:
        """Return the bounds of different rates of the same groups, side by side."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        groups = [
            rows[0]._replace(
                worst={name: ends for row in rows for name, ends in row.worst.items()},
                within_odds={name: ends for row in rows for name, ends in row.within_odds.items()},
            )
            for rows in zip(*(part.groups for part in known), strict=True)
        ]
        return cls(known[0].share, known[0].odds, tuple(groups))

    def _columns(self) -> Columns:
        lines = [(row, how) for row in self.groups for how in (row.worst, row.within_odds)]
        columns: dict[str, list[Any]] = {
            "group": [group_name(row.group) for row, _ in lines],
            "if": ["any group", f"odds ratio {self.odds:g}"] * len(self.groups),
        }
        if any(row.stratum is not None for row in self.groups):
            columns = {"stratum": [group_name(row.stratum) for row, _ in lines]} | columns
        for rate in self.groups[0].worst if self.groups else ():
            for end in ("low", "high"):
                columns[f"{rate}_{end}"] = [getattr(bounds[rate], end) for _, bounds in lines]
        return columns

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__

    def sentences(self, hidden: Collection[tuple[str, str]] = ()) -> list[str]:
        """Return the share, and what selection rates may be; not of (feature, group) hidden."""
        lines = [
            f"the group of {self.share:.1%} of the people is unknown: they count in no group, and "
            "intervals leave out what that may hide."
        ]
        for row in self.groups:
            if (row.feature, name := group_name(row.group)) in hidden:
                continue
            within = "" if row.stratum is None else f" within {group_name(row.stratum)}"
            for column in row.worst:
                rate, decision = rate_and_decision(column)
                if rate != SELECTION.column:
                    continue
                (low, high), (least, most) = row.worst[column], row.within_odds[column]
                lines.append(
                    f"{'selected' if decision is None else decision} of {name}{within}: {low:.1%} "
                    f"to {high:.1%} whatever their groups are, {least:.1%} to {most:.1%} if hiding "
                    f"depends on the decision by an odds ratio of at most {self.odds:g}."
                )
        return lines


def share_unknown(cells: CellTable) -> float:
    """Return the share of the people of whom a sensitive feature is unknown, by weight."""
    return float(cells.mass[cells.unknown].sum() / cells.mass.sum())


def _read_odds(odds: Any) -> float:
    if not is_number(odds) or not odds >= 1:
        raise ValueError(
            f"unknown_odds is {odds!r}; expected a number >= 1: by how much the odds of hiding "
            "one's group may differ between those selected and others. 1 is not at all."
        )
    return float(odds)


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


def _may_belong(cells: CellTable, feature: str, group: Hashable) -> Mask:
    """Return the cells of those who may be in a group, since a feature of theirs is unknown."""
    names, values = [feature], (group,)
    if isinstance(group, tuple):
        names, values = feature.split(" x "), group
    fits, unknown = np.ones(cells.n_cells, dtype=bool), np.zeros(cells.n_cells, dtype=bool)
    for name, value in zip(names, values, strict=True):
        here = cells.sensitive[name].tolist()
        unknown |= np.array([entry is UNKNOWN for entry in here])
        fits &= np.array([entry is UNKNOWN or entry == value for entry in here])
    return fits & unknown


def _counts(
    audit: Audit, rate: Rate, members: Mask, maybe: Mask
) -> tuple[float, float, float, float]:
    """Return k and n of the members, and the yes and no of those who may belong to them."""
    low, high = rate.table(audit.cells).T
    yes: Array = low * (audit.mass - audit.selected) + high * audit.selected
    event = rate.event(audit.cells)
    inside, outside = members & event, maybe & event
    k, n = yes[inside].sum(), audit.mass[inside].sum()
    return float(k), float(n), float(yes[outside].sum()), float((audit.mass - yes)[outside].sum())
