"""Violations: how far each constraint is from its bound, on which data, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from equipoise.cells.codes import add_up
from equipoise.cells.layered import AnyCells
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.moments import Builder, Row
from equipoise.game.objectives import Loss, Objective, loss_table
from equipoise.metrics import Interval
from equipoise.metrics.uncertainty import wilson

#: Draws from the normal distribution that give the quantile of the largest of many deviations.
_N_NORMAL = 10_000
_CHUNK = 1 << 22
_UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))

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
        count in more than one way (`equipoise.cells.layered`): then there are no intervals.
    """

    cells: CellTable
    s: Array
    squares: Squares | None

    @classmethod
    def of_people(cls, cells: AnyCells, h: Array) -> Tally:
        """Add up decisions, or the probabilities of them, person by person."""
        table, s = cells.table(), cells.sum(h)
        if not isinstance(cells, Cells):
            return cls(table, s, None)
        square = np.full(len(h), len(h) ** -2.0)
        if cells.weight is not None:
            square = np.square(cells.weight / cells.total_weight)
        w2h, w2hh = (
            add_up(cells.code, cells.n_cells, values) for values in (square * h, square * h**2)
        )
        return cls(table, s, _doubted(table, s, (table.square, w2h, w2hh)))

    @classmethod
    def of_sums(cls, table: CellTable, s: Array, squares: Squares) -> Tally:
        """Make one from sums over cells: s, and those of w^2, w^2 h and w^2 h^2."""
        return cls(table, s, _doubted(table, s, squares))

    @classmethod
    def of_shares(cls, table: CellTable, s: Array) -> Tally:
        """Make one from selected shares alone, as a pool of classifiers knows them.

        Decisions count as drawn, which makes intervals of a mixture a little wider, and weights
        as unrelated to decisions within a cell.
        """
        if not table.is_plain:
            return cls(table, s, None)
        drawn = table.square * np.clip(s / np.maximum(table.mass, 1e-300), 0.0, 1.0)
        return cls(table, s, _doubted(table, s, (table.square, drawn, drawn)))


def _doubted(table: CellTable, s: Array, squares: Squares) -> Squares:
    """Let no cell vary less than with one more person either way.

    Few people who are decided on alike show next to no variance, which proves little.
    """
    w2, w2h, w2hh = squares
    rate = s / np.maximum(table.mass, 1e-300)
    centre = (table.count * rate + 1) / (table.count + 2)
    least = table.count * (centre**2 + (1 - centre) ** 2) / (table.count + 2) ** 2
    return w2, w2h, np.maximum(w2hh, w2 * (rate**2 + least))


@dataclass(frozen=True)
class Measured:
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
        ``excess.high <= 0``.
    worst : Row
        The constraint that it is the excess of.
    rows : tuple of (Row, Interval)
        The same for each constraint; the intervals hold for all of them at once.
    bound : float or None
        ``eps``, on a frontier.
    """

    data: str
    people: int
    error: Interval
    excess: Interval
    worst: Row | None
    rows: tuple[tuple[Row, Interval], ...] = field(repr=False)
    bound: float | None = None

    @property
    def violation(self) -> Interval:
        """By how much the worst bound is exceeded; zero where it is met."""
        return Interval(*(max(end, 0.0) for end in self.excess))

    @property
    def disparity(self) -> Interval:
        """On a frontier: the largest difference, which is bound plus excess."""
        if self.bound is None:
            raise ValueError("only a frontier has one bound for all; see excess and rows.")
        return Interval(*(max(self.bound + end, 0.0) for end in self.excess))


class ViolationReport:
    """What was measured on training, out-of-fold and test data, with confidence intervals.

    Printed, it is a table. See `Measured` for its entries.

    Parameters
    ----------
    measured : sequence of Measured
    level : float
        Level of the intervals.
    """

    def __init__(self, measured: list[Measured], level: float) -> None:
        self.measured, self.level = measured, level

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
        middle = ["largest difference"] if traced else ["excess over the bound", "of"]
        lines = [["data", "people", *(["bound"] if traced else []), "error", *middle]]
        for entry in self.measured:
            line = [entry.data, f"{entry.people:,}"]
            if traced:
                line += [f"{entry.bound:.4f}", _shown(entry.error), _shown(entry.disparity)]
            else:
                line += [_shown(entry.error), _shown(entry.excess, "+"), str(entry.worst or "")]
            lines.append(line)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, f"[...]: {self.level:.0%} confidence intervals"])


def _shown(interval: Interval, sign: str = "") -> str:
    # Adding zero after rounding turns -0.0 into 0.0.
    estimate, low, high = (f"{round(end, 4) + 0.0:{sign}.4f}" for end in interval)
    return f"{estimate} [{low}, {high}]" if np.isfinite(interval.low) else estimate


def measure(
    tallies: Mapping[str, Tally],
    constraint: Constraint,
    objective: Objective | Loss | None,
    *,
    level: float = 0.95,
    lowest_level: float = 0.0,
    bound: float | None = None,
) -> list[Measured]:
    """Measure a classifier on several data.

    Parameters
    ----------
    tallies : mapping from name to Tally
    constraint : Constraint
    objective : as for `FairClassifier`
    level : float
        Level of the intervals.
    lowest_level : float
        The bound of elastic rows, which have none of their own.
    bound : float, optional
        ``eps``, on a frontier.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; expected a number between 0 and 1, such as 0.95.")
    measured = []
    for data, tally in tallies.items():
        gaps = _Gaps(tally, constraint, lowest_level)
        rows = gaps.intervals(level)
        worst = int(gaps.excess.argmax()) if len(rows) else None
        measured.append(
            Measured(
                data=data,
                people=round(float(tally.cells.count.sum())),
                error=_error(tally, objective, level),
                excess=_largest([interval for _, interval in rows]),
                worst=None if worst is None else rows[worst][0],
                rows=rows,
                bound=bound,
            )
        )
    return measured


def _largest(intervals: list[Interval]) -> Interval:
    """Return the limits of the largest, given limits that hold for all at once."""
    if not intervals:
        return _UNKNOWN
    return Interval(*(float(np.max(ends)) for ends in zip(*intervals, strict=True)))


def _error(tally: Tally, objective: Objective | Loss | None, level: float) -> Interval:
    table = loss_table(objective, tally.cells)
    offset, slope = tally.cells.total(table)
    value = float(offset + tally.s @ slope)
    if tally.squares is None:
        return Interval(value, float("nan"), float("nan"))
    low, high = table.T
    variance = float(_second_moment(low - value, high - low, tally.squares))
    if table.max() <= 1 and 0 < value < 1 and variance > 0:
        ends = wilson(np.array([value]), np.array([value * (1 - value) / variance]), level)
        return Interval(value, float(ends[0][0]), float(ends[1][0]))
    half = float(norm.ppf((1 + level) / 2)) * np.sqrt(variance)
    return Interval(value, value - half, value + half)


def _second_moment(at_zero: Array, slope: Array, squares: Squares) -> Array:
    """Return the sum over people of w^2 (at_zero + slope h)^2."""
    w2, w2h, w2hh = squares
    return at_zero**2 @ w2 + 2 * (at_zero * slope) @ w2h + slope**2 @ w2hh


class _Noted(Builder):
    """A builder that keeps the events, and what is averaged over them."""

    def __init__(self, cells: CellTable) -> None:
        super().__init__(cells)
        self.noted: list[tuple[Mask, Any]] = []

    def moment(self, event: Mask, g: Array | str) -> int:
        number = super().moment(event, g)
        if number == len(self.noted):
            self.noted.append((event, g))
        return number


class _Gaps:
    """The constraint values less their bounds, gamma - c, and how they vary between samples."""

    def __init__(self, tally: Tally, constraint: Constraint, lowest_level: float) -> None:
        builder = _Noted(tally.cells)
        constraint.add_rows(builder)
        self.moments, self.tally, self.noted = builder.build(), tally, builder.noted
        self.mu = self.moments.mu(tally.s)
        c = self.moments.c
        if self.moments.elastic is not None:
            c = np.where(self.moments.elastic, lowest_level, c)
        self.excess = self.moments.M @ self.mu - c

    def intervals(self, level: float) -> tuple[tuple[Row, Interval], ...]:
        """Return each row with an interval; all of them hold at once, at this level."""
        if self.tally.squares is None:
            half = np.full(len(self.excess), np.nan)
        else:
            half = self._half_widths(self._covariance(self.tally.squares), level)
        return tuple(
            (row, Interval(float(value), float(value - h), float(value + h)))
            for row, value, h in zip(self.moments.rows, self.excess, half, strict=True)
        )

    def _covariance(self, squares: Squares) -> Array:
        """Return the covariance of the moments, by linearisation: shape (J, J).

        A moment is a ratio of sums, N / D; a person of weight w in its event who gets g moves it
        by w (g - mu) / D.
        """
        shape = len(self.noted), self.tally.cells.n_cells
        at_zero, slope = np.zeros(shape), np.zeros(shape)
        for j, (event, g) in enumerate(self.noted):
            share = event / self.tally.cells.mass[event].sum()
            at_zero[j] = share * (g[:, 0] - self.mu[j])
            slope[j] = share * (g[:, 1] - g[:, 0])
        w2, w2h, w2hh = squares
        cross = (at_zero * w2h) @ slope.T
        return (at_zero * w2) @ at_zero.T + cross + cross.T + (slope * w2hh) @ slope.T

    def _half_widths(self, covariance: Array, level: float) -> Array:
        """Return half the width of each row's interval, so wide that all hold at once."""
        M = self.moments.M
        error = np.sqrt(np.clip(np.einsum("kj,jl,kl->k", M, covariance, M, optimize=True), 0, None))
        usable = error > 1e-15
        if not usable.any():
            return np.zeros(len(M))
        scale, axes = np.linalg.eigh(covariance)
        root = axes * np.sqrt(np.clip(scale, 0.0, None))
        to_rows = (M[usable] / error[usable, None]) @ root
        # Fixed: the quantile must not differ between calls.
        normal = np.random.default_rng(0).standard_normal((_N_NORMAL, len(covariance)))
        pieces = -(-_N_NORMAL * len(to_rows) // _CHUNK)
        largest = np.concatenate(
            [np.abs(part @ to_rows.T).max(axis=1) for part in np.array_split(normal, pieces)]
        )
        return float(np.quantile(largest, level)) * error
