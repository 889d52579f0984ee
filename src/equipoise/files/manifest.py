"""What the manifest of a file says about a model, to be read by people and by other programs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.identity import versions_of
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.randomized import RandomizedRegressor

_VERSIONED = (
    *("equipoise", "numpy", "scipy", "scikit-learn"),
    *("skops", "pyarrow", "lightgbm", "xgboost"),
)
#: Those on which it depends what a model decides.
_DECIDING = ("numpy", "scipy", "scikit-learn", "lightgbm", "xgboost")


def versions() -> dict[str, str]:
    """Return the version of Python and of each library that is installed.

    >>> list(versions())[:3]
    ['python', 'equipoise', 'numpy']
    """
    return versions_of(_VERSIONED)


def other_versions(written: Mapping[str, str]) -> str:
    """Return two sentences: the versions that wrote a file and those installed, and what to do.

    >>> other_versions(versions() | {"numpy": "1.0"})[:44]
    'It was written with numpy 1.0 and is read wi'
    """
    here = versions()
    changed = changed_versions(written)
    if not changed:
        return (
            f"It was written with the versions installed here ({_listed(_DECIDING, here)}): the "
            "file was changed, or a library was. Copy the file again from where it was made, or "
            "fit and save the model again."
        )
    pinned = " ".join(f"{name}=={written[name]}" for name in changed if name in written)
    install = f"Install the former (pip install {pinned}), or fit" if pinned else "Fit"
    return (
        f"It was written with {_listed(changed, written)} and is read with "
        f"{_listed(changed, here)}. {install} and save the model again with the latter."
    )


def changed_versions(written: Mapping[str, str]) -> list[str]:
    """Return the libraries that decide with a model and have another version here than then."""
    here = versions()
    return [name for name in _DECIDING if written.get(name) != here.get(name)]


def _listed(names: Iterable[str], found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {found[name]}" if name in found else f"no {name}" for name in names)


def date_made() -> str:
    """Return the date, in UTC; that of SOURCE_DATE_EPOCH, where it is set for equal outputs."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return now.date().isoformat()


def summarize(model: Any) -> dict[str, Any]:
    """Return kind, parameters, constraint, certificate, weights, classes and feature names.

    >>> from sklearn.dummy import DummyClassifier
    >>> summary = summarize(RandomizedClassifier([DummyClassifier()], [2.0]))
    >>> summary["kind"], summary["weights"], summary["classes"]
    ('RandomizedClassifier', [1.0], ['0', '1'])
    """
    inner = model.steps[-1][1] if isinstance(model, Pipeline) else model
    summary: dict[str, Any] = {"kind": type(inner).__name__}
    if inner is not model:
        summary["inside"] = [type(step).__name__ for _, step in model.steps[:-1]]
    if hasattr(inner, "get_params"):
        given = inner.get_params(deep=False)
        summary["parameters"] = {
            name: _short(value) for name, value in given.items() if name != "callback"
        }
        summary["constraint"] = repr(getattr(inner, "constraint_", inner.constraint))
    if hasattr(inner, "certificate_"):
        summary["certificate"] = inner.certificate_.to_dict()
    if (proof := getattr(inner, "proof_", None)) is not None:
        summary["proof"] = proof.to_dict()
    mixture = inner
    if not isinstance(inner, (RandomizedClassifier, RandomizedRegressor)):
        mixture = vars(inner).get("classifier_", vars(inner).get("regressor_"))
    if mixture is not None:
        summary["weights"] = mixture.weights.tolist()
        summary["members"] = [repr(member) for member in mixture.members]
    if isinstance(inner, (Frontier, RegressionFrontier)):
        summary["points"] = [_point(point) for point in inner.points_]
        summary["unconstrained"] = _point(inner.unconstrained_)
        summary["members"] = [repr(member) for member in inner.pool_.classifiers]
    if (people := getattr(inner, "people_", None)) is not None:
        summary["people"] = {"rows": people.rows, "fingerprint": people.digest}
    if used := getattr(inner, "proofs_", None):
        summary["people_of_proofs"] = list(used)
    names = getattr(model, "feature_names_in_", getattr(inner, "feature_names_in_", None))
    return summary | {
        "classes": [str(value) for value in getattr(inner, "classes_", ())],
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": getattr(inner, "n_features_in_", None),
    }


def _point(point: FrontierPoint) -> dict[str, Any]:
    """Return the numbers of a point."""
    names = ("eps", "error", "disparity", "lower", "gap", "price", "members")
    numbers = {name: getattr(point, name) for name in names}
    # JSON knows no infinity.
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def _short(value: Any, limit: int = 500) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


_ROWS = "every row that it was fitted to"
_LEAVES = (
    "cuts between values of features, and in each leaf the share of labels or a score; a leaf may "
    "be that of a single person"
)
#: By the name of a class or of a parent. The first one that is found counts.
KEPT = {
    "NeighborsBase": _ROWS,
    "KNNImputer": _ROWS,
    "GaussianProcessClassifier": _ROWS,
    "GaussianProcessRegressor": _ROWS,
    "KernelRidge": _ROWS,
    "KernelPCA": _ROWS,
    "BaseLabelPropagation": _ROWS,
    "KernelDensity": _ROWS,
    "BaseLibSVM": "rows that it was fitted to, those of the support vectors",
    "Nystroem": "some of the rows that it was fitted to",
    "LGBMModel": f"the smallest and the largest value of each feature; {_LEAVES}",
    "XGBModel": _LEAVES,
    "BaseHistGradientBoosting": f"the edges of bins, which are values of features; {_LEAVES}",
    "BaseGradientBoosting": _LEAVES,
    "BaseDecisionTree": _LEAVES,
    "BaseForest": _LEAVES,
    "IsotonicRegression": "scores of single people, where the calibration bends",
    "KBinsDiscretizer": "the edges of bins, which are values of features",
    "QuantileTransformer": "quantiles, which are values of features",
    "SplineTransformer": "knots, which are values of features",
    "RobustScaler": "medians and quartiles, which are values of features",
    "MinMaxScaler": "the smallest and the largest value of each feature",
    "MaxAbsScaler": "the largest value of each feature",
    "_BaseEncoder": "the categories of each feature, those of a single person too",
    "CountVectorizer": "every word of the texts",
    "DictVectorizer": "every name of a feature",
    "PluginClassifier": "a cost for each cell, which tells how many people it has",
    "PluginRegressor": "a price and costs for each cell; thresholds, which are quantiles of "
    "predictions; and of losses other than squares quantiles of the residuals",
    "SimpleImputer": "one value of each feature, such as its median",
}
_LIBRARIES = ("sklearn", "equipoise", "lightgbm", "xgboost", "numpy", "scipy")


def kept_values(objects: Iterable[Any]) -> dict[str, str]:
    """Return values of single people that estimators among some objects keep, by their types.

    Types that keep sums and means over all people alone, such as linear models, are left out.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> kept_values([KNeighborsClassifier(), LogisticRegression()])
    {'KNeighborsClassifier': 'every row that it was fitted to'}
    """
    found = {type(value).__name__: _kept_by(value) for value in walk(objects, _kept_by)}
    return {name: words for name, words in found.items() if words is not None}


def _kept_by(value: Any) -> str | None:
    if not isinstance(value, BaseEstimator) and not hasattr(value, "predict"):
        return None
    given = getattr(value, "categories", "auto")  # an encoder that was told its categories
    for parent in type(value).__mro__:
        if parent.__name__ == "_BaseEncoder" and not isinstance(given, str):
            return None
        if parent.__name__ in KEPT:
            return KEPT[parent.__name__]
    if type(value).__module__.partition(".")[0] in _LIBRARIES:
        return None
    return "what it keeps is not known here"


def walk(values: Iterable[Any], stop: Callable[[Any], Any] = lambda value: None) -> Iterator[Any]:
    """Yield the objects that others consist of, each once; arrays of numbers are not looked into.

    Nor are objects of which ``stop`` is true.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [type(part).__name__ for part in walk([make_pipeline(StandardScaler())])]
    ['Pipeline', 'StandardScaler']
    """
    seen: dict[int, Any] = {}
    waiting = list(values)[::-1]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        inside: list[Any] = []
        if isinstance(value, Mapping):
            inside = list(value.values())
        elif isinstance(value, (list, tuple)):
            inside = list(value)
        elif isinstance(value, np.ndarray):
            inside = value.ravel().tolist() if value.dtype.kind == "O" else []
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            seen[id(value)] = value
            yield value
            inside = [] if stop(value) else list(vars(value).values())
        waiting += reversed([part for part in inside if not isinstance(part, (str, int, float))])
