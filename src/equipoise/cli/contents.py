"""Summarises the data of a fit, as reports show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.cli.tables.people import Columns, Examples
from equipoise.report.contents import DataContents


def data_contents(
    source: str, train: Examples, test: Examples | None, columns: Columns, positive: Any
) -> DataContents:
    """Return a summary of the data of a fit."""
    parts = [train] if test is None else [train, test]
    missing = {name: sum(_missing(part.X, name) for part in parts) for name in columns.features}
    return DataContents(
        source=source,
        rows=sum(map(len, parts)),
        train_rows=len(train),
        test_rows=0 if test is None else len(test),
        label=columns.label,
        labels=columns.labels,
        base_rate=float(
            np.average(
                np.concatenate([part.y == positive for part in parts]),
                weights=None
                if train.weight is None
                else np.concatenate([part.weight for part in parts if part.weight is not None]),
            )
        ),
        sensitive=list(columns.sensitive),
        control=list(columns.control),
        weight=columns.weight,
        features=dict(columns.features),
        missing={name: count for name, count in missing.items() if count},
    )


def _missing(X: Any, name: str) -> int:
    return int(X.column(name).is_null(nan_is_null=True).to_numpy().sum())
