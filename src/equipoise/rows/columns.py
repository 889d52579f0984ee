"""Columns of a table as a learner sees them: the kind of table, their names and their types."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np


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
