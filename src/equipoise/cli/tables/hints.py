"""Hints at columns that are perhaps not what they were read as, or no features."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from equipoise.cli.tables.columns import Kind, as_category
from equipoise.cli.tables.dialect import looks_numeric
from equipoise.cli.tables.encoding import FEWEST_PEOPLE

#: A text column of which this share looks like numbers, or dates, was perhaps meant to be that.
_LOOKS_SO = 0.8
_SLASHES = r"^\s*\d{1,4}/\d{1,2}/\d{1,4}\b"
#: In so many rows, whole numbers that are all different are hardly by chance.
_MANY_ROWS = 100
#: A column of more values than these says who somebody is, rather than what label they have.
_MOST_VALUES = 50


def hint_at_text(table: Any, features: Mapping[str, Kind], note: Callable[[str], Any]) -> None:
    """Note columns that were read as text although they look like numbers or dates.

    >>> rows = pa.table({"since": ["01/02/2020", "13/02/2020"]})
    >>> hint_at_text(rows, {"since": "category"}, print)
    column 'since' was read as text: it looks like dates with slashes, in which day and month \
cannot be told apart. Write them as 2020-01-31 to use them as dates.
    """
    for name in (name for name, kind in features.items() if kind == "category"):
        if pa.types.is_dictionary(table.column(name).type):
            continue  # a file that says so
        column = as_category(table.column(name), name)
        known = column.drop_null()
        slashes = pc.sum(pc.match_substring_regex(known, _SLASHES)).as_py() or 0
        if slashes >= _LOOKS_SO * max(len(known), 1):
            note(
                f"column {name!r} was read as text: it looks like dates with slashes, in which day "
                "and month cannot be told apart. Write them as 2020-01-31 to use them as dates."
            )
            continue
        share, others = looks_numeric(column)
        if share < _LOOKS_SO:
            continue
        counts = {v: pc.sum(pc.equal(column, v)).as_py() for v in others[:20]}
        common = ", ".join(repr(v) for v in others[:20] if counts[v] >= FEWEST_PEOPLE)
        unlike = f" (others are {common})" if common else ""
        note(
            f"column {name!r} was read as text, although {share:.0%} of its values look like "
            f"numbers{unlike}. If they are, say what stands for missing values with --missing, "
            "or the decimal mark with --decimal; units have to be removed before."
        )


def hint_at_ids(table: Any, features: Mapping[str, Kind], note: Callable[[str], Any]) -> None:
    """Note columns of whole numbers of which everybody has another one.

    >>> rows = pa.table({"number": np.arange(100), "age": np.arange(100) % 60})
    >>> hint_at_ids(rows, {"number": "number", "age": "number"}, print)
    column 'number' has another whole number in every row, as ids have, and is a feature. If it is \
one, leave it out: --exclude number
    """
    for name, kind in features.items():
        column = table.column(name)
        if kind != "number" or not pa.types.is_integer(column.type) or len(column) < _MANY_ROWS:
            continue
        if column.null_count == 0 and len(column.unique()) == len(column):
            note(
                f"column {name!r} has another whole number in every row, as ids have, and is a "
                f"feature. If it is one, leave it out: --exclude {shlex.quote(name)}"
            )


def hint_at_copies(
    table: Any,
    features: Mapping[str, Kind],
    roles: Mapping[str, str],
    note: Callable[[str], Any],
) -> None:
    """Note features whose value tells the label, or the group, of everybody.

    >>> rows = pa.table({"paid": [0, 1, 1] * 40, "class": ["bad", "good", "good"] * 40})
    >>> hint_at_copies(rows, {"class": "category"}, {"paid": "label"}, print)
    column 'class' is a feature, and tells everybody's label 'paid'. If it is not known when \
decisions are made, leave it out: --exclude class
    """
    why = {
        "label": "If it is not known when decisions are made",
        "group": "If the group shall not be a feature",
    }
    codes = {name: _codes(table.column(name)) for name, role in roles.items() if role in why}
    for name in features:
        own = None if name in roles else _codes(table.column(name))
        for other, code in codes.items():
            if own is None or code is None or not code.any():
                continue
            pairs = np.bincount(own * _MOST_VALUES + code, minlength=1)
            if np.count_nonzero(pairs) == len(np.unique(own)) > 1:
                note(
                    f"column {name!r} is a feature, and tells everybody's {roles[other]} "
                    f"{other!r}. {why[roles[other]]}, leave it out: --exclude "
                    f"{shlex.quote(name)}"
                )


def _codes(column: Any) -> Any:
    """Return the values of a column as whole numbers from 0; None of a column of many values."""
    coded = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode(null_encoding="encode")
    if len(coded.dictionary) >= _MOST_VALUES:
        return None
    code = coded.indices.fill_null(len(coded.dictionary))  # a missing value is one more
    return code.to_numpy(zero_copy_only=False).astype(np.intp)
