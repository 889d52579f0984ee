"""Strata: the rows of a constraint as a . p <= c over rates p of disjoint groups of people."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import add_up
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import group_name
from equipoise.constraints.rows import Row
from equipoise.exceptions import AbsentGroupWarning, EquipoiseWarning
from equipoise.guarantees.row_tables import RowTables
from equipoise.metrics.audit import Tally


@dataclass(frozen=True, eq=False)
class RowStrata:
    """The rows of a constraint over disjoint strata, with the coefficients of a fit.

    A row's events may overlap: "F above overall" speaks of F and of everybody. Its strata are then
    the parts that they divide people into, F and the others, and everybody is made of these parts
    in the shares that they had in the fit.

    Attributes
    ----------
    rows : tuple of Row
        Those that some decisions could exceed.
    strata : array of shape (K, S)
        The number of each stratum of a row.
    a : array of shape (K, S)
        Coefficients; zero where a row has fewer strata.
    c : array of shape (K,)
    shift : array of shape (K,)
        What is added to a . p and c to get the row's value and bound as it is written.
    inside : mask of shape (T, C)
        The cells of each stratum.
    outcome : array of shape (T, C, V)
        In [0, 1]: what is averaged over a stratum, for each decision.
    rates : array of shape (T,)
        Those of the fit.
    cells : CellTable
        Every combination of features in the fit, with each label in order.
    """

    rows: tuple[Row, ...]
    strata: NDArray[np.intp]
    a: Array
    c: Array
    shift: Array
    inside: Mask
    outcome: Array
    rates: Array
    cells: CellTable

    @classmethod
    def of_fit(cls, constraint: Constraint, fit: Tally, worst_rate: float = 0.0) -> RowStrata:
        """Compile a constraint over the people of a fit; see `Meter.measure` for ``worst_rate``."""
        cells, chances = _all_labels(fit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquipoiseWarning)  # the fit has warned
            tables = RowTables.compiled(constraint, cells)
        moments, known = tables.moments, _Numbers()
        kept, c, shift = [], [], []
        for row, coefficients, bound in zip(moments.rows, tables.M, moments.c, strict=True):
            bound = worst_rate if row.bound is None else bound
            parts = list(_parts(coefficients, tables))
            constant = sum(part.constant for part in parts)
            if parts := [part for part in parts if part.a]:
                kept.append((row, [(known.of(part), part.a) for part in parts]))
                c.append(bound - constant)
                shift.append(constant)
        strata = np.zeros((len(kept), max((len(p) for _, p in kept), default=0)), dtype=np.intp)
        a = np.zeros(strata.shape)
        for k, (_, numbered) in enumerate(kept):
            for s, (number, coefficient) in enumerate(numbered):
                strata[k, s], a[k, s] = number, coefficient
        inside, outcome = known.tables(cells)
        decided = outcome[:, :, 0]
        for v, selected in enumerate(chances, 1):
            decided = decided + selected * (outcome[:, :, v] - outcome[:, :, 0])
        mass = inside * cells.population
        rates = (mass * decided).sum(axis=1) / mass.sum(axis=1)
        rows = tuple(row for row, _ in kept)
        return cls(rows, strata, a, np.array(c), np.array(shift), inside, outcome, rates, cells)

    @property
    def needs_labels(self) -> bool:
        """Whether strata or outcomes depend on the label."""
        V = self.cells.n_decisions
        inside = self.inside.reshape(len(self.inside), -1, V)
        outcome = self.outcome.reshape(*inside.shape, V)
        same = (inside == inside[:, :, :1]).all() and (outcome == outcome[:, :, :1]).all()
        return not same

    def sums(self, people: Cells, h: Array) -> tuple[Array, Array]:
        """Return sums of outcomes and numbers of people, of shape (K, S), from decisions."""
        at = self._known_cells(people)
        chosen = people.by_decision(people.sum(h) * people.total_weight).T
        known, size = at >= 0, self.cells.n_cells
        count = add_up(at[known], size, people.count[known])
        each = [add_up(at[known], size, np.ascontiguousarray(some[known])) for some in chosen]
        return self.sums_of_cells(count, each)

    def sums_of_cells(self, count: Array, chosen: Sequence[Array]) -> tuple[Array, Array]:
        """Return the same from the people of each cell, and those of each decision but the first.

        All are of shape (..., C).
        """
        first, *others = np.moveaxis(self.outcome * self.inside[:, :, None], 2, 0)
        successes, n = (count - sum(chosen)) @ first.T, count @ self.inside.T
        for some, outcome in zip(chosen, others, strict=True):
            successes = successes + some @ outcome.T
        used, at = self.a != 0, self.strata
        return np.where(used, successes[..., at], 0.0), np.where(used, n[..., at], 0.0)

    def _known_cells(self, people: Cells) -> NDArray[np.intp]:
        """Return the cell of the fit that each cell of other people is; -1 for none."""
        numbers = {key: number for number, key in enumerate(_keys(self.cells))}
        at = np.array([numbers.get(key, -1) for key in _keys(people)], dtype=np.intp)
        strange = {key[:-1] for key, found in zip(_keys(people), at, strict=True) if found < 0}
        if not strange:
            return at
        names = ", ".join(sorted(map(group_name, strange))[:4])
        if (at < 0).all():
            known = ", ".join(dict.fromkeys(group_name(key[:-1]) for key in list(numbers)[:8]))
            raise ValueError(
                f"nobody is of a group of the fit: these people are {names}, and the fit had "
                f"{known}. Pass the features, and the values, that the fit had."
            )
        warnings.warn(
            f"{int(people.count[at < 0].sum()):,} people are of no group of the fit ({names}): "
            "no bound speaks of them, and they are not counted.",
            AbsentGroupWarning,
            stacklevel=4,
        )
        return at


@dataclass(frozen=True, eq=False)
class _Part:
    """A stratum of one row: a . E[outcome] + constant is what it adds to the row's value."""

    inside: Mask
    outcome: Array
    a: float
    constant: float


class _Numbers:
    """Numbers of strata, the same for equal ones."""

    def __init__(self) -> None:
        self._parts: dict[tuple[bytes, bytes], tuple[int, _Part]] = {}

    def of(self, part: _Part) -> int:
        key = (part.inside.tobytes(), part.outcome.round(12).tobytes())
        return self._parts.setdefault(key, (len(self._parts), part))[0]

    def tables(self, cells: CellTable) -> tuple[Mask, Array]:
        parts, shape = [part for _, part in self._parts.values()], (-1, cells.n_cells)
        inside = np.array([part.inside for part in parts], dtype=bool).reshape(shape)
        outcome = np.array([part.outcome for part in parts])
        return inside, outcome.reshape(*shape, cells.n_decisions)


def _parts(coefficients: Array, tables: RowTables) -> Iterator[_Part]:
    """Yield the strata of one row: people who are in the same of its events."""
    used, population = np.flatnonzero(coefficients), tables.cells.population
    events = tables.event[used] > 0
    for pattern in np.unique(events.T, axis=0):
        inside = (pattern == events.T).all(axis=1)
        mass = population[inside].sum()
        if not pattern.any() or not mass > 0:
            continue
        value = np.zeros((len(population), tables.g.shape[2]))
        for j in used[pattern]:
            value += coefficients[j] * mass / (tables.event[j] @ population) * tables.g[j]
        yield _in_unit_range(inside, np.where(inside[:, None], value, 0.0))


def _in_unit_range(inside: Mask, value: Array) -> _Part:
    """Return the stratum with its outcome in [0, 1], larger for those selected where it can be.

    Of more than two decisions, larger for the fewer of them.
    """
    low, high = float(value[inside].min()), float(value[inside].max())
    if high - low < 1e-12:
        return _Part(inside, value, 0.0, low)
    falls = (value[inside, 1] - value[inside, 0]).sum() < 0
    if value.shape[1] > 2:
        falls = value[inside].mean() > (low + high) / 2
    start, a = (high, low - high) if falls else (low, high - low)
    return _Part(inside, np.where(inside[:, None], (value - start) / a, 0.0), a, start)


def _all_labels(fit: Tally) -> tuple[CellTable, Array]:
    """Return the cells of a fit with all labels for every combination, and rates of decisions.

    The rates, of every decision but the first, have the shape (V - 1, C).
    """
    given, V = fit.cells, fit.cells.n_decisions
    nobody = np.zeros(given.n_cells * (V - 1))

    def repeated(columns: Mapping[str, NDArray]) -> dict[str, NDArray]:
        return {name: np.concatenate([values] * V) for name, values in columns.items()}

    cells, code = CellTable.from_sums(
        np.concatenate([(given.label + shift) % V for shift in range(V)]),
        repeated(given.sensitive),
        repeated(given.control),
        np.concatenate([given.count, nobody]),
        np.concatenate([given.population, nobody]),
        decisions=given.decisions,
    )
    chances = np.full((V - 1, cells.n_cells), 1.0 / V)
    for v, chance in enumerate(chances, 1):
        table = np.tile(np.eye(V)[v], (given.n_cells, 1))
        for cell in np.flatnonzero(given.population > 0):
            offset, slope = given.average(np.arange(given.n_cells) == cell, table)
            chance[code[cell]] = offset + slope @ fit.s
    return cells, np.clip(chances, 0.0, 1.0)


def _keys(cells: CellTable) -> list[tuple[Hashable, ...]]:
    columns: list[Any] = [*cells.sensitive.values(), *cells.control.values(), cells.label]
    return list(zip(*(column.tolist() for column in columns), strict=True))
