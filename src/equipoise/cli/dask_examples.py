"""Examples on a cluster: Parquet files as Dask collections, columns told apart as in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.cli.learned_encoder import learned_encoder
from equipoise.cli.medians import medians
from equipoise.cli.pieces import ParquetFiles, Piece, open_files
from equipoise.cli.survey import Survey, Wanted, coded, survey
from equipoise.cli.tables.columns import Kind, as_kinds, as_number, import_pyarrow, plain_values
from equipoise.cli.tables.people import MOST_GROUPS, Columns, Request, read_label


@dataclass(frozen=True, eq=False)
class DaskExamples:
    """People whose rows are on the workers; as `equipoise.cli.tables.people.Examples`.

    Attributes
    ----------
    X : dask.array.Array
        The features, encoded.
    y : dask.array.Array
    sensitive, control : dask.dataframe.DataFrame
        Control is None where there is none.
    weight : dask.array.Array or None
    rows : int
    """

    X: Any
    y: Any
    sensitive: Any
    control: Any
    weight: Any
    rows: int

    def __len__(self) -> int:
        return self.rows

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y."""
        return {
            "sensitive_features": self.sensitive,
            "control_features": self.control,
            "sample_weight": self.weight,
        }


@dataclass(frozen=True, eq=False)
class DaskData:
    """All that was found in files.

    Attributes
    ----------
    train, test : DaskExamples
        People to learn from, and people held out, or None.
    columns : Columns
    encoder : transformer
        Fitted to the people to learn from.
    base_rate : float
        The share of the favourable label.
    missing : dict from feature to int
        Missing values.
    """

    train: DaskExamples
    test: DaskExamples | None
    columns: Columns
    encoder: Any
    base_rate: float
    missing: dict[str, int]


class DaskReader:
    """Reads examples out of Parquet files with the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    note : callable
        Told what should be known.
    """

    def __init__(self, client: Any, note: Callable[[str], None] = lambda text: None) -> None:
        self.client, self.note = client, note

    def training(self, data: Path, request: Request, held_out: float, seed: int) -> DaskData:
        """Return the examples of files, and what their columns were taken for."""
        files = open_files(data)
        wanted = self._wanted(files, request, held_out, seed)
        workers = len(self.client.nthreads())
        pieces = files.cut(workers)
        if len(pieces) < workers:
            self.note(
                f"the files have {len(pieces)} row groups, so that {workers - len(pieces)} of "
                f"{workers} workers have nothing to do. Write files with smaller row groups."
            )
        found = survey(self.client, pieces, wanted)
        self._check_whole(found, wanted, files, request.drop_missing)
        wanted = self._without_empty(wanted, found)
        columns, tables = _told_apart(found, wanted, request)
        middle = medians(self.client, pieces, wanted, found.moments)
        encoder = learned_encoder(wanted.features, found, middle)
        parts = Parts(pieces, wanted, columns, tables, encoder)
        test = parts.examples(found, held_out=True)
        if held_out > 0 and not len(test):
            self.note("nobody was held out: there are too few rows for this --test-size.")
        return DaskData(
            parts.examples(found, held_out=False),
            test if len(test) else None,
            columns,
            encoder,
            _base_rate(found.values[columns.label], tables[columns.label], columns),
            {name: found.missing[name] for name in columns.features},
        )

    def _wanted(self, files: ParquetFiles, request: Request, held_out: float, seed: int) -> Wanted:
        named = [request.label, *request.sensitive, *request.control]
        named += [] if request.weight is None else [request.weight]
        files.check([*named, *request.exclude])
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise ValueError(f"column {twice!r} is named for two purposes; expected one.")
        left_out = {*request.exclude, request.label, request.weight}
        left_out |= set() if request.use_sensitive else set(request.sensitive)
        for name in named:
            files.kind(name)
        features: dict[str, Kind] = {}
        for name in files.names:
            if name not in left_out and (kind := self._kind(files, name)) is not None:
                features[name] = kind
        if not features:
            raise ValueError(
                f"no column is left to learn from: {', '.join(map(repr, named))} are not features."
            )
        return Wanted(tuple(named), request.label, request.weight, features, held_out, seed)

    def _kind(self, files: ParquetFiles, name: str) -> Kind | None:
        types, kind = import_pyarrow().types, files.kind(name)
        if kind is None:
            self.note(f"column {name!r} has no values and is left out.")
        for found in files.types[name]:
            if types.is_dictionary(found) and types.is_floating(found.value_type):
                raise ValueError(
                    f"column {name!r} is of type {found}; with --dask expected numbers or text. "
                    "Leave it out with --exclude, or write it as one of these."
                )
        return kind

    def _check_whole(self, found: Survey, wanted: Wanted, files: ParquetFiles, drop: bool) -> None:
        for name in wanted.named:
            if (gone := found.lacking[name]) and not drop:
                raise ValueError(
                    f"column {name!r} of {files.name} is missing in {gone:,} of {found.rows:,} "
                    "rows. Fill it, or leave these rows out with --drop-missing."
                )
        named = " or ".join(wanted.named)
        if not found.train:
            raise ValueError(f"no row of {files.name} is left to learn from: all lack {named}.")
        if left := found.rows - found.whole:
            self.note(f"{left:,} rows that lack {named} are left out.")

    def _without_empty(self, wanted: Wanted, found: Survey) -> Wanted:
        """Leave features out that have no values."""
        kept = dict(wanted.features)
        for name in wanted.features:
            if found.missing[name] == found.whole:
                self.note(f"column {name!r} has no values and is left out.")
                del kept[name]
        return replace(wanted, features=kept)


def _told_apart(
    found: Survey, wanted: Wanted, request: Request
) -> tuple[Columns, dict[str, dict[Any, Any]]]:
    """Return what the columns are, and for label and groups what each of their values becomes."""
    pa = import_pyarrow()
    tables: dict[str, dict[Any, Any]] = {}
    distinct = {name: _column(values) for name, values in found.values.items()}
    label = pa.table({request.label: distinct[request.label]})
    y, labels, recoded = read_label(label, request.label, request.positive)
    tables[request.label] = dict(zip(found.values[request.label], y.tolist(), strict=True))
    for name in (*request.sensitive, *request.control):
        values = found.values[name]
        if name in request.sensitive and len(values) > MOST_GROUPS:
            raise ValueError(
                f"sensitive column {name!r} has {len(values):,} different values; expected no more "
                f"than {MOST_GROUPS} groups. Put it into classes first, such as under 40 and over."
            )
        tables[name] = dict(zip(values, plain_values(distinct[name], name).tolist(), strict=True))
    columns = Columns(
        label=request.label,
        labels=labels,
        recoded=recoded,
        sensitive=tuple(request.sensitive),
        control=tuple(request.control),
        weight=request.weight,
        features=wanted.features,
    )
    return columns, tables


def _column(values: Any) -> Any:
    """Return distinct values as a column; numbers of several types as floats."""
    pa, known = import_pyarrow(), list(values)
    if len({type(value) for value in known}) > 1:
        known = [float(value) for value in known]
    return pa.chunked_array([pa.array(known)])


def _base_rate(weights: Mapping[Any, float], plain: Mapping[Any, Any], columns: Columns) -> float:
    favourable = "1" if columns.recoded else columns.labels[1]
    chosen = sum(weight for value, weight in weights.items() if str(plain[value]) == favourable)
    return chosen / sum(weights.values())


class Parts:
    """Reads pieces into parts of collections: these functions run on the workers.

    Parameters
    ----------
    pieces : sequence of Piece
    wanted : Wanted
    columns : Columns
    tables : dict from column to dict
        What the values of label and groups become.
    encoder : transformer
        Fitted.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        wanted: Wanted,
        columns: Columns,
        tables: dict[str, dict[Any, Any]],
        encoder: Any,
    ) -> None:
        self.pieces, self.wanted, self.columns = pieces, wanted, columns
        self.tables, self.encoder = tables, encoder

    def examples(self, found: Survey, *, held_out: bool) -> DaskExamples:
        """Return the people that are held out, or the others; nothing is read yet."""
        import dask.array as da
        import dask.dataframe as dd
        from dask import delayed

        # Workers get the pieces one by one, and the rest once.
        worker = delayed(Parts((), self.wanted, self.columns, self.tables, self.encoder))
        sizes = [found.sizes[piece.start][held_out] for piece in self.pieces]
        pieces = list(zip(self.pieces, sizes, strict=True))
        columns = self.columns

        def array(read: Any, shape: tuple[int, ...], dtype: Any) -> Any:
            return da.concatenate(
                [
                    da.from_delayed(read(piece, held_out), (size, *shape), dtype=dtype)
                    for piece, size in pieces
                ]
            )

        def frame(names: tuple[str, ...]) -> Any:
            meta = _frame({name: _values(self.tables[name])[:0] for name in names})
            read = [worker.groups(piece, held_out, names) for piece, _ in pieces]
            return dd.from_delayed(read, meta=meta, verify_meta=False)

        width = self.encoder.transform(example_row(columns.features)).shape[1]
        label = _values(self.tables[columns.label])
        return DaskExamples(
            array(worker.features, (width,), np.float64),
            array(worker.labels, (), label.dtype),
            frame(columns.sensitive),
            frame(columns.control) if columns.control else None,
            None if columns.weight is None else array(worker.weights, (), np.float64),
            sum(sizes),
        )

    def features(self, piece: Piece, held_out: bool) -> Array:
        """Return the features of a piece, encoded."""
        kinds = self.columns.features
        table = self.wanted.part(piece, list(kinds), held_out=held_out)
        if not table.num_rows:
            return np.empty((0, self.encoder.transform(example_row(kinds)).shape[1]))
        return self.encoder.transform(as_kinds(table, kinds))

    def labels(self, piece: Piece, held_out: bool) -> NDArray:
        """Return the labels of a piece."""
        return self._plain(self.wanted.part(piece, (), held_out=held_out), self.columns.label)

    def groups(self, piece: Piece, held_out: bool, names: tuple[str, ...]) -> Any:
        """Return the groups of a piece."""
        table = self.wanted.part(piece, (), held_out=held_out)
        return _frame({name: self._plain(table, name) for name in names})

    def weights(self, piece: Piece, held_out: bool) -> Array:
        """Return the weights of a piece."""
        table, name = self.wanted.part(piece, (), held_out=held_out), self.columns.weight
        return as_number(table.column(name), name or "").to_numpy()

    def _plain(self, table: Any, name: str) -> NDArray:
        code, values = coded(table.column(name))
        plain, all_plain = [self.tables[name][v] for v in values], _values(self.tables[name])
        return np.array(plain, dtype=all_plain.dtype)[code] if plain else all_plain[:0]


def _values(table: dict[Any, Any]) -> NDArray:
    """Return what the values of a column become, as whole numbers or as objects."""
    known = list(table.values())
    return np.array(known) if isinstance(known[0], int) else np.array(known, dtype=object)


def example_row(kinds: dict[str, Kind]) -> Any:
    """Return a row in which everything is missing."""
    pa = import_pyarrow()
    types = {"number": pa.float64(), "category": pa.string()}
    return pa.table(
        {
            name: pa.array([float("nan") if kind == "number" else None], types[kind])
            for name, kind in kinds.items()
        }
    )


def _frame(columns: dict[str, NDArray]) -> Any:
    """Return a data frame; texts stay objects."""
    import pandas as pd

    return pd.DataFrame(
        {name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()}
    )
