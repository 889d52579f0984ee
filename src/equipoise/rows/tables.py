"""Batches: tables of rows that follow each other, of a table that may be too large for memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self, runtime_checkable

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


@runtime_checkable
class Batched(Protocol):
    """Rows that are a description, such as `equipoise.ParquetRows`, and are read in batches."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def batches(self) -> Iterator[NDArray]:
        """Yield tables of rows, from the first to the last row."""
        ...

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the rows with these numbers, which rise."""
        ...


def batches(X: Any) -> Iterator[Any]:
    """Return tables in memory that hold the rows of X one after the other: X itself if it is one.

    >>> list(batches([[0.0], [1.0]]))
    [[[0.0], [1.0]]]
    """
    return X.batches() if isinstance(X, Batched) else iter([X])


def describe_columns(X: Any) -> list[str]:
    """Return the kind of a table, and the name and type of each of its columns.

    >>> import numpy as np, pandas as pd
    >>> describe_columns(np.zeros((3, 2), dtype=np.float32))
    ['ndarray', '2 x float32']
    >>> describe_columns(pd.DataFrame({"age": [30.0], "children": [1]}))
    ['DataFrame', 'age: float64', 'children: int64']
    """
    kind = type(X).__name__
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        types = getattr(X, "dtypes", None)  # pandas and Polars: to the letter; Arrow: the schema
        types = X.schema.types if types is None else list(types)
        names = [f"{name}: {type_}" for name, type_ in zip(native.columns, types, strict=True)]
        return [kind, *names]
    if (features := getattr(X, "features", None)) is not None:  # rows on disk
        return [kind, *map(str, features)]
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    width = 1 if len(shape) == 1 else shape[1]
    return [kind, f"{width} x {getattr(X, 'dtype', 'object')}"]


def schema_of(X: Any) -> dict[str, Any]:
    """Return the kind of a table and the types of its columns, as plain data.

    >>> schema_of(np.zeros((3, 2), dtype=np.float32))
    {'table': 'array', 'dtype': 'float32', 'width': 2}
    >>> import pandas as pd
    >>> schema_of(pd.DataFrame({"age": [30.0], "town": ["Rome"]}))
    {'table': 'pandas', 'types': {'age': 'Float64', 'town': 'String'}}
    """
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        types = {str(name): type(kind).__name__ for name, kind in native.schema.items()}
        return {"table": native.__native_namespace__().__name__, "types": types}
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    kind = "sparse" if issparse(X) else "array"
    width = 1 if len(shape) == 1 else int(shape[1])
    return {"table": kind, "dtype": str(getattr(X, "dtype", np.dtype(float))), "width": width}


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table, as the same kind of table; of batches, in rising order.

    >>> take_rows(np.array([[0.0], [1.0], [2.0]]), np.array([2, 0])).tolist()
    [[2.0], [0.0]]
    """
    if isinstance(X, Batched):
        return X.take(rows)
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X.tocsr()[rows].asformat(X.format) if issparse(X) else np.asarray(X)[rows]


def other_columns(estimator: Any, X: Any) -> list[str]:
    """Return the features of a fit, where X has all of them and more, or in another order.

    Empty where X has just these, or lacks one: that is for scikit-learn's own check.
    """
    fitted = list(getattr(estimator, "feature_names_in_", ()))
    if not fitted:
        return []
    native = nw.from_native(X, eager_only=True, pass_through=True)
    given = native.columns if isinstance(native, nw.DataFrame) else []
    return fitted if given != fitted and set(fitted) <= set(given) else []


def columns_of(X: Any, names: list[str]) -> Any:
    """Return some columns of a data frame, in this order.

    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), ["c", "a"]).columns.tolist()
    ['c', 'a']
    """
    return nw.from_native(X).select(names).to_native()
