"""What the data sets share: a table of typed columns, and the Bunch that is made of it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from equipoise.exceptions import needing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """Numbers, NaN where missing; dates; or codes into `categories`, -1 where missing.

    >>> colour = Column(np.array([1, 0, -1]), np.array(["blue", "red"]))
    >>> colour.to_array()
    array(['red', 'blue', ''], dtype='<U4')
    """

    values: NDArray[Any]
    categories: NDArray[np.str_] | None = None

    @classmethod
    def from_strings(cls, strings: Sequence[str], missing: Collection[str] = ("",)) -> Column:
        """Number the strings; categories that are all whole numbers are in their order.

        >>> Column.from_strings(["10", "9", "?"], missing=["?"])
        Column(values=array([ 1,  0, -1]), categories=array(['9', '10'], dtype='<U2'))
        """
        values = set(strings) - set(missing)
        whole = all(value.isdecimal() for value in values)
        categories = sorted(values, key=int) if whole else sorted(values)
        code = {category: i for i, category in enumerate(categories)} | dict.fromkeys(missing, -1)
        return cls(np.array([code[string] for string in strings]), np.array(categories, dtype=str))

    def take(self, rows: NDArray[Any]) -> Column:
        """Return some rows, without the categories that none of them has.

        >>> Column(np.array([1, 0, -1]), np.array(["blue", "red"])).take(np.array([0, 2]))
        Column(values=array([ 0, -1]), categories=array(['red'], dtype='<U4'))
        """
        values = self.values[rows]
        if self.categories is None:
            return Column(values)
        used = np.zeros(len(self.categories) + 1, dtype=bool)  # the last is for -1, missing
        used[values] = True
        number = np.append(np.cumsum(used[:-1]) - 1, -1)
        return Column(number[values], self.categories[used[:-1]])

    def rename(self, names: Mapping[str, str], missing: str | None = None) -> Column:
        """Return the column with other names for its values, and one for missing values.

        Values that get the same name become one.

        >>> colour = Column.from_strings(["red", "pink", "", "blue"])
        >>> colour.rename({"pink": "red"}, missing="none").to_array().tolist()
        ['red', 'red', 'none', 'blue']
        """
        assert self.categories is not None
        new = [names.get(value, value) for value in self.categories.tolist()]
        if missing is not None and (self.values == -1).any():
            new.append(missing)
        known = Column.from_strings(new)
        if len(new) == len(self.categories):
            known = Column(np.append(known.values, -1), known.categories)
        return Column(known.values[self.values], known.categories)  # -1 picks the last

    def to_array(self) -> NDArray[Any]:
        """Return numbers, widened so that sums cannot wrap, or strings, empty where missing."""
        if self.categories is None:
            if self.values.dtype.kind == "M":
                return self.values.copy()
            return self.values.astype(np.result_type(self.values, np.int64))
        strings: NDArray[np.str_] = np.append(self.categories, "")[self.values]  # -1 picks the ""
        return strings

    def to_block(self, name: str) -> tuple[NDArray[Any], list[str]]:
        """Return the column as a 2-D block, one-hot if categorical, and the names of the block.

        A missing number becomes the median of the known ones, and a further column marks it.

        >>> block, names = Column(np.array([1.0, 2.0, np.nan, 6.0])).to_block("age")
        >>> names, block.tolist()
        (['age', 'age=missing'], [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [6.0, 0.0]])
        """
        if self.categories is None:
            missing = np.isnan(self.values)
            if not missing.any():
                return self.values[:, np.newaxis], [name]
            median = 0.0 if missing.all() else np.nanmedian(self.values)
            filled = np.where(missing, median, self.values)
            return np.column_stack([filled, missing]), [name, f"{name}=missing"]
        one_hot = self.values[:, np.newaxis] == np.arange(len(self.categories))
        return one_hot, [f"{name}={category}" for category in self.categories]

    def to_pandas(self) -> NDArray[Any] | pd.Categorical:
        """Return what a pandas column is made of."""
        if self.categories is None:
            return self.to_array()
        return _pandas().Categorical.from_codes(self.values, self.categories)


Table = dict[str, Column]


def read_table(file: Traversable, *, columns: Sequence[str], n_rows: int) -> Table:
    """Read an npz file in which ``name.categories``, if there, says what the codes ``name`` mean.

    An OSError says that it cannot be read, or does not hold `n_rows` rows of `columns`.
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


def select(table: Table, chosen: NDArray[np.bool_]) -> Table:
    """Return some rows of a table, all of which have a label."""
    some = {name: column.take(np.flatnonzero(chosen)) for name, column in table.items()}
    return some | {"label": Column(some["label"].values.astype(np.int64))}


def to_matrix(columns: Mapping[str, Column]) -> tuple[NDArray[np.float64], list[str]]:
    """Return columns side by side in one C-contiguous matrix, and the names of its columns."""
    blocks = [column.to_block(name) for name, column in columns.items()]
    matrix = np.hstack([block for block, _ in blocks], dtype=np.float64)
    return np.ascontiguousarray(matrix), [name for _, names in blocks for name in names]


def to_frame(columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return columns as a data frame: numbers, dates, and categories, with NaN where missing."""
    return _pandas().DataFrame({name: column.to_pandas() for name, column in columns.items()})


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table, and what its columns are for."""

    table: Table  #: The target is its column ``label``.
    features: Sequence[str]
    sensitive: Table
    target_names: Sequence[str]
    extra: Table = field(default_factory=dict)  #: To be given, each under its own name.
    coarse: Table = field(default_factory=dict)  #: For features with too many values for one-hot.

    def bunch(self, name: str, *, as_frame: bool, return_X_y: bool) -> Any:
        """Return arrays or data frames, in a Bunch or as the pair (data, target).

        The data set `name` is described in ``descr/name.rst``.
        """
        if as_frame:
            frame = to_frame(self.table)
            bunch = Bunch(
                data=frame[list(self.features)],
                target=frame["label"],
                sensitive=to_frame(self.sensitive),
                frame=frame,
                feature_names=list(self.features),
                **to_frame(self.extra),
            )
        else:
            columns = self.table | self.coarse
            data, feature_names = to_matrix({name: columns[name] for name in self.features})
            bunch = Bunch(
                data=data,
                target=self.table["label"].to_array(),
                sensitive={name: column.to_array() for name, column in self.sensitive.items()},
                frame=None,
                feature_names=feature_names,
                **{name: column.to_array() for name, column in self.extra.items()},
            )
        if return_X_y:
            return bunch.data, bunch.target
        bunch.target_names = np.array(self.target_names)
        bunch.DESCR = (resources.files(__package__) / "descr" / f"{name}.rst").read_text("utf-8")
        return bunch


def _pandas() -> Any:
    """Import pandas, which is optional, only where it is asked for."""
    with needing("as_frame=True needs", "pandas", "Or use as_frame=False to get NumPy arrays."):
        import pandas
    return pandas
