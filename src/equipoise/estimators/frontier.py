"""The frontier: the whole trade-off between accuracy and fairness, from one pool of classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import Missing
from equipoise.constraints.base import Constraint
from equipoise.estimators.base import (
    Problem,
    joined,
    overlap_of,
    read_limits,
    regresses,
    warn_of_absent,
    warn_of_frozen,
)
from equipoise.estimators.decisions.one_rule import check_same_people
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.estimators.draws import SharedDraws, warn_of_draw
from equipoise.estimators.frontier_point import (
    FrontierPoint,
    games_of,
    measured_on,
    read_bound,
    read_bounds,
    warn_of_points,
    with_eps,
)
from equipoise.estimators.guarantees.proofs import prove
from equipoise.estimators.pool_reduction import PoolReduction
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.results import (
    fingerprint_of,
    remarks_of_points,
    unconstrained,
    verify,
    warn_of,
)
from equipoise.estimators.seen_groups import errors_if_seen, is_large, warn_of_price
from equipoise.exceptions import DeploymentError
from equipoise.faces import Records
from equipoise.game.column_generation import many_bounds
from equipoise.game.evidence import Scope
from equipoise.game.known import Queries
from equipoise.game.objectives import Loss, Objective
from equipoise.game.rounds import Pool, Reason, run
from equipoise.metrics.audit import Tally
from equipoise.metrics.measurement import Measured, ViolationReport
from equipoise.metrics.violations import Meter
from equipoise.oracles.specs import OracleSpec
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People
from equipoise.rows.validation import check_features

#: Differences of errors below this are rounding.
_ROUNDING = 1e-9


@dataclass(eq=False, repr=False, kw_only=True)
class Frontier(PoolReduction):
    """The best classifier, or regressor, at every bound, for little more than one fit's price.

    Best responses do not depend on the bound, so one pool of classifiers serves all bounds. After
    ``fit``, a classifier for any bound is a small linear program away. Of a learner that is a
    regressor this makes a `RegressionFrontier`, whose ``at`` returns a `FairRegressor`.

    Parameters
    ----------
    estimator, constraint, objective, oracle, nu, sampling_slack, constraint_weights, random_state
        As for `FairClassifier`. The ``eps`` of the constraint is not used; of several constraints
        joined by ``&`` each gets the same bound.
    bounds : array-like, optional
        The values of ``eps`` to trace; by default twenty from 0.001 to 0.1, evenly spaced in
        ratio.
    max_iter : int, default=200
        The most rounds to run.
    n_jobs : int, optional
        Fits to run at a time (joblib). More at a time means more fits in all, other ones, and so
        another frontier within ``nu``; for the same number it is the same.
    checkpoint : str or Path, optional
        A folder where every trained classifier is kept as soon as it is there. A fit of the same
        data and parameters that finds them goes on from where the last one ended, however it did.
    callback : callable, optional
        Called every round with a list, a `Round` for each bound; return True to stop with what
        was found.
    verbose : bool, "bar" or "lines", default=False
        Show how far the fit has got: a bar in notebooks and terminals, a few lines elsewhere.
    positive : label, optional
        The favourable one of two labels, as for `FairClassifier`.

    Attributes
    ----------
    points_ : list of FrontierPoint
        One for each bound, tightest first; ``points_.to_pandas()`` is a table of them.
    unconstrained_ : FrontierPoint
        The learner's answer without constraint.
    pool_ : Pool
        The classifiers found, with their selected shares of each cell.
    cells_ : CellTable
        The cells of the training data; no rows.
    shares_ : dict
        Shares of all classifiers on "training" data and, where moments were measured so, "out of
        fold": arrays of shape (P, C).
    disagreement_ : array of shape (P, P)
        The share of the people measured on whom each two classifiers decide differently.
    switches_ : array of shape (P, V (V - 1), C)
        How many people learned from move from one decision of the unconstrained classifier to
        another of each classifier, cell by cell; see `equipoise.game.switches.pairs`.
    lagrangian_ : Lagrangian
        Error and constraints over these cells.
    classes_, people_, nu_, n_iter_, n_calls_
        As for `FairClassifier`.

    Examples
    --------
    >>> import numpy as np
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

    _finds_parameters = False  # the best ones differ from bound to bound

    def __new__(cls, estimator: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make a `RegressionFrontier` where the learner is a regressor."""
        if cls is Frontier and regresses(estimator):
            taken = signature(RegressionFrontier).parameters
            if of_labels := [name for name in kwargs if name not in taken]:
                raise TypeError(
                    f"estimator is {type(estimator).__name__}, a regressor, whose frontier does "
                    f"not take {', '.join(of_labels)}. It takes {', '.join(taken)}."
                )
            return RegressionFrontier(estimator, *args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    bounds: ArrayLike | None = None
    oracle: OracleSpec | str | None = "refit"
    max_iter: int = 200
    n_jobs: int | None = None
    random_state: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
        missing: Missing = "error",
        bins: Any = None,
    ) -> Self:
        """Trace the frontier. The parameters are those of `FairClassifier.fit`.

        Interrupted from the keyboard, it keeps what was found: the points are then the best
        mixtures so far, with the gaps reached, and a warning says so.
        """
        bounds = read_bounds(self.bounds)
        limits, salt = read_limits(self)
        groups = sensitive_features, control_features
        people = People(X, y, *groups, sample_weight, utilities, missing, bins, self.positive)
        problem, queries = self._state(people, n_jobs=self.n_jobs), Queries([], [])
        games = games_of(self.constraint, problem.lagrangian, bounds)
        batch = problem.at_a_time
        with problem.opened:
            problem.learn_labels()
            rounds = many_bounds(
                games, problem.oracle, problem.pool, nu=problem.nu, batch=batch, queries=queries
            )
            outcome = run(rounds, limits, problem.nu)
        check_features(self, problem.engine.example(X), reset=True)
        self.classes_, self.nu_, self.n_iter_ = problem.engine.classes, problem.nu, outcome.n_rounds
        self._salt = salt_of(problem.cells, self.classes_) if salt is None else salt
        self._free, exact = unconstrained(problem), problem.oracle.exact
        self._scope = Scope.WHOLE_CLASS if exact else Scope.ORACLE
        self._queries: Queries | None = queries
        self._settled = None if outcome.reason is Reason.FINISHED else set()
        self.people_ = fingerprint_of(problem.engine, people, self.classes_)
        self._unconstrained = unconstrained_of(problem)
        self._take_over(problem, problem.pool.detached())
        self._trace(bounds)
        self._look_at_draws(problem)
        self._look_at_prices(problem)
        self._verify(problem)
        warn_of(remarks_of_points(self.points_, self.cells_))
        warn_of_frozen(problem)
        warn_of_points(outcome, self.points_, self.nu_, self.n_calls_)
        return self

    def at(
        self,
        eps: float,
        *,
        deterministic: bool = False,
        X: Any = None,
        y: Any = None,
        **metadata: Any,
    ) -> FairClassifier:
        """Return a fitted classifier for this bound, without training: a small linear program.

        Its certificate tells the gap. Where that is too wide, `refine` asks the learner further.

        Parameters
        ----------
        eps : float
        deterministic : bool, default=False
            Whether it is to be one rule, see `FairClassifier`.
        X, y, **metadata : optional
            With ``deterministic=True`` the data of ``fit`` again, in the same way, since none is
            kept. Plug-in pools learn their probabilities again from them.
        """
        check_is_fitted(self)
        eps = read_bound(eps)
        if deterministic or X is not None:
            people = People(X, y, **metadata).by(self.cells_.rules)
            return self._one_rule(eps, deterministic, people)
        traced = next((point for point in self.points_ if point.eps == eps), None)
        point = traced or self._points([eps])[0]
        warn_of_draw(point.certificate)
        warn_of_price(point.certificate)
        return self._classifier(point)

    def refine(self, eps: float, X: Any, y: Any, **metadata: Any) -> FairClassifier:
        """Return the classifier for this bound with its search gap closed, training where it must.

        Takes the data of ``fit`` again, in the same way, since none is kept. What is found serves
        all bounds: ``points_`` are traced anew.
        """
        check_is_fitted(self)
        eps = read_bound(eps)
        people, (limits, _) = People(X, y, **metadata).by(self.cells_.rules), read_limits(self)
        check_same_people(self, people)
        problem = self._state(people, pool=self.pool_, n_jobs=self.n_jobs)
        rounds = many_bounds(
            games_of(self.constraint, problem.lagrangian, [eps]),
            problem.oracle,
            problem.pool,
            nu=problem.nu,
            queries=self._queries,
        )
        outcome = run(rounds, limits, problem.nu)
        if outcome.reason is Reason.FINISHED and self._settled is not None:
            self._settled = {*self._settled, eps}
        self.nu_, self.n_iter_ = problem.nu, self.n_iter_ + outcome.n_rounds
        self._take_over(problem, problem.pool)
        self._trace(point.eps for point in self.points_)
        self._look_at_draws(problem)
        self._verify(problem)
        return self.at(eps)

    prove = prove

    def select(
        self, *, violation: float | None = None, error: float | None = None
    ) -> FairClassifier:
        """Return the most accurate within a disparity, or the fairest within an error."""
        check_is_fitted(self)
        if violation is not None and error is None:
            return self.at(violation)
        if error is None or violation is not None:
            raise ValueError("give either violation= (a disparity) or error=, and not both.")
        high = max(self.unconstrained_.disparity, self.points_[-1].eps)
        (most,) = self._points([high])
        if most.error > error:
            raise ValueError(
                f"no classifier found errs as little as {error}; the least is {most.error:.4f}."
            )
        return self.at(self._fairest_within(error, high))

    def _fairest_within(self, error: float, high: float) -> float:
        """Return the least bound whose classifier errs at most so much."""
        eps = self._least_bound(error - _ROUNDING, high)
        (point,) = self._points([eps])
        if point.error <= error:
            return eps
        # The least random mixture may err up to nu more than the best one.
        low = eps
        eps = self._least_bound(error - self.nu_, high)
        while eps - low > 1e-4 * eps:
            (point,) = self._points([(low + eps) / 2])
            if point.error <= error:
                eps = point.eps
            else:
                low = point.eps
        return eps

    def _least_bound(self, error: float, high: float) -> float:
        """Return the least bound at which the best mixture errs at most so much."""
        low = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            games = games_of(self.constraint, self.lagrangian_, [middle])
            if next(iter(self._best(games))).error <= error:
                high = middle
            else:
                low = middle
        return high

    def with_constraint(self, constraint: Constraint, bounds: ArrayLike | None = None) -> Frontier:
        """Return the frontier of another constraint over the same cells, without training.

        Its lower values hold for mixtures of the classifiers known only.
        """
        return self._over_same_pool(constraint=constraint, bounds=bounds)

    def with_objective(self, objective: Objective | Loss | None) -> Frontier:
        """Return the frontier for other costs, without training; see `with_constraint`."""
        return self._over_same_pool(objective=objective)

    def recertify(self, X: Any, y: Any, **metadata: Any) -> Frontier:
        """Return the frontier on new data, its mixtures balanced anew, without training.

        The parameters are those of ``fit``. Lower values hold for mixtures of the classifiers known
        only.
        """
        people = self._like_fit(People(X, y, **metadata))
        engine = self._open_new(people)
        pool = self.pool_.classifiers
        before = self._unconstrained.classifier
        shares, disagreement, _, switches = engine.compare(pool, before)
        return self._over_same_pool(
            cells_=engine.cells.table(),
            pool_=Pool.of(pool, shares),
            shares_={"recertified": shares},
            disagreement_=disagreement,
            switches_=switches,
            people_=joined(self.people_, engine, people),
        )

    def evaluate(self, X: Any, y: Any, **metadata: Any) -> Records[FrontierPoint]:
        """Return the points as they are, measured on other data: what happens to new people.

        The parameters are those of ``fit``. Certificates stay those of the training data.
        """
        engine = self._open_new(People(X, y, **metadata))
        shares = engine.shares(self.pool_.classifiers)
        stated = self._game(self.constraint, engine.cells)
        return Records(
            measured_on(point, stated, shares) for point in (*self.points_, self.unconstrained_)
        )

    def report(
        self, X: Any = None, y: Any = None, *, level: float = 0.95, **metadata: Any
    ) -> ViolationReport[list[Measured]]:
        """Tell error and largest difference of every point, on all data, with intervals.

        Parameters
        ----------
        X, y, **metadata : optional
            Test data, as for ``fit``. Training data and, where moments were measured so,
            out-of-fold decisions are in the report anyway.
        level : float, default=0.95
            Level of the confidence intervals.

        Returns
        -------
        ViolationReport
            An entry for every bound on the training data, then on the others. Differences are
            those of the constraint as written, ``sampling_slack`` not counted.
        """
        check_is_fitted(self)
        known, overlap = {data: (self.cells_, s) for data, s in self.shares_.items()}, None
        if X is not None:
            people = self._like_fit(People(X, y, **metadata))
            engine = self._open_new(people)
            warn_of_absent(self.cells_, engine.cells)
            known["test"] = engine.cells.table(), engine.shares(self.pool_.classifiers)
            overlap = overlap_of(self, people)
        measured = [
            entry
            for data, (table, shares) in known.items()
            for entry in self._measured(data, table, shares, self.points_, level)
        ]
        return ViolationReport(measured, level, overlap)

    def _measured(
        self,
        data: str,
        table: CellTable,
        shares: Array,
        points: Iterable[FrontierPoint],
        level: float = 0.95,
    ) -> Iterator[Measured]:
        """Yield points as measured on people whose shares these are; 0 stands for no bound."""
        meter = Meter(table, with_eps(self.constraint, 0.0), self.objective, self.cells_)
        for point in points:
            tally = Tally.of_shares(table, point.mixture.shares(shares))
            bound = point.eps if np.isfinite(point.eps) else 0.0
            yield meter.measure(data, tally, level=level, bound=bound)

    def _take_over(self, problem: Problem, pool: Pool) -> None:
        """Keep what later bounds and reports need: a few numbers a cell, and no rows."""
        self.pool_, self.cells_ = pool, problem.cells.table()
        self.lagrangian_, self.n_calls_ = problem.lagrangian, pool.n_calls
        with config_context(assume_finite=True):  # they have seen these rows before
            found = problem.engine.compare(pool.classifiers, self._unconstrained.classifier)
        seen, self.disagreement_, _, self.switches_ = found
        problem.asked_again.update(enumerate(seen))
        apart = problem.oracle.out_of_fold
        self.shares_ = {"training": seen, "out of fold": pool.s} if apart else {"training": pool.s}

    def _look_at_draws(self, problem: Problem) -> None:
        """Have the certificate of each point say how far its decisions drawn lie from it."""
        mixed = any(point.members > 1 for point in self.points_)
        draws = SharedDraws.of(problem) if mixed else None
        if draws is None:
            return
        points = []
        for point in self.points_:
            game = self.lagrangian_.with_bound(point.eps)
            certificate, pool = point.certificate, self.pool_.classifiers
            draw = draws.deviation(game, point.mixture, pool, certificate.gamma)
            points.append(replace(point, certificate=replace(certificate, draw=draw)))
        self.points_ = Records(points)

    def _look_at_prices(self, problem: Problem) -> None:
        """Have the certificates of dear points say what decisions that see the group would err."""
        game, dear = self.lagrangian_, []
        for number, point in enumerate(self.points_):
            free = point.certificate.free_error
            if is_large(point.error - free, free, game):
                dear.append(number)
        points = list(self.points_)
        games = [game.with_bound(points[number].eps) for number in dear]
        found = errors_if_seen(problem, games) if dear else []
        for number, seen in zip(dear, found, strict=True):
            certificate = replace(points[number].certificate, seen=seen)
            points[number] = replace(points[number], certificate=certificate)
        self.points_ = Records(points)

    def _verify(self, problem: Problem) -> None:
        """Raise, and be as if never fitted, unless the whole pool decides as recorded."""
        try:
            verify(problem, range(len(problem.pool)))  # `at` may mix what no point mixes
        except DeploymentError:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            raise

    def _over_same_pool(self, **changes: Any) -> Frontier:
        """Return a copy that differs in what is asked of the same classifiers."""
        check_is_fitted(self)
        other = copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        other.lagrangian_ = other._game(other.constraint, other.cells_)
        other._queries, other._scope, other._settled = None, Scope.POOL, None
        other._trace(read_bounds(other.bounds))
        return other


#: That of ``__init__``, which ``__new__`` would hide from help and from scikit-learn's checks.
Frontier.__signature__ = signature(Frontier.__init__.__get__(object()))  # type: ignore[attr-defined]


def points_on(frontier: Frontier, people: People) -> list[Measured]:
    """Return the points of a frontier, the unconstrained one last, measured on test data."""
    check_is_fitted(frontier)
    engine = frontier._open_new(frontier._like_fit(people))
    shares = engine.shares(frontier.pool_.classifiers)
    points = (*frontier.points_, frontier.unconstrained_)
    return list(frontier._measured("test", engine.cells.table(), shares, points))
