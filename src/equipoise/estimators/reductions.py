"""The reductions as scikit-learn estimators (section 3): the face of the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from equipoise.cells.values import Missing
from equipoise.estimators.base import Problem, read_fallback, read_limits
from equipoise.estimators.decisions.one_rule import check_one_rule, with_one_rule
from equipoise.estimators.draws import warn_of_draw
from equipoise.estimators.guarantees.designs import fit_with_proof
from equipoise.estimators.guarantees.proofs import warn_of_proof
from equipoise.estimators.randomized import RandomizedReduction
from equipoise.estimators.results import (
    measured,
    remarks_of,
    result_of,
    warn,
    warn_of,
    warn_of_stop,
    with_least_random,
    with_reason,
)
from equipoise.estimators.seen_groups import warn_of_price
from equipoise.game import theory
from equipoise.game.column_generation import column_generation
from equipoise.game.exponentiated_gradient import exponentiated_gradient, polished
from equipoise.game.rounds import Round, run
from equipoise.oracles.specs import OracleSpec
from equipoise.rows.people import People
from equipoise.rows.validation import read_positive


@dataclass(eq=False, repr=False, kw_only=True)
class FairClassifier(RandomizedReduction):
    """The most accurate classifier within fairness constraints, with proof: use this one.

    Solves ``min err(Q) subject to M mu(Q) <= c`` over randomized classifiers Q by column
    generation: a handful of weighted fits of the learner, mixed by a linear program.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``fit(X, y, sample_weight)`` and ``predict``, Pipelines included; it is
        cloned and sees the labels 0, 1, .... Or a list of fitted classifiers: then nothing is
        trained, and the best mixture of these is found.
    constraint : Constraint
        For example ``DemographicParity(eps=0.02)``.
    objective : Costs, BalancedError, PersonCosts or callable, optional
        What to minimise; the error rate by default. ``Costs(false_positive=..,
        false_negative=..)``, also by group; `BalancedError`; `equipoise.game.PersonCosts`, two
        columns of ``utilities``; or a function of (sensitive values, label, prediction), finite
        and >= 0 in a unit of your own, in which errors, gaps and prices are then told.
    oracle : Refit, Plugin, BestOf or str, default="refit"
        Where members come from; a string is shorthand for the class with its defaults. `Refit`
        trains the learner anew for every query, as in the paper. `Plugin` learns probabilities of
        label and group once, and every member is a threshold on them. `BestOf` takes the better
        of the two for each query. Their parameters can be searched as ``oracle__cv`` and so on.
    nu : float, optional
        The gap at which to stop; by default ``0.1 / sqrt(n)``, see ``nu_``.
    B : float, optional
        Bound on the multipliers. By default there is none: the constraints are hard, and met on
        the training data whenever the learner can. With a finite B they may be exceeded by
        ``(1 + 2 nu) / B``, as in the paper.
    sampling_slack : float, optional
        C' of Assumption 1: loosens the bound of each constraint by what sampling alone may do to
        it, ``C' sum_j |M_kj| / sqrt(n_j)``. See `equipoise.game.theory`.
    constraint_weights : bool, default=True
        Whether sample weights enter the constraints as well as the error. If not, rates of groups
        count heads.
    relax : {"uniform", "total"}, default="uniform"
        What to do with constraints that cannot be met: loosen every bound by the same amount, or
        each by its own, with the least sum.
    deterministic : bool, default=False
        Whether to replace the lottery by one rule: a single cut through the scores of the members,
        nearest to their mixture, within the same bounds and at most ``nu`` dearer. Where none is
        found, or it is fragile, the result is the least random mixture, with a `LotteryWarning`
        that says why. Needs rows in memory or on disk, and an oracle that keeps scores: `Plugin`,
        or `Refit` without ``cv``. With ``confidence`` the candidates of the proof are such rules,
        wherever they are found.
    max_iter : int, default=100
        The most rounds to run.
    checkpoint : str or Path, optional
        A folder where every trained classifier is kept as soon as it is there. A fit of the same
        data and parameters that finds them goes on from where the last one ended.
    callback : callable, optional
        Called with every `Round`; return True to stop with what was found.
    random_state : int, optional
        Salt of the draws in ``predict``. By default it follows from the labels, the groups and the
        number of people in each, so that fits to the same people share it and models of other
        problems do not. Pass a number to keep everybody's luck when the people change.
    verbose : bool, "bar" or "lines", default=False
        Show how far the fit has got: a bar in notebooks and terminals, a few lines elsewhere.
    positive : label, optional
        The favourable one of two labels. By default it is True, the larger of two numbers, or of
        two texts the one that plain words say, such as "approved" of "approved" and "denied".
        Other texts need it: their order says nothing. Decisions of more than two labels are named
        in the constraint.
    confidence : float, optional
        Prove that the bounds hold for people who were not seen, with this probability, such as
        0.95. The fit then looks for the most accurate classifier that is proven, see ``proof_``;
        ``callback`` is called with a list, as by `Frontier`. By default nothing is proven.
    proof : {"split", "forward"}, default="split"
        How: "split" learns from one part of the people and tests on the others. "forward" tests
        each of four models on the people after those it was learned from, and deploys all four in
        equal parts: it proves more with few people, fits four times, and is asymptotic.
    proof_share : float, default=0.7
        The share of people who are of the proof.
    fallback : {None, "fairest", "lottery"}, default=None
        What decides where nothing is proven: nothing, so that ``predict`` raises an error, or the
        fairest classifier found. With "lottery", a proof may have up to three quarters of decisions
        drawn regardless of who it is; otherwise no more than one in twenty.

    Attributes
    ----------
    classifier_ : RandomizedClassifier
        Q: classifiers and their weights. It keeps no rows; what a learner keeps is the learner's.
    certificate_ : Certificate
        What was proven: error, violation, lower and upper value, gap, shadow prices. With an
        oracle that measures out of fold all of it speaks of out-of-fold decisions.
    violations_ : dict
        By how much the worst bound, as it was given, is exceeded on "train", the training data,
        and, where moments were measured so, "out_of_fold".
    constraint_ : Constraint
        The constraint, with parameters that were to be found (such as tau) filled in.
    unconstrained_ : UnconstrainedModel
        The learner as it is, ``clone(estimator).fit(X, y, sample_weight)``: with its decisions
        ``switched`` compares, and its probabilities are the chance of the label. The first query
        of most fits; where the objective is not the error, one more fit.
    classes_ : array of labels
        In sorted order, but of two the favourable one is the second. Where it is the first in
        sorted order, as "approved" of "approved" and "denied", scikit-learn's scores of rankings
        (``roc_auc``, ``neg_log_loss``) are about the other one: pass ``y == "approved"`` for them.
    nu_, B_ : float
        The gap asked for and the bound on the multipliers, as resolved.
    people_ : Fingerprint or None
        Of the people learned from: their number, a hash of their table, and a sample of salted
        hashes of rows, from which `report` tells how many of other people were learned from. Set
        it to None before `equipoise.save` to leave it out of the file.
    n_iter_, n_calls_ : int
        Rounds run, and calls of the oracle: with `Refit` each trains the learner.
    proof_ : Proof
        With ``confidence``: what is promised about people who were not seen, or that nothing is.

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
    >>> selected = clf.predict_proba(X)[:, 1]
    >>> bool(abs(selected[A == 1].mean() - selected.mean()) <= 0.02 + 1e-6)
    True
    """

    oracle: OracleSpec | str | None = "refit"
    B: float | None = None
    relax: str = "uniform"
    deterministic: bool = False
    max_iter: int = 100
    random_state: int | None = None
    confidence: float | None = None
    proof: str = "split"
    proof_share: float = 0.7
    fallback: str | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
        missing: str = "error",
        bins: Any = None,
        clusters: Any = None,
    ) -> Self:
        """Find the randomized classifier of least error within the constraints.

        Parameters
        ----------
        X : table of n rows
            Array, sparse matrix or data frame (pandas, Polars, Arrow); handed to the learner as
            it comes.
        y : array-like of shape (n,)
            Two or more labels of any kind; of two, one is the favourable "1", see ``positive``.
        sensitive_features : array-like or data frame of n rows
            The groups. Of several columns, every combination that occurs is a group, unless the
            constraint says otherwise. `Probabilities` where the groups are not known for sure.
            Needed here only, never for predictions.
        control_features : array-like or data frame of n rows, optional
            The constraint holds within each of their values separately.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples, in the error and in the constraints alike, or in the error
            only, see ``constraint_weights``.
        utilities : array-like or data frame of n rows, optional
            What each person gets out of either decision, in [0, 1], for constraints on such a
            utility or as costs to minimise: two columns, the values under prediction 0 and 1, or
            as many as there are labels, in sorted order. In a frame with columns ``profit_0`` and
            ``profit_1`` the utility is called "profit"; in an array, "utility".
        missing : {"error", "ignore", "worst"}, default="error"
            Whether there may be people whose group is unknown: values of a sensitive feature that
            are None, NaN, NaT or NA. With "ignore" they count in the error and in no group that
            this feature makes, and "overall" is everybody whose group is known. With "worst" the
            proof that ``confidence`` asks for counts each of them where it hurts a bound most.
        bins : int, sequence of numbers, or mapping from column name to these, optional
            Put a numeric sensitive feature into so many groups of about equal size, or between
            edges: ``bins={"age": 4}``, ``bins={"age": [25, 40, 60]}``, or without the name if it
            is the only column. Edges are kept, and other people are put into the same groups.
        clusters : array-like of shape (n,), optional
            With ``confidence``: whose row it is, where people come in households or have several
            rows. A cluster is learned from or is of the proof, and counts there once.
        """
        if self.relax not in ("uniform", "total"):
            raise ValueError(f"relax is {self.relax!r}; expected 'uniform' or 'total'.")
        B = np.inf if self.B in (None, np.inf) else read_positive(self.B, "B")
        limits, salt = read_limits(self)
        read_fallback(self.fallback)
        groups = sensitive_features, control_features
        worst = missing == "worst"
        if self.confidence is None and (worst or clusters is not None):
            given = "missing='worst'" if worst else "clusters"
            raise ValueError(f"{given} is for a proof; got confidence=None. Pass confidence=0.95.")
        known: Any = "ignore" if worst else missing
        people = People(
            X, y, *groups, sample_weight, utilities, known, bins, self.positive, clusters
        )
        if self.deterministic is not False:
            check_one_rule(self.deterministic, people, self._oracle_spec)
        if self.confidence is not None:
            return self._fit_with_proof(people, worst)
        problem = self._state(people, B=B, finds_worst_rate=True)
        with problem.opened:
            problem.learn_labels()
            if problem.constraint is not self.constraint:  # it has parameters to be found first
                problem = self._with_parameters(problem)
            game, oracle, pool, nu = problem.lagrangian, problem.oracle, problem.pool, problem.nu
            why = partial(with_reason, problem)
            rounds = column_generation(game, oracle, pool, nu=nu, relax=self.relax, why=why)
            outcome = run(rounds, limits, nu)
            found = with_least_random(problem, outcome.last)
            if self.deterministic:
                found = with_one_rule(problem, outcome.last, found)
            outcome = replace(outcome, last=found)
            result = result_of(problem, outcome, salt)
        self._finish(result)
        warn(problem, outcome, result.certificate, self.relax)
        warn_of_draw(result.certificate)
        warn_of_price(result.certificate)
        return self

    def _fit_with_proof(self, people: People, worst: bool) -> Self:
        """Find the most accurate classifier whose bounds are proven for people not seen."""
        proven = fit_with_proof(self, people, worst)
        certificate = replace(proven.result.certificate, proof=proven.proof.sentence)
        self._finish(replace(proven.result, proof=proven.proof, certificate=certificate))
        cells = next(iter(self.tallies_.values())).cells
        warn_of(remarks_of(self.certificate_, cells))
        warn_of_stop(proven.outcome, self.certificate_)
        warn_of_draw(self.certificate_)
        warn_of_price(self.certificate_)
        warn_of_proof(proven.proof)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class ExponentiatedGradient(RandomizedReduction):
    """Algorithm 1 of the paper: exponentiated gradient against best responses.

    `FairClassifier` gets the same result with a fraction of the fits. This class is for those who
    want the algorithm of the paper, step by step.

    Parameters
    ----------
    estimator, constraint, objective, nu, sampling_slack, constraint_weights, checkpoint
        As for `FairClassifier`.
    callback, random_state, verbose, positive
        As for `FairClassifier`.
    oracle : Refit, Plugin, BestOf, str or None, default=None
        As for `FairClassifier`; None is the oracle of the paper, ``Refit(threshold="learner")``.
    B : float, optional
        Bound on the multipliers; by default ``sqrt(n)``, the order of Theorem 3.
    eta : float, "theory" or None, default=None
        The step. "theory" is Theorem 1's, ``nu / (2 rho^2 B)``, for which its bound on the number
        of iterations holds; None adapts the step to the violations seen.
    polish : bool, default=True
        Mix the classifiers found by a linear program instead of averaging them. False gives the
        algorithm exactly as printed.
    max_iter : int, default=200
        The most rounds to run.

    Attributes
    ----------
    classifier_, certificate_, constraint_, unconstrained_, classes_, nu_, B_, n_iter_, n_calls_
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

    B: float | None = None
    eta: float | str | None = None
    polish: bool = True
    max_iter: int = 200
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
        """Run Algorithm 1. The parameters are those of `FairClassifier.fit`."""
        B = None if self.B is None else read_positive(self.B, "B")
        limits, salt = read_limits(self)
        self._check_eta()
        groups = sensitive_features, control_features
        people = People(X, y, *groups, sample_weight, utilities, missing, bins, self.positive)
        problem = self._state(people, B=B)
        with problem.opened:
            problem.learn_labels()
            if problem.constraint is not self.constraint:  # it has parameters to be found first
                problem = self._with_parameters(problem)
            eta = self._resolve_eta(problem)
            outcome = run(self._rounds(problem, eta), limits, problem.nu)
            outcome = replace(outcome, last=measured(problem, outcome.last))
            result = result_of(problem, outcome, salt)
        self._finish(result)
        self.eta_ = eta
        warn(problem, outcome, result.certificate)
        warn_of_draw(result.certificate)
        warn_of_price(result.certificate)
        return self

    def _rounds(self, problem: Problem, eta: float | None) -> Iterator[Round]:
        game, oracle, pool, nu = problem.lagrangian, problem.oracle, problem.pool, problem.nu
        rounds = exponentiated_gradient(
            game, oracle, pool, nu=nu, eta=eta, always_check=not self.polish
        )
        return polished(rounds, game, oracle, pool, nu=nu) if self.polish else rounds

    def _check_eta(self) -> None:
        if isinstance(self.eta, str) and self.eta != "theory":
            raise ValueError(f"eta is {self.eta!r}; expected a number > 0, 'theory' or None.")
        if self.eta is not None and not isinstance(self.eta, str):
            read_positive(self.eta, "eta")

    def _resolve_eta(self, problem: Problem) -> float | None:
        if self.eta == "theory":
            rho = theory.rho(problem.lagrangian, problem.cells)
            return theory.eta(problem.nu, rho, problem.lagrangian.B)
        return None if self.eta is None else float(self.eta)
