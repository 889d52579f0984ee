"""What a command was told about the columns of a table, and what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from equipoise.cells.values import Missing, levels
from equipoise.cli.names import near
from equipoise.cli.tables.columns import Kind, as_number, is_missing, kind_of, plain_values
from equipoise.rows.bins import MOST_BINS, bin_names, in_bins, quantile_edges
from equipoise.rows.people import check_missing_choice


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are; kept in model files."""

    label: str
    labels: tuple[str, ...]  #: The unfavourable and the favourable label, or more than two.
    recoded: bool  #: Whether the model knows them as 0 and 1: in another order, or more than two.
    sensitive: tuple[str, ...]
    control: tuple[str, ...]
    weight: str | None
    features: dict[str, Kind]
    missing: tuple[str, ...] = ()  #: What else stands for a missing value in CSV files.
    bins: dict[str, list[float]] = field(default_factory=dict)  #: Edges that make groups.
    order: dict[str, list[str]] = field(default_factory=dict)  #: Groups that have an order.
    missing_groups: Missing = "error"  #: What to do with people whose group is unknown.
    numeric: bool = False  #: Whether the label is a number; there are no two labels then.

    def group_values(self, column: Any, name: str) -> NDArray:
        """Return the groups that a column makes: its values, or the bins that they are in.

        None where there is no value.
        """
        gone = is_missing(column)
        known = column.filter(~gone) if gone.any() else column
        if name in self.bins:
            values = in_bins(as_number(known, name).to_numpy(), self.bins[name], name)
        else:
            values = self._in_order(plain_values(known, name), name)
        if not gone.any():
            return values
        groups = np.full(len(gone), None, dtype=object)
        groups[~gone] = values
        return groups

    def _in_order(self, values: NDArray, name: str) -> NDArray:
        """Return values with the order that their column declares, if it does."""
        names = self.order.get(name, [])
        if not names or not {*values.tolist()} <= {*names}:
            return values
        by_name = dict(zip(names, levels(names), strict=True))
        return np.array([*(by_name[value] for value in values.tolist()), None], dtype=object)[:-1]

    @property
    def shown(self) -> dict[str, Any]:
        """What a report tells of them, see `DataContents`."""
        lists = {"sensitive": list(self.sensitive), "control": list(self.control)}
        return {"label": self.label, "labels": self.labels, "weight": self.weight, **lists}

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as a dictionary for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Columns:
        """Return the columns that `to_dict` has written."""
        lists = {k: tuple(v) for k, v in given.items() if isinstance(v, list)}
        return cls(**{**given, **lists})


@dataclass(frozen=True)
class Request:
    """Which columns a command was told to use, and how; an empty label is not used."""

    label: str
    sensitive: Sequence[str]
    positive: str | None = None
    control: Sequence[str] = ()
    weight: str | None = None
    exclude: Sequence[str] = ()
    keep_text: Sequence[str] = ()
    use_sensitive: bool = False
    missing: Sequence[str] = ()
    drop_missing: bool = False
    bins: Sequence[str] = ()  #: As written: COLUMN=4 or COLUMN=25,40,60.
    missing_groups: Missing = "error"
    of_fit: bool = False  #: Whether a model file says this, and not the command.

    def __post_init__(self) -> None:
        check_missing_choice(self.missing_groups)

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that are label, groups and weights."""
        names = (self.label, *self.sensitive, *self.control, self.weight)
        return tuple(name for name in names if name)

    @property
    def grouping(self) -> tuple[str, ...]:
        """The columns that make groups and strata."""
        return (*self.sensitive, *self.control)

    @property
    def may_lack(self) -> tuple[str, ...]:
        """The columns in which a row may have no value."""
        return tuple(self.sensitive) if self.missing_groups == "ignore" else ()

    @property
    def roles(self) -> dict[str, str]:
        """What each of these columns is for."""
        groups = {
            **dict.fromkeys(self.control, "control"),
            **dict.fromkeys(self.sensitive, "group"),
        }
        weight = {} if self.weight is None else {self.weight: "weight"}
        return {**groups, **weight, self.label: "label"}

    def check_names(self, known: Sequence[str], path: str | Path, *, labelled: bool = True) -> None:
        """Refuse columns that a table does not have, or that are named for two purposes."""
        named = self.named if labelled else self.named[1:]
        check_columns(known, [*named, *self.exclude, *self.keep_text], path)
        if self.label and self.label in self.exclude:
            raise ValueError(
                f"--exclude names the label, {self.label!r}, which is no feature in any case; "
                "leave it out, or name another label."
            )
        for name in self.named:
            if self.named.count(name) > 1:
                raise ValueError(f"column {name!r} is named for two purposes; expected one.")

    def features(
        self, names: Sequence[str], kind: Callable[[str], Kind | None], note: Callable[[str], Any]
    ) -> dict[str, Kind]:
        """Return the features among the columns of a table, and what they are."""
        left_out = {*self.exclude, self.label, self.weight}
        left_out |= set() if self.use_sensitive else set(self.sensitive)
        features: dict[str, Kind] = {}
        for name in names:
            if name in left_out:
                continue
            if (found := kind(name)) is None:
                note(f"column {name!r} has no values and is left out.")
            else:
                features[name] = found
        if not features:
            named = ", ".join(map(repr, (self.label, *self.sensitive, *self.control)))
            raise ValueError(f"no column is left to learn from: {named} are not features.")
        return features

    def columns(
        self,
        labels: tuple[str, ...],
        recoded: bool,
        features: dict[str, Kind],
        table: Any,
        counts: Mapping[str, Counter] | None = None,
    ) -> Columns:
        """Return the roles of the columns of a table; ``counts`` as for `read_bins`."""
        return Columns(
            label=self.label,
            labels=labels,
            recoded=recoded,
            sensitive=tuple(self.sensitive),
            control=tuple(self.control),
            weight=self.weight,
            features=features,
            missing=tuple(self.missing),
            missing_groups=self.missing_groups,
            **self.classes(table, counts),
        )

    def classes(self, table: Any, counts: Mapping[str, Counter] | None = None) -> dict[str, Any]:
        """Return the edges of numeric columns to put into bins, and the order of groups."""
        bins = read_bins(self.bins, table, (*self.sensitive, *self.control), counts)
        order = {name: bin_names(edges) for name, edges in bins.items()}
        for name in (*self.sensitive, *self.control):
            kind = table[name].type
            if pa.types.is_dictionary(kind) and kind.ordered:
                known = table[name].combine_chunks().dictionary
                order[name] = [str(value) for value in known.to_pylist()]
        return {"bins": bins, "order": order}


def check_columns(known: Sequence[str], wanted: Any, path: str | Path) -> None:
    """Refuse names that a table does not have, with a hint at what was meant."""
    for name in wanted:
        if name not in known:
            listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise ValueError(
                f"{Path(path).name} has no column {name!r}.{near(name, list(known))} It has: "
                f"{listed}."
            )


def read_bins(
    given: Sequence[str],
    table: Any,
    grouping: Sequence[str],
    counts: Mapping[str, Counter] | None = None,
) -> dict[str, list[float]]:
    """Return the edges between classes, by column.

    ``counts`` are given where a table has distinct values: how many people have each.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "pay": [1.5, 2.5, 3.5, 4.5]})
    >>> read_bins(["age=25,40", "pay=2"], table, ["age", "pay"])
    {'age': [25.0, 40.0], 'pay': [3.0]}
    """
    found: dict[str, list[float]] = {}
    for text in given:
        name, _, spec = text.rpartition("=")
        if name not in grouping:
            named = ", ".join(map(repr, grouping))
            raise ValueError(
                f"--bins is {text!r}; expected COLUMN=4, or edges as COLUMN=25,40,60, of a column "
                f"that makes groups: {named}."
            )
        if kind_of(table[name], name) != "number":
            raise ValueError(f"--bins is {text!r}, but column {name!r} holds no numbers.")
        values = as_number(table[name], name).to_numpy()
        people = np.ones(len(values)) if counts is None else np.array([*counts[name].values()])
        known, place = np.unique(values[np.isfinite(values)], return_inverse=True)
        found[name] = _edges(text, spec, known, np.bincount(place, people[np.isfinite(values)]))
    return found


def _edges(text: str, spec: str, values: NDArray, count: NDArray) -> list[float]:
    try:
        numbers = [float(part) for part in spec.split(",")]
    except ValueError:
        raise ValueError(
            f"--bins is {text!r}; expected a number of classes, or edges such as 25,40,60."
        ) from None
    if len(numbers) > 1 or not 2 <= numbers[0] <= MOST_BINS or numbers[0] % 1:
        if numbers != sorted(set(numbers)) or not np.isfinite(numbers).all():
            raise ValueError(f"--bins is {text!r}; expected edges that increase.")
        return numbers
    return quantile_edges(values, count, int(numbers[0]))
