"""Violations: how far each constraint is from its bound, on which data, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import people_of
from equipoise.constraints.moments import DIFFERENCE, Moments, MomentsBuilder, Row
from equipoise.constraints.slopes import row_blocks, slopes_of
from equipoise.faces import Columns, Face, columns_of, paragraph, table
from equipoise.game.lagrangian import TOLERANCE, Loss, Objective, is_met, loss_table
from equipoise.metrics.audit import Tally
from equipoise.metrics.intervals import (
    Interval,
    Means,
    check_level,
    joint_limits,
    normal_quantile,
)
from equipoise.metrics.unknown import share_unknown
from equipoise.rows.fingerprint import Overlap


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

    @property
    def met(self) -> bool:
        """Whether all bounds are met, whatever the interval says; what is unknown is not met."""
        return is_met(self.excess.estimate)

    @property
    def violation(self) -> Interval:
        """By how much the worst bound is exceeded; zero where it is met."""
        return Interval(*(max(end, 0.0) for end in self.excess))

    def _shown(self) -> dict[str, Any]:
        found: dict[str, Any] = {"data": self.data, "people": self.people}
        if self.bound is None:
            of = {"of": str(self.worst or "")}
            return found | _ends("error", self.error) | _ends("excess", self.excess) | of
        found["bound"] = self.bound
        return found | _ends("error", self.error) | _ends("largest_difference", self.disparity)

    def _columns(self) -> Columns:
        names = [row.sentence() for row, _ in self.rows]
        ends = np.array([interval for _, interval in self.rows]).reshape(-1, 3).T
        return {"constraint": names, **_ends("excess", ends)}

    @property
    def disparity(self) -> Interval:
        """On a frontier: the largest difference, which is bound plus excess."""
        if self.bound is None:
            raise ValueError("only a frontier has one bound for all; see excess and rows.")
        return Interval(*(max(self.bound + end, 0.0) for end in self.excess))


class ViolationReport(Face):
    """What was measured on training, out-of-fold and test data, with confidence intervals.

    Printed, it is a table. See `Measured` for its entries.

    Parameters
    ----------
    measured : sequence of Measured
    level : float
        Level of the intervals.
    overlap : Overlap, optional
        How many of the people of the test data were learned from; None where that is not known.
    """

    def __init__(
        self, measured: list[Measured], level: float, overlap: Overlap | None = None
    ) -> None:
        self.measured, self.level, self.overlap = measured, level, overlap

    def __len__(self) -> int:
        return len(self.measured)

    def __iter__(self) -> Any:
        return iter(self.measured)

    def __getitem__(self, data: str) -> Measured | list[Measured]:
        """Return what was measured on these data: one entry, or on a frontier one a bound."""
        found = [entry for entry in self.measured if entry.data == data]
        if not found:
            known = ", ".join(repr(name) for name in dict.fromkeys(e.data for e in self.measured))
            raise KeyError(f"nothing was measured on {data!r}; there are {known}.")
        return found if found[0].bound is not None else found[0]

    def __repr__(self) -> str:
        return f"<ViolationReport: {len(self)} entries>"

    def __str__(self) -> str:
        traced = any(entry.bound is not None for entry in self.measured)
        lines = [["data", "people", "error", "excess over the bound", "of"]]
        if traced:
            lines = [["data", "people", "bound", "error", "largest difference"]]
        for entry in self.measured:
            line = [entry.data, f"{entry.people:,}"]
            if traced:
                line += [f"{entry.bound:.4f}", _shown(entry.error), _shown(entry.disparity)]
            else:
                line += [_shown(entry.error), _shown(entry.excess, "+"), str(entry.worst or "")]
            lines.append(line)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        told = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join(told + self._notes())

    def _columns(self) -> Columns:
        return columns_of(self.measured)

    def _repr_html_(self) -> str:
        return table(self._columns()) + "".join(map(paragraph, self._notes()))

    def _notes(self) -> list[str]:
        """Return what the numbers do not say by themselves."""
        notes = [f"[...]: {self.level:.0%} confidence intervals"]
        # On a frontier, of the largest such bound: smaller ones are no better.
        unshown = {entry.data: entry.unshown for entry in self.measured if entry.unshown}
        notes += [f"{data}: {text}" for data, text in unshown.items()]
        lacking = {entry.data: entry.unknown for entry in self.measured if entry.unknown}
        notes += [
            f"{data}: the group of {share:.1%} of the people is unknown; they count in the error, "
            "and in no group. group_table(..., missing='ignore') bounds what that may hide."
            for data, share in lacking.items()
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


def measure(
    tallies: Mapping[str, Tally],
    constraint: Constraint,
    objective: Objective | Loss | None,
    *,
    known: CellTable | None = None,
    **options: Any,
) -> list[Measured]:
    """Measure a classifier on several data; see `Meter` and its `Meter.measure`."""
    return [
        Meter(tally.cells, constraint, objective, known).measure(data, tally, **options)
        for data, tally in tallies.items()
    ]


class Meter:
    """Measures any number of classifiers on one table of cells; constraints are compiled once.

    Parameters
    ----------
    cells : CellTable
        The table of the tallies to come.
    constraint : Constraint
    objective : as for `FairClassifier`
    known : CellTable, optional
        The cells of the fit. Bounds on groups that only the fit had are not measured.

    Examples
    --------
    >>> from equipoise.constraints import DemographicParity
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> meter = Meter(cells, DemographicParity(), None)
    >>> tally = Tally.of_people(cells, np.array([0.0, 1.0, 0.0, 0.0]))
    >>> for eps in (0.1, 0.3):
    ...     print(meter.measure("training", tally, bound=eps).met)
    False
    True
    """

    def __init__(
        self,
        cells: CellTable,
        constraint: Constraint,
        objective: Objective | Loss | None,
        known: CellTable | None = None,
    ) -> None:
        builder = MomentsBuilder(cells, known)
        constraint.add_rows(builder)
        self.moments, self._averaged = builder.build(), builder.averaged
        self._cells = cells
        slopes = row_blocks(slopes_of(self.moments.M, self.moments.U))
        moved = [np.abs(some).max(axis=1, initial=0.0) > TOLERANCE for _, some in slopes]
        self._compared = np.concatenate([np.zeros(0, dtype=bool), *moved])
        self._loss = loss_table(objective, cells)
        self._error_known = True
        if cells.together is not None:
            unknown = np.array([_tells_apart(cells, *average) for average in self._averaged])
            self._compared &= ~(abs(self.moments.M) @ unknown.astype(float) > 0)
            everybody = np.ones(cells.n_cells, dtype=bool)
            self._error_known = not _tells_apart(cells, everybody, self._loss)

    @property
    def compared(self) -> set[str]:
        """The inequalities that can be measured on these cells, without their bounds."""
        rows = zip(self.moments.rows, self._compared, strict=True)
        return {str(row) for row, known in rows if known}

    def excess(self, s: Array) -> Array:
        """Return by how much shares exceed the bounds that can be measured."""
        moments = self.moments
        return (moments.M @ moments.mu(s) - moments.c)[self._compared]

    def measure(
        self,
        data: str,
        tally: Tally,
        *,
        level: float = 0.95,
        worst_rate: float = 0.0,
        bound: float | None = None,
    ) -> Measured:
        """Return error and violations of the classifier that a tally is of.

        Elastic rows have no bound of their own, but ``worst_rate``. On a frontier ``bound``, which
        is ``eps``, takes the place of that of the constraint.
        """
        check_level(level)
        moments = self.moments if bound is None else self.moments.with_bound(bound)
        c = moments.c
        if moments.elastic is not None:
            c = np.where(moments.elastic, worst_rate, c)
        mu = moments.mu(tally.s)
        excess = moments.M @ mu - c
        low, high = self._limits(tally, mu, level)
        limits = np.where(self._compared, [excess, low - c, high - c], np.nan).T.tolist()
        rows = tuple((row, Interval(*ends)) for row, ends in zip(moments.rows, limits, strict=True))
        most, worst = largest(rows)
        people = round(float(tally.cells.count.sum()))
        unshown = self._unshown(moments, high - moments.M @ mu)
        error, unknown = self._error(tally, level), share_unknown(tally.cells)
        return Measured(data, people, error, most, worst, rows, bound, unshown, unknown)

    def _unshown(self, moments: Moments, reach: Array) -> str:
        """Return a sentence about a bound below the reach of its interval, if there is one."""
        is_difference = [row.limit == DIFFERENCE and row.bound is not None for row in moments.rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(
                self._compared & np.array(is_difference, dtype=bool), reach / moments.c, 0.0
            )
        if not len(times) or not times.max() > 1:
            return ""
        k = int(times.argmax())
        used = moments.M[[k]].indices
        fewest = int(used[moments.event_count[used].argmin()])
        who = people_of(self._cells, self._averaged[fewest][0])
        return (
            f"{moments.rows[k]}: known to ±{reach[k]:.2g} from {moments.event_count[fewest]:,.0f} "
            f"{who}, sampling error only; a bound of {moments.c[k]:.4g} is less than they can show."
        )

    def _limits(self, tally: Tally, mu: Array, level: float) -> tuple[Array, Array]:
        """Return limits of gamma = M mu that hold for all rows at once."""
        if tally.squares is None:
            return (np.full(len(self.moments.c), np.nan),) * 2
        if not len(mu):
            return np.zeros(0), np.zeros(0)
        events = np.array([event for event, _ in self._averaged], dtype=float)
        means = _means(tally, events, np.array([g for _, g in self._averaged], dtype=float), mu)
        return joint_limits([(means, self.moments.M)], level)[0]

    def _error(self, tally: Tally, level: float) -> Interval:
        offset, slope = tally.cells.total(self._loss)
        value = float(offset + tally.s @ slope) if self._error_known else np.nan
        if tally.squares is None or isinstance(self._loss, str):
            return Interval(value, float("nan"), float("nan"))
        everybody, mean = np.ones((1, len(self._loss))), np.array([value])
        means = _means(tally, everybody, self._loss[None], mean)
        ends = means.limits(normal_quantile(level))
        return Interval(value, *(float(end[0]) for end in ends))


def _tells_apart(cells: CellTable, event: Mask, g: Array | str) -> bool:
    """Whether E[g | event] needs cells one by one whose numbers are known together only."""
    assert cells.together is not None
    by_label = [cells.together & (cells.label == label) for label in range(cells.n_decisions)]
    parts = [mask for mask in by_label if mask.any()]
    if isinstance(g, str):  # a utility of each person's own is added up as decisions are
        return any(event[part].any() != event[part].all() for part in parts)
    return any(
        event[part].any() != event[part].all() or (event[part] & (g[part] != g[part][:1]).T).any()
        for part in parts
    )


def _means(tally: Tally, events: Array, g: Array, value: Array) -> Means:
    """Return the means of utilities g (J, C, V) over events (J, C), with their covariance."""
    cells, squares = tally.cells, tally.squares
    assert squares is not None
    if cells.n_decisions == 2:
        return Means.of_cells(events, g[:, :, 0], g[:, :, 1], cells.mass, value, squares)

    # Decisions count as drawn: those of a cell who get the same one are a cell of their own.
    def by_decision(every: Array, others: Array) -> Array:
        known = cells.by_decision(others)
        return np.column_stack([np.maximum(every - known.sum(axis=1), 0.0), known]).ravel()

    mass, square = by_decision(cells.mass, tally.s), by_decision(*squares[:2])
    each, none = g.reshape(len(g), -1), np.zeros_like(square)
    events = np.repeat(events, cells.n_decisions, axis=1)
    return Means.of_cells(events, each, each, mass, value, (square, none, none))


def largest(rows: Iterable[tuple[Row, Interval]]) -> tuple[Interval, Row | None]:
    """Return the largest of what is known and its row, given limits that hold for all at once."""
    known = [(row, interval) for row, interval in rows if not np.isnan(interval.estimate)]
    if not known:
        return Interval(np.nan, np.nan, np.nan), None
    worst = max(known, key=lambda pair: pair[1].estimate)[0]
    ends = zip(*(interval for _, interval in known), strict=True)
    return Interval(*(float(np.max(end)) for end in ends)), worst
