"""Parity: a rate compared between groups, within events; what most of the catalogue is made of."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.bounds import Allowance, Allowed
from equipoise.constraints.moments import Builder, Row
from equipoise.exceptions import EmptyCellWarning, SmallGroupWarning

#: g(label, prediction) as a 2 x 2 table: what a moment averages.
SELECTION = ((0.0, 1.0), (0.0, 1.0))
REJECTION = ((1.0, 0.0), (1.0, 0.0))
ERROR = ((0.0, 1.0), (1.0, 0.0))
FALSE_POSITIVE = ((0.0, 1.0), (0.0, 0.0))
FALSE_NEGATIVE = ((0.0, 0.0), (1.0, 0.0))

#: What small groups are called once they are merged.
MERGED = "small groups together"


class Event(NamedTuple):
    """A condition on label and control features: in words, by its names, as a mask over cells."""

    words: str
    names: tuple[str, ...]
    mask: Mask


@dataclass(repr=False)
class GroupConstraint(Constraint):
    """A constraint on groups of people: who they are, and in which events they are looked at.

    Parameters
    ----------
    on : str or sequence of str, optional
        The sensitive features that make the groups; all of them by default.
    groups : {"intersections", "margins", "both", "slices"}, default="intersections"
        How several features make groups: by every combination of values, by each feature for
        itself, by both (a person then is in several groups), or each feature being a yes or no
        that marks one group.
    min_size : int, default=1
        A rate measured on fewer examples is not constrained as it is. What happens to the group
        instead is up to ``small``, and a warning names it.
    small : {"drop", "merge"}, default="drop"
        Leave small groups out, or take all of them together as one group.
    """

    on: str | Sequence[str] | None = field(default=None, kw_only=True)
    groups: str = field(default="intersections", kw_only=True)
    min_size: int = field(default=1, kw_only=True)
    small: str = field(default="drop", kw_only=True)

    name: ClassVar[str]
    #: The labels to condition on, one event each; None is no condition.
    given: ClassVar[tuple[int | None, ...]] = (None,)

    def events(self, cells: CellTable) -> Iterator[Event]:
        """Every condition on the label within every stratum of the control features."""
        for stratum, inside in cells.strata().items():
            for label in self._labels():
                parts = [] if stratum is None else [called(stratum)]
                parts += [] if label is None else [f"label={label}"]
                words = "" if stratum is None else f" within {called(stratum)}"
                words += "" if label is None else f" given label {label}"
                mask = inside if label is None else inside & (cells.label == label)
                names = tuple(dict.fromkeys((", ".join(parts), *parts))) if parts else ()
                if cells.population[mask].sum() > 0:
                    yield Event(words, names, mask)
                else:
                    _warn_empty("everybody", words, self.name)

    def _labels(self) -> tuple[int | None, ...]:
        return self.given

    def members(self, cells: CellTable, event: Event) -> dict[Hashable, Mask]:
        """Return the groups within an event that are large enough to be constrained."""
        self._check_groups()
        kept: dict[Hashable, Mask] = {}
        small: dict[Hashable, Mask] = {}
        for group, members in cells.groups(self.on, self.groups).items():
            inside = members & event.mask
            if not cells.population[inside].sum() > 0:
                _warn_empty(group, event.words, self.name)
            elif self.min_size > 1 and cells.count[inside].sum() < self.min_size:
                small[group] = inside
            else:
                kept[group] = inside
        if small:
            together = np.logical_or.reduce(list(small.values()))
            merged = self.small == "merge" and cells.count[together].sum() >= self.min_size
            if merged:
                kept[MERGED] = together
            self._warn_small(cells, small, event, merged)
        return kept

    def _check_groups(self) -> None:
        if not isinstance(self.min_size, (int, np.integer)) or self.min_size < 1:
            raise ValueError(
                f"min_size of {type(self).__name__} is {self.min_size!r}; expected a number of "
                "examples >= 1."
            )
        if self.small not in ("drop", "merge"):
            raise ValueError(
                f"small of {type(self).__name__} is {self.small!r}; expected 'drop' or 'merge'."
            )

    def _warn_small(
        self, cells: CellTable, small: dict[Hashable, Mask], event: Event, merged: bool
    ) -> None:
        sizes = (f"{called(g)} ({cells.count[mask].sum():g})" for g, mask in small.items())
        fate = f"merged into {MERGED!r}" if merged else "left unconstrained"
        if self.small == "merge" and not merged:
            fate += ", because even together they are too few"
        warnings.warn(
            f"{self.name}{event.words}: fewer than min_size={self.min_size} examples of "
            f"{', '.join(sizes)}; {fate}.",
            SmallGroupWarning,
            stacklevel=2,
        )


@dataclass(repr=False)
class Parity(GroupConstraint):
    """A rate must be (nearly) the same for every group; the parent of the named parities.

    For every event (a label condition within a stratum of the control features) and every group
    ``a`` compared with its reference ``r``::

        ratio * mu_a - mu_r <= eps     and     ratio * mu_r - mu_a <= eps

    Parameters
    ----------
    eps : float, mapping or sequence, default=0.01
        Bound on the difference. A mapping gives each group (``{"F": 0.01, "M": 0.02}``) or each
        event (``{"label=1": 0.01, "label=0": 0.05}``) its own, a sequence each row.
    reference : "overall", "pairwise" or a group, default="overall"
        What a group's rate is compared with: the rate of everybody (the paper), that of every
        other group (the gap that people report), or that of one named group.
    ratio : float in (0, 1], default=1
        Below one the comparison is a ratio: with ``eps=0`` every rate is at least ``ratio`` times
        its reference and at most ``1 / ratio`` times.
    on, groups, min_size, small
        Which groups, see `GroupConstraint`.
    """

    eps: Allowed = 0.01
    reference: Hashable = field(default="overall", kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)

    #: What is averaged, g(label, prediction).
    measure: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = SELECTION

    def add_rows(self, builder: Builder) -> None:
        """Compare every group with its reference, event by event."""
        allowance = Allowance(self.eps, type(self).__name__)
        _check_ratio(self.ratio, type(self).__name__)
        cells = builder.cells
        g = self._g(cells)
        for event in self.events(cells):
            rates = {
                group: builder.moment(mask, g) for group, mask in self.members(cells, event).items()
            }
            for a, b, j, r in self._comparisons(rates, builder.moment(event.mask, g)):
                for low, high, side in ((r, j, "above"), (j, r, "below")):
                    row = Row(f"{self.name}{event.words}", a, _text(a, side, b), against=b)
                    eps = allowance.of(event.names, a, b)
                    coefficients = {high: self.ratio}
                    coefficients[low] = coefficients.get(low, 0.0) - 1.0
                    builder.row(row, coefficients, eps)
        allowance.close()

    def _g(self, cells: CellTable) -> Array | str:
        return np.array(self.measure)[cells.label]

    def _comparisons(
        self, rates: dict[Hashable, int], overall: int
    ) -> Iterator[tuple[Hashable, Hashable, int, int]]:
        if self.reference == "pairwise":
            names = list(rates)
            for i, a in enumerate(names):
                for b in names[i + 1 :]:
                    yield a, b, rates[a], rates[b]
        elif self.reference == "overall":
            for a, j in rates.items():
                yield a, "overall", j, overall
        elif self.reference in rates:
            for a, j in rates.items():
                if a != self.reference:
                    yield a, self.reference, j, rates[self.reference]
        else:
            raise ValueError(
                f"reference={self.reference!r} is neither 'overall' nor 'pairwise' nor a group "
                f"with examples; the groups are {', '.join(map(repr, rates))}."
            )


def called(group: Hashable) -> str:
    """Return a group's name in words.

    >>> called(("F", "Black"))
    'F & Black'
    """
    return " & ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def _text(a: Hashable, side: str, b: Any) -> str:
    return f"{called(a)} {side} {called(b)}"


def _check_ratio(ratio: object, owner: str) -> None:
    if not isinstance(ratio, (int, float, np.number)) or not 0 < ratio <= 1:
        raise ValueError(f"ratio of {owner} is {ratio!r}; expected a number in (0, 1].")


def _warn_empty(group: Hashable, event: str, constraint: str) -> None:
    warnings.warn(
        f"{constraint}: nobody in the data belongs to {group!r}{event}. Its rate cannot be "
        "measured, so it is left unconstrained; merge it with another group or collect data.",
        EmptyCellWarning,
        stacklevel=2,
    )
