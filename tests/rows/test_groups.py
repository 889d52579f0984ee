"""Missing values and ordered categories, however a table writes them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from equipoise.cells.values import UNKNOWN
from equipoise.rows.people import read_groups

TEXTS = ["M", None, "F", "M"]
MISSING = {
    "list": TEXTS,
    "object array": np.array(TEXTS, dtype=object),
    "masked array": np.ma.array(["M", "-", "F", "M"], mask=[0, 1, 0, 0]),
    "pandas objects": pd.Series(TEXTS, dtype=object),
    "pandas strings": pd.Series(TEXTS, dtype="string"),
    "pandas categories": pd.Series(TEXTS, dtype="category"),
    "pandas with NaN": pd.Series(["M", float("nan"), "F", "M"], dtype=object),
    "polars": pl.Series(TEXTS),
    "polars categories": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXTS, dtype=pl.Enum(["F", "M"])),
    "arrow": pa.chunked_array([TEXTS]),
    "frame": pd.DataFrame({"sex": TEXTS}),
    "mapping": {"sex": TEXTS},
}
NUMBERS = {
    "floats": np.array([2.0, np.nan, 1.0]),
    "pandas nullable": pd.Series([2, None, 1], dtype="Int64"),
    "polars numbers": pl.Series([2, None, 1]),
    "list of numbers": [2, None, 1],
    "NA in objects": np.array([2, pd.NA, 1], dtype=object),
}
DATES = {
    "array of dates": np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    "pandas dates": pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_texts_are_unknown_if_asked(kind: str) -> None:
    ((_, values),) = read_groups(MISSING[kind], 4, "ignore")[0].items()
    assert [value if value is UNKNOWN else str(value) for value in values] == [
        "M",
        UNKNOWN,
        "F",
        "M",
    ]


@pytest.mark.parametrize("kind", NUMBERS)
def test_missing_numbers_are_unknown_if_asked(kind: str) -> None:
    ((_, values),) = read_groups(NUMBERS[kind], 3, "ignore")[0].items()
    assert values[1] is UNKNOWN
    assert [float(values[0]), float(values[2])] == [2.0, 1.0]


@pytest.mark.parametrize("kind", DATES)
def test_missing_dates_are_unknown_if_asked(kind: str) -> None:
    ((_, values),) = read_groups(DATES[kind], 2, "ignore")[0].items()
    assert values[1] is UNKNOWN
    assert values[0] is not UNKNOWN


@pytest.mark.parametrize("kind", [*MISSING, *NUMBERS, *DATES])
def test_by_default_they_are_an_error_that_names_the_choice(kind: str) -> None:
    given = (MISSING | NUMBERS | DATES)[kind]
    n = 4 if kind in MISSING else 3 if kind in NUMBERS else 2
    with pytest.raises(ValueError, match=r"the first in row 1\. Pass missing='ignore'"):
        read_groups(given, n)


def test_what_is_not_missing_stays_as_it_is() -> None:
    values = np.array([3, 1, 2])
    assert read_groups(values, 3, "ignore")[0]["group"] is values


def test_a_column_that_nobody_has_and_infinity_are_refused() -> None:
    with pytest.raises(ValueError, match="'sex' is missing for everybody"):
        read_groups({"sex": [None, None]}, 2, "ignore")
    with pytest.raises(ValueError, match="contains infinity"):
        read_groups([1.0, np.inf, np.nan], 3, "ignore")
    with pytest.raises(ValueError, match="expected 'error', or 'ignore'"):
        read_groups([1, 2], 2, "drop")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_ordered_categories_keep_their_order(kind: str) -> None:
    names, texts = ["low", "mid", "high"], ["high", "low", None, "mid"]
    column = {
        "pandas": pd.Series(pd.Categorical(texts, categories=names, ordered=True), name="size"),
        "polars": pl.Series("size", texts, dtype=pl.Enum(names)),
    }[kind]
    values = read_groups(column, 4, "ignore")[0]["size"]
    assert sorted(values.tolist()) == [*names, UNKNOWN]
