"""The frontier: the whole trade-off between accuracy and fairness, from one pool of classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Array
from equipoise.constraints.base import Constraint
from equipoise.estimators.base import Problem, Reduction
from equipoise.estimators.frontier_point import FrontierPoint, disparity, with_eps
from equipoise.estimators.pools import keeping
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.saddle_point import salt_of, violations_of
from equipoise.exceptions import InfeasibleWarning
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import Asked, frontier, over_pool
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Loss, Objective
from equipoise.game.pool import Play, Pool, best_mixture, describe
from equipoise.metrics.violations import Tally, ViolationReport, measure
from equipoise.oracles.refit import is_out_of_fold
from equipoise.rows.validation import read_integer

#: The bounds traced by default: those of the paper's experiments.
DEFAULT_BOUNDS = np.geomspace(0.001, 0.1, 20)


class Frontier(Reduction):
    """The best classifier at every bound, for little more than the price of one fit.

    Best responses do not depend on the bound, so one pool of classifiers serves all bounds. After
    ``fit``, a classifier for any bound is a small linear program away.

    Parameters
    ----------
    estimator, constraint, objective, nu, slack, weights, threshold, oracle, cv, aware, random_state
        As for `FairClassifier`. The ``eps`` of the constraint is not used; of several constraints
        joined by ``&`` each gets the same bound.
    bounds : array-like, optional
        The values of ``eps`` to trace; by default twenty from 0.001 to 0.1, evenly spaced in
        ratio.
    max_iter : int, default=200
        The most rounds to play.
    n_jobs : int, optional
        Fits to run at a time (joblib). More at a time means more fits in all.
    checkpoint : str or Path, optional
        A folder where every trained classifier is kept as soon as it is there. A fit of the same
        data and parameters that finds them goes on from where the last one ended, however it did.
    callback : callable, optional
        Called every round with the list of Plays, one a bound; return True to stop with what was
        found.
    verbose : bool, default=False
        Print a line for every round.

    Attributes
    ----------
    points_ : list of FrontierPoint
        One for each bound, tightest first.
    unconstrained_ : FrontierPoint
        The learner's answer without constraint.
    classes_, nu_, n_iter_, n_calls_
        As for `FairClassifier`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, Frontier
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 2000)
    >>> X = np.column_stack([A + rng.normal(size=2000), rng.normal(size=2000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
    >>> frontier = Frontier(LogisticRegression(), DemographicParity())
    >>> frontier = frontier.fit(X, y, sensitive_features=A)
    >>> len(frontier.points_), frontier.n_calls_ < 20
    (20, True)
    >>> frontier.at(eps=0.03).certificate_.feasible  # a fitted FairClassifier, without training
    True
    """

    def __init__(
        self,
        estimator: Any,
        constraint: Constraint,
        *,
        bounds: ArrayLike | None = None,
        objective: Objective | Loss | None = None,
        nu: float | None = None,
        slack: float | None = None,
        weights: str = "both",
        threshold: str = "auto",
        oracle: str = "refit",
        cv: Any = None,
        aware: bool = False,
        max_iter: int = 200,
        n_jobs: int | None = None,
        checkpoint: str | Path | None = None,
        callback: Callable[[list[Play]], object] | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.bounds = bounds
        self.objective = objective
        self.nu = nu
        self.slack = slack
        self.weights = weights
        self.threshold = threshold
        self.oracle = oracle
        self.cv = cv
        self.aware = aware
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

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
        """Trace the frontier. The parameters are those of `FairClassifier.fit`.

        Interrupted from the keyboard, it keeps what was found: the points are then the best
        mixtures so far, with the gaps reached, and a warning says so.
        """
        bounds = self._read_bounds()
        max_iter = read_integer(self.max_iter, "max_iter", least=1)
        salt = salt_of(self.random_state)
        problem = self._problem(
            X, y, sensitive_features, control_features, sample_weight, utilities
        )
        games = [self._game(with_eps(self.constraint, eps), problem.cells)[1] for eps in bounds]
        pool, asked = problem.pool, Asked()
        with keeping(pool):
            rounds, ended = self._play(games, problem, pool, asked, max_iter)
        self._check_features(X, reset=True)
        self.classes_, self.nu_, self._salt = problem.classes, problem.nu, salt
        self.n_iter_, self.n_calls_ = rounds, pool.n_calls
        self.cells_, self._exact = problem.cells.table(), problem.oracle.exact
        self.pool_, self._asked = pool.alone(), asked
        self._note_data(problem)
        self._trace(bounds)
        self._warn(ended, max_iter)
        return self

    def at(self, eps: float) -> FairClassifier:
        """Return a fitted classifier for this bound, without training: a small linear program.

        Its certificate tells the gap. Where that is too wide, `refine` asks the learner further.
        """
        check_is_fitted(self)
        traced = next((point for point in self.points_ if point.eps == eps), None)
        return self._classifier(traced or self._points([float(eps)])[0])

    def refine(self, eps: float, X: Any, y: Any, **fit_params: Any) -> FairClassifier:
        """Return the classifier for this bound with a certified gap, training where it must.

        Takes the data of ``fit`` again, since none is kept. What is found serves all bounds:
        ``points_`` are traced anew.
        """
        check_is_fitted(self)
        names = ("sensitive_features", "control_features", "sample_weight", "utilities")
        A, control, sample_weight, utilities = map(fit_params.get, names)
        problem = self._problem(X, y, A, control, sample_weight, utilities, self.pool_)
        game = self._game(with_eps(self.constraint, eps), problem.cells)[1]
        rounds, _ = self._play([game], problem, self.pool_, self._asked, self.max_iter)
        self.n_iter_, self.n_calls_ = self.n_iter_ + rounds, self.pool_.n_calls
        self._note_data(problem)
        self._trace(point.eps for point in self.points_)
        return self.at(eps)

    def select(
        self, *, violation: float | None = None, error: float | None = None
    ) -> FairClassifier:
        """Return the most accurate within a disparity, or the fairest within an error."""
        check_is_fitted(self)
        if (violation is None) == (error is None):
            raise ValueError("give either violation= (a disparity) or error=, and not both.")
        if violation is not None:
            return self.at(violation)
        low, high = 0.0, max(self.unconstrained_.disparity, self.points_[-1].eps)
        (most,) = self._points([high])
        if most.error > float(error):  # type: ignore[arg-type]
            raise ValueError(
                f"no classifier found errs as little as {error}; the least is {most.error:.4f}."
            )
        for _ in range(40):
            (point,) = self._points([(low + high) / 2])
            low, high = (low, point.eps) if point.error <= error else (point.eps, high)  # type: ignore[operator]
        return self.at(high)

    def with_constraint(self, constraint: Constraint, bounds: ArrayLike | None = None) -> Frontier:
        """Return the frontier of another constraint over the same cells, without training.

        Its lower values hold for mixtures of the classifiers known only: the learner was not asked
        about this constraint.
        """
        return self._over_same_pool(constraint=constraint, bounds=bounds)

    def with_objective(self, objective: Objective | Loss | None) -> Frontier:
        """Return the frontier for other costs, without training; see `with_constraint`."""
        return self._over_same_pool(objective=objective)

    def recertify(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
    ) -> Frontier:
        """Return the frontier on new data, its mixtures balanced anew, without training.

        Lower values hold for mixtures of the classifiers known only.
        """
        data = self._read_new(X, y, sensitive_features, control_features, sample_weight, utilities)
        pool = Pool.of(self.pool_.classifiers, data.shares(self.pool_.classifiers))
        return self._over_same_pool(
            cells_=data.cells.table(),
            pool_=pool,
            shares_={"recertified": pool.s},
        )

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
    ) -> list[FrontierPoint]:
        """Return the points as they are, measured on other data: what happens to new people.

        The certificates of these points tell violations, but prove nothing about optimality.
        """
        data = self._read_new(X, y, sensitive_features, control_features, sample_weight, utilities)
        shares = data.shares(self.pool_.classifiers)
        points = []
        for point in [*self.points_, self.unconstrained_]:
            eps = point.eps if np.isfinite(point.eps) else 0.0
            game = self._game(with_eps(self.constraint, eps), data.cells)[1]
            mean = point.weights @ shares[: len(point.weights)]
            points.append(
                replace(
                    point,
                    error=float(game.error(mean)),
                    disparity=disparity(game, mean, eps),
                    lower=np.nan,
                    gap=np.nan,
                )
            )
        return points

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
        """Tell error and largest difference of every point, on all data, with intervals.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight, utilities : optional
            Test data. Training data and, where moments were measured so, out-of-fold decisions
            are in the report anyway.
        level : float, default=0.95
            Level of the confidence intervals.

        Returns
        -------
        ViolationReport
            An entry for every bound on the training data, then on the others. Differences are
            those of the constraint as written, ``slack`` not counted.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from equipoise import DemographicParity
        >>> rng = np.random.default_rng(0)
        >>> A = rng.integers(0, 2, 1000)
        >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
        >>> y = (X.sum(axis=1) + rng.normal(size=1000) > 0.5).astype(int)
        >>> frontier = Frontier(DecisionTreeClassifier(max_depth=3), DemographicParity(),
        ...                     bounds=[0.02, 0.05])
        >>> frontier = frontier.fit(X[:500], y[:500], sensitive_features=A[:500])
        >>> report = frontier.report(X[500:], y[500:], sensitive_features=A[500:])
        >>> [(measured.data, measured.bound) for measured in report]
        [('training', 0.02), ('training', 0.05), ('test', 0.02), ('test', 0.05)]
        """
        check_is_fitted(self)
        shares = dict(self.shares_)
        tables = dict.fromkeys(shares, self.cells_)
        if X is not None:
            given = self._read_new(
                X, y, sensitive_features, control_features, sample_weight, utilities
            )
            shares["test"] = given.shares(self.pool_.classifiers)
            tables["test"] = given.cells.table()
        measured = []
        for data, s in shares.items():
            for point in self.points_:
                tally = Tally.of_shares(tables[data], point.weights @ s[: len(point.weights)])
                constraint = with_eps(self.constraint, point.eps)
                measured += measure(
                    {data: tally}, constraint, self.objective, level=level, bound=point.eps
                )
        return ViolationReport(measured, level)

    def _note_data(self, problem: Problem) -> None:
        """Keep what `report` needs to know of the data of the fit: a few numbers a cell."""
        self.shares_ = {"training": self.pool_.s}
        if is_out_of_fold(problem.oracle):
            seen = problem.data.shares(self.pool_.classifiers)
            self.shares_ = {"training": seen, "out of fold": self.pool_.s}

    def _read_bounds(self) -> Array:
        bounds = np.sort(
            np.atleast_1d(
                np.asarray(DEFAULT_BOUNDS if self.bounds is None else self.bounds, dtype=float)
            )
        )
        if bounds.ndim != 1 or not len(bounds) or not np.isfinite(bounds).all() or bounds[0] < 0:
            raise ValueError(
                f"bounds are {self.bounds!r}; expected one or more finite numbers >= 0."
            )
        return bounds

    def _play(
        self,
        games: list[Lagrangian],
        problem: Problem,
        pool: Pool,
        asked: Asked,
        max_iter: int,
    ) -> tuple[int, str]:
        """Play the games; return the rounds played, and what ended them."""
        rounds, batch = 0, self._at_a_time(problem.data)
        try:
            for rounds, plays in enumerate(
                frontier(games, problem.oracle, pool, nu=problem.nu, batch=batch, asked=asked), 1
            ):
                if self.verbose:
                    print(_progress(plays), flush=True)
                answer = self.callback(plays) if self.callback is not None else None
                if isinstance(answer, (bool, np.bool_)) and answer:
                    return rounds, "callback"
                if rounds >= max_iter and any(not play.gap <= problem.nu for play in plays):
                    return rounds, "max_iter"
        except KeyboardInterrupt:
            if not len(pool):
                raise
            return rounds, "interrupt"
        return rounds, "certified"

    def _trace(self, bounds: Iterable[float]) -> None:
        self.points_ = self._points([float(eps) for eps in bounds])
        game = self._game(with_eps(self.constraint, 0.0), self.cells_)[1]
        first = self.pool_.s[:1]
        play = describe(game, Pool.of([None], first), best_mixture(game, first), 0.0, iteration=0)
        self.unconstrained_ = self._as_point(np.inf, game, replace(play, gap=0.0, lower=play.error))

    def _points(self, bounds: list[float]) -> list[FrontierPoint]:
        games = [self._game(with_eps(self.constraint, eps), self.cells_)[1] for eps in bounds]
        plays = over_pool(games, self.pool_, self._asked or None)
        return [self._as_point(*point) for point in zip(bounds, games, plays, strict=True)]

    def _as_point(self, eps: float, game: Lagrangian, play: Play) -> FrontierPoint:
        certificate = Certificate.from_play(
            replace(play, n_calls=self.n_calls_),
            game,
            self.pool_.s,
            nu=self.nu_,
            exact=self._exact,
            mass=self.cells_.mass,
        )
        s = play.weights @ self.pool_.s[: len(play.weights)]
        return FrontierPoint(
            eps=eps,
            error=play.error,
            disparity=disparity(game, s, eps if np.isfinite(eps) else 0.0),
            lower=play.lower,
            gap=play.gap,
            price=float(play.lam.sum()) if np.isfinite(eps) else 0.0,
            members=int(np.count_nonzero(play.weights)),
            certificate=certificate,
            weights=play.weights,
        )

    def _classifier(self, point: FrontierPoint) -> FairClassifier:
        names = ("objective", "nu", "slack", "weights", "threshold", "oracle", "cv", "aware")
        constraint = with_eps(self.constraint, point.eps)
        fair = FairClassifier(
            self.estimator,
            constraint,
            random_state=self.random_state,
            **{name: getattr(self, name) for name in names},
        )
        fair.classifier_ = RandomizedClassifier(
            self.pool_.classifiers[: len(point.weights)], point.weights, self.classes_, self._salt
        )
        fair.certificate_, fair.constraint_ = point.certificate, constraint
        fair.tallies_ = self._tallies_of(point)
        game = self._game(constraint, self.cells_)[1]
        fair.violations_ = violations_of(fair.tallies_, game, point.certificate.violation)
        fair.classes_, fair.nu_, fair.B_ = self.classes_, self.nu_, np.inf
        fair.n_iter_, fair.n_calls_ = self.n_iter_, self.n_calls_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(fair, name, getattr(self, name))
        return fair

    def _tallies_of(self, point: FrontierPoint) -> dict[str, Tally]:
        return {
            data: Tally.of_shares(self.cells_, point.weights @ s[: len(point.weights)])
            for data, s in self.shares_.items()
        }

    def _over_same_pool(self, **changes: Any) -> Frontier:
        """Return a copy that differs in what is asked of the same classifiers."""
        check_is_fitted(self)
        other = copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        other._asked = {}
        other._trace(other._read_bounds())
        return other

    def _warn(self, ended: str, max_iter: int) -> None:
        unmet = [point.eps for point in self.points_ if point.certificate.least_slack > 0]
        if ended == "certified" and unmet:
            warnings.warn(
                f"{len(unmet)} bounds, up to {max(unmet):.4g}, cannot be met with this learner; "
                "their points hold the least that can. Trace looser bounds, or use a more "
                "flexible learner.",
                InfeasibleWarning,
                stacklevel=3,
            )
        if ended in ("max_iter", "interrupt"):
            how = "interrupted" if ended == "interrupt" else f"stopped by max_iter={max_iter}"
            gap = max(point.gap for point in self.points_)
            warnings.warn(
                f"{how} after {self.n_calls_} fits: {len(unmet)} bounds are not met yet, and the "
                f"largest gap of the others is {gap:.3g} (nu={self.nu_:.3g}). The frontier holds "
                "what was found; fit with a larger max_iter, or a checkpoint, to go on.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _progress(plays: list[Play]) -> str:
    gaps = np.array([play.gap for play in plays])
    closed = np.isfinite(gaps)
    worst = f"{gaps[closed].max():.6f}" if closed.any() else "unknown"
    unmet = f", {np.count_nonzero(~closed)} bounds not met yet" if not closed.all() else ""
    calls = max(play.n_calls for play in plays)
    return f"round {plays[0].iteration}: {calls} fits, largest gap {worst}{unmet}"
