"""How a CSV file is written: its separator, its decimal mark and its encoding."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_BYTES, _SAMPLE_ROWS = 1 << 16, 200
_BLOCK = 1 << 20
#: Marks between groups of three digits, besides the one that is no decimal mark.
_SPACES = " \u00a0\u2009\u202f'\u2019"


@dataclass(frozen=True)
class Dialect:
    """Separator, decimal mark and encoding; what is None is to be found out."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator == "\\t":
            object.__setattr__(self, "separator", "\t")
        if self.separator is not None and len(self.separator) != 1:
            raise ValueError(
                f"--separator is {self.separator!r}; expected one character, such as ';'."
            )
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"--decimal is {self.decimal!r}; expected '.' or ','.")
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)  # a codec may be none of text, such as zlib
            except LookupError:
                raise ValueError(
                    f"--encoding is {self.encoding!r}, which is no encoding of text that Python "
                    "knows; expected one such as utf-8, latin-1 or utf-16."
                ) from None

    def found_in(self, path: Path) -> Dialect:
        """Return the dialect of a file: what is said, and for the rest what its rows look like."""
        encoding = self.encoding or _find_encoding(path)
        with pa.input_stream(str(path), compression="detect") as stream:
            sample = stream.read(_SAMPLE_BYTES)
        text = sample.decode(encoding, "replace").removeprefix("\ufeff")
        if "\0" in text:  # a reader may search it for the end of a line for ever
            raise ValueError(
                f"{path.name} holds zero bytes, as no text does: it is damaged, or no CSV file."
            )
        lines = text.splitlines(keepends=True)
        if len(sample) == _SAMPLE_BYTES and len(lines) > 1:
            del lines[-1]  # cut in the middle
        preferred = "\t" if ".tsv" in path.suffixes else ","
        separator = self.separator or _find_separator(lines, preferred)
        decimal = self.decimal or find_decimal(_rows(lines, separator), separator)
        return replace(self, separator=separator, decimal=decimal, encoding=encoding)

    def __str__(self) -> str:
        marks = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", ".": "point"}
        separator, decimal = self.separator or "?", self.decimal or "?"
        return (
            f"separator {marks.get(separator, separator)}, decimal "
            f"{marks.get(decimal, decimal)}, encoding {self.encoding}"
        )


def _find_encoding(path: Path) -> str:
    """Return the encoding of all of a file: a few rows may have no letter that tells."""
    with pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(_BLOCK)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if (zeros := start[:1000].count(0)) > len(start[:1000]) / 4:
            return "utf-16-le" if start[1:1000:2].count(0) > zeros / 2 else "utf-16-be"
        decoders = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
        block = start
        while block and decoders:
            decoders = {name: each for name, each in decoders.items() if _decodes(each, block)}
            block = stream.read(_BLOCK)
    return next(iter(decoders), "latin-1")  # of which every byte is a letter


def _decodes(decoder: Any, block: bytes) -> bool:
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    # Strict parsing fails at a quote inside a field, which files have nevertheless.
    return [row for row in islice(csv.reader(lines, delimiter=separator), _SAMPLE_ROWS) if row]


def _find_separator(lines: list[str], preferred: str) -> str:
    """Return the separator that gives every row as many fields as the header, and the most."""
    best, fields = preferred, 1
    for separator in (preferred, *_SEPARATORS):
        widths = {len(row) for row in _rows(lines, separator)}
        if len(widths) == 1 and (width := widths.pop()) > fields:
            best, fields = separator, width
    return best


def find_decimal(rows: list[list[str]], separator: str) -> str:
    """Return the decimal mark of the fields that are numbers with a mark."""
    counts = {mark: _count_decimals(rows, mark) for mark in ".,"}
    sure, perhaps = counts[","]
    if separator == ",":
        perhaps = 0  # in quotes, 1,234 is rather a thousand
    return "," if sure + perhaps > 0 and sure >= counts["."][0] else "."


def _count_decimals(rows: Iterable[list[str]], mark: str) -> tuple[int, int]:
    """Return how many fields have this decimal mark for sure, and how many perhaps (1,234)."""
    other = "," if mark == "." else "."
    number = re.compile(rf"[+-]?\d{{1,3}}([{other}{_SPACES}]?\d{{3}})*\d*[{mark}]\d+\s*")
    grouped = re.compile(rf"[+-]?\d{{1,3}}[{mark}]\d{{3}}\s*")
    found = [field for row in rows for field in row if number.fullmatch(field)]
    perhaps = sum(grouped.fullmatch(field) is not None for field in found)
    return len(found) - perhaps, perhaps


def without_thousands(column: Any, decimal: str) -> Any:
    """Return a text column as numbers where its values are numbers with marks of thousands.

    >>> without_thousands(pa.chunked_array([["1,234.5", None, "7"]]), ".").to_pylist()
    [1234.5, None, 7.0]
    >>> without_thousands(pa.chunked_array([["1.234,5"]]), ",").to_pylist()
    [1234.5]
    >>> without_thousands(pa.chunked_array([["12,34"]]), ".").to_pylist()
    ['12,34']
    """
    marks = _SPACES + ("," if decimal == "." else ".")
    grouped = rf"^\s*[+-]?(\d+|\d{{1,3}}([{marks}]\d{{3}})+)([{decimal}]\d+)?\s*$"
    values = column.unique().drop_null()
    if not len(values) or not pc.all(pc.match_substring_regex(values, grouped)).as_py():
        return column
    plain = pc.replace_substring_regex(column, rf"[{marks}\s]", "")
    return pc.replace_substring(plain, decimal, ".").cast(pa.float64())


def looks_numeric(column: Any) -> tuple[float, list[str]]:
    """Return the share of a text column's rows that hold a number, and values that do not.

    >>> looks_numeric(pa.chunked_array([["1", "2.5", "3 %", "unknown"]]))
    (0.75, ['unknown'])
    """
    known = column.drop_null()
    numeric = pc.match_substring_regex(known, rf"^\s*[$€£+-]?[\d.,{_SPACES}]*\d\s*[%$€£]?\s*$")
    if not len(known):
        return 0.0, []
    others = known.filter(pc.invert(numeric)).unique().to_pylist()
    return (pc.sum(numeric).as_py() or 0) / len(known), others
