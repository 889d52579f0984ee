"""Tables that learners may read and not write to: rows are the user's, and are used again."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from scipy.sparse import issparse

T = TypeVar("T")
#: What NumPy, Cython, SciPy and Python say to those who write where they may not.
_REFUSED = re.compile(r"read-?only|not writ(e)?able", re.IGNORECASE)


class Guard:
    """Calls learners on views that cannot be written to, or on copies where they must write.

    Nothing is copied for a learner that only reads. scikit-learn's own estimators copy a read-only
    array where they would work in place. Whoever else tries to write gets an error, is called
    once more on copies, and on copies from then on.

    Examples
    --------
    >>> def centre(X):  # works in place
    ...     X -= X.mean()
    ...     return X.tolist()
    >>> rows = np.array([0.0, 2.0])
    >>> Guard()(centre, rows), rows.tolist()
    ([-1.0, 1.0], [0.0, 2.0])
    """

    def __init__(self) -> None:
        self._copies = False

    def __call__(self, function: Callable[..., T], *tables: Any) -> T:
        """Return ``function(*tables)``; it is called twice if it writes, so it must start anew."""
        if not self._copies:
            try:
                with _copy_on_write():
                    return function(*map(read_only, tables))
            except (ValueError, TypeError, BufferError) as error:
                if not _REFUSED.search(str(error)):
                    raise
            self._copies = True
        return function(*map(fresh, tables))


def read_only(table: Any) -> Any:
    """Return the table over the same memory, without the right to change it.

    Arrays and sparse matrices refuse to be written to. A write to a data frame goes to a copy that
    pandas makes then. Tables of other kinds are returned as they are.
    """
    if isinstance(table, np.ndarray):
        view = table.view()
        view.flags.writeable = False
        return view
    if issparse(table):
        if table.format in ("lil", "dok"):  # of lists and dictionaries
            return table.copy()
        other = copy(table)
        for name, part in vars(table).items():
            if isinstance(part, np.ndarray):
                vars(other)[name] = read_only(part)
            elif isinstance(part, tuple) and all(isinstance(x, np.ndarray) for x in part):
                vars(other)[name] = tuple(map(read_only, part))
        return other
    if nw.dependencies.is_pandas_dataframe(table):
        return table.copy(deep=False)
    return table.clone() if nw.dependencies.is_polars_dataframe(table) else table


def fresh(table: Any) -> Any:
    """Return a copy of a table, in the same layout."""
    if isinstance(table, np.ndarray):
        return np.array(table, order="K", subok=True)
    if issparse(table) or nw.dependencies.is_pandas_dataframe(table):
        return table.copy()
    return table


def _copy_on_write() -> AbstractContextManager:
    """Let pandas before 3 copy frames when they are written to, as later ones always do."""
    pandas = sys.modules.get("pandas")
    if pandas is None or int(pandas.__version__.partition(".")[0]) >= 3:
        return nullcontext()
    return pandas.option_context("mode.copy_on_write", True)
