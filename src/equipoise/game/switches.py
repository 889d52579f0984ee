"""Switched decisions: who is decided on differently than without the constraints, by group."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.groups import plain_group
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.groups import group_name
from equipoise.faces import Columns, Face, Records, table, text_lines
from equipoise.game.mixture import Mixture


@dataclass(frozen=True)
class SwitchedRow:
    """How many people of a group with a label gain the favourable decision, and how many lose it.

    ``feature`` is the column that makes the group, "a x b" for combinations, "" for everybody,
    whose group is "overall". People of a randomized classifier are expected numbers, over its draw.
    """

    feature: str
    group: Hashable
    label: Any
    people: float
    gained: float
    lost: float

    def shown(self) -> dict[str, Any]:
        """Return the numbers as their table shows them, with the name of the group."""
        return {**vars(self), "group": group_name(self.group)}


@dataclass(frozen=True)
class MovedRow:
    """How many people of a group with a label move from one of several decisions to another.

    The unconstrained model decides ``before``, this one ``after``. ``people`` have the label, and
    ``switched`` of them move; otherwise as `SwitchedRow`.
    """

    feature: str
    group: Hashable
    label: Any
    people: float
    before: Any
    after: Any
    switched: float

    def shown(self) -> dict[str, Any]:
        """Return the numbers as their table shows them, with the name of the group."""
        return {**vars(self), "group": group_name(self.group)}


class DecisionTotal(NamedTuple):
    """How many people of a group gain one of several decisions, and how many lose it."""

    group: Hashable
    decision: Any
    people: float
    gained: float
    lost: float


class Total(NamedTuple):
    """People, and how many of them gain or lose the favourable decision."""

    people: float
    gained: float
    lost: float


class Moved(NamedTuple):
    """People, and how many of them are decided on differently, of more than two decisions."""

    people: float
    switched: float


@dataclass(frozen=True, eq=False, repr=False)
class Switched(Face):
    """Decisions that differ from those of the unconstrained model, counted by group and label.

    People are counted, whatever they weigh. Where groups are known by probability, and where a
    randomized classifier draws, the numbers are expected ones.

    Attributes
    ----------
    cells : CellTable
    moved : array of shape (V (V - 1), C)
        In each cell, how many move from one decision to another, in the order of `pairs`. Of two
        decisions: how many the unconstrained model does not select and this one does, and the
        other way round.
    classes : array of V labels
        Of two, the second is the favourable one.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]}).table()
    >>> print(Switched(cells, np.array([[0.0, 1, 0, 0], [0, 0, 0.5, 0]]), (0, 1)))
    group    label  people  gained  lost
    overall  0           2       0   0.5
    overall  1           2       1     0
    F        0           1       0     0
    F        1           1       1     0
    M        0           1       0   0.5
    M        1           1       0     0

    Of more decisions it is told who moves from which to which:

    >>> cells = Cells.from_columns([0, 1, 2], {"sex": ["F", "F", "M"]}, decisions="abc").table()
    >>> moved = np.zeros((6, 3))
    >>> moved[list(pairs(3)).index((2, 0)), 1] = 1
    >>> print(Switched(cells, moved, list("abc")))
    group    people  before  after  switched
    overall       3  c       a             1
    F             2  c       a             1
    M             1                        0
    """

    cells: CellTable
    moved: Array
    classes: ArrayLike

    @classmethod
    def of_mixture(
        cls, cells: CellTable, switches: NDArray, mixture: Mixture, classes: ArrayLike
    ) -> Self:
        """Return the switches of a mixture, from those of each classifier, (P, V (V - 1), C)."""
        moved = np.tensordot(mixture.weights, switches[mixture.indices], 1)
        return cls(cells, moved, classes)

    @property
    def labels(self) -> list[Any]:
        """The labels, as Python's own values."""
        return np.asarray(self.classes).tolist()

    @property
    def is_binary(self) -> bool:
        """Whether there are two decisions, one of which is the favourable one."""
        return len(self.moved) == 2

    @property
    def rows(self) -> Records[Any]:
        """A `SwitchedRow` for everybody and for every group, by label.

        Of more than two decisions there is a `MovedRow` for every two that somebody moves between.
        """
        if not self.is_binary:
            return Records(self._moves())
        return Records(
            SwitchedRow(feature, group, label, *self.total(mask & (self.cells.label == number)))
            for feature, group, mask in self.groups()
            for number, label in enumerate(self.labels)
        )

    def groups(self) -> Iterator[tuple[str, Hashable, Mask]]:
        """Yield feature, group and cells of everybody and of every group."""
        return _groups(self.cells)

    def between(self, mask: Mask) -> Iterator[tuple[Any, Any, float]]:
        """Yield two decisions and how many of some cells move from the first to the second."""
        labels, sums = self.labels, self.moved[:, mask].sum(axis=1).tolist()
        for (before, after), number in zip(pairs(len(labels)), sums, strict=True):
            if number > 0:
                yield labels[before], labels[after], number

    def by_decision(self) -> list[DecisionTotal]:
        """Return who gains each decision and who loses it, of everybody and of every group."""
        found = []
        for _, group, mask in self.groups():
            people, moves = float(self.cells.count[mask].sum()), [*self.between(mask)]
            for label in self.labels:
                gained = sum(some for _, after, some in moves if after == label)
                lost = sum(some for before, _, some in moves if before == label)
                found.append(DecisionTotal(group, label, people, gained, lost))
        return found

    def _moves(self) -> Iterator[MovedRow]:
        for feature, group, mask in self.groups():
            for at, label in enumerate(self.labels):
                of_label = mask & (self.cells.label == at)
                people = float(self.cells.count[of_label].sum())
                for moves in self.between(of_label):
                    yield MovedRow(feature, group, label, people, *moves)

    def total(self, mask: Mask | None = None) -> Total | Moved:
        """Return the sums over some cells; by default over all."""
        moved = self.moved if self.is_binary else self.moved.sum(axis=0, keepdims=True)
        every = (np.asarray(self.cells.count, dtype=float), *moved)
        kept = slice(None) if mask is None else mask
        sums = (float(values[kept].sum()) for values in every)
        return Total(*sums) if self.is_binary else Moved(*sums)

    def sentence(self) -> str:
        """Return the totals in words."""
        people, *others = map(number, self.total())
        if not self.is_binary:
            return f"{others[0]} of {people} people are decided on differently"
        gained, lost = others
        return f"{gained} of {people} people gain the favourable decision, {lost} lose it"

    def _moved_lines(self) -> Iterator[tuple[str, ...]]:
        yield "group", "people", "before", "after", "switched"
        for _, group, mask in self.groups():
            people = number(float(self.cells.count[mask].sum()))
            for before, after, some in [*self.between(mask)] or [("", "", 0.0)]:
                yield group_name(group), people, str(before), str(after), number(some)

    def _lines(self) -> list[tuple[str, ...]]:
        if not self.is_binary:
            return list(self._moved_lines())
        header = ("group", "label", "people", "gained", "lost")
        lines = [
            (
                group_name(row.group),
                str(row.label),
                *map(number, (row.people, row.gained, row.lost)),
            )
            for row in self.rows
        ]
        return [header, *lines]

    def __str__(self) -> str:
        return "\n".join(text_lines(self._lines(), left=("group", "label", "before", "after")))

    __repr__ = __str__

    def _columns(self) -> Columns:
        rows = self.rows
        named = {"feature": [row.feature for row in rows]}
        named["group"] = [group_name(row.group) for row in rows]
        texts, counts = ["label"], ["people", "gained", "lost"]
        if not self.is_binary:
            texts, counts = ["label", "before", "after"], ["people", "switched"]
        named |= {name: [str(getattr(row, name)) for row in rows] for name in texts}
        return {**named, **{name: [getattr(row, name) for row in rows] for name in counts}}

    def _repr_html_(self) -> str:
        header, *lines = self._lines()
        return table(dict(zip(header, zip(*lines, strict=True), strict=True)))


def pairs(n_decisions: int) -> Iterator[tuple[int, int]]:
    """Return every two decisions before and after, in the order in which moves are counted.

    >>> list(pairs(2)), len(list(pairs(3)))
    ([(0, 1), (1, 0)], 6)
    """
    return permutations(range(n_decisions), 2)


def number(people: float) -> str:
    """Return a number of people, with a decimal where it is an expected one.

    >>> number(1200.0), number(0.25), number(12.34)
    ('1,200', '0.2', '12.3')
    """
    whole = round(people)
    return f"{whole:,}" if abs(people - whole) < 1e-6 else f"{people:,.1f}"


def _groups(cells: CellTable) -> Iterator[tuple[str, Hashable, Mask]]:
    """Yield feature, group and cells of everybody, of each value, and of all combinations."""
    yield "", "overall", np.ones(cells.n_cells, dtype=bool)
    names = tuple(cells.sensitive)
    for size in dict.fromkeys((1, len(names))):
        for on in combinations(names, size):
            for group, mask in cells.groups(on).items():
                yield " x ".join(on), plain_group(group), mask
