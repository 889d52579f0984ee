"""The encoder of a table that no machine holds: fitted from what a survey has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.cli.survey import Moments, Survey
from equipoise.cli.tables.columns import Kind, import_pyarrow
from equipoise.cli.tables.encoding import MOST_CATEGORIES, make_encoder


def learned_encoder(kinds: Mapping[str, Kind], survey: Survey, medians: Mapping[str, float]) -> Any:
    """Return the encoder that `make_encoder` would be once fitted to all rows.

    It is fitted to a table of a few rows with the same medians, gaps and categories; means and
    deviations, which such a table cannot have, are put in.
    """
    pa = import_pyarrow()
    columns: dict[str, Any] = {}
    for name, kind in kinds.items():
        if kind == "number":
            gap = survey.moments[name].count < survey.train
            middle = medians.get(name, np.nan)
            columns[name] = [middle, np.nan if gap else middle]
        else:
            columns[name] = _few_texts(survey.texts[name])
    rows = max(map(len, columns.values()))
    # A shorter column goes on with its first value, but for categories, whose counts matter.
    table = pa.table(
        {
            name: pa.array(
                values + values[:1] * (rows - len(values)),
                pa.float64() if kinds[name] == "number" else pa.string(),
                from_pandas=False,
            )
            for name, values in columns.items()
        }
    )
    encoder = make_encoder(kinds).fit(table)
    if numbers := [name for name, kind in kinds.items() if kind == "number"]:
        scale = encoder.named_transformers_["numbers"].named_steps["scale"]
        _put_in(scale, [survey.moments[name] for name in numbers], medians, numbers, survey.train)
    return encoder


def _few_texts(counts: Counter) -> list[str | None]:
    """Return every text once, and those that get a column of their own twice and first."""
    texts = sorted(text for text in counts if text is not None)
    texts += [None] if None in counts else []
    # As OneHotEncoder picks them: the commonest, of equals the last.
    order = np.argsort([counts[text] for text in texts], kind="stable")
    common = [texts[at] for at in order[-(MOST_CATEGORIES - 1) :]]
    return [*common, *texts]


def _put_in(
    scaler: Any, found: list[Moments], medians: Mapping[str, float], names: list[str], rows: int
) -> None:
    """Give a fitted StandardScaler the means and deviations of filled columns, and of the marks."""
    filled = [
        moments + Moments(rows - moments.count, medians.get(name, 0.0), 0.0)
        for name, moments in zip(names, found, strict=True)
    ]
    marks = [(rows - moments.count) / rows for moments in found if moments.count < rows]
    mean = np.array([*(moments.mean for moments in filled), *marks])
    var = np.array(
        [*(moments.deviation / rows for moments in filled), *(p * (1 - p) for p in marks)]
    )
    # Columns that are constant up to rounding are not scaled; the bound is scikit-learn's.
    rounding = np.finfo(float).eps
    constant = var <= rows * rounding * var + (rows * mean * rounding) ** 2
    scaler.mean_, scaler.var_, scaler.n_samples_seen_ = mean, var, rows
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(var))
