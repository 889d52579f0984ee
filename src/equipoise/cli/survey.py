"""A survey: what all pieces of a table hold, found on the workers and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.cli.pieces import Piece, read_piece
from equipoise.cli.tables.columns import Kind, as_category, as_number, import_pyarrow
from equipoise.engines.dask.retry import gather, retry
from equipoise.rows.hashing import hash_uniform

#: More different texts than these are hardly categories, and too many to send around.
MOST_VALUES = 100_000
#: How many surveys are added up in one task.
_AT_A_TIME = 8


@dataclass(frozen=True)
class Wanted:
    """Which rows and columns are read, and which rows are held out.

    Attributes
    ----------
    named : tuple of str
        Columns in which every row must have a value; rows without are left out.
    label : str
    weight : str or None
    features : dict from name to "number" or "category"
    held_out : float
        Share of the rows that are held out.
    seed : int
        Decides which; nothing else but the number of the row does.
    """

    named: tuple[str, ...]
    label: str
    weight: str | None
    features: dict[str, Kind]
    held_out: float
    seed: int

    def read(self, piece: Piece, features: Sequence[str]) -> Any:
        """Return the columns of a piece that are named, and these features."""
        return read_piece(piece, list(dict.fromkeys([*self.named, *features])))

    def part(self, piece: Piece, features: Sequence[str], *, held_out: bool) -> Any:
        """Return the rows of a piece that lack nothing and are held out, or are not."""
        table = self.read(piece, features)
        rows = self.whole(table) & (self.is_held_out(piece) == held_out)
        return table if rows.all() else table.filter(import_pyarrow().array(rows))

    def whole(self, table: Any) -> NDArray[np.bool_]:
        """Return which rows lack nothing."""
        return ~np.any([missing(table.column(name)) for name in self.named], axis=0)

    def is_held_out(self, piece: Piece) -> NDArray[np.bool_]:
        """Return which rows are held out."""
        if self.held_out == 0:
            return np.zeros(piece.rows, dtype=bool)
        number = np.arange(piece.start, piece.start + piece.rows, dtype=np.int64)
        return hash_uniform(number, self.seed) < self.held_out


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of some numbers."""

    count: int = 0
    mean: float = 0.0
    deviation: float = 0.0

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Return those of some values."""
        if not len(values):
            return cls()
        mean = float(values.mean())
        return cls(len(values), mean, float(np.square(values - mean).sum()))

    def __add__(self, other: Moments) -> Moments:
        """Return those of both together."""
        count = self.count + other.count
        if not count:
            return self
        step, share = other.mean - self.mean, other.count / count
        return Moments(
            count,
            self.mean + step * share,
            self.deviation + other.deviation + step**2 * self.count * share,
        )


@dataclass
class Survey:
    """What pieces hold.

    Attributes
    ----------
    rows, whole, train : int
        All rows, those that lack nothing, and those of them that are not held out.
    sizes : dict from the start of a piece to (train, held out)
    lacking : Counter
        Missing values by named column, over all rows.
    missing : Counter
        Missing values by feature, over the whole rows.
    values : dict from column to Counter
        The values of label and groups, and what their rows weigh.
    texts : dict from feature to Counter
        The texts of categories in the training rows, None where missing.
    moments : dict from feature to Moments
        Of the numbers that are known in the training rows.
    """

    rows: int = 0
    whole: int = 0
    train: int = 0
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    lacking: Counter = field(default_factory=Counter)
    missing: Counter = field(default_factory=Counter)
    values: dict[str, Counter] = field(default_factory=dict)
    texts: dict[str, Counter] = field(default_factory=dict)
    moments: dict[str, Moments] = field(default_factory=dict)

    def add(self, other: Survey) -> None:
        """Add what other pieces hold."""
        self.rows, self.whole = self.rows + other.rows, self.whole + other.whole
        self.train += other.train
        self.sizes.update(other.sizes)
        self.lacking.update(other.lacking)
        self.missing.update(other.missing)
        for mine, theirs in ((self.values, other.values), (self.texts, other.texts)):
            for name, counted in theirs.items():
                mine.setdefault(name, Counter()).update(counted)
                _check_number(name, len(mine[name]))
        for name, moments in other.moments.items():
            self.moments[name] = self.moments.get(name, Moments()) + moments


def survey(client: Any, pieces: Sequence[Piece], wanted: Wanted) -> Survey:
    """Survey all pieces."""
    return added_up(client, pieces, partial(survey_piece, wanted=wanted), _sum_of_surveys)


def survey_piece(piece: Piece, wanted: Wanted) -> Survey:
    """Survey one piece."""
    table, out = wanted.read(piece, list(wanted.features)), wanted.is_held_out(piece)
    whole = wanted.whole(table)
    found = Survey(piece.rows, int(whole.sum()), int((whole & ~out).sum()))
    found.lacking.update({n: int(missing(table.column(n)).sum()) for n in wanted.named})
    found.sizes[piece.start] = found.train, found.whole - found.train
    mask = import_pyarrow().array
    table, out = table.filter(mask(whole)), out[whole]
    weight = None
    if wanted.weight is not None:
        weight = as_number(table.column(wanted.weight), wanted.weight).to_numpy()
    for name in wanted.named:
        if name != wanted.weight:
            found.values[name] = _counted(table.column(name), name, weight)
    train = table.filter(mask(~out))
    for name, kind in wanted.features.items():
        found.missing[name] = int(missing(table.column(name)).sum())
        if kind == "category":
            found.texts[name] = _counted(as_category(train.column(name), name), name, None)
        else:
            found.moments[name] = Moments.of(known_numbers(train.column(name), name))
    return found


def known_numbers(column: Any, name: str) -> Array:
    """Return the numbers of a column that are there; refuse infinite ones."""
    values = as_number(column, name).to_numpy()
    if np.isinf(values).any():
        raise ValueError(f"column {name!r} has infinite values; expected finite numbers.")
    return values[~np.isnan(values)]


def missing(column: Any) -> NDArray[np.bool_]:
    """Return where a column has no value."""
    return column.is_null(nan_is_null=True).to_numpy()


def coded(column: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the values of a column as numbers of distinct ones, and these as Python has them."""
    pa = import_pyarrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found = whole.dictionary_encode(null_encoding="encode")
    return found.indices.to_numpy().astype(np.intp), found.dictionary.to_pylist()


def _counted(column: Any, name: str, weight: Array | None) -> Counter:
    code, values = coded(column)
    _check_number(name, len(values))
    return Counter(
        dict(zip(values, np.bincount(code, weight, minlength=len(values)).tolist(), strict=True))
    )


def _check_number(name: str, found: int) -> None:
    if found > MOST_VALUES:
        raise ValueError(
            f"column {name!r} has more than {MOST_VALUES:,} different values; expected categories. "
            "Leave it out with --exclude, or turn it into numbers."
        )


def _sum_of_surveys(surveys: Sequence[Survey]) -> Survey:
    total = Survey()
    for one in surveys:
        total.add(one)
    return total


def added_up(
    client: Any,
    pieces: Sequence[Piece],
    function: Callable[[Piece], Any],
    add: Callable[[Sequence[Any]], Any],
) -> Any:
    """Return ``function(piece)`` of all pieces, added up on the workers, a few at a time."""

    def work(limit: float) -> Any:
        parts = client.map(function, pieces, pure=False)
        while True:
            groups = [parts[at : at + _AT_A_TIME] for at in range(0, len(parts), _AT_A_TIME)]
            parts = [client.submit(add, group, pure=False) for group in groups]
            if len(parts) == 1:
                return gather(client, parts, limit)[0]

    return retry(client, "reading the data", work)
