"""Scorers: metrics that need groups, in GridSearchCV and its kind."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

_GROUPS = "sensitive_features"


class FairScorer:
    """A scorer made by `make_scorer`; call it as ``scorer(estimator, X, y, ...)``."""

    def __init__(
        self, metric: Callable[..., float], greater_is_better: bool, arguments: dict[str, Any]
    ) -> None:
        self.metric, self.greater_is_better = metric, greater_is_better
        self.arguments = arguments
        self._takes_groups = _GROUPS in signature(metric).parameters

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the score of a fitted estimator; higher is better."""
        arguments = dict(self.arguments)
        if self._takes_groups:
            if sensitive_features is None:
                raise ValueError(
                    f"{self.metric.__name__} needs sensitive_features, and the scorer got none. "
                    "Enable sklearn.set_config(enable_metadata_routing=True) and pass "
                    "sensitive_features=A to fit of the search, or to cross_validate in params."
                )
            arguments[_GROUPS] = sensitive_features
        if sample_weight is not None:
            arguments["sample_weight"] = sample_weight
        decided = predictions(
            estimator, X, sensitive_features, pos_label=arguments.get("pos_label")
        )
        value = self.metric(y, decided, **arguments)
        return value if self.greater_is_better else -value

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for the groups; for sample weights only on request."""
        requests = MetadataRequest(owner=self)
        requests.score.add_request(param=_GROUPS, alias=True)
        requests.score.add_request(param="sample_weight", alias=self._weighted)
        return requests

    _weighted: bool | None = None

    def set_score_request(self, *, sample_weight: bool | None = None) -> FairScorer:
        """Say whether sample weights that are passed to the search weigh the score."""
        self._weighted = sample_weight
        return self

    def __repr__(self) -> str:
        return f"make_scorer({self.metric.__name__}, greater_is_better={self.greater_is_better})"


def make_scorer(
    metric: Callable[..., float], *, greater_is_better: bool = False, **arguments: Any
) -> FairScorer:
    """Make a scorer of a metric, which gets its groups by scikit-learn's metadata routing.

    Unlike ``sklearn.metrics.make_scorer`` it scores the chances with which a randomized classifier
    decides (``predict_proba`` of a class with ``is_randomized = True``), not one draw of its
    decisions, and hands the groups on to a classifier that needs them to predict. Without routing
    it can be called by hand.

    Parameters
    ----------
    metric : function
        ``metric(y_true, y_pred, ...)``, with ``sensitive_features`` where it needs groups: any
        function of `equipoise.metrics`, or your own.
    greater_is_better : bool, default=False
        Whether the metric is to be maximised. The score of a disparity or an error is its
        negative.
    **arguments
        Further arguments of the metric.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise.metrics import demographic_parity_violation, make_scorer
    >>> scorer = make_scorer(demographic_parity_violation)
    >>> X, y = [[0], [1], [2], [3]], [0, 0, 1, 1]
    >>> scorer(LogisticRegression().fit(X, y), X, y, sensitive_features=list("aabb"))
    -0.5
    """
    return FairScorer(metric, greater_is_better, arguments)


def predictions(
    estimator: Any, X: Any, sensitive_features: Any = None, *, pos_label: Any = None
) -> Any:
    """Return the decisions of a classifier: their probabilities if it is a randomized one.

    Of the decision ``pos_label``, by default the second of two; of more, of all of them.
    """
    is_randomized = getattr(estimator, "is_randomized", False)
    decide = estimator.predict_proba if is_randomized else estimator.predict
    takes_groups = callable(decide) and _GROUPS in signature(decide).parameters
    decisions = decide(X, **({_GROUPS: sensitive_features} if takes_groups else {}))
    if not is_randomized or (pos_label is None and decisions.shape[1] > 2):
        return decisions
    classes = [] if pos_label is None else np.asarray(estimator.classes_).tolist()
    return decisions[:, classes.index(pos_label) if pos_label in classes else 1]
