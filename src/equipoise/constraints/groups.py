"""Groups: which people a constraint compares, and what they are called."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.groups import Group
from equipoise.cells.table import CellTable, Mask
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint
from equipoise.constraints.moments import MomentsBuilder, label_names
from equipoise.constraints.rows import Event, Row
from equipoise.exceptions import EmptyCellWarning, EquipoiseWarning, SmallGroupWarning

T = TypeVar("T")
#: The label given, and the decision whose rate is meant; None: no condition, and either.
RateOf = tuple[Hashable, Hashable]
#: What small groups are called once they are merged.
MERGED = "small groups together"
#: Names that no group of people may have, and what they stand for.
_RESERVED = {"overall": "all people", "everybody": "all people", MERGED: "groups merged by small="}


def group_name(group: Hashable) -> str:
    """Return the name of a group, or of a stratum, as it is printed everywhere.

    >>> group_name(("F", "Black")), group_name("F"), group_name(1)
    ('F & Black', 'F', '1')
    """
    return " & ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def people_of(cells: CellTable, inside: Mask) -> str:
    """Return who the people of some cells are, in words.

    >>> sex = {"sex": np.array(["F", "F", "M", "M"])}
    >>> cells, _ = CellTable.from_sums([0, 1, 0, 1], sex, {}, np.full(4, 9))
    >>> F, label = cells.sensitive["sex"] == "F", cells.label == 1
    >>> people_of(cells, F & label), people_of(cells, F), people_of(cells, label)
    ('people of F with label 1', 'people of F', 'people with label 1')
    """
    label = label_names(cells)

    def shared(columns: Iterable[NDArray]) -> str:
        same = [each[inside][0] for each in columns if len(set(each[inside].tolist())) == 1]
        return group_name(tuple(same))

    who, where = shared(cells.sensitive.values()), shared(cells.control.values())
    with_label = shared([label]) if len(set(label.tolist())) > 1 else ""
    parts = ((" of ", who), (" within ", where), (" with label ", with_label))
    return "people" + "".join(word + name for word, name in parts if name)


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
        that marks one group. People whose value of a feature is not known are in no group that it
        makes, see ``missing`` of ``fit``.
    min_size : int, default=1
        A rate measured on fewer people is not constrained as it is. What happens to the group
        instead is up to ``small``, and a warning names it.
    small : {"drop", "merge"}, default="drop"
        Leave small groups out, or take all of them together as one group.
    """

    on: str | Sequence[str] | None = field(default=None, kw_only=True)
    groups: str = field(default="intersections", kw_only=True)
    min_size: int = field(default=1, kw_only=True)
    small: str = field(default="drop", kw_only=True)

    def events(
        self, builder: MomentsBuilder, among: Mapping[RateOf, Mask] | None = None
    ) -> list[tuple[Event, Mask]]:
        """Return each condition on the label within each stratum, if anybody is of this kind.

        ``among`` has the cells of those who count, by the label given and the decision meant; by
        default they are all, and none is given.
        """
        found = []
        for event, mask in all_events(builder, among):
            if builder.cells.population[mask].sum() > 0:
                found.append((event, mask))
            else:
                self._warn_empty("everybody", event, mask, builder)
        return found

    def members(self, builder: MomentsBuilder, event: Event, mask: Mask) -> dict[Hashable, Mask]:
        """Return the groups within an event that are large enough to be constrained."""
        self._check_groups()
        cells = builder.cells
        kept: dict[Hashable, Mask] = {}
        small: dict[Hashable, Mask] = {}
        for group, (members, _) in self.all_groups(builder).items():
            inside = members & mask
            if not cells.population[inside].sum() > 0:
                # That a whole group of the fit is absent is said once, by whoever measures.
                if members.any() or builder.known is None:
                    self._warn_empty(group, event, inside, builder)
            elif self.min_size > 1 and cells.count[inside].sum() < self.min_size:
                small[group] = inside
            else:
                kept[group] = inside
        if small:
            together = np.logical_or.reduce(list(small.values()))
            merged = self.small == "merge" and cells.count[together].sum() >= self.min_size
            if merged:
                kept[MERGED] = together
            self._warn_small(builder, small, event, merged)
        return kept

    def all_groups(self, builder: MomentsBuilder) -> dict[Hashable, Group]:
        """Return all groups, those of the fit included; they are looked up once for all events."""
        on = self.on if self.on is None or isinstance(self.on, str) else tuple(self.on)
        if (key := (on, self.groups)) not in builder.groups:
            nobody = Group(*np.zeros((2, len(builder.cells.mass)), dtype=bool))
            builder.groups[key] = _with_absent(
                builder, lambda cells: cells.known_groups(self.on, self.groups), nobody
            )
        return builder.groups[key]

    def overall(
        self, builder: MomentsBuilder, mask: Mask, members: Iterable[Hashable]
    ) -> dict[Hashable, Mask]:
        """Return for each of some groups "overall" within an event: all whose group is known."""
        known_of = {group: known for group, (_, known) in self.all_groups(builder).items()}
        masks = {id(known): known for known in known_of.values()}  # most groups share one
        inside = {number: mask & known for number, known in masks.items()}
        everybody: Mask = mask & np.logical_or.reduce(list(masks.values()))
        return {
            group: inside[id(known_of[group])] if group in known_of else everybody
            for group in members
        }

    def add_bounded(
        self,
        builder: MomentsBuilder,
        rows: Sequence[tuple[Row, Mapping[int, float]]],
        bounds: Any,
        among: Mapping[RateOf, Mask] | None = None,
        parameter: str = "eps",
    ) -> None:
        """Add rows with their bounds, which are given by group, event or row.

        Names are judged by the groups and events that there are, not by the rows that the data
        happen to have. A list follows the rows of the fit, also where other people are measured.
        """
        fitted: dict[Hashable, float | None] | None = None
        if builder.known is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EquipoiseWarning)
                is_list = isinstance(bounds, (list, tuple, np.ndarray))
                of_fit = self.moments(builder.known).rows if is_list else ()
            fitted = {(row.event, row.group, row.against, row.side): row.bound for row in of_fit}
        groups: list[Hashable] = []
        events: list[Event] = []
        if isinstance(bounds, Mapping):
            merged = [MERGED] if self.small == "merge" else []
            groups = [*self.all_groups(builder), *merged]
            events = [event for event, _ in all_events(builder, among)]
        table = BoundTable(
            bounds, type(self).__name__, parameter, groups=groups, events=events, fitted=fitted
        )
        bounded = [
            (row._replace(bound=table.next(row.event, row.group, row.against, row.side)), moments)
            for row, moments in rows
        ]
        table.check_all_used()
        builder.add(bounded, follows_eps=parameter == "eps")

    def _check_groups(self) -> None:
        if not isinstance(self.min_size, (int, np.integer)) or self.min_size < 1:
            raise ValueError(
                f"min_size of {type(self).__name__} is {self.min_size!r}; expected a number of "
                "people >= 1."
            )
        if self.small not in ("drop", "merge"):
            raise ValueError(
                f"small of {type(self).__name__} is {self.small!r}; expected 'drop' or 'merge'."
            )

    def _warn_small(
        self, builder: MomentsBuilder, small: dict[Hashable, Mask], event: Event, merged: bool
    ) -> None:
        count = builder.cells.count
        sizes = (f"{group_name(g)} ({count[mask].sum():g})" for g, mask in small.items())
        fate = f"merged into {MERGED!r}" if merged else "left unconstrained"
        if self.small == "merge" and not merged:
            fate += ", because even together they are too few"
        builder.warn_once(
            f"{self.name}{event.people}: fewer than min_size={self.min_size} people of "
            f"{', '.join(sizes)}; {fate}.",
            SmallGroupWarning,
        )

    def _warn_empty(
        self, group: Hashable, event: Event, inside: Mask, builder: MomentsBuilder
    ) -> None:
        nobody = "nobody with weight" if builder.cells.count[inside].sum() > 0 else "nobody"
        which = "counts" if group == "everybody" else f"belongs to {group_name(group)}"
        builder.warn_once(
            f"{self.name}: {nobody} in the data {which}{event.people}. Its rate "
            "cannot be measured, so "
            + (
                "it is left unconstrained; merge it with another group or collect data."
                if builder.known is None
                else "no bound on it is checked on these people."
            ),
            EmptyCellWarning,
        )


def all_events(
    builder: MomentsBuilder, among: Mapping[RateOf, Mask] | None
) -> Iterator[tuple[Event, Mask]]:
    """Yield every event, those without people included."""
    if among is None:
        among = {(None, None): np.ones(builder.cells.n_cells, dtype=bool)}
    nobody = np.zeros(len(builder.cells.mass), dtype=bool)
    for stratum, inside in _with_absent(builder, CellTable.strata, nobody).items():
        for (label, decision), mask in among.items():
            name = None if stratum is None else group_name(stratum)
            yield Event(name, label, decision), inside & mask


#: A number for all rows; one for each group or event; or one for each row.
Bounds = float | Mapping[Any, float] | Sequence[float] | NDArray


class BoundTable:
    """The bound of every row of a constraint, looked up by event and group.

    Parameters
    ----------
    bounds : number, mapping or sequence
        A mapping goes by group (``{"F": 0.01, "M": 0.02}``), by event (``{"label=1": 0.01,
        "label=0": 0.05}``), or by both (``{("F", "label=1"): 0.01}``), the more specific first;
        ``"else"`` stands for all that is not named. A row that compares two named groups gets the
        smaller of their two numbers. A sequence has one number for each row, in order.
    owner, parameter : str
        What to call it in errors.
    groups, events : sequences
        All groups and events that a mapping may name, those without a row of their own included.
    fitted : mapping from (event, group, against, side) to bound, optional
        Where bounds of a fit are measured on other people: the bounds of a sequence, by row. What
        then has no bound gets NaN.

    Examples
    --------
    >>> table = BoundTable({"F": 0.01, "else": 0.05}, "DemographicParity", groups=["F", "M"])
    >>> table.next(Event(), "F"), table.next(Event(), "M")
    (0.01, 0.05)
    """

    def __init__(
        self,
        bounds: Any,
        owner: str,
        parameter: str = "eps",
        *,
        groups: Sequence[Hashable] = (),
        events: Sequence[Event] = (),
        fitted: Mapping[Hashable, float | None] | None = None,
    ) -> None:
        self.bounds, self.called, self.fitted = bounds, f"{parameter} of {owner}", fitted
        self._rows = 0
        self._is_list = isinstance(bounds, (list, tuple, np.ndarray))
        names = dict.fromkeys(name for event in events for name in event.names)
        both = [(group, name) for group in groups for name in names]
        self._names: dict[Hashable, None] = dict.fromkeys([*groups, *names, *both])
        if isinstance(bounds, Mapping):
            for key, value in bounds.items():
                check_bound(value, self.called, f" for {key!r}")
        elif self._is_list:
            for number, value in enumerate(bounds):
                check_bound(value, self.called, f" for row {number}")
        else:
            check_bound(bounds, self.called)

    def next(self, event: Event, group: Hashable, against: Hashable = None, side: int = 1) -> float:
        """Return the bound of the next row, which is about ``group`` given ``event``."""
        self._rows += 1
        if isinstance(self.bounds, Mapping):
            return self._find(self.bounds, event.names, [group, against])
        if self._is_list and self.fitted is not None:
            bound = self.fitted.get((event, group, against, side))
            return float("nan") if bound is None else bound
        if self._is_list:
            # check_all_used will say where there are too few.
            return float(self.bounds[self._rows - 1]) if self._rows <= len(self.bounds) else 0.0
        return float(self.bounds)

    def check_all_used(self) -> None:
        """Raise an error for names that are no group or event, and for lists of another length."""
        if isinstance(self.bounds, Mapping):
            if strange := [key for key in self.bounds if key not in self._names and key != "else"]:
                raise ValueError(
                    f"{self.called} has an entry for {strange[0]!r}, which is no group or event "
                    f"here; there are {', '.join(map(repr, self._names))}."
                )
        elif self._is_list and self.fitted is None and self._rows != len(self.bounds):
            raise ValueError(
                f"{self.called} has {len(self.bounds)} entries for {self._rows} rows; expected one "
                "for each, in the order of constraint.moments(cells).rows."
            )

    def _find(
        self, bounds: Mapping[Any, float], event: tuple[str, ...], groups: list[Hashable]
    ) -> float:
        both: list[Hashable] = [(group, name) for group in groups for name in event]
        self._names |= dict.fromkeys(key for key in groups if key is not None)
        for keys in (both, groups, list(event)):
            if found := [float(bounds[key]) for key in keys if key in bounds]:
                return min(found)
        if "else" in bounds or self.fitted is not None:
            return float(bounds.get("else", "nan"))
        where = f" given {event[0]}" if event else ""
        raise ValueError(
            f"{self.called} says nothing about {groups[0]!r}{where}; it has "
            f"{', '.join(map(repr, bounds))}. Add it, or an entry 'else'."
        )


def check_bound(value: Any, called: str, where: str = "") -> None:
    """Raise an error for anything but a finite number that is not negative."""
    if not is_number(value) or not np.isfinite(value) or value < 0:
        raise ValueError(
            f"{called} is {value!r}{where}; expected a finite number >= 0, a mapping "
            "from groups or events to such numbers, or one for each row."
        )


def _check_names(groups: Iterable[Hashable]) -> None:
    """Raise for groups, or strata, that everything printed would take for each other."""
    by_name: dict[str, Hashable] = dict.fromkeys(_RESERVED)
    for group in groups:
        name = "" if group is None else group_name(group)
        if name in by_name:
            other = by_name[name]
            taken = f"it stands for {_RESERVED[name]}" if other is None else f"so is {other!r}"
            raise ValueError(
                f"the group {group!r} is called {name!r}, and {taken}: they could not be told "
                "apart. Rename the values of one of them."
            )
        by_name[name] = group


def _with_absent(
    builder: MomentsBuilder, found_in: Callable[[CellTable], dict[Hashable, T]], nobody: T
) -> dict[Hashable, T]:
    """Return the groups or strata of the cells; those that only the fit has are ``nobody``."""
    here = found_in(builder.cells)
    _check_names(here)
    if builder.known is None:
        return here
    return here | {name: nobody for name in found_in(builder.known) if name not in here}
