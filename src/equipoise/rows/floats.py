"""Numbers that users pass, as floats; nothing that is no real number becomes one."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.groups import plain_group
from equipoise.cells.table import Array

#: Real numbers to Python that are none here: a duration has a unit.
_NO_NUMBERS = (np.timedelta64,)


def as_floats(values: NDArray, name: str, expected: str) -> Array:
    """Return an array as floats; raise on text, dates, durations and complex numbers.

    NumPy would turn them into floats, inside of object arrays too, and lose what they are.

    >>> as_floats(np.array([1, True, 0.5], dtype=object), "sample_weight", "numbers >= 0").tolist()
    [1.0, 1.0, 0.5]
    >>> as_floats(np.array(["1", "2"], dtype=object), "sample_weight", "numbers >= 0")
    Traceback (most recent call last):
    ValueError: sample_weight holds values such as '1'; expected numbers >= 0.
    """
    wrong = [] if values.dtype.kind in "biuf" else [v for v in values.flat if not _is_real(v)]
    if wrong:
        value = plain_group(wrong[0])
        raise ValueError(f"{name} holds values such as {value!r}; expected {expected}.")
    return values.astype(float, copy=False)


def _is_real(value: object) -> bool:
    return isinstance(value, (Real, Decimal, np.bool_)) and not isinstance(value, _NO_NUMBERS)
