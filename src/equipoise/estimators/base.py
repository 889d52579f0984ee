"""What the reductions share: equation (4) for one data set, stated from what a user passes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.moments import Moments
from equipoise.engines import engine_for
from equipoise.engines.base import Engine
from equipoise.estimators.pools import open_pool
from equipoise.game import theory
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Loss, Objective
from equipoise.game.parameters import find_parameters
from equipoise.game.pool import Oracle, Pool
from equipoise.game.rounds import Limits
from equipoise.oracles.learners import constant_classifier
from equipoise.oracles.specs import OracleSpec, Refit, read_oracle
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People
from equipoise.rows.validation import check_features, read_integer, read_positive

#: Default gap, as a multiple of n^(-1/2): well below the sampling error of the error rate.
NU_SCALE = 0.1


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation (4) for one data set: all that a solver needs to know of it.

    Attributes
    ----------
    engine : Engine
        Holds the rows.
    lagrangian : Lagrangian
        Error and constraints over the cells of the engine.
    oracle : Oracle
        Best_h.
    pool : Pool
        The classifiers found; to be asked within ``opened``.
    nu : float
        The gap at which to stop.
    constraint : Constraint
        The constraint, without open parameters.
    people : People
        As they were passed.
    """

    engine: Engine
    lagrangian: Lagrangian
    oracle: Oracle
    pool: Pool
    opened: AbstractContextManager
    nu: float
    constraint: Constraint
    people: People

    @property
    def cells(self) -> CellTable:
        """The cells of the engine."""
        return self.engine.cells

    def salt(self, given: int | None) -> int:
        """Return the salt of the draws in predict: the one given, or one of this problem."""
        return salt_of(self.cells, self.engine.classes) if given is None else given

    def with_multiplier_bound(self, B: float) -> Problem:
        """Return the problem with |lambda|_1 <= B."""
        return replace(self, lagrangian=replace(self.lagrangian, B=B))


class BinaryClassifierMixin(ClassifierMixin):
    """A classifier of two labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class Reduction(MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators: reads the rows, states the problem, knows features and tags."""

    estimator: Any
    constraint: Constraint
    objective: Objective | Loss | None
    oracle: OracleSpec | str | None
    nu: float | None
    sampling_slack: float | None
    constraint_weights: bool
    checkpoint: str | Path | None
    _finds_parameters = True

    def _state(
        self,
        people: People,
        *,
        pool: Pool | None = None,
        n_jobs: int | None = None,
        finds_worst_rate: bool = False,
    ) -> Problem:
        """Return the problem, after all checks that can be made before the first fit.

        Parameters
        ----------
        people : People
            What was passed to ``fit``.
        pool : Pool, optional
            The pool to grow; a new one by default.
        finds_worst_rate : bool
            Whether the solver can find a bound first (`MinimaxGroupError`).
        """
        if not isinstance(self.constraint, Constraint):
            raise TypeError(
                f"constraint is {self.constraint!r}; expected a Constraint such as "
                "DemographicParity(eps=0.02)."
            )
        spec = self._oracle_spec()
        spec.check(self.estimator, weighted=people.sample_weight is not None)
        engine = self._open(people)
        nu = read_nu(self.nu, engine.cells)
        # Compiled before any work, so that its errors come first; see `_with_parameters`.
        constraint = self.constraint
        if self._finds_parameters:
            constraint = constraint.closed(np.ones(constraint.n_open))
        lagrangian = self._game(constraint, engine.cells)
        if lagrangian.elastic is not None and not finds_worst_rate:
            raise TypeError(
                f"{type(self).__name__} cannot make a worst group's error least: "
                f"{constraint!r} has no bound. Use FairClassifier, or "
                "BoundedGroupError(bound=...)."
            )
        opened: AbstractContextManager = nullcontext()
        if pool is None:
            pool, opened = open_pool(engine, (self.estimator, spec), self.checkpoint, n_jobs)
            pool.keep(lagrangian.costs(np.zeros(lagrangian.n_constraints)))
        oracle = spec.over(engine, self.estimator, engine.fits_at_a_time(n_jobs))
        if not oracle.exact:  # a list of candidates is the whole class
            pool.add(constant_classifier(0), np.zeros_like(engine.cells.limits()[0]))
            pool.add(constant_classifier(1), np.add(*engine.cells.limits()))
        return Problem(engine, lagrangian, oracle, pool, opened, nu, constraint, people)

    def _oracle_spec(self) -> OracleSpec:
        """Return the oracle asked for; None is the one of the paper."""
        return Refit(threshold="learner") if self.oracle is None else read_oracle(self.oracle)

    def _open(self, people: People) -> Engine:
        """Return the engine that holds these rows."""
        if not isinstance(self.constraint_weights, (bool, np.bool_)):
            raise ValueError(
                f"constraint_weights is {self.constraint_weights!r}; expected True (sample weights "
                "enter the error and the constraints) or False (the error only)."
            )
        return engine_for(people.X).open(
            people, constraint_weights=self.constraint_weights, estimator=self.estimator
        )

    def _open_new(self, people: People) -> Engine:
        """Return the engine of other rows than those of the fit, with the same classes."""
        check_is_fitted(self)
        self._check_features(people.X)
        engine = self._open(people)
        if engine.classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"y has the classes {engine.classes.tolist()}; expected {self.classes_.tolist()}, "
                "as in the fit."
            )
        return engine

    def _game(self, constraint: Constraint, cells: CellTable) -> Lagrangian:
        """Return the Lagrangian of a constraint without open parameters."""
        moments = constraint.moments(cells)
        lagrangian = Lagrangian.from_moments(moments, cells, self.objective)
        return lagrangian.relaxed(self._slack_of(moments))

    def _slack_of(self, moments: Moments) -> Any:
        """Return what sampling alone may do to each bound (Assumption 1), if that is to count."""
        if self.sampling_slack is None:
            return 0.0
        return theory.slack(moments, read_positive(self.sampling_slack, "sampling_slack"))

    def _with_parameters(self, problem: Problem) -> Problem:
        """Return the problem with open parameters of the constraint found, if there are any."""
        if not self.constraint.n_open:
            return problem
        B = problem.lagrangian.B
        found = find_parameters(
            self.constraint,
            lambda closed: self._game(closed, problem.cells),
            problem.oracle,
            problem.pool,
            nu=problem.nu,
            B=B,
        )
        lagrangian = replace(self._game(found, problem.cells), B=B)
        return replace(problem, constraint=found, lagrangian=lagrangian)

    def _check_features(self, X: Any) -> None:
        check_features(self, engine_for(X).example(X), reset=False)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``oracle__cv`` and the like also where ``oracle`` is a string."""
        if any(name.startswith("oracle__") for name in params) and "oracle" not in params:
            self.oracle = clone(self._oracle_spec())
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Also of a frontier, which is no classifier: its y has two labels.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        if not isinstance(self.estimator, (list, tuple)):
            # A learner of the user's own need not know scikit-learn's tags.
            with suppress(AttributeError):
                tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def read_nu(nu: float | None, cells: CellTable) -> float:
    """Return the gap at which to stop; None is a default for so many rows."""
    return NU_SCALE / np.sqrt(cells.n_effective) if nu is None else read_positive(nu, "nu")


def read_limits(estimator: Any) -> tuple[Limits, int | None]:
    """Return the checked limits of a fit, and the salt of the draws if one was given."""
    if estimator.callback is not None and not callable(estimator.callback):
        raise TypeError(
            f"callback is {estimator.callback!r}; expected a function that takes a Round."
        )
    max_iter = read_integer(estimator.max_iter, "max_iter", least=1)
    salt = estimator.random_state
    if salt is not None:
        salt = read_integer(salt, "random_state", least=0)
    return Limits(max_iter, estimator.callback, estimator.verbose), salt
