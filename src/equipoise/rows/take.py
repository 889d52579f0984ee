"""Some rows of a table, whatever kind of table it is."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, sparse matrix or data frame, as the same kind of thing.

    >>> take_rows(np.array([[0.0], [1.0], [2.0]]), np.array([2, 0])).tolist()
    [[2.0], [0.0]]
    """
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native[rows].to_native()
    return X.tocsr()[rows].asformat(X.format) if issparse(X) else np.asarray(X)[rows]
