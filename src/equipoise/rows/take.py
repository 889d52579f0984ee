"""Some rows of a table, as the same kind of table."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, sparse matrix or data frame, as the same kind of table.

    >>> take_rows([[1, 2], [3, 4]], np.array([1, 1])).tolist()
    [[3, 4], [3, 4]]
    """
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X.tocsr()[rows].asformat(X.format) if issparse(X) else np.asarray(X)[rows]
