"""Text in CSV files that a spreadsheet would run as a formula: written as text, read as it was.

Rows that were held out are read again, so that what is put before a text must come off again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_STARTS = ("=", "+", "-", "@", "\t", "\r")
_QUOTED = "^'([=+\\-@\t\r])"


def as_text(value: Any) -> Any:
    """Return text that a spreadsheet would run with an apostrophe before it, as it shows text.

    >>> [as_text(value) for value in ("=1+1", "@x", "-5", "a=b", -5)]
    ["'=1+1", "'@x", '-5', 'a=b', -5]
    """
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    with suppress(ValueError):
        float(value)  # a number, such as an id
        return value
    return f"'{value}"


def plain_name(name: str) -> str:
    """Return the name of a column as it was before `as_text`.

    >>> plain_name("'-age"), plain_name("'age'")
    ('-age', "'age'")
    """
    return name[1:] if name.startswith(tuple(f"'{start}" for start in _STARTS)) else name


def plain_table(table: Any) -> Any:
    """Return a table with names and texts as they were before `as_text`.

    >>> plain_table(pa.table({"'+x": ["'=1", "'s", None]})).to_pydict()
    {'+x': ['=1', "'s", None]}
    """
    for at, column in enumerate(table.columns):
        if pa.types.is_string(column.type) and pc.any(pc.starts_with(column, "'")).as_py():
            plain = pc.replace_substring_regex(column, _QUOTED, "\\1", max_replacements=1)
            table = table.set_column(at, table.column_names[at], plain)
    return table.rename_columns(list(map(plain_name, table.column_names)))
