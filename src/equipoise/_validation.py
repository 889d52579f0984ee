"""The one door from what users pass to arrays the reduction can trust.

Everything is checked here, before any fit, and every error says what came, what was expected and
what to do.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from equipoise.cells import Array, Cells, factorize

_ROUTING_HELP = (
    "Pass fit(X, y, sensitive_features=A). Inside a Pipeline or a search, enable scikit-learn's "
    "metadata routing, sklearn.set_config(enable_metadata_routing=True), and call "
    ".set_fit_request(sensitive_features=True) on this estimator."
)


def read_examples(
    X: Any, y: Any, sensitive_features: Any, control_features: Any, sample_weight: Any
) -> tuple[Cells, NDArray]:
    """Check the arguments of fit; return the cells and the two classes."""
    n = _num_samples(X)
    label, classes = read_labels(y, n)
    if sensitive_features is None:
        raise ValueError(
            f"sensitive_features is missing: there is nothing to be fair about. {_ROUTING_HELP}"
        )
    sensitive = read_columns(sensitive_features, n, "sensitive_features", "group")
    control = {}
    if control_features is not None:
        control = read_columns(control_features, n, "control_features", "stratum")
    weight = read_weights(sample_weight, n)
    if weight is not None and not 0 < weight[label == 1].sum() < weight.sum():
        raise ValueError("all the weight is on one class; give both classes some weight.")
    return Cells.from_columns(label, sensitive, control, weight), classes


def read_labels(y: Any, n: int) -> tuple[NDArray[np.int8], NDArray]:
    """Return labels as 0 and 1, and the two classes these stand for, in sorted order."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(_to_numpy(y), warn=True)
    _check_length(len(y), n, "y")
    _check_missing(y, "y")
    if y.dtype.kind in "fc":
        check_classification_targets(y)
    codes, classes = factorize(y)
    if len(classes) == 1:
        raise ValueError(
            f"y has only one class, {classes[0]!r}; expected two. There is nothing to classify."
        )
    if len(classes) > 2:
        shown = ", ".join(map(repr, classes[:4])) + (", ..." if len(classes) > 4 else "")
        raise ValueError(
            f"Only binary classification is supported. y has {len(classes)} classes ({shown}); "
            "expected two. Make the decision binary, for example y == value."
        )
    return codes.astype(np.int8), classes


def read_columns(columns: Any, n: int, name: str, default: str) -> dict[str, NDArray]:
    """Return the columns of an array, series or frame of any kind, by name."""
    native = nw.from_native(columns, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        found = {str(column): native[column].to_numpy() for column in native.columns}
    elif isinstance(native, nw.Series):
        found = {str(native.name or default): native.to_numpy()}
    elif isinstance(columns, dict):
        found = {str(column): _to_numpy(values) for column, values in columns.items()}
    else:
        found = _split_array(_to_numpy(columns), name, default)
    if not found:
        raise ValueError(f"{name} has no column; expected one or more.")
    for column, values in found.items():
        _check_length(len(values), n, name)
        _check_missing(values, f"{name} {column!r}" if len(found) > 1 else name)
    return found


def _split_array(array: NDArray, name: str, default: str) -> dict[str, NDArray]:
    if array.ndim == 1:
        return {default: array}
    if array.ndim == 2:
        if array.shape[1] == 1:
            return {default: array[:, 0]}
        return {f"{default}_{j}": array[:, j] for j in range(array.shape[1])}
    raise ValueError(f"{name} has {array.ndim} dimensions; expected one value or row per example.")


def read_weights(sample_weight: Any, n: int) -> Array | None:
    """Return weights as floats, or None when all examples weigh the same."""
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n, sample_weight)
    weight = column_or_1d(_to_numpy(sample_weight)).astype(float)
    _check_length(len(weight), n, "sample_weight")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; expected finite numbers >= 0.")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight contains negative values (the least is {weight.min()}); expected "
            "numbers >= 0."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere; give some examples a weight.")
    return None if weight.min() == weight.max() else weight


def read_positive(value: Any, name: str) -> float:
    """Return a parameter that must be a positive number."""
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool) or not value > 0:
        raise ValueError(f"{name} is {value!r}; expected a number > 0, or None for the default.")
    return float(value)


def read_integer(value: Any, name: str, least: int) -> int:
    """Return a parameter that must be a whole number."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number >= {least}.")
    return int(value)


def _to_numpy(values: Any) -> NDArray:
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise ValueError(f"expected one value per example, got {type(values).__name__}.")
    return array


def _check_length(length: int, n: int, name: str) -> None:
    if length != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows but "
            f"{name} has {length}. Pass one entry for each row of X, in the same order."
        )


def _check_missing(values: NDArray, name: str) -> None:
    if values.dtype.kind in "fc":
        missing = ~np.isfinite(values)
    elif values.dtype.kind in "mM":
        missing = np.isnat(values)
    elif values.dtype.kind == "O":
        # Only the distinct values are inspected; NaN is the one value that differs from itself.
        distinct = set(values.tolist()) if values.ndim == 1 else set(values.ravel().tolist())
        if not any(value is None or value != value or str(value) == "<NA>" for value in distinct):
            return
        missing = np.array([v is None or v != v or str(v) == "<NA>" for v in values.ravel()])
    else:
        return
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"Input {name} contains NaN, None or infinity: {int(missing.sum())} of {len(values)} "
            f"entries, the first in row {at}. Drop these rows, or make 'unknown' a group."
        )
