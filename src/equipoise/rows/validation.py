"""Checks of what users pass, one argument at a time: from columns of any kind to arrays.

Everything is checked here, before any fit, and every error says what came, what was expected and
what to do. `equipoise.rows.people.People.read` is the door to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from equipoise.cells.codes import factorize
from equipoise.cells.table import Array
from equipoise.cells.values import UNKNOWN, Missing, is_number, levels
from equipoise.exceptions import EmptyCellWarning
from equipoise.rows.favourable import favourable_of
from equipoise.rows.floats import as_floats
from equipoise.rows.tables import schema_of

#: As ``positive``: that neither of two labels is better than the other.
ANY = object()
#: The most labels: with more than this, y is a number and not a kind of decision.
MOST_LABELS = 50
#: The least weight, as a share of all, that sums of weights still tell from zero.
LEAST_SHARE = 1e-14
#: Weights whose squares are far from the ends of all numbers.
LEAST, MOST = 1e-90, 1e90
_ADVICE = (
    "Pass missing='ignore' to count these people in the error and in no group, Probabilities where "
    "a model can tell their groups, or drop these rows."
)


def read_labels(
    y: Any, n: int, fitted: NDArray | None = None, positive: Any = None
) -> tuple[NDArray[np.int8], NDArray]:
    """Return labels as 0, 1, ..., and the classes these stand for.

    Classes are in sorted order, but the favourable one of two is the second. Where they are known
    from a fit, some of them may be absent.
    """
    y = read_target(y, n)
    if fitted is not None and np.isin(y, fitted).all():
        if len(fitted) == 2:
            return (y == fitted[1]).astype(np.int8), fitted
        return (y[:, None] == fitted).argmax(axis=1).astype(np.int8), fitted
    codes, classes = factorize(y)
    if len(classes) == 1:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}; expected two or more. There is "
            "nothing to classify."
        )
    if len(classes) > MOST_LABELS:
        raise ValueError(
            f"y has {len(classes)} classes ({_first(classes)}); expected at most {MOST_LABELS}. "
            "Put values into bins, make the decision binary, or predict numbers with FairRegressor."
        )
    if len(set(map(str, classes.tolist()))) < len(classes):
        raise ValueError(
            f"y has classes that are the same as text ({_first(classes)}): they could not be told "
            "apart. Pass labels of one type."
        )
    label: NDArray[np.int8] = codes.astype(np.int8)
    if positive is ANY:
        return label, classes
    if len(classes) > 2 and positive is not None:
        raise ValueError(
            f"positive is {positive!r}, which is for two labels, but y has {len(classes)}: "
            f"{_first(classes)}. Name the decision in the constraint, for example "
            "EqualOpportunity(positive=...), or make the labels two, for example y == value."
        )
    if len(classes) == 2:
        known = classes.tolist()
        if favourable_of(known, positive, "y", "positive") != known[1]:
            return 1 - label, classes[::-1]
    return label, classes


def check_two_labels(classes: NDArray, what: str) -> None:
    """Raise if there are more than two classes, for something that knows two only."""
    if len(classes) > 2:
        raise ValueError(
            f"{what} is for two labels, but there are {len(classes)}: {_first(classes)}. Leave it "
            "out, or make the decision binary, for example y == value."
        )


def _first(classes: NDArray) -> str:
    return ", ".join(map(repr, classes[:4].tolist())) + (", ..." if len(classes) > 4 else "")


def read_target(y: Any, n: int) -> NDArray:
    """Return the labels as they came, one for each of ``n`` rows and none of them missing."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if n == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 2 is required.")
    y = column_or_1d(to_array(y, "y"), warn=True)
    check_length(len(y), n, "y")
    _check_missing(y, "y", "Drop these rows.")
    if y.dtype.kind in "fc" and (kind := type_of_target(y)) not in ("binary", "multiclass"):
        more = "Make the decision binary, for example y > 10, or predict numbers: FairRegressor."
        raise ValueError(f"Unknown label type: {kind}; expected classes as y. {more}")
    return y


def read_columns(
    columns: Any, n: int, name: str, default: str, missing: Missing | None = None
) -> dict[str, NDArray]:
    """Return the columns of an array, series or frame of any kind, by name.

    Ordered texts come as `Level`. Missing values are an error, or `UNKNOWN` where ``missing`` is
    "ignore"; None says that there is no such choice.
    """
    native = nw.from_native(columns, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        series = dict(zip(map(str, native.columns), native.iter_columns(), strict=True))
    elif isinstance(native, nw.Series):
        series = {str(native.name or default): native}
    else:
        series = {}
    if series:
        found = {column: _column_to_numpy(values) for column, values in series.items()}
    elif isinstance(columns, dict):
        found = {str(column): to_array(values, name) for column, values in columns.items()}
    else:
        found = _split_array(to_array(columns, name), name, default)
    if not found:
        raise ValueError(f"{name} has no column; expected one or more.")
    given = list(columns) if isinstance(columns, dict) else getattr(columns, "columns", found)
    if len(series or found) < len(given):
        names = ", ".join(map(repr, given))
        raise ValueError(
            f"{name} has columns whose names are the same as text: {names}. Rename one of them."
        )
    for column, values in found.items():
        if values.ndim != 1:
            raise ValueError(
                f"{name} {column!r} has {values.ndim} dimensions; expected one value per row."
            )
        check_length(len(values), n, name)
        called = f"{name} {column!r}" if len(found) > 1 else name
        if missing == "ignore":
            found[column] = _with_unknown(values, called)
        else:
            _check_missing(values, called, _ADVICE if missing else "Drop these rows.")
        if column in series:
            _warn_unused(series[column], called)
    return found


def _column_to_numpy(series: Any, block: int = 1 << 16) -> NDArray:
    """Return the column of a frame as an array.

    Strings that are not Python objects yet are made block by block, and only one for equal
    values: a string for every row would take more memory than all the rest of a fit.
    """
    if (ordered := _in_order(series)) is not None:
        return ordered
    is_text = series.dtype in (nw.String, nw.Categorical, nw.Enum)
    if not is_text or isinstance(getattr(series.to_native(), "dtype", None), np.dtype):
        return series.to_numpy()
    values, known = np.empty(len(series), dtype=object), dict[Any, Any]()
    for start in range(0, len(series), block):
        some = series[start : start + block].to_numpy()
        if some.dtype.kind not in "OU":  # categories that are numbers or dates
            return series.to_numpy()
        texts = some.tolist()
        values[start : start + block] = list(map(known.setdefault, texts, texts))
    return values


def _in_order(series: Any) -> NDArray | None:
    """Return an ordered category of texts with its order, None in its place if it is another."""
    if series.dtype not in (nw.Categorical, nw.Enum):
        return None
    is_pandas = series.implementation.is_pandas()
    # A dictionary of Arrow's in pandas is a category without an order.
    ordered = is_pandas and getattr(series.to_native().dtype, "ordered", False)
    if not (series.dtype == nw.Enum or ordered):
        return None
    names = series.cat.get_categories().to_list()
    if not all(isinstance(name, str) for name in names):  # numbers and dates have an order
        return None
    by_name = dict(zip(names, levels(names), strict=True))
    return np.array([by_name.get(value) for value in series.to_list()] + [None], dtype=object)[:-1]


def _split_array(array: NDArray, name: str, default: str) -> dict[str, NDArray]:
    if array.ndim == 1:
        return {default: array}
    if array.ndim == 2:
        if array.shape[1] == 1:
            return {default: array[:, 0]}
        return {f"{default}_{j}": array[:, j] for j in range(array.shape[1])}
    raise ValueError(f"{name} has {array.ndim} dimensions; expected one value or row per example.")


def _warn_unused(series: Any, name: str) -> None:
    """Name the groups that a categorical column declares but nobody belongs to."""
    # The categories of a Polars Categorical are those of the whole process: they declare nothing.
    if series.dtype == nw.Categorical and series.implementation.is_polars():
        return
    if series.dtype not in (nw.Categorical, nw.Enum):
        return
    if series.implementation.is_pandas() and not hasattr(series.to_native(), "cat"):
        return  # a dictionary of Arrow's, which declares nothing
    present = set(series.unique().to_list())
    if unused := [c for c in series.cat.get_categories().to_list() if c not in present]:
        warnings.warn(
            f"{name} declares {', '.join(map(repr, unused))} but nobody in the data belongs to it. "
            "Its rate cannot be measured, so it is left unconstrained; drop unused categories if "
            "this is meant.",
            EmptyCellWarning,
            stacklevel=2,
        )


def read_weights(sample_weight: Any, n: int, *, summed: bool = True) -> Array | None:
    """Return weights as floats, or None when all examples weigh the same.

    Weights that are ``summed`` must not be so far apart that sums would lose some.
    """
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n, sample_weight)
    weight = to_array(sample_weight, "sample_weight")
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.ndim != 1:
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected one number for each row of X."
        )
    check_length(len(weight), n, "sample_weight")
    _check_missing(weight, "sample_weight", "Expected finite numbers >= 0; drop these rows.")
    weight = as_floats(weight, "sample_weight", "numbers >= 0")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight contains negative values (the least is {weight.min()}); expected "
            "numbers >= 0."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere; give some people a weight.")
    if summed:
        check_size(weight)
    if weight.min() == weight.max():
        return None
    return _in_range(weight) if summed else weight


def check_size(weight: Array) -> Array:
    """Return weights above zero; raise where their squares would not be numbers.

    Weights are not scaled: of a learner with regularisation a weight of two is the row twice.
    """
    positive = weight[weight > 0]
    extreme = positive[(positive < LEAST) | (positive > MOST)]
    if extreme.size:
        raise ValueError(
            f"sample_weight has the value {extreme[0]}; expected 0, or numbers from {LEAST:g} to "
            f"{MOST:g}. Scale all weights, or set those that are next to zero to zero."
        )
    return positive


def _in_range(weight: Array) -> Array:
    """Return the weights; raise if sums of them would lose some."""
    positive, total = weight[weight > 0], weight.sum()
    if (lost := positive[positive < LEAST_SHARE * total]).size:
        raise ValueError(
            f"sample_weight has {lost.size} weights above zero that are less than {LEAST_SHARE:g} "
            f"of the sum of all (the least is {lost.min() / total:.3g} of it): sums of numbers so "
            "far apart are wrong. Set these weights to zero, or drop the rows."
        )
    return weight


def read_positive(value: Any, name: str) -> float:
    """Return a parameter that must be a positive number."""
    if not is_number(value) or not value > 0:
        raise ValueError(f"{name} is {value!r}; expected a number > 0, or None for the default.")
    if not np.isfinite(value):
        raise ValueError(f"{name} is {value!r}; expected a finite number, or None for the default.")
    return float(value)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, and not True or False."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def read_integer(value: Any, name: str, least: int) -> int:
    """Return a parameter that must be a whole number."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number >= {least}.")
    return int(value)


def to_array(values: Any, name: str) -> NDArray:
    """Return an array of the values, in which what was missing is still recognisably missing.

    >>> to_array(["a", float("nan"), 1], "y").tolist()
    ['a', nan, 1]
    """
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()  # masked entries become None
    array = np.asarray(values)
    # NumPy turns numbers, NaN among them, into strings when a list also holds strings.
    if array.dtype.kind == "T" or (array.dtype.kind == "U" and isinstance(values, (list, tuple))):
        array = np.asarray(values, dtype=object)
    if array.ndim == 0:
        raise ValueError(
            f"{name} is of type {type(values).__name__}; expected one value for each row of X, as "
            "an array, a list, a series or a data frame."
        )
    return array


def is_missing(value: Any) -> bool:
    """Whether one value is None, NaN, NaT, pandas.NA or `equipoise.cells.values.UNKNOWN`.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if value is None or value is UNKNOWN:
        return True
    differs = value != value  # only NaN and NaT do; pandas.NA does not say
    return differs is not False and (type(value).__name__ == "NAType" or bool(differs))


def check_table(X: Any) -> None:
    """Raise for features that learners would misread, or not read at all."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X is a masked array with {np.ma.count_masked(X):,} masked entries, and learners use "
            "what is below the mask. Pass X.filled(np.nan) to a learner that takes missing values, "
            "or fill in values first."
        )
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise TypeError(
            f"X is an array of records with the fields {', '.join(X.dtype.names)}; expected a "
            "table. Pass pandas.DataFrame(X), or numpy.lib.recfunctions.structured_to_unstructured"
            "(X) where all of them are numbers."
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, which has no rows yet; pass X.collect().")


def check_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember number, names and types of the features (``reset``), or compare with those."""
    check_table(X)
    if not reset and hasattr(estimator, "n_features_in_") and len(getattr(X, "shape", "..")) == 1:
        raise ValueError(
            f"X has one dimension; expected rows of {estimator.n_features_in_} features. Reshape "
            "your data: X.reshape(1, -1) if it is a single row."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        estimator.schema_in_ = schema_of(X)


def check_index(**columns: Any) -> None:
    """Raise where pandas objects name the same rows in different orders.

    A mapping is looked at column by column.
    """
    first, index = "", None
    for name, column in columns.items():
        parts = {name: column}
        if isinstance(column, Mapping):
            parts = {f"{name}[{key!r}]": part for key, part in column.items()}
        for called, part in parts.items():
            own: Any = getattr(part, "index", None)
            if not hasattr(own, "equals"):
                continue
            if index is None:
                first, index = called, own
            elif not index.equals(own) and len(index) == len(own) and set(index) == set(own):
                at = int(np.argmax(np.asarray(index != own)))
                there, here = (labels[at : at + 1].tolist()[0] for labels in (own, index))
                raise ValueError(
                    f"{called} has the same index as {first} in another order: row {at} is "
                    f"{there!r} there and {here!r} in {first}. Rows are matched by their place: "
                    f"pass {called}.loc[{first}.index], or {called}.to_numpy() if the places are "
                    "right."
                )


def check_length(length: int, n: int, name: str) -> None:
    """Raise unless there is one entry for each of ``n`` rows."""
    if length != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows but "
            f"{name} has {length}. Pass one entry for each row of X, in the same order."
        )


def _check_missing(values: NDArray, name: str, advice: str) -> None:
    if (gone := missing_in(values, name)).any():
        at = int(np.flatnonzero(gone)[0])
        raise ValueError(
            f"Input {name} contains NaN, None or infinity: {int(gone.sum())} of {len(values)} "
            f"entries, the first in row {at}. {advice}"
        )


def missing_in(values: NDArray, name: str) -> NDArray[np.bool_]:
    """Return where a column has no value; infinity is none."""
    if values.dtype.kind in "fc":
        return ~np.isfinite(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    # Distinct values are few, and looked at first.
    if values.dtype.kind == "O" and any(map(is_missing, _distinct(values, name))):
        return np.array([is_missing(value) for value in values.ravel()])
    return np.zeros(len(values), dtype=bool)


def _with_unknown(values: NDArray, name: str) -> NDArray:
    """Return a column with UNKNOWN where a value is missing."""
    gone = missing_in(values, name)
    if not gone.any():
        return values
    if values.dtype.kind in "fc" and np.isinf(values).any():
        raise ValueError(f"Input {name} contains infinity; expected numbers, or NaN for unknown.")
    known = values.astype(object)
    known[gone] = UNKNOWN
    return known


def _distinct(values: NDArray, name: str) -> set:
    try:
        return set(values.ravel().tolist())
    except TypeError as error:
        raise ValueError(
            f"{name} holds values that cannot be compared ({error}); expected strings, numbers or "
            "dates."
        ) from None
