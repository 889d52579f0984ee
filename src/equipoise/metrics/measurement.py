"""What was measured: error, inequalities and the headline of a classifier on some people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np

from equipoise.constraints.rows import Row
from equipoise.faces import Columns, Face, columns_of, folded, paragraph, table, text_lines
from equipoise.game.lagrangian import TOLERANCE, is_met
from equipoise.game.switches import Switched
from equipoise.metrics.headline import COMPARED, RULE, Headline
from equipoise.metrics.intervals import Interval
from equipoise.rows.fingerprint import Overlap

#: What a report has of each of the data: one `Measured`, or on a frontier a list, one for a bound.
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Measured(Face):
    """Error and violations of one classifier on one set of people.

    Attributes
    ----------
    data : "training", "out of fold" or "test"
        Whom the decisions were about; "out of fold" are the people of the training data, each
        decided on by a model that had not seen them.
    people : int
        How many they are.
    error : Interval
        In the units of the objective.
    excess : Interval
        The largest of all constraint values minus their bounds. Negative where there is room:
        then all bounds are met. All bounds are met for sure, at the level of the interval, where
        ``excess.high <= 0``. NaN where nothing could be compared, such as for one group alone.
    worst : Row or None
        The constraint that it is the excess of.
    rows : tuple of (Row, Interval)
        The same for each constraint; the intervals hold for all of them at once. NaN for one that
        holds or not whatever is decided, which compares nothing.
    bound : float or None
        ``eps``, on a frontier.
    unshown : str
        A sentence about the difference that so few people say least about, where its bound is
        smaller than its sampling error; else empty.
    unknown : float
        The share of the people who lack a sensitive feature: they are in no group that it makes.
    headline : Headline or None
        The constraint that stands first: that with the largest lower limit or, where no difference
        is certain, with the largest estimate of 30 or more people. Of a few people the estimate may
        be far off, and be the largest of all by chance; their interval is wide, and says so.
    largest : Headline or None
        The largest excess of the constraints by which classifiers are compared: of those whose
        rarest rate is of 30 or more people, on training data of all. They are the same for every
        classifier, so that bounds of a frontier can be compared; the interval is that of the
        largest.
    """

    data: str
    people: int
    error: Interval
    excess: Interval
    worst: Row | None
    rows: tuple[tuple[Row, Interval], ...] = field(repr=False)
    bound: float | None = None
    unshown: str = ""
    unknown: float = 0.0
    headline: Headline | None = None
    largest: Headline | None = None

    @property
    def met(self) -> bool:
        """Whether all bounds are met, whatever the interval says; what is unknown is not met."""
        return is_met(self.excess.estimate)

    @property
    def violation(self) -> Interval:
        """By how much the worst bound is exceeded; zero where it is met."""
        return Interval(*(max(end, 0.0) for end in self.excess))

    def shown(self) -> dict[str, Any]:
        """Return the columns of a table of results."""
        found: dict[str, Any] = {"data": self.data, "people": self.people}
        found |= {} if self.bound is None else {"bound": self.bound}
        what = "excess" if self.bound is None else "largest_difference"
        row, _, people = self._stated or ("", None, None)
        of = {"of": str(row), "of_people": people}
        return found | _ends("error", self.error) | _ends(what, self._headlined) | of

    @property
    def other(self) -> str:
        """A sentence about all inequalities, where the headline does not say it."""
        if self.bound is not None or self.headline is None:
            return ""
        if is_met(self.excess.high):
            return f"{self.data}: no upper limit is above its bound."
        if self.excess.estimate <= self._headlined.estimate + TOLERANCE:  # the same, or as large
            return ""
        estimate = next(_shown(excess, "+") for row, excess in self.rows if row == self.worst)
        return f"{self.data}: the largest estimate is {estimate}, of {self.worst}."

    @property
    def _stated(self) -> Headline | None:
        """The headline; on a frontier, whose bounds are compared, the largest."""
        return self.headline if self.bound is None else self.largest

    @property
    def _headlined(self) -> Interval:
        """The excess that is stated; on a frontier the difference."""
        excess = self.excess if self._stated is None else self._stated.excess
        return excess if self.bound is None else _difference(excess, self.bound)

    def _columns(self) -> Columns:
        names = [row.sentence() for row, _ in self.rows]
        ends = np.array([interval for _, interval in self.rows]).reshape(-1, 3).T
        return {"constraint": names, **_ends("excess", ends)}

    @property
    def compared_difference(self) -> Interval:
        """On a frontier: the largest difference by which bounds are compared, see `largest`."""
        if self.bound is None:
            raise ValueError("only a frontier has one bound for all; see excess and rows.")
        return self._headlined

    @property
    def disparity(self) -> Interval:
        """On a frontier: the largest difference, which is bound plus excess."""
        if self.bound is None:
            raise ValueError("only a frontier has one bound for all; see excess and rows.")
        return _difference(self.excess, self.bound)


def _difference(excess: Interval, bound: float) -> Interval:
    """Return the difference: the bound plus the excess over it."""
    return Interval(*(max(bound + end, 0.0) for end in excess))


class ViolationReport(Face, Generic[Entry]):
    """What was measured on training, out-of-fold and test data, with confidence intervals.

    Printed, it is a table. See `Measured` for its entries.

    Parameters
    ----------
    measured : sequence of Measured
    level : float
        Level of the intervals.
    overlap : Overlap, optional
        How many of the people of the test data were learned from; None where that is not known.
    switched : mapping from data to Switched, optional
        Who is decided on differently than by the unconstrained model, by group and label.
    """

    def __init__(
        self,
        measured: list[Measured],
        level: float,
        overlap: Overlap | None = None,
        switched: Mapping[str, Switched | None] | None = None,
    ) -> None:
        self.measured, self.level, self.overlap = measured, level, overlap
        self.switched = {data: found for data, found in (switched or {}).items() if found}

    def __len__(self) -> int:
        return len(self.measured)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self.measured)

    def __getitem__(self, data: str) -> Entry:
        """Return what was measured on these data: one entry, or on a frontier one a bound."""
        found = [entry for entry in self.measured if entry.data == data]
        if not found:
            known = ", ".join(repr(name) for name in dict.fromkeys(e.data for e in self.measured))
            raise KeyError(f"nothing was measured on {data!r}; there are {known}.")
        return cast(Entry, found if found[0].bound is not None else found[0])

    def __repr__(self) -> str:
        return f"<ViolationReport: {len(self)} entries>"

    def __str__(self) -> str:
        traced = any(entry.bound is not None for entry in self.measured)
        what = "largest difference" if traced else "excess over the bound"
        lines = [["data", "people", *(["bound"] * traced), "error", what, "of (people)"]]
        for entry in self.measured:
            line = [entry.data, f"{entry.people:,}"]
            line += [] if entry.bound is None else [f"{entry.bound:.4f}"]
            line += [_shown(entry.error), _shown(entry._headlined, "" if traced else "+")]
            lines.append([*line, str(entry._stated or "")])
        return "\n".join(text_lines(lines, lines[0]) + self._notes())

    def _columns(self) -> Columns:
        return columns_of(self.measured)

    def _repr_html_(self) -> str:
        moved = (
            folded(f"{data}: who is decided on differently", found._repr_html_())
            for data, found in self.switched.items()
        )
        return table(self._columns()) + "".join([*map(paragraph, self._notes()), *moved])

    def _notes(self) -> list[str]:
        """Return what the numbers do not say by themselves."""
        which = f"of all inequalities the one with {RULE}"
        if any(entry.bound is not None for entry in self.measured):
            which = f"the largest difference is {COMPARED}"
        notes = [f"[...]: {self.level:.0%} confidence intervals; {which}"]
        notes += [text for entry in self.measured if (text := entry.other)]
        # On a frontier, of the largest such bound: smaller ones are no better.
        unshown = {entry.data: entry.unshown for entry in self.measured if entry.unshown}
        notes += [f"{data}: {text}" for data, text in unshown.items()]
        lacking = {entry.data: entry.unknown for entry in self.measured if entry.unknown}
        notes += [
            f"{data}: the group of {share:.1%} of the people is unknown; they count in the error, "
            "and in no group. group_table(..., missing='ignore') bounds what that may hide."
            for data, share in lacking.items()
        ]
        notes += [
            f"{data}: {found.sentence()}, against the unconstrained model."
            for data, found in self.switched.items()
        ]
        if any(entry.data == "test" for entry in self.measured):
            known = self.overlap or "whether they were learned from is not known"
            notes.append(f"test: {known}.")
        return notes


def _ends(name: str, ends: Iterable[Any]) -> dict[str, Any]:
    """Return an estimate and the ends of its interval by the names of their columns."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


def _shown(interval: Interval, sign: str = "") -> str:
    if np.isnan(interval.estimate):
        return "not known"
    # Adding zero after rounding turns -0.0 into 0.0.
    estimate, low, high = (f"{round(end, 4) + 0.0:{sign}.4f}" for end in interval)
    return f"{estimate} [{low}, {high}]" if np.isfinite(interval.low) else estimate
