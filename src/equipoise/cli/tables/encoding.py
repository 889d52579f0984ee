"""Encoding: columns of numbers and of text as what learners take, kept inside the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

#: Of a text column, this many values get a column of their own; the rarer ones share one.
MOST_CATEGORIES = 50


def make_encoder(kinds: Mapping[str, str]) -> ColumnTransformer:
    """Return a transformer for a data frame whose columns are "number" or "category".

    Numbers are scaled; a missing one becomes the median, and a further column marks it. Categories
    become columns of zeros and ones, a missing value being a category too. A category that was not
    seen before counts as a rare one, or as none.

    Parameters
    ----------
    kinds : mapping from column name to "number" or "category"

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> frame = pd.DataFrame({"age": [20.0, np.nan, 40.0], "town": ["Rome", "Oslo", "Rome"]})
    >>> encoder = make_encoder({"age": "number", "town": "category"}).fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'missingindicator_age', 'town_Oslo', 'town_Rome']
    >>> encoder.transform(pd.DataFrame({"age": [30.0], "town": ["Bonn"]})).round(2).tolist()
    [[0.0, -0.71, 0.0, 0.0]]
    """
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    categories = [name for name, kind in kinds.items() if kind == "category"]
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    steps: list[tuple[str, Any, list[str]]] = []
    if numbers:
        steps.append(("numbers", _numbers(), numbers))
    if categories:
        steps.append(("categories", one_hot, categories))
    return ColumnTransformer(steps, sparse_threshold=0.0, verbose_feature_names_out=False)


def _numbers() -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return Pipeline([("fill", fill), ("scale", StandardScaler())])
