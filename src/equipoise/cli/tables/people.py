"""Examples: what a table says about people, told apart into features, label, groups and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from equipoise.cells.codes import factorize
from equipoise.cells.rows import Array
from equipoise.cli.names import near
from equipoise.cli.tables.columns import Kind, as_kinds, as_number, kind_of, plain_values
from equipoise.cli.tables.files import read_table

#: More groups than these are hardly meant: a column such as age, which was not put into classes.
MOST_GROUPS = 100


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are; kept in model files.

    Attributes
    ----------
    label : str
    labels : pair of str
        The unfavourable and the favourable label, as printed.
    recoded : bool
        Whether the model knows them as 0 and 1, since it has its own order or there are more.
    sensitive, control : tuple of str
    weight : str or None
    features : dict from name to "number" or "category"
    missing : tuple of str
        What else stands for a missing value in CSV files.
    """

    label: str
    labels: tuple[str, str]
    recoded: bool
    sensitive: tuple[str, ...]
    control: tuple[str, ...]
    weight: str | None
    features: dict[str, Kind]
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Columns:
        """Return what `to_dict` was made of."""
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.items()
        }
        return cls(**values)


@dataclass(frozen=True, eq=False)
class Examples:
    """People to learn from, or to measure a model on.

    Attributes
    ----------
    X : pyarrow.Table
        The features.
    y : array of shape (n,)
    sensitive, control : dict from name to array of shape (n,)
    weight : array of shape (n,), or None
    """

    X: Any
    y: NDArray
    sensitive: dict[str, NDArray]
    control: dict[str, NDArray] = field(default_factory=dict)
    weight: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y."""
        return {
            "sensitive_features": self.sensitive,
            "control_features": self.control or None,
            "sample_weight": self.weight,
        }

    def take(self, rows: NDArray[np.intp]) -> Examples:
        """Return some of the people."""
        return Examples(
            self.X.take(rows),
            self.y[rows],
            {name: values[rows] for name, values in self.sensitive.items()},
            {name: values[rows] for name, values in self.control.items()},
            None if self.weight is None else self.weight[rows],
        )

    def split(self, test_size: float, seed: int) -> tuple[Examples, Examples | None]:
        """Deal the people into those to learn from and those held out; none if the size is 0."""
        if not 0 <= test_size < 1:
            raise ValueError(f"--test-size is {test_size}; expected a share from 0 to below 1.")
        if test_size == 0:
            return self, None
        codes = [factorize(values)[0] for values in (self.y, *self.sensitive.values())]
        _, cell = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        few = np.bincount(cell.ravel()).min() < 2
        rows = np.arange(len(self))
        train, test = train_test_split(
            rows, test_size=test_size, random_state=seed, stratify=None if few else cell.ravel()
        )
        return self.take(np.sort(train)), self.take(np.sort(test))


@dataclass(frozen=True)
class Request:
    """Which columns a command was told to use, and how."""

    label: str
    sensitive: Sequence[str]
    positive: str | None = None
    control: Sequence[str] = ()
    weight: str | None = None
    exclude: Sequence[str] = ()
    use_sensitive: bool = False
    missing: Sequence[str] = ()
    drop_missing: bool = False


class Reader:
    """Reads examples out of files and says in sentences what is wrong with them.

    Parameters
    ----------
    note : callable
        Told what should be known, such as columns that are left out.
    """

    def __init__(self, note: Any = lambda text: None) -> None:
        self.note = note

    def training(self, path: str | Path, request: Request) -> tuple[Examples, Columns]:
        """Return the examples of a file, and what its columns were taken for."""
        table = self.whole(path, request)
        named = (request.label, *request.sensitive, *request.control)
        y, labels, recoded = read_label(table, request.label, request.positive)
        left_out = {*request.exclude, request.label, request.weight}
        left_out |= set() if request.use_sensitive else set(request.sensitive)
        features: dict[str, Kind] = {}
        for name in table.column_names:
            if name in left_out:
                continue
            kind = kind_of(table.column(name), name)
            if kind is None:
                self.note(f"column {name!r} has no values and is left out.")
            else:
                features[name] = kind
        if not features:
            raise ValueError(
                f"no column is left to learn from: {', '.join(map(repr, named))} are not features."
            )
        columns = Columns(
            label=request.label,
            labels=labels,
            recoded=recoded,
            sensitive=tuple(request.sensitive),
            control=tuple(request.control),
            weight=request.weight,
            features=features,
            missing=tuple(request.missing),
        )
        return self._examples(table, columns, y), columns

    def known(self, path: str | Path, columns: Columns, *, drop_missing: bool = False) -> Examples:
        """Return the examples of another file with the columns that a model knows."""
        request = Request(
            columns.label,
            columns.sensitive,
            control=columns.control,
            weight=columns.weight,
            missing=columns.missing,
            drop_missing=drop_missing,
        )
        table = self.whole(path, request)
        check_columns(table.column_names, columns.features, path)
        values = plain_values(table.column(columns.label), columns.label)
        text = np.array([str(value) for value in values], dtype=object)
        if columns.recoded:
            y: NDArray = (text == columns.labels[1]).astype(np.int64)
        else:
            y = values
            if strange := sorted(set(text) - set(columns.labels)):
                raise ValueError(
                    f"column {columns.label!r} has the label {strange[0]!r}; the model knows "
                    f"{columns.labels[0]!r} and {columns.labels[1]!r}."
                )
        return self._examples(table, columns, y)

    def whole(self, path: str | Path, request: Request) -> Any:
        """Return a table in which label, groups and weights are complete."""
        table = read_table(path, missing=request.missing)
        named = [request.label, *request.sensitive, *request.control]
        named += [] if request.weight is None else [request.weight]
        check_columns(table.column_names, [*named, *request.exclude], path)
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise ValueError(f"column {twice!r} is named for two purposes; expected one.")
        if not table.num_rows:
            raise ValueError(f"{Path(path).name} has no rows.")
        return self._complete(table, named, request.drop_missing, path)

    def _complete(self, table: Any, named: list[str], drop: bool, path: str | Path) -> Any:
        missing = np.zeros(table.num_rows, dtype=bool)
        for name in named:
            gone = table.column(name).is_null(nan_is_null=True).to_numpy()
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

    def _examples(self, table: Any, columns: Columns, y: NDArray) -> Examples:
        sensitive, control = (
            {name: plain_values(table.column(name), name) for name in names}
            for names in (columns.sensitive, columns.control)
        )
        for name, values in sensitive.items():
            if (found := len(set(values.tolist()))) > MOST_GROUPS:
                raise ValueError(
                    f"sensitive column {name!r} has {found:,} different values; expected no more "
                    f"than {MOST_GROUPS} groups. Put it into classes first, such as under 40 and "
                    "over."
                )
        weight = None
        if columns.weight is not None:
            weight = as_number(table.column(columns.weight), columns.weight).to_numpy()
        return Examples(as_kinds(table, columns.features), y, sensitive, control, weight)


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


def check_columns(known: Sequence[str], wanted: Any, path: str | Path) -> None:
    """Refuse names that a table does not have, with a hint at what was meant."""
    for name in wanted:
        if name not in known:
            listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise ValueError(
                f"{Path(path).name} has no column {name!r}.{near(name, list(known))} It has: "
                f"{listed}."
            )
