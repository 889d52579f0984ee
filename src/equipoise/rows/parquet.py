"""Rows that stay on disk: tables in Parquet files, larger than memory and read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from equipoise.exceptions import needing


class ParquetRows:
    """The features of people in Parquet files, to be passed as X where they do not fit in memory.

    For an ``XGBClassifier`` or ``XGBRegressor`` (XGBoost 3 or newer), which train from batches.
    What is kept in memory is a batch, and the few bytes a row that labels, weights and scores take.
    Labels, sensitive features and sample weights are columns in memory; `column` reads them from
    the same files.

    Parameters
    ----------
    path : str or Path, or a sequence of them
        A file; a folder, whose ``.parquet`` files are taken in the order of their names; or several
        of either.
    features : sequence of str
        The columns that the learner is to see, in this order: numbers or booleans. What is null is
        missing to the learner.
    batch_size : int, default=65536
        The most rows to read at a time. A file with larger row groups takes the memory of a row
        group.

    Examples
    --------
    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pyarrow.table({"age": [20, 30, 40], "sex": ["F", "M", "F"], "hired": [0, 1, 1]})
    >>> pyarrow.parquet.write_table(table, f"{folder.name}/people.parquet")
    >>> rows = ParquetRows(folder.name, features=["age"])
    >>> rows.shape, rows.column("sex").tolist()
    ((3, 1), ['F', 'M', 'F'])
    >>> [batch.tolist() for batch in rows.batches()]
    [[[20], [30], [40]]]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        features: Sequence[str],
        batch_size: int = 1 << 16,
    ) -> None:
        self.files = _files(path)
        self.features = [features] if isinstance(features, str) else list(features)
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected a number of rows >= 1.")
        self.batch_size = int(batch_size)
        sizes = [self._check(file) for file in self.files]
        self.shape = (sum(sizes), len(self.features))

        self._kept: NDArray[np.intp] | None = None

    def take(self, rows: NDArray[np.intp]) -> ParquetRows:
        """Return the same files with some rows only, in the order of the files.

        ``rows`` are their numbers, rising. All rows are read, and the others left out.
        """
        part = copy(self)
        part._kept = rows if self._kept is None else self._kept[rows]
        part.shape = (len(rows), self.shape[1])
        return part

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        files = f"{len(self.files)} files" if len(self.files) > 1 else str(self.files[0].name)
        return f"<ParquetRows: {self.shape[0]} rows of {self.shape[1]} features in {files}>"

    def column(self, name: str) -> NDArray:
        """Read one column into memory: labels, groups, weights.

        Text takes one object for equal values, and so 8 bytes a row.
        """
        arrow = _pyarrow()
        parts = [arrow.parquet.read_table(file, columns=[name]) for file in self.files]
        for file, part in zip(self.files, parts, strict=True):
            if name not in part.column_names:
                raise ValueError(f"{file} has no column {name!r}.")
        values = arrow.concat_tables(parts, promote_options="permissive").column(name)
        if not arrow.types.is_string(values.type) and not arrow.types.is_large_string(values.type):
            return self._some(values.to_numpy())
        coded = values.dictionary_encode().unify_dictionaries().combine_chunks()
        texts = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
        return self._some(texts[coded.indices.fill_null(len(texts) - 1).to_numpy()])

    def _some(self, values: NDArray) -> NDArray:
        """Return the values of the rows that were taken."""
        return values if self._kept is None else values[self._kept]

    def batches(self) -> Iterator[NDArray]:
        """Read the features, a table of at most ``batch_size`` rows at a time."""
        if self._kept is None:
            yield from self._all_batches()
            return
        start = 0
        for batch in self._all_batches():
            ends = np.searchsorted(self._kept, [start, start + len(batch)])
            if ends[0] < ends[1]:
                yield batch[self._kept[slice(*ends)] - start]
            start += len(batch)

    def _all_batches(self) -> Iterator[NDArray]:
        arrow = _pyarrow()
        for file in self.files:
            # Arrow would read ahead, the whole file if it can: a group of rows at a time.
            with arrow.parquet.ParquetFile(file, pre_buffer=False) as opened:
                for group in range(opened.num_row_groups):
                    for batch in opened.iter_batches(
                        self.batch_size, row_groups=[group], columns=self.features
                    ):
                        yield np.column_stack(
                            [batch.column(n).to_numpy(zero_copy_only=False) for n in self.features]
                        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "X is rows on disk (ParquetRows), which are read in batches and never as a whole. They "
            "go with an XGBClassifier or XGBRegressor, oracle='refit' and no cv; for anything else "
            "load the table into memory."
        )

    def _check(self, file: Path) -> int:
        """Return the number of rows of a file that has all features, as numbers."""
        arrow = _pyarrow()
        with arrow.parquet.ParquetFile(file) as opened:
            schema, rows = opened.schema_arrow, opened.metadata.num_rows
        kinds = arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_boolean
        for name in self.features:
            if name not in schema.names:
                shown = ", ".join(map(repr, schema.names[:8]))
                raise ValueError(f"{file} has no column {name!r}; its columns are {shown}.")
            if not any(is_kind(schema.field(name).type) for is_kind in kinds):
                raise ValueError(
                    f"column {name!r} of {file} is of type {schema.field(name).type}; expected "
                    "numbers or booleans. Encode it before writing the file."
                )
        if not self.features:
            raise ValueError("features is empty; expected the names of one or more columns.")
        return rows


def _files(path: Any) -> list[Path]:
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    files: list[Path] = []
    for one in map(Path, paths):
        if one.is_dir():
            files += sorted(one.glob("*.parquet"))
        elif one.exists():
            files.append(one)
        else:
            raise FileNotFoundError(f"{one} does not exist; expected a Parquet file or a folder.")
    if not files:
        raise FileNotFoundError(f"{path} holds no .parquet file.")
    return files


def _pyarrow() -> ModuleType:
    with needing("Parquet files need", "'equipoise[disk]'"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow
