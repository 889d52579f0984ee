"""Words of fairlearn that are called otherwise here: an error that says the new word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_OF_CONSTRAINT = (
    "the bound is a parameter of the constraint, as in DemographicParity(eps=0.02). fairlearn's "
    "eps is one over the largest multiplier, which is B here"
)
#: Keyword of fairlearn -> what to write instead.
WORDS = {
    "constraints": "write constraint=, as in constraint=DemographicParity(eps=0.02)",
    "eps": _OF_CONSTRAINT,
    "difference_bound": "write eps=",
    "ratio_bound": "write ratio=, and eps=0 for no slack",
    "ratio_bound_slack": "write eps=, which is the slack of a ratio",
    "upper_bound": "write bound=",
    "loss": "the error rate is what BoundedGroupError bounds; leave it out",
    "sample_weight_name": "leave it out: how a learner takes weights is found from its signature",
    "eta0": "write eta=",
    "run_linprog_step": "write polish=",
    "selection_rule": "leave it out: the most accurate within the bound is selected, and with "
    "tradeoff= the best trade-off",
    "constraint_weight": "write tradeoff=",
    "grid_offset": "leave it out, or pass the multipliers themselves as grid=",
    "prefit": "wrap a fitted learner in sklearn.frozen.FrozenEstimator",
    "predict_method": "leave it out: probabilities are used where there are some, else scores",
}


#: Name in fairlearn's modules -> what does the same here.
NAMES = {
    "MetricFrame": "equipoise.metrics.group_table(y_true, y_pred, metrics=...)",
    "fetch_adult": "equipoise.datasets.load_adult",
    "fetch_acs_income": "equipoise.datasets.load_acs_income",
    "fetch_credit_card": "equipoise.datasets.load_credit_default",
    "fetch_diabetes_hospital": "equipoise.datasets.load_diabetes130",
    "TruePositiveRateParity": "equipoise.constraints.TruePositiveRateParity",
    "ErrorRateParity": "equipoise.constraints.ErrorRateParity",
    "UtilityParity": "equipoise.constraints.UtilityParity",
    "ThresholdOptimizer": "equipoise.baselines.ThresholdOptimizer",
}


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have, with what fairlearn's is here.

    >>> print(missing("equipoise", "fetch_adult"))
    module 'equipoise' has no attribute 'fetch_adult'; use equipoise.datasets.load_adult
    """
    hint = f"; use {NAMES[name]}" if name in NAMES else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def check_words(owner: type, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError for a keyword of fairlearn that ``owner`` does not know.

    >>> check_words(dict, ["difference_bound"], ["eps"])
    Traceback (most recent call last):
    ...
    TypeError: dict has no parameter 'difference_bound', a word of fairlearn's: write eps=.
    """
    for word in given:
        if word in WORDS and word not in known:
            raise TypeError(
                f"{owner.__name__} has no parameter {word!r}, a word of fairlearn's: {WORDS[word]}."
            )


class SaysNewWords:
    """A class whose constructor is a dataclass's, and which knows the words of fairlearn."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse keywords of fairlearn with a hint, before the constructor refuses them without."""
        if kwargs:
            check_words(cls, kwargs, getattr(cls, "__dataclass_fields__", ()))
        return super().__new__(cls)
