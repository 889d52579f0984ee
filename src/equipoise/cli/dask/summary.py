"""Summaries of pieces, made on the workers: sizes, values, gaps, and a sample of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.cli.dask.files import Piece
from equipoise.cli.tables.columns import (
    Kind,
    as_category,
    as_kinds,
    as_number,
    import_pyarrow,
    is_missing,
)
from equipoise.engines.dask.retry import gather, retry
from equipoise.rows.hashing import hash_uniform

#: More different values than these are hardly categories, and too many to send around.
MOST_VALUES = 100_000
#: Tells the hash that draws the sample from the one that draws the rows to hold out.
_SAMPLE_SALT = 1 << 40


@dataclass(frozen=True)
class PieceReader:
    """Which rows and columns are read, which rows are held out, and which are sampled.

    Rows are drawn by their number among the rows of all files, and by nothing else.
    """

    named: tuple[str, ...]  #: Columns that every row must have; rows without are left out.
    weight: str | None  #: One of them.
    features: dict[str, Kind]
    held_out: float  #: Share of the rows that are held out.
    sampled: float  #: Share of the other rows in the sample; the encoder is fitted to it.
    seed: int

    def read(self, piece: Piece, features: Iterable[str]) -> Any:
        """Return the columns of a piece that are named, and some features."""
        return piece.read(list(dict.fromkeys([*self.named, *features])))

    def part(self, piece: Piece, features: Iterable[str], *, held_out: bool) -> Any:
        """Return the rows of a piece that lack nothing and are held out, or are not."""
        table = self.read(piece, features)
        rows = self.whole(table) & (self.is_held_out(piece) == held_out)
        return table.filter(import_pyarrow().array(rows))

    def whole(self, table: Any) -> NDArray[np.bool_]:
        """Return which rows lack nothing."""
        return ~np.any([is_missing(table.column(name)) for name in self.named], axis=0)

    def is_held_out(self, piece: Piece) -> NDArray[np.bool_]:
        """Return which rows are held out."""
        return _drawn(piece, self.held_out, self.seed)


@dataclass
class Summary:
    """What is known of some pieces."""

    rows: int = 0
    whole: int = 0  #: Rows that lack nothing.
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """From the start of a piece to (rows to learn from, rows held out)."""
    lacking: Counter = field(default_factory=Counter)  #: Missing values by named column, all rows.
    missing: Counter = field(default_factory=Counter)  #: The same by feature, whole rows.
    values: dict[str, Counter] = field(default_factory=dict)
    """By label or group column, the weight of the whole rows with each value."""
    texts: dict[str, Counter] = field(default_factory=dict)
    """By feature, the rows with each text; empty where the sample holds all rows."""
    sample: list[Any] = field(default_factory=list)  #: Tables of the features of sampled rows.

    def add(self, other: Summary) -> None:
        """Add the summary of other pieces."""
        self.rows, self.whole = self.rows + other.rows, self.whole + other.whole
        self.sizes.update(other.sizes)
        self.lacking.update(other.lacking)
        self.missing.update(other.missing)
        self.sample += other.sample
        for mine, theirs in ((self.values, other.values), (self.texts, other.texts)):
            for name, counted in theirs.items():
                mine.setdefault(name, Counter()).update(counted)
                _check_number(name, len(mine[name]))


def summarize(client: Any, pieces: Sequence[Piece], reader: PieceReader) -> Summary:
    """Return the summary of all pieces, each made by a worker; lost workers are made up for."""
    function = partial(summarize_piece, reader=reader)
    parts = retry(
        client,
        "reading the data",
        lambda limit: gather(client, client.map(function, pieces, pure=False), limit),
    )
    total = Summary()
    for part in parts:
        total.add(part)
    return total


def summarize_piece(piece: Piece, reader: PieceReader) -> Summary:
    """Return the summary of one piece."""
    table, mask = reader.read(piece, reader.features), import_pyarrow().array
    whole = reader.whole(table)
    learned = whole & ~reader.is_held_out(piece)
    found = Summary(piece.rows, int(whole.sum()))
    found.sizes[piece.start] = int(learned.sum()), found.whole - int(learned.sum())
    found.lacking.update({n: int(is_missing(table.column(n)).sum()) for n in reader.named})
    sampled = learned & _drawn(piece, reader.sampled, reader.seed + _SAMPLE_SALT)
    found.sample.append(as_kinds(table.filter(mask(sampled)), reader.features))
    table = table.filter(mask(whole))
    weight = None
    if reader.weight is not None:
        weight = as_number(table.column(reader.weight), reader.weight).to_numpy()
    for name in reader.named:
        if name != reader.weight:
            found.values[name] = _counted(table.column(name), name, weight)
    for name, kind in reader.features.items():
        column = table.column(name)
        found.missing[name] = int(is_missing(column).sum())
        if kind == "number":
            if np.isinf(as_number(column, name).to_numpy()).any():
                raise ValueError(f"column {name!r} has infinite values; expected finite numbers.")
        elif reader.sampled < 1:
            found.texts[name] = _counted(as_category(column, name), name, None)
    return found


def _drawn(piece: Piece, share: float, salt: int) -> NDArray[np.bool_]:
    """Return a share of the rows of a piece, by their numbers among all rows."""
    if share in (0.0, 1.0):
        return np.full(piece.rows, bool(share))
    number = np.arange(piece.start, piece.start + piece.rows, dtype=np.int64)
    return hash_uniform(number, salt) < share


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
