"""People in a table: its columns as features, label, groups and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from equipoise.cells.codes import factorize
from equipoise.cli.names import near
from equipoise.cli.tables.columns import (
    Kind,
    as_kinds,
    as_number,
    is_missing,
    kind_of,
    plain_values,
)
from equipoise.cli.tables.encoding import without_names
from equipoise.cli.tables.files import read_table
from equipoise.rows.people import People

#: More groups than these are hardly meant: a column such as age, which was not put into classes.
MOST_GROUPS = 100


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are; kept in model files."""

    label: str
    labels: tuple[str, str]  #: The unfavourable and the favourable label, as printed.
    recoded: bool  #: Whether the model knows them as 0 and 1: in another order, or more than two.
    sensitive: tuple[str, ...]
    control: tuple[str, ...]
    weight: str | None
    features: dict[str, Kind]
    missing: tuple[str, ...] = ()  #: What else stands for a missing value in CSV files.

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as a dictionary for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Columns:
        """Return the columns that `to_dict` has written."""
        lists = {k: tuple(v) for k, v in given.items() if isinstance(v, list)}
        return cls(**{**given, **lists})


@dataclass(frozen=True, eq=False)
class Examples(People):
    """People to learn from, or to measure a model on: columns of a table.

    X is a pyarrow.Table of the features; sensitive and control features are mappings from name to
    array, the latter None where there are none. On a cluster, tables are Dask data frames and
    arrays are Dask arrays.
    """

    def __len__(self) -> int:
        return len(self.y)

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y."""
        return {
            "sensitive_features": self.sensitive_features,
            "control_features": self.control_features,
            "sample_weight": self.sample_weight,
        }

    def take(self, rows: NDArray[np.intp]) -> Examples:
        """Return some of the people."""
        control, weight = self.control_features, self.sample_weight
        return Examples(
            self.X.take(rows),
            self.y[rows],
            {name: values[rows] for name, values in self.sensitive_features.items()},
            control and {name: values[rows] for name, values in control.items()},
            None if weight is None else weight[rows],
        )

    def deal(self, test_size: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to learn from and those held out; none if the size is 0."""
        if not 0 <= test_size < 1:
            raise ValueError(f"--test-size is {test_size}; expected a share from 0 to below 1.")
        rows = np.arange(len(self))
        if test_size == 0:
            return rows, rows[:0]
        codes = [factorize(values)[0] for values in (self.y, *self.sensitive_features.values())]
        _, cell = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        few = np.bincount(cell.ravel()).min() < 2
        train, test = train_test_split(
            rows, test_size=test_size, random_state=seed, stratify=None if few else cell.ravel()
        )
        return np.sort(train), np.sort(test)


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

    @property
    def named(self) -> tuple[str, ...]:
        """The columns in which every row must have a value."""
        names = (self.label, *self.sensitive, *self.control, self.weight)
        return tuple(name for name in names if name)

    def check_names(self, known: Sequence[str], path: str | Path) -> None:
        """Refuse columns that a table does not have, or that are named for two purposes."""
        check_columns(known, [*self.named, *self.exclude, *self.keep_text], path)
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

    def columns(self, labels: tuple[str, str], recoded: bool, features: dict[str, Kind]) -> Columns:
        """Return what the columns of a table are."""
        return Columns(
            label=self.label,
            labels=labels,
            recoded=recoded,
            sensitive=tuple(self.sensitive),
            control=tuple(self.control),
            weight=self.weight,
            features=features,
            missing=tuple(self.missing),
        )


class Reader:
    """Reads examples out of files and says in sentences what is wrong with them."""

    def __init__(self, note: Callable[[str], Any] = lambda text: None) -> None:
        self.note = note

    def training(self, table: Any, request: Request) -> tuple[Examples, Columns]:
        """Return the examples of a table, see `whole`, and what its columns were taken for."""
        y, labels, recoded = read_label(table, request.label, request.positive)
        features = request.features(
            table.column_names, lambda name: kind_of(table.column(name), name), self.note
        )
        features = without_names(features, table, request.keep_text, self.note)
        columns = request.columns(labels, recoded, features)
        return self._examples(table, columns, y), columns

    def known(
        self,
        path: str | Path,
        columns: Columns,
        *,
        drop_missing: bool = False,
        labelled: bool = True,
    ) -> Examples:
        """Return the examples of another file with the columns that a model knows.

        Without ``labelled``, their label is not read, and y is None.
        """
        request = Request(
            columns.label if labelled else "",
            columns.sensitive,
            control=columns.control,
            weight=columns.weight,
            missing=columns.missing,
            drop_missing=drop_missing,
        )
        table = self.whole(path, request)
        check_columns(table.column_names, columns.features, path)
        y = self._known_labels(table, columns) if labelled else None
        return self._examples(table, columns, y)

    def _known_labels(self, table: Any, columns: Columns) -> NDArray:
        values = plain_values(table.column(columns.label), columns.label)
        text = np.array([str(value) for value in values], dtype=object)
        if columns.recoded:
            return (text == columns.labels[1]).astype(np.int64)
        if strange := sorted(set(text) - set(columns.labels)):
            raise ValueError(
                f"column {columns.label!r} has the label {strange[0]!r}; the model knows "
                f"{columns.labels[0]!r} and {columns.labels[1]!r}."
            )
        return values

    def whole(self, path: str | Path, request: Request) -> Any:
        """Return a table in which label, groups and weights are complete."""
        table = read_table(path, missing=request.missing)
        request.check_names(table.column_names, path)
        if not table.num_rows:
            raise ValueError(f"{Path(path).name} has no rows.")
        return self._complete(table, request.named, request.drop_missing, path)

    def _complete(self, table: Any, named: Sequence[str], drop: bool, path: str | Path) -> Any:
        missing = np.zeros(table.num_rows, dtype=bool)
        for name in named:
            gone = is_missing(table.column(name))
            if gone.any() and not drop:
                raise ValueError(
                    f"column {name!r} of {Path(path).name} is missing in {int(gone.sum()):,} of "
                    f"{table.num_rows:,} rows, first in row {int(gone.argmax()) + 1}. Fill it, or "
                    "leave these rows out with --drop-missing."
                )
            missing |= gone
        if not missing.any():
            return table
        if missing.all():
            raise ValueError(f"every row of {Path(path).name} lacks one of {', '.join(named)}.")
        self.note(f"{int(missing.sum()):,} rows that lack {' or '.join(named)} are left out.")
        return table.take(np.flatnonzero(~missing))

    def _examples(self, table: Any, columns: Columns, y: NDArray | None) -> Examples:
        sensitive, control = (
            {name: plain_values(table.column(name), name) for name in names}
            for names in (columns.sensitive, columns.control)
        )
        for name, values in sensitive.items():
            check_groups(values, name)
        weight = None
        if columns.weight is not None:
            weight = as_number(table.column(columns.weight), columns.weight).to_numpy()
        return Examples(as_kinds(table, columns.features), y, sensitive, control or None, weight)


def read_label(
    table: Any, name: str, positive: str | None
) -> tuple[NDArray, tuple[str, str], bool]:
    """Return the labels, what the two are called, and whether they were turned into 0 and 1."""
    values = plain_values(table.column(name), name)
    known = [str(value) for value in factorize(values)[1].tolist()]
    if positive is not None and positive not in known:
        raise ValueError(
            f"--positive is {positive!r}, but column {name!r} is never that; its values are "
            f"{', '.join(map(repr, known[:10]))}.{near(positive, known)}"
        )
    if len(known) == 2 and positive in (None, known[1]):
        return values, (known[0], known[1]), False
    if positive is None:
        raise ValueError(
            f"label {name!r} has {len(known):,} different values ("
            f"{', '.join(map(repr, known[:4]))}{', ...' if len(known) > 4 else ''}); expected two. "
            "Say with --positive which one is the favourable label; all others count as the other."
        )
    others = [label for label in known if label != positive]
    if not others:
        raise ValueError(f"label {name!r} is {positive!r} in every row; expected two labels.")
    text = np.array([str(value) for value in values], dtype=object)
    negative = others[0] if len(others) == 1 else f"not {positive}"
    return (text == positive).astype(np.int64), (negative, positive), True


def favourable(y: NDArray, columns: Columns) -> NDArray[np.bool_]:
    """Return which rows have the favourable label."""
    return y == (1 if columns.recoded else np.unique(y)[1])


def check_groups(values: NDArray, name: str) -> None:
    """Refuse a sensitive column of more values than groups can be meant."""
    if (found := len(set(values.tolist()))) > MOST_GROUPS:
        raise ValueError(
            f"sensitive column {name!r} has {found:,} different values; expected no more than "
            f"{MOST_GROUPS} groups. Put it into classes first, such as under 40 and over."
        )


def check_columns(known: Sequence[str], wanted: Any, path: str | Path) -> None:
    """Refuse names that a table does not have, with a hint at what was meant."""
    for name in wanted:
        if name not in known:
            listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise ValueError(
                f"{Path(path).name} has no column {name!r}.{near(name, list(known))} It has: "
                f"{listed}."
            )
