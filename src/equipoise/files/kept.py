"""What classifiers and transformers keep of the data that they were fitted to, type by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

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
    "SimpleImputer": "one value of each feature, such as its median",
}
_LIBRARIES = ("sklearn", "equipoise", "lightgbm", "xgboost", "numpy", "scipy")


def kept_values(objects: Iterable[Any]) -> dict[str, str]:
    """Return what the estimators among some objects keep of single people, by their types.

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
