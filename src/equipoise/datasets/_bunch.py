"""What the data sets share: a table of typed columns, and the Bunch that is made of it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """Numbers, or codes into `categories` with -1 where the value is missing.

    Examples
    --------
    >>> colour = Column(np.array([1, 0, -1]), np.array(["blue", "red"]))
    >>> colour.to_array()
    array(['red', 'blue', ''], dtype='<U4')
    """

    values: NDArray[Any]
    categories: NDArray[np.str_] | None = None

    def to_array(self) -> NDArray[Any]:
        """Return numbers, widened so that sums cannot wrap, or strings, empty where missing."""
        if self.categories is None:
            return self.values.astype(np.result_type(self.values, np.int64))
        strings: NDArray[np.str_] = np.append(self.categories, "")[self.values]  # -1 picks the ""
        return strings

    def to_block(self, name: str) -> tuple[NDArray[Any], list[str]]:
        """Return the column as a 2-D block, one-hot if categorical, and the names of the block."""
        if self.categories is None:
            return self.values[:, np.newaxis], [name]
        one_hot = self.values[:, np.newaxis] == np.arange(len(self.categories))
        return one_hot, [f"{name}={category}" for category in self.categories]

    def to_pandas(self) -> NDArray[Any] | pd.Categorical:
        """Return what a pandas column is made of."""
        if self.categories is None:
            return self.to_array()
        return _pandas().Categorical.from_codes(self.values, self.categories)


def read_table(file: Traversable, *, columns: Sequence[str], n_rows: int) -> dict[str, Column]:
    """Read an npz file in which ``name.categories``, if there, says what the codes ``name`` mean.

    Raises
    ------
    OSError
        If the file cannot be read, or does not hold `n_rows` rows of `columns`.
    """
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(file, expected="a NumPy archive", found=str(error)) from error
    lengths = {name: len(arrays[name]) for name in columns if name in arrays}
    if lengths != dict.fromkeys(columns, n_rows):
        expected = f"{n_rows:,} rows of {', '.join(columns)}"
        raise damaged(file, expected=expected, found=f"rows by column {lengths}")
    return {name: Column(arrays[name], arrays.get(f"{name}.categories")) for name in columns}


def damaged(file: Traversable, *, expected: str, found: str) -> OSError:
    """Return the error for a data file of the package that is not what it should be."""
    return OSError(
        f"The data file {file.name} of equipoise is damaged: expected {expected}, found {found}. "
        "Install the package again: pip install --force-reinstall --no-deps equipoise"
    )


def to_matrix(columns: Mapping[str, Column]) -> tuple[NDArray[np.float64], list[str]]:
    """Return columns side by side in one C-contiguous matrix, and the names of its columns."""
    blocks = [column.to_block(name) for name, column in columns.items()]
    matrix = np.hstack([block for block, _ in blocks], dtype=np.float64)
    return np.ascontiguousarray(matrix), [name for _, names in blocks for name in names]


def to_frame(columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return columns as a data frame: integers, and categories with NaN where missing."""
    return _pandas().DataFrame({name: column.to_pandas() for name, column in columns.items()})


def make_bunch(
    table: Mapping[str, Column],
    *,
    features: list[str],
    target: str,
    sensitive: Mapping[str, Column],
    extra: Mapping[str, Column],
    as_frame: bool,
    **description: object,
) -> Bunch:
    """Lay a table out as arrays or as data frames.

    `features` and `target` name columns of `table`; `extra` are further columns to give, each under
    its own name; `description` is passed on.
    """
    if as_frame:
        frame = to_frame(table)
        return Bunch(
            data=frame[features],
            target=frame[target],
            sensitive=to_frame(sensitive),
            frame=frame,
            feature_names=features,
            **to_frame(extra),
            **description,
        )
    data, feature_names = to_matrix({name: table[name] for name in features})
    return Bunch(
        data=data,
        target=table[target].to_array(),
        sensitive={name: column.to_array() for name, column in sensitive.items()},
        frame=None,
        feature_names=feature_names,
        **{name: column.to_array() for name, column in extra.items()},
        **description,
    )


def _pandas() -> Any:
    """Import pandas, which is optional, only where it is asked for."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed. "
            "Install it (pip install pandas), or use as_frame=False to get NumPy arrays."
        ) from error
    return pandas
