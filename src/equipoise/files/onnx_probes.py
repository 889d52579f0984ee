"""Rows made to find out where an ONNX graph decides otherwise than its model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import is_missing

#: Rows of the user's from which each kind of probe is made, by changing one column at a time.
_ROWS = 8

#: Kinds of numbers that a graph need not answer, and the largest number that it then does.
LARGEST = {
    "missing values": np.nan,
    "infinite values": float(np.finfo(np.float64).max),
    "values beyond single precision": float(np.finfo(np.float32).max),
}

Kind = Literal["float", "int", "text"]
#: What is put into a column, by what the column holds.
_VALUES: dict[Kind, dict[str, Any]] = {
    "float": {
        "missing values": np.nan,
        "infinite values": np.inf,
        "values beyond single precision": 1e300,
        "large values": 1e30,
        "large negative values": -1e30,
        "tiny values": 1e-300,
        "zeros": 0.0,
        "negative zeros": -0.0,
        "whole numbers beyond single precision": 2.0**24 + 1,
    },
    "int": {
        "zeros": 0,
        "negative numbers": -1,
        "whole numbers beyond single precision": 2**24 + 1,
        "whole numbers beyond double precision": 2**53 + 1,
    },
    "text": {
        "missing values": None,
        "empty texts": "",
        "unseen categories": "a category that nobody has seen",
        "very long texts": "x" * 10_000,
        "texts 'nan'": "nan",
        "texts 'None'": "None",
    },
}


class Column(NamedTuple):
    """A column as a graph is given it; missing texts are None."""

    kind: Kind
    values: NDArray

    def unusual(self) -> dict[str, Any]:
        """Return unusual values for a column; not None where an empty text is a category."""
        values = _VALUES[self.kind]
        if self.kind == "text" and "" in self.values.tolist():
            return {what: value for what, value in values.items() if value is not None}
        return values


@dataclass(frozen=True, eq=False)
class Probe:
    """Some rows whose column holds a value of some kind, and what the model says of them."""

    column: str
    what: str  #: Such as "missing values".
    kind: Kind  #: What the column holds.
    rows: Any
    expected: Array | str  #: The probabilities of the model, or the error that it raises.


def probes(X: Any, predict_proba: Callable[[Any], Array]) -> list[Probe]:
    """Return the answers of a model for rows with unusual values, column by column.

    >>> said = probes(np.array([[1.0], [2.0]]), lambda X: np.column_stack([X, X]))
    >>> [(probe.column, probe.what) for probe in said][:2]
    [('column 0', 'missing values'), ('column 0', 'infinite values')]
    """
    columns = columns_of(X)
    frame = frame_of(X)
    types = {} if frame is None else dict(frame.schema)
    n = len(next(iter(columns.values())).values)
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    found = []
    for what in dict.fromkeys(what for values in _VALUES.values() for what in values):
        changed = [
            name
            for name, column in columns.items()
            if what in (unusual := column.unusual()) and _holds(types.get(name), unusual[what])
        ]
        if not changed:
            continue
        table = _table(X, columns, rows, changed, what)
        parts = np.split(np.arange(len(changed) * len(rows)), len(changed))
        said: list[Any] = [_ask(predict_proba, table)]
        if isinstance(said[0], str):  # some column or other is refused
            said = [_ask(predict_proba, take_rows(table, part)) for part in parts]
        else:
            said = np.split(said[0], len(changed))
        found += [
            Probe(name, what, columns[name].kind, take_rows(table, part), answer)
            for name, part, answer in zip(changed, parts, said, strict=True)
        ]
    return found


def _holds(dtype: Any, value: Any) -> bool:
    """Whether a column of this type can hold a value; a small one holds no large whole numbers.

    >>> _holds(nw.Int8(), 2**24 + 1), _holds(nw.UInt8(), -1), _holds(nw.Int64(), -1)
    (False, False, True)
    """
    if dtype is None or not dtype.is_integer():
        return True
    limits = np.iinfo(type(dtype).__name__.lower())
    return limits.min <= value <= limits.max


def nudged(X: Any, factor: float) -> Any:
    """Return the rows with their floating-point numbers multiplied by a factor near one."""
    if (frame := frame_of(X)) is None:
        return np.asarray(X) * factor
    return frame.with_columns(nw.selectors.by_dtype(nw.Float64, nw.Float32) * factor).to_native()


def _ask(predict_proba: Callable[[Any], Array], table: Any) -> Array | str:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return predict_proba(table)
    except Exception as error:  # whatever a learner raises
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _table(
    X: Any, columns: dict[str, Column], rows: NDArray[np.intp], changed: list[str], what: str
) -> Any:
    """Return the rows once for each column, in which that column holds something unusual."""
    series = {}
    for name, column in columns.items():
        values = np.tile(column.values[rows], len(changed))
        if name in changed:
            start = changed.index(name) * len(rows)
            values[start : start + len(rows)] = _VALUES[column.kind][what]
        series[name] = values
    if (native := frame_of(X)) is None:
        return np.column_stack(list(series.values()))
    made_as: dict[Kind, Any] = {"float": nw.Float64, "text": nw.String}
    made = []
    for name, values in series.items():
        dtype = native.schema[name] if columns[name].kind == "int" else made_as[columns[name].kind]
        if dtype == nw.String and any(value is not None for value in values):
            dtype = None  # as found: pandas 2 would make texts of missing values
        kind = native.__native_namespace__()
        if kind.__name__ == "pandas":  # where a missing text is NaN
            values = np.array([np.nan if v is None else v for v in values], values.dtype)
        # The name of the parameter that old versions know, too.
        made.append(nw.new_series(name, values.tolist(), dtype, native_namespace=kind))
    return made[0].to_frame().with_columns(*made[1:]).to_native()


def columns_of(X: Any) -> dict[str, Column]:
    """Return the columns of a table, in the types that a graph is given.

    >>> columns_of(np.array([[1, 2]]))["column 1"]
    Column(kind='float', values=array([2.]))
    """
    if (frame := frame_of(X)) is not None:
        return {name: _column(frame[name]) for name in frame.columns}
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TypeError(
            f"X is an array of shape {array.shape} and type {array.dtype}; expected rows of "
            "numbers, or a data frame."
        )
    array = array.astype(np.float64)
    return {f"column {j}": Column("float", array[:, j]) for j in range(array.shape[1])}


def frame_of(X: Any) -> nw.DataFrame | None:
    """Return a data frame of any library as narwhals sees it; None of an array."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _column(series: nw.Series) -> Column:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        if series.dtype.is_float() or series.is_null().any():
            values = series.cast(nw.Float64).to_numpy()
            return Column("float", values.astype(np.float64))
        return Column("int", series.to_numpy().astype(np.int64))
    entries = [None if is_missing(v) else v for v in series.to_list()]
    # Texts of pandas 2 are objects, and with missing ones among them narwhals cannot tell.
    texts = series.dtype == nw.Object and all(v is None or isinstance(v, str) for v in entries)
    if texts or series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return Column("text", np.array([None if v is None else str(v) for v in entries], object))
    raise TypeError(
        f"column {series.name!r} is of type {series.dtype}; ONNX takes numbers and texts. Turn it "
        "into one of these before the fit."
    )
