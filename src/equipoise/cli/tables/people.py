"""People in a table: its columns as features, label, groups and weights."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from equipoise.cells.codes import factorize
from equipoise.cli.names import near
from equipoise.cli.tables.columns import (
    as_kinds,
    as_number,
    is_missing,
    kind_of,
    plain_values,
    words_for,
)
from equipoise.cli.tables.dialect import Dialect
from equipoise.cli.tables.encoding import without_names
from equipoise.cli.tables.files import format_of, naming, read_table
from equipoise.cli.tables.hints import hint_at_copies, hint_at_ids, hint_at_text
from equipoise.cli.tables.request import Columns, Request, check_columns
from equipoise.constraints.base import Constraint
from equipoise.constraints.distribution import takes_numbers
from equipoise.report.contents import ColumnContents
from equipoise.rows.favourable import favourable_label
from equipoise.rows.people import People
from equipoise.rows.validation import MOST_LABELS, read_weights

#: More groups than these are hardly meant: a column such as age, which was not put into classes.
MOST_GROUPS = 100
#: More groups than these get a hint.
MANY_GROUPS = 20


@dataclass(frozen=True, eq=False)
class Examples(People):
    """People to learn from, or to measure a model on: columns of a table.

    X is a pyarrow.Table of the features; sensitive and control features are mappings from name to
    array, the latter None where there are none. On a cluster, tables are Dask data frames and
    arrays are Dask arrays.
    """

    def __len__(self) -> int:
        return self.X.num_rows if self.y is None else len(self.y)

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y."""
        return {
            "sensitive_features": self.sensitive_features,
            "control_features": self.control_features,
            "sample_weight": self.sample_weight,
            "missing": self.missing,
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
            missing=self.missing,
        )

    def smallest_group(self) -> int:
        """Return how many people the smallest group has, of all that sensitive features make."""
        columns = self.sensitive_features.values()
        known = np.flatnonzero(np.all([[v is not None for v in each] for each in columns], axis=0))
        codes = np.column_stack([factorize(values[known])[0] for values in columns])
        return int(np.unique(codes, axis=0, return_counts=True)[1].min(initial=len(self)))

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


class Reader:
    """Reads examples out of files and says in sentences what is wrong with them."""

    def __init__(
        self, note: Callable[[str], Any] = lambda text: None, dialect: Dialect | None = None
    ) -> None:
        self.note, self.dialect = note, dialect or Dialect()
        self.checks_groups = True  #: Whether so many groups are too many.
        self.numeric = False  #: Whether labels are numbers.
        self.format = ""  #: How the last CSV file was written, in words.

    def for_constraint(self, constraint: Constraint) -> Reader:
        """Return this reader, which takes numbers as they are if the constraint does."""
        self.checks_groups = not takes_numbers(constraint)
        return self

    def training(self, table: Any, request: Request) -> tuple[Examples, Columns]:
        """Return the people of a table, see `whole`, and what its columns were taken for."""
        labels: tuple[str, ...] = ("", "")
        if self.numeric:
            y, recoded = _numbers(table, request.label), False
        else:
            y, labels, recoded = read_label(table, request.label, request.positive)
        features = request.features(
            table.column_names, lambda name: kind_of(table.column(name), name), self.note
        )
        hint_at_text(table, features, self.note)
        features = without_names(features, table, request.keep_text, self.note)
        hint_at_ids(table, features, self.note)
        hint_at_copies(table, features, request.roles, self.note)
        columns = request.columns(labels, recoded, features, table)
        columns = replace(columns, numeric=self.numeric)
        return self.examples(table, columns, y), columns

    def known(
        self,
        path: str | Path,
        columns: Columns,
        *,
        drop_missing: bool = False,
        labelled: bool | None = True,
    ) -> Examples:
        """Return the people of another file with the columns that a model knows.

        Without ``labelled``, their label is not read, and y is None; if it is None, the label is
        read where there is one.
        """
        request = Request(
            columns.label if labelled is not False else "",
            columns.sensitive,
            control=columns.control,
            weight=columns.weight,
            missing=columns.missing,
            drop_missing=drop_missing,
            missing_groups=columns.missing_groups,
            of_fit=True,
        )
        table = self.whole(path, request, needs_labels=labelled is not None, bins=columns.bins)
        check_columns(table.column_names, columns.features, path)
        with naming(path):
            y = None
            if labelled or (labelled is None and _has_values(table, columns.label)):
                y = self._known_labels(table, columns)
            return self.examples(table, columns, y)

    def _known_labels(self, table: Any, columns: Columns) -> NDArray:
        if columns.numeric:
            return _numbers(table, columns.label)
        values = plain_values(table.column(columns.label), columns.label)
        text = np.array([str(value) for value in values], dtype=object)
        one_of_many = columns.labels[0] == f"not {columns.labels[1]}"
        if columns.recoded and one_of_many:
            return (text == columns.labels[1]).astype(np.int64)
        if strange := sorted(set(text) - set(columns.labels)):
            raise ValueError(
                f"column {columns.label!r} has the label {strange[0]!r}; the model knows "
                f"{' and '.join(map(repr, columns.labels))}."
            )
        return (text == columns.labels[1]).astype(np.int64) if columns.recoded else values

    def whole(
        self,
        path: str | Path,
        request: Request,
        *,
        needs_labels: bool = True,
        bins: Collection[str] = (),
    ) -> Any:
        """Return a table in which label, groups and weights are complete.

        Where labels are not needed, there may be none at all. ``bins`` are columns of numbers that
        are put into classes, besides those of the request.
        """
        bins = {*bins, *(text.rpartition("=")[0] for text in request.bins)}
        dialect = self.dialect
        if Path(path).is_file() and format_of(path) == "csv":
            dialect = dialect.found_in(Path(path))
            self.format = str(dialect)
        codes = [name for name in request.grouping if self.checks_groups and name not in bins]
        table = read_table(path, missing=request.missing, dialect=dialect, codes=codes)
        unlabelled = not needs_labels and not _has_values(table, request.label)
        named = request.named[1:] if unlabelled else request.named
        needed = [name for name in named if name not in request.may_lack]
        request.check_names(table.column_names, path, labelled=not unlabelled)
        if not table.num_rows:
            raise ValueError(f"{Path(path).name} has no rows.")
        return self._complete(table, needed, request, path)

    def _complete(
        self, table: Any, named: Sequence[str], request: Request, path: str | Path
    ) -> Any:
        missing = np.zeros(table.num_rows, dtype=bool)
        for name in named:
            gone = is_missing(table.column(name))
            if gone.any() and not request.drop_missing:
                ignore = ""
                if name in request.sensitive:
                    ignore = (
                        " The model was fitted without --missing-groups ignore, which would count "
                        "them in no group."
                        if request.of_fit
                        else " Or count these people in no group, with --missing-groups ignore."
                    )
                raise ValueError(
                    f"column {name!r} of {Path(path).name} is missing in {int(gone.sum()):,} of "
                    f"{table.num_rows:,} rows, first in row {int(gone.argmax()) + 1}. Fill it, or "
                    f"leave these rows out with --drop-missing.{ignore}"
                )
            missing |= gone
        if not missing.any():
            return table
        if missing.all():
            raise ValueError(f"every row of {Path(path).name} lacks one of {', '.join(named)}.")
        self.note(f"{int(missing.sum()):,} rows that lack {' or '.join(named)} are left out.")
        return table.take(np.flatnonzero(~missing))

    def examples(self, table: Any, columns: Columns, y: NDArray | None) -> Examples:
        """Return the people of a table, whose columns are known, with these labels."""
        sensitive, control = (
            {name: columns.group_values(table.column(name), name) for name in names}
            for names in (columns.sensitive, columns.control)
        )
        for name, values in sensitive.items() if self.checks_groups else ():
            check_groups(values, table.column(name), name, self.note)
        weight = None
        if columns.weight is not None:
            weight = _weights(table, columns.weight)
        return Examples(
            as_kinds(table, columns.features),
            y,
            sensitive,
            control or None,
            weight,
            missing=columns.missing_groups,
        )


def _numbers(table: Any, name: str) -> NDArray:
    """Return a label that is a number."""
    column = table.column(name)
    try:
        found: NDArray = as_number(column, name).to_numpy().astype(float)
    except ValueError:
        texts = plain_values(column, name)
        first = next((value for value in texts if not is_number(value)), None)
        raise ValueError(
            f"label {name!r} holds values such as {first!r}; expected numbers, which is what "
            "--task regression predicts."
        ) from None
    return found


def _weights(table: Any, name: str) -> NDArray:
    """Return weights, checked before any work."""
    column = table.column(name)
    if kind_of(column, name) != "number":
        first = column.drop_null()[0].as_py()
        raise ValueError(f"weights {name!r} hold values such as {first!r}; expected numbers >= 0.")
    weight: NDArray = as_number(column, name).to_numpy()
    read_weights(weight, len(weight))
    return weight


def is_number(value: Any) -> bool:
    """Whether a value of a table is a number, or says one.

    >>> [is_number(value) for value in ("1.5", 2, "high", None)]
    [True, True, False, False]
    """
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def read_label(
    table: Any, name: str, positive: str | None, *, one: bool = False
) -> tuple[NDArray, tuple[str, ...], bool]:
    """Return the labels, what they are called, and whether they were turned into 0 and 1.

    More than two stay as they are, unless one of them is the favourable one. With ``one`` there may
    be a single one, if it is said which label is the favourable one.
    """
    values = plain_values(table.column(name), name)
    distinct = factorize(values)[1].tolist()
    known = [str(value) for value in distinct]
    if len(known) == 1 and (positive is None or not one):
        how = " Say with --positive which label is the favourable one." if one else ""
        raise ValueError(f"label {name!r} is {known[0]!r} in every row; expected two labels.{how}")
    if positive is not None and positive not in known and len(known) > 1:
        raise ValueError(
            f"--positive is {positive!r}, but column {name!r} is never that; its values are "
            f"{', '.join(map(repr, known[:10]))}.{near(positive, known)}"
        )
    if len(known) == 2:
        positive = _favourable(distinct, name) if positive is None else positive
        if positive == known[1]:
            return values, (known[0], known[1]), False
    if positive is None and 2 < len(known) <= MOST_LABELS:
        return values, tuple(known), False
    if positive is None:
        raise ValueError(
            f"label {name!r} has {len(known):,} different values ("
            f"{', '.join(map(repr, known[:4]))}{', ...' if len(known) > 4 else ''}); expected two "
            f"to {MOST_LABELS}. Say with --positive which one is the favourable label; all others "
            "count as the other. Numbers are predicted by fit and frontier, with --task regression."
        )
    others = [label for label in known if label != positive]
    text = np.array([str(value) for value in values], dtype=object)
    negative = others[0] if len(others) == 1 else f"not {positive}"
    return (text == positive).astype(np.int64), (negative, positive), True


def _favourable(labels: list[Any], name: str) -> str:
    """Return the favourable one of two labels; raise where nothing says which it is."""
    label = favourable_label(labels)
    if label is None:
        first, second = (shlex.quote(f"{label}") for label in labels)
        raise ValueError(
            f"label {name!r} is {labels[0]!r} or {labels[1]!r}, which do not say which of them is "
            f"the favourable one. Say it: --positive {first} or --positive {second}"
        )
    return str(label)


def describe(
    table: Any, named: Mapping[str, str], features: Collection[str]
) -> list[ColumnContents]:
    """Return how each column of a table was read; ``named`` are roles of columns by name."""
    found = []
    for part in table.schema:
        column = table.column(part.name)
        roles = [named.get(part.name), "feature" if part.name in features else None]
        values = None
        if words_for(part) == "category":
            values = len(column.unique().drop_null())
        found.append(
            ColumnContents(
                name=part.name,
                role=", ".join(filter(None, roles)) or "left out",
                kind=words_for(part),
                missing=int(is_missing(column).sum()),
                values=values,
            )
        )
    return found


def check_groups(values: NDArray, column: Any, name: str, note: Callable[[str], Any]) -> None:
    """Refuse a sensitive column that makes more groups than can be meant; note where many are."""
    known = [value for value in values.tolist() if value is not None]
    if not known:
        raise ValueError(f"sensitive column {name!r} is empty: there are no groups.")
    found = len(set(known))
    how = "before, by merging values"
    if kind_of(column, name) == "number" or all(map(is_number, set(known))):
        how = f"with --bins {shlex.quote(f'{name}=4')}, say"
    if found > MOST_GROUPS:
        raise ValueError(
            f"sensitive column {name!r} has {found:,} different values; expected no more than "
            f"{MOST_GROUPS} groups. Put it into classes {how}."
        )
    if found > MANY_GROUPS:
        note(
            f"sensitive column {name!r} makes {found} groups, some of them perhaps of few people. "
            f"Put it into classes {how}, or leave small groups out with --min-size."
        )


def _has_values(table: Any, name: str) -> bool:
    return name in table.column_names and not is_missing(table.column(name)).all()
