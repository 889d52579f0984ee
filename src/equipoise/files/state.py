"""The state of a model as JSON: numbers, words, arrays and this package's own types.

Whatever else a model consists of, such as the classifiers of other libraries, is put on a list of
*objects* and referred to by its number there. An object that is met twice is written once. skops,
which keeps those objects, does not keep this package's own: it would tie files to module paths, and
functions and rows of the fit would have to be taken out by a walk like this one all the same.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.exceptions import ModelFileError
from equipoise.files.kinds import KINDS, NAMES, NotKept
from equipoise.game.rounds import Pool

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, partial, np.ufunc)
#: Attributes that serve a fit and would carry code, paths or threads.
_LEFT_OUT = {"callback": None, "checkpoint": None}
#: In bytes; texts of a fixed length can claim any.
_LARGEST_ARRAY = 1 << 30


class Encoder:
    """Turns values into JSON; gathers in ``objects`` what is left to another format."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._seen: dict[int, int] = {}
        self._kept_alive: list[Any] = []  # so that no id is given out twice

    def encode(self, value: Any) -> Any:
        """Return the value as JSON can hold it."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return _float(value)
        if isinstance(value, np.generic):
            return {"$scalar": value.dtype.str, "value": _flat(np.array([value]), self)[0]}
        if kind is np.ndarray:
            return self._array(value)
        if kind in NAMES:  # pipelines too, so that a step that several share is written once
            return self._own(value)
        return self._container(value)

    def _container(self, value: Any) -> Any:
        if type(value) is list:
            return [self.encode(entry) for entry in value]
        if type(value) in (tuple, set, frozenset):
            return {f"${type(value).__name__}": [self.encode(entry) for entry in value]}
        if isinstance(value, Mapping):
            if all(type(key) is str and not key.startswith("$") for key in value):
                return {key: self.encode(entry) for key, entry in value.items()}
            return {"$dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if type(value) is bytes:
            return {"$bytes": b64encode(value).decode()}
        if type(value) in (date, datetime):
            return {f"${type(value).__name__}": value.isoformat()}
        if isinstance(value, Path):
            return {"$not_kept": "a path"}
        if isinstance(value, _FUNCTIONS):
            return {"$not_kept": f"function {getattr(value, '__name__', type(value).__name__)}"}
        if isinstance(value, NotKept):
            return {"$not_kept": value.what}
        return {"$object": self._number(value)}

    def _number(self, value: Any) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return self._numbers[id(value)]

    def _array(self, value: NDArray) -> Any:
        if id(value) in self._seen:
            return {"$same": self._seen[id(value)]}
        return {
            "$array": value.dtype.str,
            "number": self._new_number(value),
            "shape": value.shape,
            "values": _flat(value, self),
        }

    def _new_number(self, value: Any) -> int:
        number = self._seen[id(value)] = len(self._seen)
        self._kept_alive.append(value)
        return number

    def _own(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return {"$kind": NAMES[type(value)], "values": [value.value]}
        if isinstance(value, tuple):  # a NamedTuple
            return {"$kind": NAMES[type(value)], "values": [self.encode(v) for v in value]}
        if id(value) in self._seen:
            return {"$same": self._seen[id(value)]}
        number = self._new_number(value)
        state = {name: self._attribute(name, v) for name, v in _state(value).items()}
        return {"$kind": NAMES[type(value)], "number": number, "state": state}

    def _attribute(self, name: str, value: Any) -> Any:
        if name in _LEFT_OUT:
            return _LEFT_OUT[name]
        if name == "cv" and value is not None and not isinstance(value, (int, np.integer)):
            return {"$not_kept": "cv, which may list the rows of the fit"}
        return self.encode(value)


def _state(value: Any) -> dict[str, Any]:
    return {name: v for name, v in vars(value).items() if name != "respond"}


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _flat(array: NDArray, encoder: Encoder) -> list[Any]:
    """Return the values of an array, in order."""
    if array.dtype.kind in "mM":
        return array.ravel().view(np.int64).tolist()
    if array.dtype.kind == "O":
        return [encoder.encode(entry) for entry in array.ravel()]
    if array.dtype.kind in "biufU":
        return [_float(v) if type(v) is float else v for v in array.ravel().tolist()]
    raise ModelFileError(
        f"the model holds an array of type {array.dtype}, which a model file cannot; expected "
        "numbers, text, dates or objects."
    )


class Decoder:
    """Turns JSON back into values; runs no code but the making of this package's own objects."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self.objects = objects
        self.made: list[Any] = []
        self._seen: dict[int, Any] = {}

    def decode(self, value: Any) -> Any:
        """Return the value that the JSON stands for."""
        if isinstance(value, list):
            return [self.decode(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        tag = next((key for key in value if key.startswith("$")), None)
        if tag is None:
            return {key: self.decode(entry) for key, entry in value.items()}
        if tag == "$kind":
            return self._own(value)
        return self._tagged(tag, value[tag], value)

    def _tagged(self, tag: str, content: Any, value: dict[str, Any]) -> Any:
        match tag:
            case "$float":
                return float(content)
            case "$scalar":
                return self._array(content, [value["value"]], (1,))[0]
            case "$array":
                array = self._array(content, value["values"], tuple(value["shape"]))
                return self._seen.setdefault(value.get("number", -1), array)
            case "$tuple" | "$set" | "$frozenset":
                maker = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}[tag]
                return maker(self.decode(content))
            case "$dict":
                return {self.decode(key): self.decode(entry) for key, entry in content}
            case "$bytes":
                return b64decode(content, validate=True)
            case "$date":
                return date.fromisoformat(content)
            case "$datetime":
                return datetime.fromisoformat(content)
            case "$not_kept":
                return NotKept(str(content))
            case "$object":
                return self.objects[content]
            case "$same":
                return self._seen[content]
        raise ModelFileError(f"the model file holds {tag!r}, which this version does not know.")

    def _array(self, dtype: str, values: list[Any], shape: tuple[int, ...]) -> NDArray:
        kind = np.dtype(dtype)
        if kind.kind not in "biufUmMO" or kind.itemsize * len(values) > _LARGEST_ARRAY:
            raise ModelFileError(f"it holds {len(values):,} values of type {dtype}.")
        if kind.kind == "O":
            array = np.empty(len(values), dtype=object)
            array[:] = [self.decode(entry) for entry in values]
        elif kind.kind in "mM":
            array = np.array(values, dtype=np.int64).view(kind)
        else:
            array = np.array([self.decode(entry) for entry in values], dtype=kind)
        return array.reshape(shape)

    def _own(self, value: dict[str, Any]) -> Any:
        kind = KINDS.get(value["$kind"])
        if kind is None:
            raise ModelFileError(
                f"the model file holds a {value['$kind']!r}, which this version does not know."
            )
        if issubclass(kind, (tuple, Enum)):
            return kind(*map(self.decode, value["values"]))
        made: Any = Pool() if kind is Pool else object.__new__(kind)
        self._seen[value["number"]] = made
        self.made.append(made)
        vars(made).update({name: self.decode(entry) for name, entry in value["state"].items()})
        return made
