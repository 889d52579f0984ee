"""Opening: from what users pass to shards and an oracle over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.engines.dask.collections import example_of
from equipoise.engines.dask.oracles import (
    ShardOracle,
    ShardPluginOracle,
    candidates_on,
    trainer_kind,
)
from equipoise.engines.dask.pipelines import (
    TransformedOracle,
    TransformedShards,
    is_frozen_pipeline,
)
from equipoise.engines.dask.shards import Shards
from equipoise.game.pool import Oracle
from equipoise.oracles.plugin import BothOracle
from equipoise.rows.validation import read_integer


def open_rows(
    X: Any,
    y: Any,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    utilities: Any = None,
    weights: str = "both",
    *,
    estimator: Any = None,
) -> Shards:
    """Read Dask collections into shards, checked; ``estimator`` is what will be trained on them."""
    if utilities is not None or weights != "both":
        raise ValueError(
            "utilities and weights='error' need rows in memory; X is a Dask collection. Load the "
            "data, or leave both at their defaults."
        )
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if sensitive_features is None:
        raise ValueError(
            "sensitive_features is missing: there is nothing to be fair about. Pass "
            "fit(X, y, sensitive_features=A)."
        )
    dtype = None
    others = (y, sensitive_features, control_features, sample_weight)
    if is_frozen_pipeline(estimator):
        return TransformedShards(estimator, X, *others, dtype=trainer_kind(estimator[-1]).dtype)
    if estimator is not None and not isinstance(estimator, (list, tuple)):
        dtype = trainer_kind(estimator).dtype
    if dtype is not None:
        _check_numbers(example_of(X))
    return Shards(X, *others, dtype=dtype)


def oracle_over(
    shards: Shards, estimator: Any, threshold: str, oracle: str, cv: Any, aware: bool
) -> Oracle:
    """Return the oracle over shards that the parameters of an estimator ask for."""
    if isinstance(estimator, (list, tuple)):
        return candidates_on(estimator, shards, shards.classes)
    if isinstance(shards, TransformedShards) and is_frozen_pipeline(estimator):
        inner = oracle_over(shards, estimator[-1], threshold, oracle, cv, aware)
        return TransformedOracle(inner, shards.transformer)
    if aware:
        raise ValueError(
            "aware=True reads groups from rows in memory; X is a Dask collection. Use aware=False."
        )
    folds = 1
    if cv is not None or oracle != "refit":
        if cv is not None and not isinstance(cv, (int, np.integer)):
            raise ValueError(
                f"cv is {cv!r}; with Dask collections expected a number of folds, or None."
            )
        folds = 5 if cv is None else read_integer(cv, "cv", least=2)
    if oracle == "refit":
        return ShardOracle(estimator, shards, threshold, folds)
    plugin = ShardPluginOracle(estimator, shards, folds)
    if oracle == "plugin":
        return plugin
    return BothOracle(plugin, ShardOracle(estimator, shards, threshold, folds))


def _check_numbers(example: Any) -> None:
    """Refuse features that are not numbers, before any work."""
    dtypes = getattr(example, "dtypes", None)
    kinds = {"X": example.dtype} if dtypes is None else dict(dtypes)
    for name, dtype in kinds.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} of X is of type {dtype}; expected numbers or booleans. Encode "
                "it with Dask first, for example with dask.dataframe.get_dummies."
            )
