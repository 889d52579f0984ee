"""Reweighting and relabeling (Kamiran and Calders, 2012): change the data, then learn as usual."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.baselines.learner import Baseline, fit_learner, read_scores
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.constraints.groups import group_name
from equipoise.exceptions import EmptyCellWarning
from equipoise.oracles.trainers import weight_parameter


class Reweighting(Baseline):
    """Weigh the examples so that group and label are independent, then learn.

    An example of group ``a`` and label ``y`` weighs ``P[A=a] P[Y=y] / P[A=a, Y=y]``; sample weights
    count as repetitions do. Made for demographic parity; it gives no guarantee for the classifier
    that is learned. With more than two labels the weights are the same.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit(X, y, sample_weight)`` and ``predict``.
    scale : float in [0, 1], default=1
        How far to go: 1 is the weight above, 0 leaves every example its weight, and in between the
        two are mixed.

    Attributes
    ----------
    weights_ : dict
        The weight for each pair of group and label.
    estimator_ : classifier
        The fitted learner.
    classes_ : array of two or more labels

    References
    ----------
    Kamiran, F. and Calders, T. (2012). Data preprocessing techniques for classification without
    discrimination. Knowledge and Information Systems 33.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y, A = [[0], [1], [2], [3]], [0, 0, 0, 1], ["f", "f", "m", "m"]
    >>> clf = Reweighting(LogisticRegression(), scale=0.5)
    >>> with warnings.catch_warnings(action="ignore"):  # nobody in "f" has label 1
    ...     clf.fit(X, y, sensitive_features=A).weights_
    {('f', 0): 0.875, ('m', 0): 1.25, ('m', 1): 0.75}
    """

    several_labels = True

    def __init__(self, estimator: Any, scale: float = 1.0) -> None:
        self.estimator = estimator
        self.scale = scale

    def _check(self) -> None:
        check_scale(self.scale)
        weight_parameter(self.estimator)

    def _train(self, X: Any, cells: Cells, classes: NDArray) -> dict[str, Any]:
        _warn_impossible(cells)
        table = (1 - self.scale) + self.scale * independence_weights(cells)
        weight = cells.spread(table) if cells.weight is None else cells.spread(table) * cells.weight
        weights = {
            (group, value): float(table[mask & (cells.label == label)][0])
            for group, mask in cells.groups().items()
            for label, value in enumerate(classes.tolist())
            if (mask & (cells.label == label)).any()
        }
        estimator = fit_learner(self.estimator, X, cells.spread(cells.label), weight)
        return {"estimator_": estimator, "weights_": weights}


def independence_weights(cells: Cells) -> Array:
    """Return P[A=a] P[Y=y] / P[A=a, Y=y] for each cell; one where a cell has no weight.

    >>> cells = Cells.from_columns([0, 0, 0, 1, 0, 1], {"sex": list("ffffmm")})
    >>> weights = independence_weights(cells)
    >>> weights.round(4).tolist()
    [0.8889, 1.3333, 1.3333, 0.6667]
    >>> (cells.mass * weights).round(4).tolist()  # a third of either label is in group m
    [0.4444, 0.2222, 0.2222, 0.1111]
    """
    group = np.zeros(cells.n_cells)
    for mask in cells.groups().values():
        group[mask] = cells.mass[mask].sum()
    others = [cells.mass[cells.label == v].sum() for v in range(1, cells.n_decisions)]
    label = np.array([1 - sum(others), *others])[cells.label]
    weightless = cells.mass == 0
    return np.divide(group * label, cells.mass, out=np.ones(cells.n_cells), where=~weightless)


def _warn_impossible(cells: Cells) -> None:
    for group, mask in cells.groups().items():
        for label, name in enumerate(cells.decisions):
            if not cells.mass[mask & (cells.label == label)].sum() > 0:
                warnings.warn(
                    f"nobody in the data belongs to {group_name(group)} with label {name}: no "
                    "weights make group and label independent. Merge it with another group.",
                    EmptyCellWarning,
                    stacklevel=4,
                )


class Relabeling(Baseline):
    """Change labels near the decision boundary until two groups are equally positive, then learn.

    A ranker is trained on the data as they are. In the group with the lower share of positives,
    the ``M`` highest-scored negatives become positive; in the other group the ``M`` lowest-scored
    positives become negative, with ``M = (p_w - p_b) n_b n_w / n`` rounded up, where ``p_b`` and
    ``p_w`` are the shares of positives. With sample weights, M is a weight, and the fewest examples
    that reach it are relabeled. Made for demographic parity with two groups.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit(X, y)`` and ``predict``.
    scale : float in [0, 1], default=1
        The share of M to relabel; 0 is the unconstrained learner.
    ranker : classifier, optional
        Whose scores say who is near the boundary; by default ``estimator``. Needs
        ``predict_proba`` or ``decision_function``.
    positive : label, optional
        The favourable label, as for `FairClassifier`.

    Attributes
    ----------
    n_relabeled_ : int
        How many labels were changed in each direction.
    estimator_ : classifier
        The fitted learner.
    classes_ : array of two labels

    References
    ----------
    Kamiran, F. and Calders, T. (2012). Data preprocessing techniques for classification without
    discrimination. Knowledge and Information Systems 33. (There called "massaging".)

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, A = np.arange(8.0).reshape(-1, 1), list("fmfmfmfm")
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> Relabeling(LogisticRegression()).fit(X, y, sensitive_features=A).n_relabeled_
    1
    """

    def __init__(
        self, estimator: Any, scale: float = 1.0, *, ranker: Any = None, positive: Any = None
    ) -> None:
        self.estimator = estimator
        self.scale = scale
        self.ranker = ranker
        self.positive = positive

    def _check(self) -> None:
        check_scale(self.scale)

    def _train(self, X: Any, cells: Cells, classes: NDArray) -> dict[str, Any]:
        groups = cells.groups()
        if len(groups) != 2:
            raise ValueError(
                f"Relabeling is defined for two groups; sensitive_features has {len(groups)}. Use "
                "Reweighting, or make the sensitive feature binary."
            )
        label = cells.spread(cells.label)
        ranker = self.estimator if self.ranker is None else self.ranker
        scores = read_scores(fit_learner(ranker, X, label, cells.weight), X)
        first = cells.spread(next(iter(groups.values())))
        relabeled, moved = relabel(label, first, scores, cells.weight, self.scale)
        estimator = fit_learner(self.estimator, X, relabeled, cells.weight)
        return {"estimator_": estimator, "n_relabeled_": moved}


def relabel(
    label: NDArray[np.int8],
    group: NDArray[np.bool_],
    scores: Array,
    weight: Array | None,
    scale: float,
) -> tuple[NDArray[np.int8], int]:
    """Return the labels after promotion and demotion, and the number of promotions.

    >>> label, group = np.array([0, 0, 1, 0, 1, 1]), np.array([1, 1, 1, 0, 0, 0], dtype=bool)
    >>> relabel(label, group, np.array([0.1, 0.4, 0.6, 0.2, 0.5, 0.9]), None, 1.0)
    (array([0, 1, 1, 0, 0, 1]), 1)
    """
    weight = np.ones(len(label)) if weight is None else weight
    size = [weight[group].sum(), weight[~group].sum()]
    positive = [weight[group & (label == 1)].sum(), weight[~group & (label == 1)].sum()]
    # (p_w - p_b) n_b n_w / n, multiplied out so that whole numbers stay exact.
    amount = scale * (size[0] * positive[1] - size[1] * positive[0]) / sum(size)
    deprived = group if amount > 0 else ~group
    amount = abs(amount) * (1 - 1e-12)  # a whole number that came out a trifle too large
    negatives = np.flatnonzero(deprived & (label == 0))
    positives = np.flatnonzero(~deprived & (label == 1))
    promoted = _take(negatives[np.argsort(-scores[negatives], kind="stable")], weight, amount)
    demoted = _take(positives[np.argsort(scores[positives], kind="stable")], weight, amount)
    label = label.copy()
    label[promoted], label[demoted] = 1, 0
    return label, len(promoted)


def _take(rows: NDArray[np.intp], weight: Array, amount: float) -> NDArray[np.intp]:
    """Return the fewest first rows whose weight reaches ``amount``."""
    if amount <= 0:
        return rows[:0]
    needed = math.floor(np.searchsorted(np.cumsum(weight[rows]), amount, side="left")) + 1
    return rows[:needed]


def check_scale(scale: Any) -> None:
    """Refuse a parameter ``scale`` that is no share."""
    if not isinstance(scale, (int, float, np.number)) or not 0 <= scale <= 1:
        raise ValueError(
            f"scale is {scale!r}; expected a number between 0 (unconstrained) and 1 (in full)."
        )
