"""What the reductions to a saddle point share: from Plays to a fitted randomized classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Array
from equipoise.engines import engine_for
from equipoise.estimators.base import Problem, Reduction
from equipoise.estimators.pools import keeping
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.exceptions import InfeasibleWarning
from equipoise.game.certificate import Certificate
from equipoise.game.conflicts import explain
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.open_parameters import settle
from equipoise.game.pool import Play, Pool, play_out
from equipoise.metrics.violations import Tally, ViolationReport, measure
from equipoise.oracles.refit import is_out_of_fold
from equipoise.rows.validation import read_integer


class SaddlePointClassifier(Reduction):
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

        with keeping(pool):
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
        self.tallies_ = self._tally(problem, last.weights @ pool.s[: len(last.weights)])
        self.violations_ = violations_of(self.tallies_, problem.lagrangian, last.violation)
        self.constraint_ = problem.constraint
        self.classes_ = problem.classes
        self.nu_, self.B_ = problem.nu, problem.lagrangian.B
        self.n_iter_, self.n_calls_ = last.iteration, pool.n_calls
        self._note(problem)
        if not stopped:
            _warn(certificate, max_iter, getattr(self, "relax", "uniform"))
        return self

    def _tally(self, problem: Problem, s: Array) -> dict[str, Tally]:
        """Add up the decisions by cell, on each data that they are known for."""
        cells = problem.cells
        known = Tally.of_shares(cells.table(), s)
        if not is_out_of_fold(problem.oracle):
            return {"training": known}
        return {"training": problem.data.tally(self.classifier_), "out of fold": known}

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
        tallies = dict(self.tallies_)
        if X is not None:
            data = self._read_new(
                X, y, sensitive_features, control_features, sample_weight, utilities
            )
            tallies["test"] = data.tally(self.classifier_)
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
        return engine_for(X).predict(self.classifier_, X, key=key, random_state=random_state)

    def predict_pmf(self, X: Any) -> Array:
        """Return the probability of deciding either way, over the draw of a member: (n, 2)."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return engine_for(X).predict_pmf(self.classifier_, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        return engine_for(X).score(self.classifier_, X, y, sample_weight)


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
