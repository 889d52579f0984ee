"""Encoding: columns of numbers and of text as what learners take, kept inside the model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equipoise.cli.tables.columns import Kind, as_category

#: Of a text column, this many values get a column of their own; the rarer ones share one.
MOST_CATEGORIES = 50
#: A value that fewer people have is rare, and is not kept.
FEWEST_PEOPLE = 10
#: A text column in which this share of the people have a rare value is made of names or the like.
_NEARLY_ALL = 0.8
_RARE = "(rare values)"


def make_encoder(kinds: Mapping[str, str], table: Any) -> ColumnTransformer:
    """Return a transformer for a data frame whose columns are "number" or "category".

    Numbers are scaled; a missing one becomes the median, and a further column marks it. Categories
    become columns of zeros and ones, a missing value being a category too. Values that are rare
    share a column, with those that were not seen before; they are not kept. Without rare ones, a
    new value counts as none. Which categories are common is looked up in the table.

    >>> import pyarrow as pa
    >>> ages, towns = [20.0, None, 40.0] * 10, ["Rome", "Oslo", "Rome"] * 9 + ["Rome", "Oslo", "Ur"]
    >>> table = pa.table({"age": pa.array(ages).fill_null(float("nan")), "town": towns})
    >>> encoder = make_encoder({"age": "number", "town": "category"}, table).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'missingindicator_age', 'town_Oslo', 'town_Rome', 'town_infrequent_sklearn']
    >>> new = pa.table({"age": [30.0], "town": ["Bonn"]})
    >>> encoder.transform(new).round(2).tolist()
    [[0.0, -0.71, 0.0, 0.0, 1.0]]
    """
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    categories = [name for name, kind in kinds.items() if kind == "category"]
    # Nobody has the value that stands for rare ones, so that it is the infrequent one.
    one_hot = OneHotEncoder(
        categories=[_categories(table.column(name), name) for name in categories],
        handle_unknown="infrequent_if_exist",
        min_frequency=1,
        sparse_output=False,
    )
    steps: list[tuple[str, Any, list[str]]] = []
    if numbers:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        scaled = Pipeline([("fill", fill), ("scale", StandardScaler())])
        steps.append(("numbers", scaled, numbers))
    if categories:
        steps.append(("categories", one_hot, categories))
    return ColumnTransformer(steps, sparse_threshold=0.0, verbose_feature_names_out=False)


def without_names(
    features: Mapping[str, Kind], table: Any, keep: Sequence[str], note: Callable[[str], Any]
) -> dict[str, Kind]:
    """Return the features but for text columns that are nearly unique: names, ids, notes.

    Those to ``keep`` are features in any case; ``note`` is told which are left out, and why.
    """
    kept = dict(features)
    for name, kind in features.items():
        if kind == "number" or name in keep:
            continue
        counted = _count(table.column(name), name)
        people = sum(rows for value, rows in counted.items() if value is not None)
        rare = sum(
            rows for value, rows in counted.items() if value is not None and rows < FEWEST_PEOPLE
        )
        if rare >= _NEARLY_ALL * people:
            note(
                f"text column {name!r} is left out, as names, ids and notes should be: {rare:,} of "
                f"{people:,} people have a value in it that fewer than {FEWEST_PEOPLE} share. To "
                f"learn from its common values: --keep-text {shlex.quote(name)}"
            )
            del kept[name]
    if not kept:
        raise ValueError("no column is left to learn from; name text columns with --keep-text.")
    return kept


def _count(column: Any, name: str) -> Counter:
    counted = as_category(column, name).value_counts().to_pylist()
    return Counter({entry["values"]: entry["counts"] for entry in counted})


def _categories(column: Any, name: str) -> NDArray:
    """Return the common values of a column, in order, and one that stands for the others."""
    counted = _count(column, name)
    most = MOST_CATEGORIES if len(counted) <= MOST_CATEGORIES else MOST_CATEGORIES - 1
    in_order = sorted(counted, key=lambda value: (-counted[value], str(value)))
    common = [value for value in in_order[:most] if counted[value] >= FEWEST_PEOPLE]
    common.sort(key=lambda value: (value is None, str(value)))
    if len(common) < len(counted):
        common.append(_RARE)
    return np.array(common, dtype=object)


def count_unknown(estimator: Any, table: Any) -> Counter:
    """Return how many people have a category that an encoder does not know, by column.

    That is a value which fewer than ten people had in the fit, or nobody. ``estimator`` is a
    pipeline that begins with what `make_encoder` has made.

    >>> import pyarrow as pa
    >>> fitted = pa.table({"town": ["Rome", "Oslo"] * 10})
    >>> encoder = make_encoder({"town": "category"}, fitted)
    >>> count_unknown(Pipeline([("encode", encoder)]), pa.table({"town": ["ROME", "Oslo"]}))
    Counter({'town': 1})
    """
    encoder = estimator[0]
    encoder = getattr(encoder, "estimator", encoder)  # frozen, where it is fitted already
    found: Counter = Counter()
    for _, one_hot, names in encoder.transformers:
        if isinstance(one_hot, OneHotEncoder):
            for name, known in zip(names, one_hot.categories, strict=True):
                counted, common = _count(table.column(name), name), set(known.tolist())
                found[name] += sum(rows for value, rows in counted.items() if value not in common)
    return +found
