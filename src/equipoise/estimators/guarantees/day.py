"""The people of one day, read as those of a fit were; nobody needs to be of every group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from equipoise.cells.values import GroupRules
from equipoise.rows.fingerprint import add_hashes
from equipoise.rows.hashing import hash_bits, hash_people
from equipoise.rows.people import read_groups
from equipoise.rows.validation import check_length, read_columns

#: The number of different rows from which on a batch is told from another one.
_TELLING = 5


def label_numbers(values: NDArray, n: int, name: str, classes: NDArray) -> NDArray[np.intp]:
    """Return labels as 0 to V - 1.

    >>> label_numbers(np.array(["b", "a"]), 2, "y", np.array(["a", "b"])).tolist()
    [1, 0]
    """
    check_length(len(values), n, name)
    numbers = np.full(n, -1, dtype=np.intp)
    for number, label in enumerate(classes):
        numbers[values == label] = number
    strange = values[numbers < 0].tolist()
    if strange:
        *names, last = map(repr, classes.tolist())
        raise ValueError(
            f"{name} has {strange[0]!r}; expected {', '.join(names)} or {last}, the labels that "
            "are known."
        )
    return numbers


def read_like(
    values: Any,
    fitted: Mapping[str, NDArray],
    n: int,
    name: str,
    default: str,
    rules: GroupRules | None = None,
) -> dict[str, NDArray]:
    """Return columns by the names that they had in the fit, in its order; groups by its rules."""
    columns: dict[str, NDArray] = {}
    if values is not None:
        columns = _read(values, n, name, default, rules)
    if len(columns) == len(fitted) == 1:
        return dict(zip(fitted, columns.values(), strict=True))
    if set(columns) != set(fitted):
        raise ValueError(
            f"{name} has the columns {', '.join(map(repr, columns)) or 'none'}; expected "
            f"{', '.join(map(repr, fitted)) or 'none'}, as in the fit."
        )
    return {column: columns[column] for column in fitted}


def _read(
    values: Any, n: int, name: str, default: str, rules: GroupRules | None
) -> dict[str, NDArray]:
    if rules is None:
        return read_columns(values, n, name, default)
    return read_groups(values, n, rules.missing, rules.bins)[0]


def batch_digest(X: Any, y: Any, classes: NDArray) -> str | None:
    """Return a hash of rows in any order, with labels if any.

    None where rows cannot be hashed, or so few differ that other people may be just like them.
    """
    if not _num_samples(X):
        return None
    try:
        hashes = hash_bits(X) if y is None else hash_people(X, y, *classes[1:])
    except TypeError:
        return None
    if len(np.unique(np.atleast_2d(hashes)[-1])) < _TELLING:
        return None
    _, first, second = add_hashes(hashes)
    return f"{first:016x}{second:016x}"
