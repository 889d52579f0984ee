"""Learners that weigh the labels themselves, by a parameter such as ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as shortened
from typing import Any, NamedTuple

#: Parameters with which learners weigh labels: scikit-learn, LightGBM, XGBoost, CatBoost, skorch.
_NAMES = (
    *("class_weight", "class_weights", "auto_class_weights"),
    *("scale_pos_weight", "pos_weight", "is_unbalance"),
)


class LabelWeight(NamedTuple):
    """A parameter of a learner that weighs the labels.

    Attributes
    ----------
    name : str
        With the path to it, such as "logisticregression__class_weight".
    value : object
    objective : str
        The objective that says the same to the whole fit, as Python code.
    """

    name: str
    value: Any
    objective: str

    def __str__(self) -> str:
        return f"{self.name}={shortened(self.value)}"


def label_weights(learner: Any) -> list[LabelWeight]:
    """Return the parameters with which a learner weighs labels, also inside pipelines and wrappers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> (found,) = label_weights(make_pipeline(LogisticRegression(class_weight="balanced")))
    >>> str(found), found.objective
    ("logisticregression__class_weight='balanced'", 'BalancedError()')
    >>> label_weights(LogisticRegression(class_weight={0: 1, 1: 5}))[0].objective
    'Costs(false_positive=1, false_negative=5)'
    >>> label_weights(LogisticRegression())
    []
    """
    params = _params(learner)
    return [
        LabelWeight(name, value, _objective(value))
        for name, value in sorted(params.items())
        if _weighs_labels(name) and not _is_neutral(value)
    ]


def _params(learner: Any) -> dict[str, Any]:
    """Return the parameters of a learner; of one that does not tell them, its attributes."""
    if hasattr(learner, "get_params"):
        return learner.get_params(deep=True)
    return dict(getattr(learner, "__dict__", {}))


def _weighs_labels(name: str) -> bool:
    return name.rpartition("__")[2] in _NAMES or name.endswith("criterion__weight")


def _is_neutral(value: Any) -> bool:
    """Whether a value of such a parameter leaves the labels as they are."""
    if value is None or isinstance(value, (bool, str)):
        return value in (None, False, "None")
    return isinstance(value, (int, float)) and value == 1


def _objective(value: Any) -> str:
    """Return the objective that weighs the errors as a parameter weighs the labels."""
    if isinstance(value, (bool, str)):
        return "BalancedError()"
    if isinstance(value, (int, float)):
        return f"Costs(false_negative={value:g})"
    if isinstance(value, Mapping) and len(value) == 2:
        try:
            of_first, of_second = (float(value[label]) for label in sorted(value))
        except (TypeError, ValueError):
            return "Costs(...)"
        return f"Costs(false_positive={of_first:g}, false_negative={of_second:g})"
    return "Costs(...)"
