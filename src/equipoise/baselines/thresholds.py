"""Post-processing (Hardt, Price and Srebro, 2016): randomized thresholds, one set for a group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, linprog
from sklearn.utils.validation import _num_samples, check_is_fitted

from equipoise.baselines.learner import Baseline, fit_learner, read_scores
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import group_name
from equipoise.rows.hashing import draw_uniform, salt_of
from equipoise.rows.validation import check_features, read_columns, read_weights

#: Probabilities below this are rounding of the linear program.
_TINY = 1e-12


class ThresholdOptimizer(Baseline):
    """Fit the learner as usual, then select by thresholds on its scores that depend on the group.

    In each group a threshold is drawn from a distribution, and those above it are selected. The
    distributions are the best possible on the training data: they minimise the error within the
    constraint, exactly, by a linear program over the corners of each group's ROC curve. The
    decision needs the sensitive features of the person also at prediction.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``predict_proba`` or ``decision_function``. To use one that is already
        fitted, wrap it in ``sklearn.frozen.FrozenEstimator``.
    constraint : Constraint
        ``DemographicParity(eps=0)``, ``EqualizedOdds(eps=0.02)``, ... ``eps=0`` is the method as
        published.
    random_state : int, optional
        Salt of the draws in ``predict``; by default as for `FairClassifier`.
    positive : label, optional
        The favourable label, as for `FairClassifier`.

    Attributes
    ----------
    thresholds_ : dict
        For each group the thresholds, ascending, and their probabilities.
    error_ : float
        The expected error on the training data.
    sensitive_names_in_ : list of str
        The columns of ``sensitive_features``.
    salt_ : int
        The salt in use.
    estimator_ : classifier
        The fitted learner.
    classes_ : array of two labels

    References
    ----------
    Hardt, M., Price, E. and Srebro, N. (2016). Equality of opportunity in supervised learning.
    NeurIPS.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=1000) > 0.5).astype(int)
    >>> clf = ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0))
    >>> clf = clf.fit(X, y, sensitive_features=A)
    >>> selected = clf.predict_proba(X, sensitive_features=A)[:, 1]
    >>> bool(abs(selected[A == 1].mean() - selected[A == 0].mean()) < 1e-6)
    True
    """

    #: ``predict_proba`` is the chance of each decision, see `equipoise.metrics.make_scorer`.
    is_randomized = True

    def __init__(
        self,
        estimator: Any,
        constraint: Constraint,
        *,
        random_state: int | None = None,
        positive: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.random_state = random_state
        self.positive = positive

    def _check(self) -> None:
        if not isinstance(self.constraint, Constraint):
            raise TypeError(
                f"constraint is {self.constraint!r}; expected a Constraint such as "
                "DemographicParity(eps=0)."
            )

    def _train(self, X: Any, cells: Cells, classes: NDArray) -> dict[str, Any]:
        label = cells.spread(cells.label)
        estimator = fit_learner(self.estimator, X, label, cells.weight)
        scores = read_scores(estimator, X)
        weight = np.ones(len(scores)) if cells.weight is None else cells.weight
        number = group_numbers(cells, _numbered(cells.groups()))
        member = cells.spread(number)
        hulls = [
            Hull.of(scores[member == g], label[member == g], weight[member == g] / weight.sum())
            for g in range(number.max() + 1)
        ]
        mixtures, error = mix_thresholds(hulls, number, cells, self.constraint)
        return {
            "estimator_": estimator,
            "sensitive_names_in_": list(cells.sensitive),
            "thresholds_": dict(zip(cells.groups(), mixtures, strict=True)),
            "error_": error,
            "salt_": salt_of(cells, classes) if self.random_state is None else self.random_state,
        }

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        key: Any = None,
        random_state: int | np.random.Generator | None = None,
    ) -> NDArray:
        """Decide for each row; the same person always gets the same decision.

        Parameters
        ----------
        X : table of n rows
        sensitive_features : array-like or data frame of n rows
            The groups, as in ``fit``; one that was not seen there is an error.
        key : array-like of shape (n,) or table of n rows, optional
            What to hash instead of the row: whatever identifies the person.
        random_state : int or Generator, optional
            Draw afresh from this source instead of hashing.
        """
        selected = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1]
        uniform = draw_uniform(X, salt=self.salt_, key=key, random_state=random_state)
        return self.classes_[(uniform < selected).astype(np.intp)]

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Array:
        """Return the probability of deciding either way, over the draw of a threshold: (n, 2)."""
        check_is_fitted(self)
        check_features(self, X, reset=False)
        member = self._members(sensitive_features, _num_samples(X))
        scores = read_scores(self.estimator_, X)
        selected = np.empty(len(scores))
        for number, (thresholds, probabilities) in enumerate(self.thresholds_.values()):
            rows = member == number
            below = np.searchsorted(thresholds, scores[rows], side="left")
            selected[rows] = np.concatenate([[0.0], np.cumsum(probabilities)])[below]
        selected = np.clip(selected, 0.0, 1.0)
        return np.column_stack([1.0 - selected, selected])

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> float:
        """Return the expected accuracy, over the draw of a threshold."""
        pmf = self.predict_proba(X, sensitive_features=sensitive_features)
        right = (np.asarray(y)[:, None] == self.classes_) * pmf
        return float(np.average(right.sum(axis=1), weights=read_weights(sample_weight, len(pmf))))

    def _members(self, sensitive_features: Any, n: int) -> NDArray[np.intp]:
        """Return the number of each row's group; an error for a group that fit has not seen."""
        if sensitive_features is None:
            raise ValueError(
                "sensitive_features is missing: the thresholds depend on the group. Pass "
                "predict(X, sensitive_features=A); inside a search call "
                ".set_predict_request(sensitive_features=True)."
            )
        columns = read_columns(sensitive_features, n, "sensitive_features", "group")
        names = self.sensitive_names_in_
        if len(columns) != len(names):
            raise ValueError(
                f"sensitive_features has {len(columns)} columns; in fit there were {len(names)}: "
                f"{', '.join(map(repr, names))}."
            )
        if set(columns) == set(names):  # perhaps in another order
            columns = {name: columns[name] for name in names}
        known = _numbered(self.thresholds_)
        cells = Cells.from_columns(np.zeros(n, dtype=np.int8), columns)
        if unknown := [group_name(group) for group in cells.groups() if group not in known]:
            raise ValueError(
                f"sensitive_features contains {', '.join(map(repr, unknown[:4]))}, which was not "
                "in fit: there is no threshold for it. The groups are "
                f"{', '.join(repr(group_name(group)) for group in known)}."
            )
        return cells.spread(group_numbers(cells, known))


def _numbered(groups: Iterable[Hashable]) -> dict[Hashable, int]:
    return {group: at for at, group in enumerate(groups)}


def group_numbers(cells: Cells, known: Mapping[Hashable, int]) -> NDArray[np.intp]:
    """Return for each cell the number of its group."""
    number = np.zeros(cells.n_cells, dtype=np.intp)
    for group, mask in cells.groups().items():
        number[mask] = known[group]
    return number


def mix_thresholds(
    hulls: list[Hull], number: NDArray[np.intp], cells: Cells, constraint: Constraint
) -> tuple[list[tuple[Array, Array]], float]:
    """Return thresholds and their probabilities for each group, and the expected error.

    A linear program: the variables are the probabilities of all corners of all groups, and error
    and moments are linear in the weight that is selected in each cell.
    """
    moments = constraint.moments(cells)
    owner = np.repeat(np.arange(len(hulls)), [len(hull.thresholds) for hull in hulls])
    corner = np.vstack([hull.selected for hull in hulls])
    # Row v: what corner v selects in each cell, if its group always uses it.
    selects = np.where(owner[:, None] == number, corner[:, cells.label], 0.0)
    base = moments.mu(np.zeros(cells.n_cells))
    slope = (moments.mu(selects) - base) @ moments.M.T
    solution = linprog(
        selects @ np.where(cells.label == 1, -1.0, 1.0),
        A_ub=slope.T,
        b_ub=moments.c - moments.M @ base,
        A_eq=(owner == np.arange(len(hulls))[:, None]).astype(float),
        b_eq=np.ones(len(hulls)),
        method="highs",
    )
    if solution.status != 0:
        raise ValueError(
            f"no thresholds on these scores meet {constraint!r}: {solution.message} Loosen its "
            "eps, or use a learner with better scores."
        )
    probability = np.where(solution.x > _TINY, solution.x, 0.0)
    mixtures = []
    for at, hull in enumerate(hulls):
        chosen = probability[owner == at]
        used = np.flatnonzero(chosen)[::-1]  # thresholds ascend
        mixtures.append((hull.thresholds[used], chosen[used] / chosen.sum()))
    return mixtures, float(solution.fun + cells.mass[cells.label == 1].sum())


@dataclass(frozen=True, eq=False)
class Hull:
    """The V corners of what randomized thresholds on the scores of one group can do.

    Thresholds descend from infinity (select nobody) to minus infinity; scores above are selected.
    """

    thresholds: Array
    selected: Array  #: Weight of those with label 0 and with label 1 who are selected: (V, 2).

    @classmethod
    def of(cls, scores: Array, label: NDArray[np.integer], weight: Array) -> Hull:
        """Find the corners, above and below.

        >>> hull = Hull.of(np.array([0.1, 0.4, 0.6, 0.9]), np.array([0, 1, 0, 1]), np.ones(4))
        >>> hull.thresholds.tolist()
        [inf, 0.75, 0.25, -inf]
        >>> hull.selected.tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [2.0, 2.0]]
        """
        distinct, at = np.unique(-scores[weight > 0], return_inverse=True)
        label, weight = label[weight > 0], weight[weight > 0]
        gained = np.zeros((len(distinct), 2))
        np.add.at(gained, (at, label), weight)
        selected = np.vstack([np.zeros(2), np.cumsum(gained, axis=0)])
        corners = _corners(gained)
        return cls(_between(-distinct)[corners], selected[corners])


def _corners(gained: Array) -> NDArray[np.intp]:
    """Return the numbers of the corners, by pooling adjacent violators.

    A block of the pooled share of label 1, as the threshold falls, is an edge of the hull: of the
    upper one where the shares must fall, of the lower one where they must rise.
    """
    total = gained.sum(axis=1)
    share = gained[:, 1] / total
    blocks = [
        isotonic_regression(share, weights=total, increasing=rising).blocks
        for rising in (False, True)
    ]
    return np.unique(np.concatenate(blocks))


def _between(scores: Array) -> Array:
    """Return thresholds that cut descending scores before, between and after: one more than these.

    Half-way between neighbours, where the numbers are not too close for that.
    """
    upper, lower = scores[:-1], scores[1:]
    middle = lower + (upper - lower) / 2
    return np.concatenate([[np.inf], np.where(middle < upper, middle, lower), [-np.inf]])
