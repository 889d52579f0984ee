"""The reductions as scikit-learn estimators (section 3): the face of the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from equipoise import theory
from equipoise._validation import read_integer, read_positive
from equipoise.cells import Array, Cells
from equipoise.certificate import Certificate
from equipoise.conflicts import explain
from equipoise.constraints import Constraint
from equipoise.exceptions import InfeasibleWarning
from equipoise.lagrangian import Lagrangian
from equipoise.objectives import Loss, Objective
from equipoise.open_parameters import settle
from equipoise.problem import Problem, Reduction
from equipoise.randomized import RandomizedClassifier
from equipoise.saddle_point import (
    Play,
    Pool,
    exponentiated_gradient,
    play_out,
    polished,
)
from equipoise.slack import play_hard
from equipoise.violations import Tally, ViolationReport, measure, weight_squares


class _SaddlePointClassifier(Reduction):
    """A reduction that returns a randomized classifier: the consumer of Plays."""

    B: float | None
    max_iter: int
    callback: Callable[[Play], object] | None
    random_state: int | None
    verbose: bool | int

    def _plays(self, problem: Problem, pool: Pool) -> Iterator[Play]:
        """Return the algorithm, ready to play."""
        raise TypeError(f"{type(self).__name__} has no algorithm.")

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
    ) -> Self:
        """Find the randomized classifier of least error within the constraints.

        Parameters
        ----------
        X : table of n rows
            Array, sparse matrix or data frame (pandas, Polars, Arrow); handed to the learner as
            it comes.
        y : array-like of shape (n,)
            Two labels of any kind; the second in sorted order is the favourable "1".
        sensitive_features : array-like or data frame of n rows
            The groups. Of several columns, every combination that occurs is a group, unless the
            constraint says otherwise. `Probabilities` where the groups are not known for sure.
            Needed here only, never for predictions.
        control_features : array-like or data frame of n rows, optional
            The constraint holds within each of their values separately.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples, in the error and in the constraints alike, or in the error
            only, see ``weights``.
        utilities : array-like or data frame of n rows, optional
            What each person gets out of either decision, in [0, 1], for constraints on such a
            utility: two columns, the values under prediction 0 and 1. In a frame with columns
            ``profit_0`` and ``profit_1`` the utility is called "profit"; in an array, "utility".
        """
        max_iter = read_integer(self.max_iter, "max_iter", least=1)
        salt = salt_of(self.random_state)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback is {self.callback!r}; expected a function of a Play.")
        problem = self._problem(
            X, y, sensitive_features, control_features, sample_weight, utilities
        )
        pool = problem.pool
        stopped = False

        def watch(play: Play) -> bool:
            nonlocal stopped
            if self.verbose:
                print(_progress(play), flush=True)
            answer = self.callback(play) if self.callback is not None else None
            stopped = isinstance(answer, (bool, np.bool_)) and bool(answer)
            return stopped

        last = play_out(self._plays(problem, pool), max_iter, watch)
        if self.constraint.is_open and not stopped:
            problem = self._settled(problem, pool)
            last = play_out(_later(self._plays(problem, pool), last.iteration), max_iter, watch)
        certificate = _certify(problem, pool, last)
        self._check_features(X, reset=True)
        self.classifier_ = RandomizedClassifier(
            pool.classifiers[: len(last.weights)], last.weights, problem.classes, salt
        )
        self.certificate_ = certificate
        self._tallies = self._tally(X, problem, last.weights @ pool.s[: len(last.weights)])
        self.violations_ = violations_of(self._tallies, problem.lagrangian, last.violation)
        self.constraint_ = problem.constraint
        self.classes_ = problem.classes
        self.nu_, self.B_ = problem.nu, problem.lagrangian.B
        self.n_iter_, self.n_calls_ = last.iteration, pool.n_calls
        self._note(problem)
        if not stopped:
            _warn(certificate, max_iter, getattr(self, "relax", "uniform"))
        return self

    def _tally(self, X: Any, problem: Problem, s: Array) -> dict[str, Tally]:
        """Add up the decisions by cell, on each data that they are known for."""
        cells = problem.cells
        known = Tally.of_shares(cells.without_rows(), s, weight_squares(cells))
        if not self._is_out_of_fold(problem.oracle):
            return {"training": known}
        seen = Tally.of_people(cells, self.classifier_.predict_pmf(X)[:, 1])
        return {"training": seen, "out of fold": known}

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
        level: float = 0.95,
    ) -> ViolationReport:
        """Tell error and violations on training, out-of-fold and test data, with intervals.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight, utilities : optional
            Test data. The others are in the report anyway.
        level : float, default=0.95
            Level of the confidence intervals.

        Returns
        -------
        ViolationReport
            Prints as a table. Excesses are over the bounds as written, ``slack`` not counted.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from equipoise import DemographicParity, FairClassifier
        >>> rng = np.random.default_rng(0)
        >>> A = rng.integers(0, 2, 2000)
        >>> X = np.column_stack([A + rng.normal(size=2000), rng.normal(size=2000)])
        >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
        >>> tree = DecisionTreeClassifier(max_depth=8, random_state=0)
        >>> clf = FairClassifier(tree, DemographicParity(eps=0.02), cv=3)
        >>> clf = clf.fit(X[:1000], y[:1000], sensitive_features=A[:1000])
        >>> report = clf.report(X[1000:], y[1000:], sensitive_features=A[1000:])
        >>> [measured.data for measured in report]
        ['training', 'out of fold', 'test']
        >>> report["test"].excess.low < report["test"].excess.high
        True
        """
        check_is_fitted(self)
        tallies = dict(self._tallies)
        if X is not None:
            cells = self._read_new(
                X, y, sensitive_features, control_features, sample_weight, utilities
            )
            tallies["test"] = Tally.of_people(cells, self.predict_pmf(X)[:, 1])
        lowest = self.certificate_.level
        measured = measure(
            tallies,
            self.constraint_,
            self.objective,
            level=level,
            lowest_level=0.0 if lowest is None else lowest[1],
        )
        return ViolationReport(measured, level)

    def _note(self, problem: Problem) -> None:
        """Set further attributes of a finished fit."""

    def _settled(self, problem: Problem, pool: Pool) -> Problem:
        """Choose open parameters anew, now that the pool is grown."""
        cells = problem.cells
        constraint = settle(self.constraint, lambda c: self._game(c, cells)[1], pool.s)
        moments, lagrangian = self._game(constraint, cells)
        return replace(problem, constraint=constraint, moments=moments, lagrangian=lagrangian)

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray:
        """Decide for each row; the same person always gets the same decision.

        See `RandomizedClassifier.predict` for ``key`` and ``random_state``.
        """
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return self.classifier_.predict(X, key=key, random_state=random_state)

    def predict_pmf(self, X: Any) -> Array:
        """Return the probability of deciding either way, over the draw of a member: (n, 2)."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return self.classifier_.predict_pmf(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return self.classifier_.score(X, y, sample_weight)


class FairClassifier(_SaddlePointClassifier):
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
        it, ``C' sum_j |M_kj| / sqrt(n_j)``. See `equipoise.theory`.
    weights : {"both", "error"}, default="both"
        Whether sample weights enter the error and the constraints, or the error only: then rates
        of groups count heads.
    relax : {"uniform", "total"}, default="uniform"
        What to do with constraints that cannot be met: loosen every bound by the same amount, or
        each by its own, with the least sum.
    threshold : "tuned" or "learner", default="tuned"
        Where members cut the learner's scores: at the cut of least cost on the training data, or
        where the learner itself does. Learners without scores always use their own.
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
        threshold: str = "tuned",
        oracle: str = "refit",
        cv: Any = None,
        aware: bool = False,
        max_iter: int = 100,
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    _finds_levels = True

    def _resolve_B(self, cells: Cells) -> float:
        return np.inf if self.B in (None, np.inf) else read_positive(self.B, "B")

    def _plays(self, problem: Problem, pool: Pool) -> Iterator[Play]:
        return play_hard(problem.lagrangian, problem.oracle, pool, nu=problem.nu, relax=self.relax)


class ExponentiatedGradient(_SaddlePointClassifier):
    """Algorithm 1 of the paper: exponentiated gradient against best responses.

    `FairClassifier` gets the same result with a fraction of the fits. This class is for those who
    want the algorithm of the paper, step by step.

    Parameters
    ----------
    estimator, constraint, objective, nu, slack, weights, callback, random_state, verbose
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
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _resolve_B(self, cells: Cells) -> float:
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


def _later(plays: Iterator[Play], iteration: int) -> Iterator[Play]:
    return (replace(play, iteration=iteration + play.iteration) for play in plays)


def violations_of(
    tallies: Mapping[str, Tally], lagrangian: Lagrangian, certified: float
) -> dict[str, float]:
    """By how much the worst bound is exceeded, on all data; ``certified`` is that of the last."""
    names = {"training": "train", "out of fold": "out_of_fold"}
    found = [float(lagrangian.violation(tally.s)) for tally in tallies.values()]
    return dict(
        zip([names.get(data, data) for data in tallies], [*found[:-1], certified], strict=True)
    )


def _certify(problem: Problem, pool: Pool, last: Play) -> Certificate:
    game, conflict = problem.lagrangian, None
    if last.least_slack > 0:
        conflict = explain(game, problem.oracle, pool, problem.cells, nu=problem.nu)
    return Certificate.from_play(
        replace(last, n_calls=pool.n_calls),
        game,
        pool.s,
        nu=problem.nu,
        exact=problem.oracle.exact,
        conflict=conflict,
        mass=problem.cells.mass,
    )


def salt_of(random_state: int | None) -> int:
    """Return the salt of the draws in predict."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**32))
    return read_integer(random_state, "random_state", least=0)


def _progress(play: Play) -> str:
    gap = "not met yet" if np.isinf(play.gap) else f"{play.gap:.6f}"
    return (
        f"[{play.stage}] round {play.iteration}: {play.n_calls} fits, error {play.error:.4f}, "
        f"violation {play.violation:.4f}, gap {gap}"
    )


def _warn(certificate: Certificate, max_iter: int, relax: str) -> None:
    if not certificate.is_optimal():
        warnings.warn(
            f"stopped after max_iter={max_iter} rounds at a gap of {certificate.gap:.3g}, above "
            f"nu={certificate.nu:.3g}. Raise max_iter, or accept a larger nu.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if certificate.least_slack > 0:
        loosened = (
            f"every bound was loosened by {certificate.least_slack:.4g}"
            if relax == "uniform"
            else f"bounds were loosened by {certificate.total_slack:.4g} in all"
        )
        warnings.warn(
            f"the constraints cannot be met with this learner: {loosened}, the least that can. In "
            "conflict: "
            f"{'; '.join(map(str, certificate.conflict))}. Loosen these"
            + (
                ", or use a more flexible learner."
                if certificate.possible
                else ": no decisions at all can meet them."
            ),
            InfeasibleWarning,
            stacklevel=3,
        )
