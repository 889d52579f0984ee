"""Faces of results: HTML tables in notebooks, data frames of pandas and Polars on request.

Colours and fonts are those of the notebook, light or dark. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas
    import polars

#: Rows that a notebook shows; a data frame has all of them.
MOST_ROWS = 60

#: Numbers below this are zero, up to rounding.
_ROUNDING = 1e-12

#: The columns of a table by name, of equal length.
Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
T = TypeVar("T")


class Face:
    """A result with rows: a table in a notebook, a data frame on request."""

    __slots__ = ()

    def _columns(self) -> Columns:
        """Return the rows, column by column."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame of pandas, which must be installed."""
        return frame("pandas", self._columns())

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a data frame of Polars, which must be installed."""
        return frame("polars", self._columns())

    def _repr_html_(self) -> str:
        return table(self._columns())


class Record:
    """A result of a few numbers: a table of one row in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return table(columns_of([self]))


class Records(Face, list[T]):
    """A list of results that is shown as a table; fields that are not printed are left out.

    >>> from typing import NamedTuple
    >>> class Day(NamedTuple):
    ...     people: int
    ...     row: str
    >>> days = Records([Day(3, "F < M"), Day(4, "M < F")])
    >>> days[0], days.to_polars().columns
    (Day(people=3, row='F < M'), ['people', 'row'])
    >>> ">3</td>" in days._repr_html_(), "F &lt; M" in days._repr_html_()
    (True, True)
    """

    __slots__ = ()

    def _columns(self) -> Columns:
        return columns_of(self)


class FrozenRecords(Face, tuple[T, ...]):
    """A tuple of results that is shown as a table."""

    __slots__ = ()

    def _columns(self) -> Columns:
        return columns_of(self)


def columns_of(records: Iterable[Any]) -> Columns:
    """Return records of one kind, column by column; an interval makes three columns."""
    found: dict[str, list[Any]] = {}
    for record in records:
        for name, value in _entries(record):
            found.setdefault(name, []).append(value)
    return found


def _entries(record: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(record, "shown"):
        yield from record.shown().items()
        return
    printed = [part.name for part in fields(record) if part.repr] if is_dataclass(record) else None
    for name in printed or record._fields:
        value = getattr(record, name)
        if getattr(value, "_fields", ()) == ("estimate", "low", "high"):
            yield from zip((name, f"{name}_low", f"{name}_high"), value, strict=True)
        elif isinstance(value, (str, int, float, np.generic, type(None))):
            yield name, value
        else:
            yield name, str(value)


def frame(library: str, columns: Columns) -> Any:
    """Return columns as a data frame of pandas or Polars.

    >>> frame("pandas", {"group": ["F", "M"], "people": [3, 4]})["people"].tolist()
    [3, 4]
    """
    try:
        frames = import_module(library)
    except ImportError as error:
        raise ImportError(
            f"to_{library} needs {library}, which is not installed. Run: pip install {library}"
        ) from error
    # Polars keeps arrays of objects as objects, and lists of text as text.
    return frames.DataFrame({name: _plain(values) for name, values in columns.items()})


def _plain(values: Sequence[Any] | NDArray[Any]) -> Any:
    array = values if isinstance(values, np.ndarray) else None
    return array if array is not None and array.dtype.kind in "biuf" else list(values)


def table(columns: Columns) -> str:
    """Return columns as an HTML table; ``x``, ``x_low`` and ``x_high`` become one column.

    >>> html = table({"rate": [0.25], "rate_low": [0.1], "rate_high": [0.5]})
    >>> "0.250 [0.100, 0.500]</td></tr>" in html
    True
    """
    n = len(next(iter(columns.values()), ()))
    if not n:
        return paragraph("no rows")
    texts = {name: _texts(columns, name) for name in columns if not _is_end(columns, name)}
    left = {name: _is_text(columns[name]) for name in texts}
    head = "".join(_cell("th", heading(name, columns), left[name], "col") for name in texts)
    body = "".join(
        "<tr>" + "".join(_cell("td", texts[name][at], left[name]) for name in texts) + "</tr>"
        for at in range(min(n, MOST_ROWS))
    )
    rest = n - MOST_ROWS
    more = paragraph(f"{rest:,} more rows: to_pandas() has all of them.") if rest > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def text_lines(lines: Sequence[Sequence[str]], left: Collection[str]) -> list[str]:
    """Return a table as lines of text; the first of ``lines`` has the names of its columns.

    Those in ``left`` begin at the same place, the others end there.

    >>> text_lines([("group", "people"), ("F", "1,200")], left=["group"])
    ['group  people', 'F       1,200']
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if name in left else str.rjust for name in lines[0]]
    return [
        "  ".join(side(text, n) for side, text, n in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]


def heading(name: str, columns: Iterable[str] = ()) -> str:
    """Return the name of a column in words; a label in brackets stays as it is.

    >>> heading("selection_rate[not_yet]"), heading("rate_low", ["rate_low", "rate_high"])
    ('selection rate[not_yet]', 'rate')
    """
    stem = name.removesuffix("_low")
    words, bracket, label = (stem if f"{stem}_high" in columns else name).partition("[")
    return words.replace("_", " ") + bracket + label


def facts(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return names, values and remarks as an HTML table of three columns."""
    rows = (
        _cell("th", name, True, "row") + _cell("td", value, True) + _cell("td", remark, True)
        for name, value, remark in entries
    )
    return "<table><tbody>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</tbody></table>"


def paragraph(text: str, *, strong: str = "") -> str:
    """Return text as an HTML paragraph, after words that are set off."""
    start = f"<strong>{escape(strong)}</strong> " if strong else ""
    return f"<p>{start}{escape(text)}</p>"


def folded(summary: str, html: str) -> str:
    """Return HTML that is shown once its summary is clicked on."""
    return f"<details><summary>{escape(summary)}</summary>{html}</details>"


def _cell(tag: str, text: str, left: bool = False, scope: str = "") -> str:
    where = f' scope="{scope}"' if scope else ""
    # A number and its interval stay on one line; words may be many.
    style = ";".join(
        ["text-align:left"] * left + ["white-space:nowrap"] * (not left or bool(scope))
    )
    return f'<{tag}{where} style="{style}">{escape(text)}</{tag}>'


def _is_end(columns: Columns, name: str) -> bool:
    """Whether a column is shown together with the one before it."""
    before = {"_low": "", "_high": "_low"}
    return any(
        name.endswith(end) and name.removesuffix(end) + to in columns for end, to in before.items()
    )


def _is_text(values: Sequence[Any] | NDArray[Any]) -> bool:
    texts = (value for value in values[:MOST_ROWS] if isinstance(value, str))
    return any(text[:1] not in "+-0123456789" for text in texts)


def _texts(columns: Columns, name: str) -> list[str]:
    values, stem = columns[name][:MOST_ROWS], name.removesuffix("_low")
    if stem != name and f"{stem}_high" in columns:
        limits = zip(values, columns[f"{stem}_high"], strict=False)
        return [f"[{shown(low)}, {shown(high)}]" for low, high in limits]
    if f"{name}_low" not in columns:
        return [shown(value) for value in values]
    ends = zip(values, columns[f"{name}_low"], columns[f"{name}_high"], strict=False)
    return [_interval(*each) for each in ends]


def _interval(value: Any, low: Any, high: Any) -> str:
    texts = [f"{end + 0.0:.3f}" if known(end) else "not known" for end in (value, low, high)]
    return "{} [{}, {}]".format(*texts) if known(low) else shown(value)


def known(value: Any) -> bool:
    """Whether a value is there: neither None nor NaN."""
    return value is not None and value == value


def shown(value: Any) -> str:
    """Return a value as tables show it.

    >>> [shown(value) for value in (1234, 0.25, 2e-05, 6e-17, np.nan, True, "F")]
    ['1,234', '0.2500', '2e-05', '0.0000', 'not known', 'yes', 'F']
    """
    if not known(value):
        return "not known"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    # What is zero up to rounding is shown as zero; adding it turns -0.0 into 0.0.
    number = float(value) + 0.0
    number = 0.0 if abs(number) < _ROUNDING else number
    tiny, huge = 0 < abs(number) < 5e-4, abs(number) >= 1e6
    return f"{number:.2g}" if tiny or huge else f"{number:.4f}"
