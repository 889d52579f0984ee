"""Grid search over cost adjustments (section 3.4): a deterministic classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import GroupRules, Missing
from equipoise.engines import engine_for
from equipoise.estimators.base import Problem, Reduction, warn_of_frozen
from equipoise.estimators.decisions.scores import DecisionsMixin
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.results import fingerprint_of, remarks, switched, verify, warn_of
from equipoise.exceptions import InfeasibleWarning
from equipoise.faces import Record, Records
from equipoise.game.column_generation import column_generation
from equipoise.game.grid import delta_grid, grid_rounds
from equipoise.game.lagrangian import TOLERANCE
from equipoise.game.rounds import Limits, Reason, run
from equipoise.game.switches import Switched
from equipoise.metrics.audit import Tally
from equipoise.rows.people import People
from equipoise.rows.validation import check_features, read_integer, read_positive

#: The most rounds of the game whose members ``grid="saddle_point"`` tries.
_MOST_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Candidate(Record):
    """A best response: the multipliers asked, the classifier, its error and its violation.

    ``tally`` are its decisions, added up by cell. ``switched`` are those that differ from the
    unconstrained model's, None if not known.
    """

    lam: Array = field(repr=False)
    classifier: Any = field(repr=False)
    error: float
    violation: float
    tally: Tally = field(repr=False)
    switched: Switched | None = field(default=None, repr=False)


@dataclass(eq=False, repr=False, kw_only=True)
class GridSearch(DecisionsMixin, Reduction):
    """One deterministic classifier, chosen among best responses to a grid of multipliers.

    For those who cannot use a randomized decision. It may err more or violate more than
    `FairClassifier`, and carries no certificate; the grid grows exponentially with the number of
    groups, so beyond three or four use ``grid="saddle_point"``. The candidates of a grid are what
    the learner answers, as in the paper. The constant classifiers that `FairClassifier` may mix in
    are none of them: wherever no answer meets a bound on parity, one of them would be chosen, and
    nothing decided. The warning then says whether one would have met the bounds, with its error.

    Parameters
    ----------
    estimator, constraint, objective, nu, sampling_slack, constraint_weights, checkpoint
        As for `FairClassifier`.
    oracle : Refit, Plugin, BestOf, str or None, default=None
        As for `FairClassifier`; None is the oracle of the paper, ``Refit(threshold="learner")``.
    grid_size : int, default=21
        About how many points the grid has in all; rounded so that it is symmetric and contains
        lambda = 0.
    grid_limit : float, default=2.0
        The largest adjustment of a cost. A wrong decision costs 1, so that an adjustment beyond 1
        outweighs every label.
    grid : array-like of shape (m, K), "saddle_point" or None, default=None
        Multipliers to use instead; or "saddle_point": the members of the randomized classifier
        that `FairClassifier` finds with the same oracle, which are the best responses to
        lambda-dagger that Q-dagger puts mass on.
    tradeoff : float in [0, 1], optional
        Select by ``(1 - tradeoff) * error + tradeoff * violation`` instead of by least error
        within the constraints.
    n_jobs : int, optional
        Fits to run at a time (joblib).
    callback : callable, optional
        Called after every fit with the list of `Round` so far, one for each candidate; return True
        to select among these.
    verbose : bool, "bar" or "lines", default=False
        Show how far the fit has got: a bar in notebooks and terminals, a few lines elsewhere.
    positive : label, optional
        The favourable one of two labels, as for `FairClassifier`.

    Attributes
    ----------
    best_estimator_ : classifier
        The classifier selected; it predicts 0 and 1.
    candidates_ : list of Candidate
        All of them, for a choice of one's own, see `use`.
    best_index_ : int
    unconstrained_ : UnconstrainedModel
        As for `FairClassifier`; one more fit where the ``grid`` does not contain lambda = 0.
    classes_ : array of two labels
    constraint_ : Constraint
        The constraint, without open parameters.
    people_ : Fingerprint or None
        Of the people learned from.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, GridSearch
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 1000)
    >>> X = np.column_stack([A + rng.normal(size=1000), rng.normal(size=1000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=1000) > 0.5).astype(int)
    >>> grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.05), grid_size=11)
    >>> grid.fit(X, y, sensitive_features=A).candidates_[grid.best_index_].violation
    0.0
    """

    grid_size: int = 21
    grid_limit: float = 2.0
    grid: ArrayLike | str | None = None
    tradeoff: float | None = None
    n_jobs: int | None = None

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
        """Fit the learner for every point of the grid and select one classifier.

        The parameters are those of `FairClassifier.fit`.
        """
        tradeoff = self.tradeoff
        if tradeoff is not None and not (
            isinstance(tradeoff, (int, float, np.number)) and 0 <= tradeoff <= 1
        ):
            raise ValueError(f"tradeoff is {tradeoff!r}; expected a number from 0 to 1, or None.")
        groups = sensitive_features, control_features
        people = People(X, y, *groups, sample_weight, utilities, missing, bins, self.positive)
        problem = self._state(people, n_jobs=self.n_jobs)
        with problem.opened:
            if problem.constraint is not self.constraint:  # it has parameters to be found first
                problem = self._with_parameters(problem)
            is_game = isinstance(self.grid, str)
            asked = self._saddle_point(problem) if is_game else self._grid(problem)
            verify(problem, [h for h, _ in asked])  # `use` may choose any of them
        table = problem.cells.table()
        candidates = Records(_candidate(problem, table, *pair) for pair in asked)
        best = self._select(candidates, problem)
        check_features(self, problem.engine.example(X), reset=True)
        self.classes_ = problem.engine.classes
        self.people_ = fingerprint_of(problem.engine, people, self.classes_)
        self.constraint_ = problem.constraint
        self.unconstrained_ = unconstrained_of(problem)
        self.candidates_ = candidates
        shares = problem.cells.shares(candidates[best].tally.s)
        warn_of(remarks(problem.lagrangian, problem.cells, shares))
        warn_of_frozen(problem)
        return self.use(best)

    def _switched_in_fit(self) -> Switched | None:
        return self.candidates_[self.best_index_].switched

    def use(self, index: int) -> Self:
        """Make the candidate of this number the one that predicts."""
        check_is_fitted(self, "candidates_")
        self.best_index_ = range(len(self.candidates_))[index]
        self.best_estimator_ = self.candidates_[index].classifier
        return self

    def predict(self, X: Any) -> NDArray:
        """Decide for each row."""
        check_is_fitted(self)
        X = self._with_features(X)
        return engine_for(X).predict(self._mixture(), X)

    @property
    def _group_rules(self) -> GroupRules:
        return self.candidates_[0].tally.cells.rules

    def _deciding(self) -> Sequence[Any]:
        return [self.best_estimator_]

    def _tally_of_fit(self) -> Tally:
        return self.candidates_[self.best_index_].tally

    def _mixture(self) -> RandomizedClassifier:
        return RandomizedClassifier([self.best_estimator_], [1.0], self.classes_)

    def _grid(self, problem: Problem) -> list[tuple[int, Array]]:
        """Return the numbers of the best responses to a grid, and the multipliers asked."""
        game = problem.lagrangian
        if self.grid is None:
            lams = delta_grid(
                game,
                read_integer(self.grid_size, "grid_size", least=1),
                read_positive(self.grid_limit, "grid_limit"),
            )
        else:
            lams = np.atleast_2d(np.asarray(self.grid, dtype=float))
            if lams.ndim != 2 or lams.shape[1] != game.n_constraints or not lams.size:
                raise ValueError(
                    f"grid has shape {lams.shape}; expected (m, {game.n_constraints}), one "
                    "multiplier >= 0 for each constraint."
                )
            if not (np.isfinite(lams) & (lams >= 0)).all():
                raise ValueError("grid holds negative or NaN multipliers; expected numbers >= 0.")
        batch, limits = problem.at_a_time, Limits(len(lams), self.callback, self.verbose)
        problem.learn_labels()
        rounds = grid_rounds(game, problem.oracle, problem.pool, lams, batch=batch)
        outcome = run(rounds, limits)
        if outcome.reason is Reason.INTERRUPT:
            warnings.warn(
                f"{outcome.reason.value}: {len(outcome.last)} of the {len(lams)} points of the "
                "grid were tried, and the classifier is selected among these.",
                ConvergenceWarning,
                stacklevel=3,
            )
        mixtures = [found.mixture for found in outcome.last]
        return [(int(mixture.indices[0]), mixture.multipliers) for mixture in mixtures]

    def _saddle_point(self, problem: Problem) -> list[tuple[int, Array]]:
        """Return the numbers of the members that `FairClassifier` mixes, and its multipliers."""
        if self.grid != "saddle_point":
            raise ValueError(
                f"grid is {self.grid!r}; expected multipliers of shape (m, K), 'saddle_point' or "
                "None."
            )
        game, oracle, pool = problem.lagrangian, problem.oracle, problem.pool
        problem.learn_labels()
        rounds = column_generation(game, oracle, pool, nu=problem.nu)
        mixture = run(rounds, Limits(_MOST_ROUNDS, verbose=self.verbose)).last.mixture
        return [(h, mixture.multipliers) for h in mixture.indices.tolist()]

    def _select(self, candidates: list[Candidate], problem: Problem) -> int:
        error = np.array([candidate.error for candidate in candidates])
        violation = np.array([candidate.violation for candidate in candidates])
        if self.tradeoff is not None:
            return int(np.argmin((1 - self.tradeoff) * error + self.tradeoff * violation))
        if (violation <= TOLERANCE).any():
            return int(np.argmin(np.where(violation <= TOLERANCE, error, np.inf)))
        best = int(np.lexsort((error, violation))[0])
        warnings.warn(
            f"none of the {len(candidates)} candidates meets the constraints; the one that exceeds "
            f"them least, by {violation[best]:.4g}, was selected. Try a larger grid_size, or "
            f"FairClassifier, which mixes candidates.{_of_constants(problem)}",
            InfeasibleWarning,
            stacklevel=3,
        )
        return best


def _of_constants(problem: Problem) -> str:
    """Return a sentence on the best constant classifier within the constraints, if there is one."""
    game, cells = problem.lagrangian, problem.cells
    constants = [cells.constant(decision) for decision in range(cells.n_decisions)]
    errors = [float(game.error(s)) for s in constants if game.violation(s) <= TOLERANCE]
    if not errors:
        return ""
    return f" The same decision for everybody would meet them, with an error of {min(errors):.4g}."


def _candidate(problem: Problem, table: CellTable, number: int, lam: Array) -> Candidate:
    game, pool = problem.lagrangian, problem.pool
    classifier, s = pool.classifiers[number], pool.s[number]
    error, violation = float(game.error(s)), float(game.violation(s))
    moved = switched(problem, table, [number], [1.0])
    return Candidate(lam, classifier, error, violation, Tally.of_shares(table, s.copy()), moved)
