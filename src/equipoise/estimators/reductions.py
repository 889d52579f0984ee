"""The reductions as scikit-learn estimators (section 3): the face of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cells.table import CellTable
from equipoise.constraints.base import Constraint
from equipoise.estimators.base import Problem
from equipoise.estimators.saddle_point import SaddlePointClassifier
from equipoise.game import theory
from equipoise.game.feasibility import play_hard
from equipoise.game.objectives import Loss, Objective
from equipoise.game.pool import Play, Pool, exponentiated_gradient, polished
from equipoise.rows.validation import read_positive


class FairClassifier(SaddlePointClassifier):
    """The most accurate classifier within fairness constraints, with proof: use this one.

    Solves ``min err(Q) subject to M mu(Q) <= c`` over randomized classifiers Q by column
    generation: a handful of weighted fits of the learner, mixed by a linear program.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit(X, y, sample_weight)`` and ``predict``, Pipelines included; it is
        cloned and sees the labels 0 and 1. Or a list of fitted classifiers: then nothing is
        trained, and the best mixture of these is found.
    constraint : Constraint
        For example ``DemographicParity(eps=0.02)``.
    objective : Costs, BalancedError or callable, optional
        What to minimise; the error rate by default. ``Costs(false_positive=..,
        false_negative=..)``, also by group; `BalancedError`; or a function of (sensitive values,
        label, prediction) with values in [0, 1].
    nu : float, optional
        The gap at which to stop; by default ``0.1 / sqrt(n)``, see ``nu_``.
    B : float, optional
        Bound on the multipliers. By default there is none: the constraints are hard, and met on
        the training data whenever the learner can. With a finite B they may be exceeded by
        ``(1 + 2 nu) / B``, as in the paper.
    slack : float, optional
        C' of Assumption 1: loosens the bound of each constraint by what sampling alone may do to
        it, ``C' sum_j |M_kj| / sqrt(n_j)``. See `equipoise.game.theory`.
    weights : {"both", "error"}, default="both"
        Whether sample weights enter the error and the constraints, or the error only: then rates
        of groups count heads.
    relax : {"uniform", "total"}, default="uniform"
        What to do with constraints that cannot be met: loosen every bound by the same amount, or
        each by its own, with the least sum.
    threshold : "auto", "tuned" or "learner", default="auto"
        Where members cut the learner's scores: at the cut of least cost on the training data
        ("tuned"), or where the learner itself does. "auto" tunes linear classifiers only: others
        may know their training data by heart, and then such a cut costs more on other people.
    oracle : {"refit", "plugin", "both"}, default="refit"
        Where members come from. "refit" trains the learner anew for every query, as in the paper.
        "plugin" learns probabilities of label and group once, and every member is a threshold on
        them: no further fits, and moments measured out of fold; see `PluginOracle`. "both" takes
        the better of the two for each query, both measured out of fold.
    cv : int, splitter or iterable of (train, test), optional
        Folds. For "refit", None measures moments on the training data; otherwise on out-of-fold
        predictions, so that the bound holds on people not seen, for one more fit per fold and
        query; see `CrossFittedOracle`. For the others, None is five.
    aware : bool, default=False
        For "plugin" and "both": whether plug-in members read the group from X, a data frame with
        columns called like the sensitive (and control) features. Predictions need these then.
    max_iter : int, default=100
        The most rounds to play.
    checkpoint : str or Path, optional
        A folder where every trained classifier is kept as soon as it is there. A fit of the same
        data and parameters that finds them goes on from where the last one ended.
    callback : callable, optional
        Called with every `Play`; return True to stop with what was found.
    random_state : int or None, default=0
        Salt of the draws in ``predict``. None draws a salt at ``fit``.
    verbose : bool, default=False
        Print a line for every round.

    Attributes
    ----------
    classifier_ : RandomizedClassifier
        Q. Holds at most K + 1 members and no training data.
    certificate_ : Certificate
        What was proven: error, violation, lower and upper value, gap, shadow prices. With ``cv``
        or plug-in members all of it speaks of out-of-fold decisions.
    violations_ : dict
        By how much the worst bound is exceeded on "train", the training data, and, where moments
        were measured so, "out_of_fold".
    constraint_ : Constraint
        The constraint, with parameters that were to be found (such as tau) filled in.
    classes_ : array of two labels
    nu_, B_ : float
        The gap asked for and the bound on the multipliers, as resolved.
    n_iter_, n_calls_ : int
        Rounds played, and calls of the learner.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, FairClassifier
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 2000)
    >>> X = np.column_stack([A + rng.normal(size=2000), rng.normal(size=2000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
    >>> clf = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
    >>> clf.fit(X, y, sensitive_features=A).certificate_.feasible
    True
    >>> selected = clf.predict_pmf(X)[:, 1]
    >>> bool(abs(selected[A == 1].mean() - selected.mean()) <= 0.02 + 1e-6)
    True
    """

    def __init__(
        self,
        estimator: Any,
        constraint: Constraint,
        *,
        objective: Objective | Loss | None = None,
        nu: float | None = None,
        B: float | None = None,
        slack: float | None = None,
        weights: str = "both",
        relax: str = "uniform",
        threshold: str = "auto",
        oracle: str = "refit",
        cv: Any = None,
        aware: bool = False,
        max_iter: int = 100,
        checkpoint: str | Path | None = None,
        callback: Callable[[Play], object] | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.objective = objective
        self.nu = nu
        self.B = B
        self.slack = slack
        self.weights = weights
        self.relax = relax
        self.threshold = threshold
        self.oracle = oracle
        self.cv = cv
        self.aware = aware
        self.max_iter = max_iter
        self.checkpoint = checkpoint
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    _finds_levels = True

    def _resolve_B(self, cells: CellTable) -> float:
        return np.inf if self.B in (None, np.inf) else read_positive(self.B, "B")

    def _plays(self, problem: Problem, pool: Pool) -> Iterator[Play]:
        return play_hard(problem.lagrangian, problem.oracle, pool, nu=problem.nu, relax=self.relax)


class ExponentiatedGradient(SaddlePointClassifier):
    """Algorithm 1 of the paper: exponentiated gradient against best responses.

    `FairClassifier` gets the same result with a fraction of the fits. This class is for those who
    want the algorithm of the paper, step by step.

    Parameters
    ----------
    estimator, constraint, objective, nu, slack, weights, checkpoint
        As for `FairClassifier`.
    callback, random_state, verbose
        As for `FairClassifier`.
    B : float, optional
        Bound on the multipliers; by default ``sqrt(n)``, the order of Theorem 3.
    eta : float, "theory" or None, default=None
        The step. "theory" is Theorem 1's, ``nu / (2 rho^2 B)``, for which its bound on the number
        of iterations holds; None adapts the step to the violations seen.
    polish : bool, default=True
        Mix the classifiers found by a linear program instead of averaging them. False gives the
        algorithm exactly as printed.
    max_iter : int, default=200
        The most rounds to play.

    Attributes
    ----------
    classifier_, certificate_, constraint_, classes_, nu_, B_, n_iter_, n_calls_
        As for `FairClassifier`.
    eta_ : float or None
        The step; None where it adapts.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import EqualizedOdds, ExponentiatedGradient
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=1000) > 0.5).astype(int)
    >>> eg = ExponentiatedGradient(LogisticRegression(), EqualizedOdds(eps=0.02))
    >>> eg.fit(X, y, sensitive_features=A).certificate_.violation < 0.01
    True
    """

    def __init__(
        self,
        estimator: Any,
        constraint: Constraint,
        *,
        objective: Objective | Loss | None = None,
        nu: float | None = None,
        B: float | None = None,
        eta: float | str | None = None,
        polish: bool = True,
        slack: float | None = None,
        weights: str = "both",
        max_iter: int = 200,
        checkpoint: str | Path | None = None,
        callback: Callable[[Play], object] | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.objective = objective
        self.nu = nu
        self.B = B
        self.eta = eta
        self.polish = polish
        self.slack = slack
        self.weights = weights
        self.max_iter = max_iter
        self.checkpoint = checkpoint
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _resolve_B(self, cells: CellTable) -> float:
        return np.sqrt(cells.n_effective) if self.B is None else read_positive(self.B, "B")

    def _resolve_eta(self, problem: Problem) -> float | None:
        if self.eta == "theory":
            rho = theory.rho(problem.lagrangian, problem.cells)
            return theory.eta(problem.nu, rho, problem.lagrangian.B)
        if isinstance(self.eta, str):
            raise ValueError(f"eta is {self.eta!r}; expected a number > 0, 'theory' or None.")
        return None if self.eta is None else read_positive(self.eta, "eta")

    def _note(self, problem: Problem) -> None:
        self.eta_ = self._resolve_eta(problem)

    def _plays(self, problem: Problem, pool: Pool) -> Iterator[Play]:
        game, oracle, nu = problem.lagrangian, problem.oracle, problem.nu
        plays = exponentiated_gradient(
            game, oracle, pool, nu=nu, eta=self._resolve_eta(problem), always_check=not self.polish
        )
        return polished(plays, game, oracle, pool, nu=nu) if self.polish else plays
