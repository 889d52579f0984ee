"""The state of a model as JSON: numbers, words, arrays and this package's own types.

Whatever else a model consists of, such as the classifiers of other libraries, is put on a list of
*objects* and referred to by its number there. An object that is met twice is written once. skops,
which keeps those objects, does not keep this package's own: it would tie files to module paths, and
functions and rows of the fit would have to be taken out by a walk like this one all the same.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.layered import LayeredTable
from equipoise.cells.table import CellTable
from equipoise.cells.threshold_table import ThresholdTable
from equipoise.cells.values import UNKNOWN, GroupRules, Level
from equipoise.constraints import CATALOGUE, All, Inequality, Linear, Row
from equipoise.constraints.expressions import Expression, Term
from equipoise.constraints.regression import BoundedGroupLoss, MinimaxGroupLoss, ThresholdParity
from equipoise.constraints.rows import Event, Rows, Threshold
from equipoise.constraints.slopes import Slopes
from equipoise.estimators.decisions.unconstrained import UnconstrainedModel
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.grid_search import Candidate, GridSearch
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import ExponentiatedGradient, FairClassifier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.estimators.regression.regressor import FairRegressor
from equipoise.exceptions import ModelFileError
from equipoise.faces import FrozenRecords, Records
from equipoise.game.certificate import Certificate
from equipoise.game.draws import DrawDeviation
from equipoise.game.evidence import Evidence, Scope, SeenGroups
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.game.objectives import BalancedError, Costs, PersonCosts
from equipoise.game.rounds import Pool
from equipoise.game.switches import Switched
from equipoise.guarantees.people_needed import Needed
from equipoise.guarantees.proof import Proof
from equipoise.metrics.audit import Tally
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.cell_probabilities import (
    CellGroups,
    CellProbabilities,
    ClassProbabilities,
    OneAgainstRest,
)
from equipoise.oracles.cut import LinearCut
from equipoise.oracles.decisions import (
    PluginClassifier,
    ThresholdedClassifier,
    TransformedClassifier,
)
from equipoise.oracles.regression import ConstantRegressor, ExpectedLoss, Guess, PluginRegressor
from equipoise.oracles.specs import BestOf, Plugin, Refit
from equipoise.rows.fingerprint import Fingerprint

_CONTAINERS = {
    f"${kind.__name__}": kind for kind in (tuple, set, frozenset, Records, FrozenRecords)
}
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, partial, np.ufunc)
#: Attributes that serve a fit alone, or follow from others; some would carry code, paths, threads.
_LEFT_OUT = ("callback", "checkpoint", "matrices", "vertex")
#: In bytes; texts of a fixed length can claim any.
_LARGEST_ARRAY = 1 << 30

#: The kinds that `save` takes; a Pipeline may end in one of them.
MODELS = (
    *(FairClassifier, ExponentiatedGradient, GridSearch, Frontier, RandomizedClassifier),
    *(FairRegressor, RegressionFrontier, RandomizedRegressor),
)

_OTHERS = (
    *(All, Linear, Inequality, Expression, Term, Row, Event, Costs, BalancedError, PersonCosts),
    *(Certificate, FrontierPoint, Candidate, CellTable, LayeredTable, Pool),
    *(ThresholdedClassifier, PluginClassifier, CellProbabilities, ClassProbabilities, CellGroups),
    *(OneAgainstRest, LabelAdapter, LinearCut, Tally, TransformedClassifier, Pipeline),
    *(
        Evidence,
        Scope,
        Lottery,
        DrawDeviation,
        Lagrangian,
        Mixture,
        Queries,
        Refit,
        Plugin,
        BestOf,
        Fingerprint,
    ),
    *(Proof, Needed, UnconstrainedModel, GroupRules, Switched, Slopes),
    *(ThresholdTable, ThresholdParity, BoundedGroupLoss, MinimaxGroupLoss, ConstantRegressor),
    *(PluginRegressor, Guess, ExpectedLoss, DrawDeviation, SeenGroups),
)
#: By the names under which files know them. Renaming a class here is a new format version.
KINDS: dict[str, type[Any]] = {
    kind.__name__.lstrip("_"): kind for kind in (*MODELS, *CATALOGUE, *_OTHERS)
}
NAMES = {kind: name for name, kind in KINDS.items()}


class NotKept:
    """Stands for a part of a model that its file does not hold, such as a function of the user's.

    >>> NotKept("function benefit")
    <not kept in the model file: function benefit>
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<not kept in the model file: {self.what}>"

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Raise: there is nothing to call."""
        raise RuntimeError(
            f"{self.what} is code, which model files do not hold. Predictions do not need it; to "
            "fit or certify again, set the parameter of the model anew."
        )


def is_model(value: Any) -> bool:
    """Whether `save` takes it: a model of this package, or a Pipeline that ends in one.

    >>> is_model(RandomizedClassifier([None], [1.0])), is_model(Pipeline([("a", None)]))
    (True, False)
    """
    if type(value) is Pipeline:
        return is_model(value.steps[-1][1])
    return type(value) in MODELS


class Encoder:
    """Turns values into JSON; gathers in ``objects`` what is left to another format."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._seen: dict[int, int] = {}
        self._kept_alive: list[Any] = []  # so that no id is given out twice

    @property
    def plugins(self) -> list[PluginClassifier | PluginRegressor]:
        """The plug-in classifiers and regressors met, which keep costs of cells."""
        kinds = (PluginClassifier, PluginRegressor)
        return [value for value in self._kept_alive if isinstance(value, kinds)]

    def encode(self, value: Any) -> Any:
        """Return the value as JSON can hold it."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return _float(value)
        if kind is Threshold:
            return {"$threshold": float(value)}
        if kind is Level:
            return {"$level": str(value), "place": value.place}
        if value is UNKNOWN:
            return {"$unknown": True}
        if isinstance(value, np.generic):
            return {"$scalar": value.dtype.str, "value": _flat(np.array([value]), self)[0]}
        if kind in NAMES and isinstance(value, Enum):
            return {"$kind": NAMES[kind], "values": [value.value]}
        if kind in NAMES and isinstance(value, tuple):  # a NamedTuple
            return {"$kind": NAMES[kind], "values": [self.encode(v) for v in value]}
        # Pipelines are in NAMES too, so that a step that several share is written once.
        if kind is np.ndarray or kind in NAMES:
            return self._numbered(value)
        return self._container(value)

    def _container(self, value: Any) -> Any:
        if type(value) is Rows:
            return self._container(tuple(value))
        if type(value) is list:
            return [self.encode(entry) for entry in value]
        if type(value) in _CONTAINERS.values():
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
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return {"$object": self._numbers[id(value)]}

    def _numbered(self, value: Any) -> Any:
        """Return an array or an object of this package's own; one that was met by its number."""
        if id(value) in self._seen:
            return {"$same": self._seen[id(value)]}
        number = self._seen[id(value)] = len(self._seen)
        self._kept_alive.append(value)
        if isinstance(value, np.ndarray):
            array = {"$array": value.dtype.str, "number": number, "shape": value.shape}
            return array | {"values": _flat(value, self)}
        state = {k: self._attribute(k, v) for k, v in vars(value).items() if k != "respond"}
        return {"$kind": NAMES[type(value)], "number": number, "state": state}

    def _attribute(self, name: str, value: Any) -> Any:
        if name in _LEFT_OUT:
            return None
        if name == "cv" and value is not None and not isinstance(value, (int, np.integer)):
            return {"$not_kept": "cv, which may list the rows of the fit"}
        return self.encode(value)


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
            case tag if tag in _CONTAINERS:
                return _CONTAINERS[tag](self.decode(content))
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
            case "$threshold":
                return Threshold(content)
            case "$level":
                return Level(content, int(value["place"]))
            case "$unknown":
                return UNKNOWN
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


def check_model(model: Any, parts: Iterable[Any]) -> None:
    """Raise unless this is a fitted model, all of whose mixtures are probabilities.

    ``parts`` are the objects of this package's own that it consists of.

    >>> check_model({"weights": [1.0]}, [])
    Traceback (most recent call last):
    equipoise.exceptions.ModelFileError: it holds a dict; expected a model.
    """
    if not is_model(model):
        raise ModelFileError(f"it holds a {type(model).__name__}; expected a model.")
    for part in parts:
        if isinstance(part, RandomizedClassifier):
            if not all(hasattr(member, "predict") for member in part.members):
                raise ModelFileError("a member of a mixture does not predict.")
            if np.ndim(part.classes_) != 1 or len(part.classes_) < 2:
                raise ModelFileError(
                    f"a mixture has the classes {part.classes_!r}; expected two or more."
                )
            _check_weights(part.weights, len(part.members))
        elif isinstance(part, Mixture):
            _check_weights(part.weights, len(part.indices))
        elif isinstance(part, Pool) and len(part.s) != len(part.classifiers):
            raise ModelFileError("a pool has not one row of shares for each classifier.")
    inner = model.steps[-1][1] if hasattr(model, "steps") else model
    if isinstance(inner, (RandomizedClassifier, RandomizedRegressor)):
        return
    check_is_fitted(inner)
    expected = "classes_"
    if isinstance(inner, (Frontier, RegressionFrontier)):
        expected = "pool_"
    elif isinstance(inner, FairRegressor):
        expected = "regressor_"
    for name in (expected, *inner.get_params(deep=False)):
        if not hasattr(inner, name):
            raise ModelFileError(f"the {type(inner).__name__} has no {name}.")


def _check_weights(weights: Any, members: int) -> None:
    given = np.asarray(weights, dtype=float)
    if given.shape != (members,) or not members:
        raise ModelFileError(f"a mixture of {members} members has weights of shape {given.shape}.")
    if not (given >= 0).all() or not abs(given.sum() - 1.0) <= 1e-6:
        raise ModelFileError(
            f"a mixture has the weights {given.tolist()[:10]}; expected numbers >= 0 that add up "
            "to 1."
        )
