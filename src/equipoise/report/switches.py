"""Who gains and who loses by a constraint: rows of switched decisions, group by group, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.report.contents import MovedContents, SwitchedContents


@dataclass(frozen=True)
class SwitchedGroup:
    """Switched decisions about a group.

    Those who have the favourable label are called qualified; None where labels are not known.
    """

    feature: str
    group: str
    count: int
    gained: float
    lost: float
    gained_qualified: float | None = None
    lost_qualified: float | None = None

    @property
    def balance(self) -> float:
        """The share of the group that gains less the share that loses."""
        return (self.gained - self.lost) / (self.count or 1)


@dataclass(frozen=True)
class MovedGroup:
    """Who of a group moves between more than two decisions.

    ``moves`` are decisions before and after, and how many people.
    """

    feature: str
    group: str
    count: int
    moves: tuple[tuple[str, str, float], ...] = ()

    @property
    def total(self) -> float:
        """How many people of the group are decided on differently."""
        return sum(number for _, _, number in self.moves)

    def moved(self, before: str, after: str) -> float:
        """Return how many move from one decision to another."""
        return sum(number for u, v, number in self.moves if (u, v) == (before, after))


def moved_groups(rows: Sequence[SwitchedContents | MovedContents]) -> list[MovedGroup]:
    """Return who moves between decisions, group by group; nobody in rows of two decisions.

    >>> moved_groups([MovedContents("sex", "F", 9, "refer", "accept", 2.0)])
    [MovedGroup(feature='sex', group='F', count=9, moves=(('refer', 'accept', 2.0),))]
    """
    by_group: dict[tuple[str, str], list[MovedContents]] = {}
    for row in rows:
        if isinstance(row, MovedContents):
            by_group.setdefault((row.feature, row.group), []).append(row)
    return [
        MovedGroup(
            *names,
            some[0].people,
            tuple((r.before, r.after, r.switched) for r in some if r.before and r.after),
        )
        for names, some in by_group.items()
    ]


def moved_sentence(groups: Sequence[MovedGroup]) -> str:
    """Return how many people are decided on differently, and most of them from what to what.

    >>> moved_sentence([MovedGroup("", "overall", 9, (("a", "b", 2.0), ("b", "c", 1.0)))])
    '3 of 9 people are decided on differently than by the unconstrained model: 2 from a to b, 1 \
from b to c.'
    """
    if not groups:
        return ""
    everybody = groups[0]
    if not everybody.moves:
        return "nobody is decided on differently than by the unconstrained model."
    largest = sorted(everybody.moves, key=lambda move: -move[2])
    lines = [f"{_about(number)} from {before} to {after}" for before, after, number in largest[:4]]
    more = "; the rest otherwise" if len(largest) > 4 else ""
    return (
        f"{_about(everybody.total)} of {everybody.count:,} people are decided on differently than "
        f"by the unconstrained model: {', '.join(lines)}{more}."
    )


def switched_groups(rows: Sequence[SwitchedContents | MovedContents]) -> list[SwitchedGroup]:
    """Return switched decisions group by group, people of both labels together.

    >>> rows = [SwitchedContents("sex", "F", 0, 9, 2.0, 1.0)]
    >>> rows.append(SwitchedContents("sex", "F", 1, 5, 1.0, 0.0))
    >>> switched_groups(rows)
    [SwitchedGroup(feature='sex', group='F', count=14, gained=3.0, lost=1.0, \
gained_qualified=1.0, lost_qualified=0.0)]
    """
    by_group: dict[tuple[str, str], list[SwitchedContents]] = {}
    for row in rows:
        if isinstance(row, SwitchedContents):
            by_group.setdefault((row.feature, row.group), []).append(row)
    found = []
    for names, some in by_group.items():
        people, gained, lost = (
            sum(getattr(row, part) for row in some) for part in ("people", "gained", "lost")
        )
        of_label = [(row.gained, row.lost) for row in some if row.label == 1]
        qualified = of_label[0] if of_label else (None, None)
        found.append(SwitchedGroup(*names, people, gained, lost, *qualified))
    return found


def switched_sentence(groups: Sequence[SwitchedGroup], favourable: str) -> str:
    """Return how many people gain and lose, and in which groups most; empty if not known.

    >>> switched_sentence([SwitchedGroup("", "overall", 14, 3.0, 1.0, 1.0, 0.0)], "yes")
    "3 of 14 people gain the favourable decision and 1 lose it, compared with the unconstrained \
model. Of those who gain 1 have the label 'yes', of those who lose 0."
    """
    if not groups:
        return ""
    everybody = groups[0]
    if not everybody.gained and not everybody.lost:
        return "nobody is decided on differently than by the unconstrained model."
    text = (
        f"{_about(everybody.gained)} of {everybody.count:,} people gain the favourable decision "
        f"and {_about(everybody.lost)} lose it, compared with the unconstrained model."
    )
    if everybody.gained_qualified is not None:
        text += (
            f" Of those who gain {_about(everybody.gained_qualified)} have the label "
            f"{favourable!r}, of those who lose {_about(everybody.lost_qualified)}."
        )
    return text + _most_and_least(groups)


def _most_and_least(groups: Sequence[SwitchedGroup]) -> str:
    """Return which groups gain most and least on balance, by name."""
    compared = [group for group in groups if group.feature == groups[-1].feature and group.count]
    if len(compared) < 2:
        return ""
    lines = [
        f"{group.group} ({_about(group.gained)} gain, {_about(group.lost)} lose, of "
        f"{group.count:,})"
        for group in (pick(compared, key=lambda group: group.balance) for pick in (max, min))
    ]
    return (
        f" Gains less losses, as a share of the group, are largest for {lines[0]}, least for "
        f"{lines[1]}."
    )


def _about(people: float | None) -> str:
    """Return a number of people; an expected one is rounded and says so."""
    people = people or 0.0
    return f"{'' if abs(people - round(people)) < 1e-6 else 'about '}{people:,.0f}"
