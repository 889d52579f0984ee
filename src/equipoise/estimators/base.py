"""What the reductions share: equation (4) for one data set, stated from what a user passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import GroupRules, Missing
from equipoise.constraints.base import Constraint
from equipoise.constraints.fairlearn_words import SaysNewWords
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import ERROR
from equipoise.engines import engine_for
from equipoise.engines.base import Engine
from equipoise.estimators.evidence import HasEvidence
from equipoise.estimators.pools import open_pool
from equipoise.exceptions import (
    AbsentGroupWarning,
    FrozenLearnerWarning,
    LabelWeightWarning,
    ManyGroupsWarning,
)
from equipoise.game import theory
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Loss, Objective
from equipoise.game.parameters import find_parameters
from equipoise.game.rounds import Limits, Oracle, Pool
from equipoise.oracles.decisions import as_learned, decisions
from equipoise.oracles.label_weights import label_weights
from equipoise.oracles.learners import OF_FITTED_MODELS, check_trains
from equipoise.oracles.specs import OracleSpec, Refit, read_oracle
from equipoise.oracles.trainers import constant_classifier
from equipoise.rows.fingerprint import Fingerprint, Overlap
from equipoise.rows.people import People
from equipoise.rows.tables import columns_of, other_columns, take_rows
from equipoise.rows.validation import check_features, check_two_labels, read_integer, read_positive

#: Groups that are named; the rest are counted.
_MOST_NAMES = 5
#: More groups than these get a hint.
MANY_GROUPS = 20
#: The classes of labels that are numbers: there are none.
NUMBERS: NDArray = np.array([])


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation (4) for one data set: all that a solver needs to know of it.

    Attributes
    ----------
    engine : Engine
        Holds the rows.
    cells : CellTable
        Those of the engine.
    lagrangian : Lagrangian
        Error and constraints over the cells of the engine.
    oracle : Oracle
        Best_h.
    pool : Pool
        The classifiers found; to be asked within ``opened``.
    at_a_time : int
        How many fits run at a time.
    nu : float
        The gap at which to stop.
    constraint : Constraint
        The constraint, without open parameters.
    people : People
        As they were passed.
    asked_again : dict from int to array of shape (C,)
        What classifiers of the pool select when they are asked once more, after they were found.
    switches : dict from int to array of shape (V (V - 1), C)
        How many rows these select and the unconstrained classifier does not, and the reverse.
    """

    engine: Engine
    cells: CellTable
    lagrangian: Lagrangian
    oracle: Oracle
    pool: Pool
    opened: AbstractContextManager
    at_a_time: int
    nu: float
    constraint: Constraint
    people: People
    asked_again: dict[int, Array] = field(default_factory=dict)
    switches: dict[int, Array] = field(default_factory=dict)

    @property
    def label_costs(self) -> Array:
        """The costs of the query whose answer learns the labels as they are.

        Those of the error, whatever the objective. Of a list of classifiers, which learn nothing,
        they are the costs of the objective without constraints.
        """
        if self.oracle.exact:
            return self.lagrangian.error_slope
        _, slope = self.cells.total(ERROR.table(self.cells))
        return slope

    def learn_labels(self) -> None:
        """Ask the learner for its answer to the labels as they are, unless it is known."""
        self.pool.ask(self.oracle, self.label_costs)

    @property
    def unconstrained(self) -> Any:
        """The learner trained on the labels, with its own cut; None if it was not asked."""
        answer = self.pool.answer_to(self.label_costs)
        return None if answer is None else as_learned(answer)


@dataclass(eq=False, repr=False)
class Reduction(SaysNewWords, HasEvidence, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators: reads the rows, states the problem, knows features and tags.

    Parameters are fields, which scikit-learn reads from the constructor that they make.
    """

    estimator: Any
    constraint: Constraint
    _: KW_ONLY
    objective: Objective | Loss | None = None
    oracle: OracleSpec | str | None = None
    nu: float | None = None
    sampling_slack: float | None = None
    constraint_weights: bool = True
    checkpoint: str | Path | None = None
    callback: Callable[[Any], object] | None = None
    verbose: bool | str = False
    positive: Any = None
    _finds_parameters = True

    def _state(
        self,
        people: People,
        *,
        B: float | None = np.inf,
        pool: Pool | None = None,
        n_jobs: int | None = 1,
        finds_worst_rate: bool = False,
    ) -> Problem:
        """Return the problem, after all checks that can be made before the first fit.

        Parameters
        ----------
        B : float or None
            Bound on the multipliers; None is the square root of the number of people.
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
        check_classifies(self.estimator, type(self).__name__)
        check_trains(self.estimator)
        spec = self._oracle_spec
        spec.check(self.estimator, weighted=people.sample_weight is not None)
        if pool is None:
            warn_of_label_weights(self.estimator, self.objective)
        engine = self._open(people)
        # Compiled before any work, so that its errors come first; see `_with_parameters`.
        constraint, cells = self.constraint, engine.cells
        n = cells.n_effective
        if self._finds_parameters and constraint.n_open:
            constraint = constraint.closed(np.ones(constraint.n_open))
        lagrangian = self._game(constraint, cells, np.sqrt(n) if B is None else B)
        nu = read_nu(self.nu, lagrangian)
        warn_of_many(lagrangian)
        if lagrangian.elastic is not None and not finds_worst_rate:
            raise TypeError(
                f"{type(self).__name__} cannot make a worst group's error least: "
                f"{constraint!r} has no bound. Use FairClassifier, or "
                "BoundedGroupError(bound=...)."
            )
        opened: AbstractContextManager = nullcontext()
        at_a_time = 1 if n_jobs == 1 else engine.fits_at_a_time(read_jobs(n_jobs))
        if pool is None:
            pool = Pool()
            if self.checkpoint is not None or engine.keeps_answers or at_a_time > 1:
                how = self.estimator, spec
                pool, opened = open_pool(engine, how, self.checkpoint, at_a_time)
        oracle = spec.over(engine, self.estimator, at_a_time)
        if not oracle.exact:  # a list of candidates is the whole class
            V = len(cells.decisions)
            constants = [constant_classifier(decision, V) for decision in range(V)]
            shares = [cells.constant(decision) for decision in range(V)]
            for constant, s in zip(constants, shares, strict=True):
                pool.add(constant, s)
        problem = Problem(
            engine, cells, lagrangian, oracle, pool, opened, at_a_time, nu, constraint, people
        )
        pool.keep(problem.lagrangian.error_slope)
        pool.keep(problem.label_costs)
        return problem

    @property
    def _oracle_spec(self) -> OracleSpec:
        """The oracle asked for; None is the one of the paper."""
        return Refit(threshold="learner") if self.oracle is None else read_oracle(self.oracle)

    def _open(self, people: People) -> Engine:
        """Return the engine of rows, checked."""
        if not isinstance(self.constraint_weights, (bool, np.bool_)):
            raise ValueError(
                f"constraint_weights is {self.constraint_weights!r}; expected True (sample weights "
                "enter the error and the constraints) or False (the error only)."
            )
        people = replace(people, positive=self.positive)
        kind, weigh = engine_for(people.X), bool(self.constraint_weights)
        engine = kind.open(people, constraint_weights=weigh, estimator=self.estimator)
        for name in ("deterministic", "confidence"):
            if asked := getattr(self, name, None):
                check_two_labels(engine.classes, f"{name}={asked!r}")
        return engine

    def _open_new(self, people: People, missing: Missing | None = None) -> Engine:
        """Return the engine of other rows than those of the fit, with the same classes.

        ``missing`` takes the place of what the fit did with people of unknown groups.
        """
        people = self._like_fit(people)
        engine = self._open(people if missing is None else replace(people, missing=missing))
        if engine.classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"y has the classes {engine.classes.tolist()}; expected {self.classes_.tolist()}, "
                "as in the fit."
            )
        return engine

    @property
    def _group_rules(self) -> GroupRules:
        """How the fit made groups out of values, and so reports on other people do."""
        raise NotImplementedError

    def _game(self, constraint: Constraint, cells: CellTable, B: float = np.inf) -> Lagrangian:
        """Return the Lagrangian of a constraint without open parameters."""
        moments = constraint.moments(cells)
        lagrangian = Lagrangian.from_moments(moments, cells, self.objective, B)
        if self.sampling_slack is None:
            return lagrangian
        # What sampling alone may do to each bound (Assumption 1).
        constant = read_positive(self.sampling_slack, "sampling_slack")
        return lagrangian.relaxed(theory.slack(moments, constant))

    def _with_parameters(self, problem: Problem) -> Problem:
        """Return the problem with open parameters of the constraint found."""
        B = problem.lagrangian.B
        found = find_parameters(
            self.constraint,
            lambda closed: self._game(closed, problem.cells),
            problem.oracle,
            problem.pool,
            nu=problem.nu,
            B=B,
        )
        return replace(problem, constraint=found, lagrangian=self._game(found, problem.cells, B))

    def _with_features(self, X: Any) -> Any:
        """Return X with the features of the fit; raise if it lacks one.

        Columns in another order, or more of them, are for those learners that take them.
        """
        example = engine_for(X).example(X)
        if (names := other_columns(self, example)) and self._take(example):
            return columns_of(X, names)
        check_features(self, example, reset=False)
        return X

    def _take(self, X: Any) -> bool:
        """Return whether all classifiers decide about a row of X as it is."""
        try:
            some = take_rows(X, np.arange(1))
            V = len(self.classes_)
            return all(len(h) == 1 for h in decisions(self._deciding(), some, V))
        except Exception:
            return False

    def _deciding(self) -> Sequence[Any]:
        """Return the classifiers that decide."""
        raise NotImplementedError

    def _like_fit(self, people: People) -> People:
        """Return other people with the features of the fit, and groups made by its rules."""
        check_is_fitted(self)
        return replace(people.by(self._group_rules), X=self._with_features(people.X))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``oracle__cv`` and the like also where ``oracle`` is a string."""
        if any(name.startswith("oracle__") for name in params) and "oracle" not in params:
            self.oracle = clone(self._oracle_spec)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Also of a frontier, which is no classifier: its y has labels.
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        if not isinstance(self.estimator, (list, tuple)):
            # A learner of the user's own need not know scikit-learn's tags.
            with suppress(AttributeError):
                tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def joined(known: Fingerprint | None, engine: Engine, people: People) -> Fingerprint | None:
    """Return the fingerprint of people learned from and further ones; None if one is not known."""
    try:
        return known and known.joined(engine.hashed(people, engine.classes))
    except TypeError:
        return None


def overlap_of(model: Any, people: People) -> Overlap | None:
    """Return how many of some people a fitted model learned from; None where that is not known."""
    known: Fingerprint | None = getattr(model, "people_", None)
    if known is None:
        return None
    try:
        classes = getattr(model, "classes_", NUMBERS)
        return known.overlap(engine_for(people.X).hashed(people, classes), len(classes))
    except TypeError:  # rows that cannot be hashed
        return None


def absent_groups(fit: CellTable, measured: CellTable) -> str:
    """Return a sentence about groups of the fit that nobody measured belongs to, if any."""
    if len(fit.sensitive) != len(measured.sensitive):
        return ""
    known = {group_name(group) for group in measured.groups()}
    names = [name for group in fit.groups() if (name := group_name(group)) not in known]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(names[:_MOST_NAMES]) + more
    groups, them = ("a group", "it") if len(names) == 1 else ("groups", "them")
    text = (
        f"nobody of the people measured belongs to {listed}, {groups} of the fit: "
        f"no bound on {them} is checked, and what was found says nothing about {them}."
    )
    if len(names) < len(fit.groups()):
        return text
    return f"{text} No group of the fit is here: perhaps groups are written otherwise."


def warn_of_absent(fit: CellTable, measured: CellTable) -> None:
    """Warn where a group of the fit is absent from the people measured."""
    if text := absent_groups(fit, measured):
        warnings.warn(text, AbsentGroupWarning, stacklevel=4)


def warn_of_frozen(problem: Problem) -> None:
    """Warn where the learner gave one answer to queries of different labels."""
    cells = problem.cells
    if cells.n_decisions > 2 or problem.oracle.exact or not cells.is_plain:
        return
    if not problem.pool.ignores_labels(cells.mass, cells.n_decisions):
        return
    warnings.warn(
        "the learner gave the same answer to all queries, also to one of other labels, for which "
        "the same decision for everybody is as good. It does not seem to use the labels and "
        f"weights that it is trained with. {OF_FITTED_MODELS}",
        FrozenLearnerWarning,
        stacklevel=4,
    )


def warn_of_label_weights(estimator: Any, objective: Objective | Loss | None) -> None:
    """Warn where the learner weighs the labels itself, and say how the objective does."""
    if isinstance(estimator, (list, tuple)):  # they learn nothing
        return
    for found in label_weights(estimator):
        if objective is None:
            text = (
                "the learner weighs the labels itself, and the objective of the fit, the error, "
                "does not, so that the result may decide far otherwise than the learner alone. "
                f"Drop {found.name} and say it to the fit: objective={found.objective}."
            )
        else:
            text = (
                f"the learner weighs the labels, and so may objective={objective!r}: they are "
                f"weighed twice. Drop {found.name}."
            )
        warnings.warn(f"{found}: {text}", LabelWeightWarning, stacklevel=4)


def warn_of_many(lagrangian: Lagrangian) -> None:
    """Warn where more groups are compared than can be meant."""
    found = len({row.group for row in lagrangian.rows})
    if found > MANY_GROUPS:
        warnings.warn(
            f"the constraint compares {found} groups, some of them perhaps of few people, whose "
            "rates are noise. Put numbers into bins with fit(..., bins={'age': 4}), leave small "
            "groups out with min_size, or use DistributionParity for a number.",
            ManyGroupsWarning,
            stacklevel=4,
        )


def regresses(estimator: Any) -> bool:
    """Whether a learner is a regressor, as far as that is known."""
    try:
        return not isinstance(estimator, (list, tuple, type)) and is_regressor(estimator)
    except AttributeError:  # a learner of the user's own need not know scikit-learn's tags
        return False


def check_classifies(estimator: Any, owner: str) -> None:
    """Raise for a regressor, and name the class that takes one."""
    if regresses(estimator):
        raise TypeError(
            f"estimator is {type(estimator).__name__}, a regressor, whose predictions are not "
            f"labels; {owner} expected a classifier. Use FairRegressor for numbers."
        )


def read_nu(nu: float | None, game: Lagrangian) -> float:
    """Return the gap at which to stop; None is the default of the game."""
    return game.default_nu if nu is None else read_positive(nu, "nu")


def read_jobs(n_jobs: Any) -> int | None:
    """Return the checked number of fits at a time, as joblib counts: -1 for all cores."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or not n_jobs):
        raise ValueError(
            f"n_jobs is {n_jobs!r}; expected a whole number of fits at a time, -1 for one on each "
            "core, or None."
        )
    return None if n_jobs is None else int(n_jobs)


def read_fallback(fallback: str | None) -> str | None:
    """Return the parameter that says what decides where nothing is proven; raise if unknown."""
    if fallback not in (None, "fairest", "lottery"):
        raise ValueError(f"fallback is {fallback!r}; expected None, 'fairest' or 'lottery'.")
    return fallback


def read_limits(estimator: Any) -> tuple[Limits, int | None]:
    """Return the checked limits of a fit, and the salt of the draws if one was given."""
    max_iter = read_integer(estimator.max_iter, "max_iter", least=1)
    salt = estimator.random_state
    if salt is not None:
        salt = read_integer(salt, "random_state", least=0)
    return Limits(max_iter, estimator.callback, estimator.verbose), salt
