"""Targets that are numbers, and the losses of a regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from equipoise.cells.table import Array
from equipoise.cells.threshold_table import LossFunction
from equipoise.rows.floats import as_floats
from equipoise.rows.validation import LEAST, MOST, check_length, missing_in, to_array

_LOSSES: dict[str, LossFunction] = {"squared": np.square, "absolute": np.abs}


def read_numbers(y: Any, n: int) -> Array:
    """Return the target as finite numbers, one for each of ``n`` rows.

    >>> read_numbers([1, 2, 3], 3).tolist()
    [1.0, 2.0, 3.0]
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    values = column_or_1d(to_array(y, "y"), warn=True)
    check_length(len(values), n, "y")
    if (gone := missing_in(values, "y")).any():
        at = int(np.flatnonzero(gone)[0])
        raise ValueError(
            f"Input y contains NaN, None or infinity: {int(gone.sum())} of {n} entries, the first "
            f"in row {at}. Drop these rows."
        )
    found = as_floats(values, "y", "numbers. Use FairClassifier for labels")
    largest = float(np.abs(found).max(initial=0.0))
    if largest != 0 and not LEAST <= largest <= MOST:
        raise ValueError(
            f"y has values as large as {largest:.3g}, whose squares cannot be told from 0 or "
            f"infinity; expected the largest from {LEAST:g} to {MOST:g}. Scale y."
        )
    return found


def read_loss(loss: Any) -> LossFunction:
    """Return the loss by its name, or a function of f(x) - y, checked on a few differences."""
    if isinstance(loss, str) and loss in _LOSSES:
        return _LOSSES[loss]
    if not callable(loss):
        raise ValueError(
            f"loss is {loss!r}; expected 'squared', 'absolute', or a function of the differences "
            "f(x) - y."
        )

    def checked(difference: Array) -> Array:
        found = np.asarray(loss(difference), dtype=float)
        if found.shape != np.shape(difference) or not (np.isfinite(found) & (found >= 0)).all():
            raise ValueError(
                f"loss returned an array of shape {found.shape} for {np.shape(difference)} "
                "differences f(x) - y; expected a finite number >= 0 for each."
            )
        return found

    if float(checked(np.zeros(1))[0]) != 0:
        raise ValueError("loss of the difference 0 is not 0; expected a loss of errors.")
    return checked


def read_thresholds(thresholds: Any) -> int | Array:
    """Return the number of thresholds, or the thresholds themselves in rising order."""
    if isinstance(thresholds, (int, np.integer)) and not isinstance(thresholds, bool):
        if thresholds >= 1:
            return int(thresholds)
    elif not isinstance(thresholds, (str, bool, float)) and thresholds is not None:
        given = np.asarray(thresholds)
        is_list = given.dtype.kind in "iuf" and given.ndim == 1 and len(given) > 0
        if is_list and np.isfinite(given).all():
            return np.unique(given.astype(float))
    raise ValueError(
        f"thresholds is {thresholds!r}; expected a whole number >= 1, or a list of finite numbers."
    )
