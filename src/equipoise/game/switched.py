"""Switched decisions: who is decided on differently than without the constraints, by group."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.groups import group_name
from equipoise.faces import Columns, Face, Records, table
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

    def _shown(self) -> dict[str, Any]:
        return {**vars(self), "group": group_name(self.group)}


class Total(NamedTuple):
    """People, and how many of them gain or lose the favourable decision."""

    people: float
    gained: float
    lost: float


@dataclass(frozen=True, eq=False)
class Switched(Face):
    """Decisions that differ from those of the unconstrained model, counted by group and label.

    People are counted, whatever they weigh. Where groups are known by probability, and where a
    randomized classifier draws, the numbers are expected ones.

    Attributes
    ----------
    cells : CellTable
    gained, lost : array of shape (C,)
        In each cell, how many the unconstrained model does not select and this one does, and the
        other way round.
    classes : array of two labels
        The second is the favourable one.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]}).table()
    >>> print(Switched(cells, np.array([0.0, 1, 0, 0]), np.array([0, 0, 0.5, 0]), (0, 1)))
    group    label  people  gained  lost
    overall  0           2       0   0.5
    overall  1           2       1     0
    F        0           1       0     0
    F        1           1       1     0
    M        0           1       0   0.5
    M        1           1       0     0
    """

    cells: CellTable
    gained: Array
    lost: Array
    classes: ArrayLike

    @classmethod
    def of_mixture(
        cls, cells: CellTable, switches: NDArray, mixture: Mixture, classes: ArrayLike
    ) -> Self:
        """Return those of a mixture, from numbers of each classifier, shape (P, 2, C)."""
        gained, lost = np.tensordot(mixture.weights, switches[mixture.indices], 1)
        return cls(cells, gained, lost, classes)

    @property
    def rows(self) -> Records[SwitchedRow]:
        """A row for everybody and for every group, by label.

        Groups that a model file does not tell apart have none.
        """
        labels = np.asarray(self.classes).tolist()
        return Records(
            SwitchedRow(feature, group, label, *self.total(mask & (self.cells.label == number)))
            for feature, group, mask in _groups(self.cells)
            if self._is_told(mask)
            for number, label in enumerate(labels)
        )

    def _is_told(self, mask: Mask) -> bool:
        """Whether sums over these cells are known, and not only those of more groups together."""
        together = np.zeros(1, dtype=bool) if self.cells.together is None else self.cells.together
        inside = mask & together
        return not inside.any() or bool((inside == together).all())

    def total(self, mask: Mask | None = None) -> Total:
        """Return the sums over some cells; by default over all."""
        every = (np.asarray(self.cells.count, dtype=float), self.gained, self.lost)
        kept = slice(None) if mask is None else mask
        return Total(*(float(values[kept].sum()) for values in every))

    def sentence(self) -> str:
        """Return the totals in words."""
        people, gained, lost = map(number, self.total())
        return f"{gained} of {people} people gain the favourable decision, {lost} lose it"

    def _lines(self) -> list[tuple[str, ...]]:
        header = ("group", "label", "people", "gained", "lost")
        told = [
            (
                group_name(row.group),
                str(row.label),
                *map(number, (row.people, row.gained, row.lost)),
            )
            for row in self.rows
        ]
        return [header, *told]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([a.ljust(widths[0]), b.ljust(widths[1]), *map(str.rjust, rest, widths[2:])])
            for a, b, *rest in lines
        )

    def _columns(self) -> Columns:
        named = {"feature": [row.feature for row in self.rows]}
        named["group"] = [group_name(row.group) for row in self.rows]
        named["label"] = [str(row.label) for row in self.rows]
        counts = ("people", "gained", "lost")
        return {**named, **{name: [getattr(row, name) for row in self.rows] for name in counts}}

    def _repr_html_(self) -> str:
        header, *lines = self._lines()
        return table(dict(zip(header, zip(*lines, strict=True), strict=True)))


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
                yield " x ".join(on), _plain(group), mask


def _plain(group: Any) -> Hashable:
    """Return Python's own values, which compare without surprises."""
    if isinstance(group, tuple):
        return tuple(map(_plain, group))
    return group.item() if isinstance(group, np.generic) else group
