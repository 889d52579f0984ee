"""People on a cluster: Parquet files as Dask collections, with columns read as in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from equipoise.cli.dask.files import (
    ParquetFiles,
    Piece,
    PieceReader,
    Summary,
    coded,
    open_files,
    summarize,
)
from equipoise.cli.tables.columns import as_kinds, as_number
from equipoise.cli.tables.encoding import make_encoder, without_names
from equipoise.cli.tables.people import Examples, check_groups, read_label
from equipoise.cli.tables.request import Columns, Request
from equipoise.cli.training import TrainingData
from equipoise.report.contents import ColumnContents, base_rate

#: Rows of the sample that the encoder is fitted to, about. Tables with no more are exact.
SAMPLE_ROWS = 1_000_000


class DaskReader:
    """Reads people out of Parquet files with the workers of a cluster."""

    def __init__(self, client: Any, note: Callable[[str], None] = lambda text: None) -> None:
        self.client, self.note = client, note

    def training(self, data: Path, request: Request, held_out: float, seed: int) -> TrainingData:
        """Return the people of files; of their rows, the sample alone comes here."""
        files = open_files(data)
        reader = self._reader(files, request, held_out, seed)
        pieces = self._pieces(files)
        found = summarize(self.client, pieces, reader)
        self._check_whole(found, reader, files, request.drop_missing)
        reader = self._without_empty(reader, found)
        sample = pa.concat_tables(found.sample)
        kept = without_names(reader.features, sample, request.keep_text, self.note)
        reader = replace(reader, features=kept)
        columns, values = _columns_and_values(found, reader, request, self.note)
        encoder = self._encoder(found, reader)
        train, test = (
            PartReader(reader, columns, values, out).people(
                pieces, [found.sizes[piece.start][out] for piece in pieces]
            )
            for out in (False, True)
        )
        if held_out > 0 and not len(test):
            self.note("nobody was held out: there are too few rows for this --test-size.")
        return TrainingData(
            name=files.name,
            train=train,
            test=test if len(test) else None,
            columns=columns,
            encoder=FrozenEstimator(encoder),
            base_rate=_base_rate(found, values, columns),
            read=[
                ColumnContents(name, "feature", kind, found.missing[name])
                for name, kind in columns.features.items()
            ],
            held_out=(reader.part(piece, columns.features, held_out=True) for piece in pieces),
        )

    def _reader(
        self, files: ParquetFiles, request: Request, held_out: float, seed: int
    ) -> PieceReader:
        request.check_names(files.names, files.name)
        for name in request.named:
            files.kind(name)
        features = request.features(files.names, files.feature_kind, self.note)
        sampled = min(SAMPLE_ROWS / files.rows, 1.0)
        drawn = (held_out, sampled, seed)
        return PieceReader(request.named, request.weight, features, *drawn, request.may_lack)

    def _pieces(self, files: ParquetFiles) -> list[Piece]:
        workers = len(self.client.nthreads())
        pieces = files.cut(workers)
        if (idle := workers - len(pieces)) > 0:
            self.note(
                f"the files have {len(pieces)} row groups, so that {idle} of {workers} workers "
                "have nothing to do. Write files with smaller row groups."
            )
        return pieces

    def _check_whole(
        self, found: Summary, reader: PieceReader, files: ParquetFiles, drop: bool
    ) -> None:
        for name in reader.needed:
            if (gone := found.lacking[name]) and not drop:
                raise ValueError(
                    f"column {name!r} of {files.name} is missing in {gone:,} of {found.rows:,} "
                    "rows. Fill it, or leave these rows out with --drop-missing. People whose "
                    "group is missing may count in no group, with --missing-groups ignore."
                )
        named = " or ".join(reader.needed)
        if not any(learned for learned, _ in found.sizes.values()):
            raise ValueError(f"no row of {files.name} is left to learn from: all lack {named}.")
        if left := found.rows - found.whole:
            self.note(f"{left:,} rows that lack {named} are left out.")

    def _without_empty(self, reader: PieceReader, found: Summary) -> PieceReader:
        """Leave features out that have no values."""
        empty = [name for name in reader.features if found.missing[name] == found.whole]
        for name in empty:
            self.note(f"column {name!r} has no values and is left out.")
        return replace(
            reader, features={k: v for k, v in reader.features.items() if k not in empty}
        )

    def _encoder(self, found: Summary, reader: PieceReader) -> Any:
        """Return the encoder, fitted to the sample; note which values it has not seen."""
        sample = pa.concat_tables(found.sample).select(list(reader.features))
        if not sample.num_rows:
            raise ValueError("no row was drawn to learn the encoding from; choose another --seed.")
        encoder = make_encoder(reader.features, sample).fit(sample)
        for name in (name for name in reader.features if name in found.texts):
            known = set(sample.column(name).unique().to_pylist())
            if unseen := [n for text, n in found.texts[name].items() if text not in known]:
                self.note(
                    f"column {name!r}: {len(unseen):,} different values, in {sum(unseen):,} rows, "
                    f"are not among the {sample.num_rows:,} rows that the encoding was learned "
                    "from; they count as rare values, or as none."
                )
        return encoder


@dataclass(frozen=True)
class PartReader:
    """Reads the people of a piece who are held out, or the others, on a worker."""

    reader: PieceReader
    columns: Columns
    values: dict[str, dict[Any, Any]]  #: By label or group column, what each value becomes.
    held_out: bool

    def part(self, piece: Piece, features: Iterable[str] = ()) -> Any:
        """Return the columns that are named, and some features."""
        return self.reader.part(piece, features, held_out=self.held_out)

    def features(self, piece: Piece) -> Any:
        """Return the features, as a data frame."""
        kinds = self.columns.features
        table = as_kinds(self.part(piece, kinds), kinds)
        return _frame({name: _objects(table.column(name)) for name in kinds})

    def labels(self, piece: Piece) -> NDArray:
        """Return the labels."""
        return self._plain(self.part(piece), self.columns.label)

    def groups(self, piece: Piece, names: Sequence[str]) -> Any:
        """Return the columns that make groups, as a data frame."""
        table = self.part(piece)
        return _frame({name: self._plain(table, name) for name in names})

    def weights(self, piece: Piece) -> NDArray:
        """Return the weights."""
        table, name = self.part(piece), self.columns.weight
        return as_number(table.column(name), name or "").to_numpy()

    def people(self, pieces: Sequence[Piece], sizes: Sequence[int]) -> Examples:
        """Return the people of all pieces as Dask collections; nothing is read yet."""
        import dask
        import dask.array as da
        import dask.dataframe as dd

        columns = self.columns
        empty = {"number": np.empty(0), "category": np.empty(0, dtype=object)}
        features = _frame({name: empty[kind] for name, kind in columns.features.items()})
        worker = dask.delayed(self)  # sent once

        def array(read: Any, dtype: Any) -> Any:
            shaped = zip(pieces, sizes, strict=True)
            return da.concatenate([da.from_delayed(read(p), (n,), dtype=dtype) for p, n in shaped])

        def frame(names: Sequence[str]) -> Any:
            meta = _frame({name: self._known(name)[:0] for name in names})
            return dd.from_map(self.groups, pieces, names=names, meta=meta)

        # Text stays as it is, since the encoder tells None from other missing values.
        with dask.config.set({"dataframe.convert-string": False}):
            return Examples(
                dd.from_map(self.features, pieces, meta=features),
                array(worker.labels, self._known(columns.label).dtype),
                frame(columns.sensitive),
                frame(columns.control) if columns.control else None,
                None if columns.weight is None else array(worker.weights, np.float64),
                missing=columns.missing_groups,
            )

    def _plain(self, table: Any, name: str) -> NDArray:
        code, found = coded(table.column(name))
        known = self._known(name)
        plain = np.array([self.values[name][value] for value in found], dtype=known.dtype)
        return plain[code] if len(plain) else known[:0]

    def _known(self, name: str) -> NDArray:
        """Return the codes of the values of a column, as whole numbers or as objects."""
        known = list(self.values[name].values())
        whole = all(isinstance(value, int) for value in known)
        return np.array(known) if whole else np.array(known, dtype=object)


def _columns_and_values(
    found: Summary, reader: PieceReader, request: Request, note: Callable[[str], None]
) -> tuple[Columns, dict[str, dict[Any, Any]]]:
    """Return the roles of the columns, and the codes of each value of label and groups."""
    distinct = {name: _column(values) for name, values in found.values.items()}
    label = pa.table({request.label: distinct[request.label]})
    y, labels, recoded = read_label(label, request.label, request.positive)
    values = {request.label: dict(zip(found.values[request.label], y.tolist(), strict=True))}
    columns = request.columns(labels, recoded, reader.features, distinct, found.values)
    for name in (*request.sensitive, *request.control):
        groups = columns.group_values(distinct[name], name)
        if name in request.sensitive:
            check_groups(groups, distinct[name], name, note)
        values[name] = dict(zip(found.values[name], groups.tolist(), strict=True))
    return columns, values


def _column(values: Any) -> Any:
    """Return distinct values as a column; numbers of several types as floats."""
    known = list(values)
    if len({type(value) for value in known if value is not None}) > 1:
        known = [None if value is None else float(value) for value in known]
    return pa.chunked_array([pa.array(known)])


def _base_rate(
    found: Summary, values: dict[str, dict[Any, Any]], columns: Columns
) -> float | list[float]:
    weights, plain = found.values[columns.label], values[columns.label]
    y = np.array([str(plain[value]) for value in weights], dtype=object)
    return base_rate(y, ("0", "1") if columns.recoded else columns.labels, [*weights.values()])


def _objects(column: Any) -> NDArray:
    """Return numbers as floats, and text as objects of which equal ones are the same."""
    if pa.types.is_floating(column.type):
        return column.to_numpy()
    code, known = coded(column)
    return np.array(known, dtype=object)[code] if known else np.empty(0, dtype=object)


def _frame(columns: dict[str, NDArray]) -> Any:
    """Return a data frame; texts stay objects."""
    import pandas as pd

    return pd.DataFrame(
        {name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()}
    )
