"""Results of a fit: from the last round of a solver to what a fitted classifier is made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.engines.base import Engine
from equipoise.estimators.base import Problem
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.remarks import remarks, warn_of
from equipoise.exceptions import InfeasibleWarning, LotteryWarning
from equipoise.game.certificate import Certificate, Scope, Status
from equipoise.game.feasibility import explain
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.pool import Oracle
from equipoise.game.rounds import Outcome, Reason, Round
from equipoise.metrics.tallies import Tally
from equipoise.oracles.deployment import check_shares
from equipoise.rows.fingerprint import Fingerprint, Overlap
from equipoise.rows.people import People


@dataclass(frozen=True, eq=False)
class FitResult:
    """Everything that a fitted randomized classifier is made of; no rows.

    Attributes
    ----------
    classifier : RandomizedClassifier
    certificate : Certificate
    constraint : Constraint
        Without open parameters.
    tallies : mapping from "training" and "out of fold" to Tally
        The decisions, added up by cell; the last one is what the certificate speaks of.
    violations : mapping from "train" and "out_of_fold" to float
        By how much the worst bound is exceeded.
    nu, B : float
    n_iter, n_calls : int
    people : Fingerprint or None
        Of the people learned from; None where their rows cannot be hashed.
    """

    classifier: RandomizedClassifier
    certificate: Certificate
    constraint: Constraint
    tallies: Mapping[str, Tally]
    violations: Mapping[str, float]
    nu: float
    B: float
    n_iter: int
    n_calls: int
    people: Fingerprint | None


def result_of(
    problem: Problem, outcome: Outcome[Round], certificate: Certificate, salt: int | None
) -> FitResult:
    """Return the result of a solver's last round."""
    mixture, pool = outcome.last.mixture, problem.pool
    classifier = RandomizedClassifier(
        mixture.members(pool.classifiers),
        mixture.weights,
        problem.engine.classes,
        problem.salt(salt),
    )
    table = problem.cells.table()
    measured = {"training": Tally.of_shares(table, mixture.shares(pool.s))}
    if problem.oracle.out_of_fold:
        measured = {
            "training": problem.engine.tally(classifier),
            "out of fold": measured["training"],
        }
    warn_of(remarks(problem.lagrangian, table, certificate.evidence.mean_shares()))
    return FitResult(
        classifier,
        certificate,
        problem.constraint,
        measured,
        violations_of(measured, problem.lagrangian, certificate),
        problem.nu,
        problem.lagrangian.B,
        outcome.last.iteration,
        pool.n_calls,
        fingerprint_of(problem),
    )


def fingerprint_of(problem: Problem) -> Fingerprint | None:
    """Return the fingerprint of the people learned from; None where rows cannot be hashed."""
    try:
        return Fingerprint.of(problem.engine.hashed(problem.people, problem.engine.classes))
    except TypeError:
        return None


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
        return known.overlap(engine_for(people.X).hashed(people, model.classes_))
    except TypeError:  # rows that cannot be hashed
        return None


def violations_of(
    tallies: Mapping[str, Tally], lagrangian: Lagrangian, certificate: Certificate
) -> dict[str, float]:
    """Return by how much the worst bound is exceeded on each data; the last are certified."""
    names = {"training": "train", "out of fold": "out_of_fold"}
    found = {names.get(data, data): float(lagrangian.violation(t.s)) for data, t in tallies.items()}
    return found | {list(found)[-1]: certificate.violation}


def scope_of(oracle: Oracle) -> Scope:
    """Return whom lower values of an oracle's answers speak of."""
    return Scope.WHOLE_CLASS if oracle.exact else Scope.ORACLE


def verify(problem: Problem, members: Iterable[int]) -> None:
    """Raise unless these classifiers of the pool decide about the rows of the fit as recorded.

    Out of fold, the oracle has asked the models of the folds twice; they are not deployed.
    """
    if problem.oracle.out_of_fold:
        return
    pool, chosen = problem.pool, sorted(set(members))
    classifiers = [pool.classifiers[h] for h in chosen]
    with config_context(assume_finite=True):  # they have seen these rows before
        again = problem.engine.shares(classifiers)
    check_shares(pool.s[chosen], again, classifiers)


def certify(problem: Problem, outcome: Outcome[Round]) -> Certificate:
    """Return the certificate of a solver's last round, with the reason if bounds cannot be met.

    It is checked against the classifiers that are deployed, see `verify`.
    """
    verify(problem, outcome.last.mixture.indices)
    game, pool, conflict = problem.lagrangian, problem.pool, None
    if outcome.last.least_slack > 0 and outcome.reason is Reason.FINISHED:
        conflict = explain(game, problem.oracle, pool, problem.cells, nu=problem.nu)
    return Certificate.of_round(
        replace(outcome.last, n_calls=pool.n_calls),
        game,
        pool.s,
        nu=problem.nu,
        scope=scope_of(problem.oracle),
        mass=problem.cells.mass,
        conflict=conflict,
    )


def warn(outcome: Outcome[Round], certificate: Certificate, relax: str = "uniform") -> None:
    """Warn where a fit ended early, bounds were proven impossible, or no one rule was found."""
    if certificate.why_by_lot:
        warnings.warn(certificate.why_by_lot, LotteryWarning, stacklevel=3)
    if outcome.reason.is_early and not certificate.is_optimal():
        warnings.warn(
            f"{outcome.reason.value} after {outcome.n_rounds} rounds: the bounds are "
            f"{certificate.status.value}, and the gap is {certificate.gap:.3g}, above "
            f"nu={certificate.nu:.3g}. Raise max_iter, or accept a larger nu.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if outcome.reason is not Reason.FINISHED:
        return
    if certificate.status is Status.NOT_YET and certificate.least_slack > 0:
        warnings.warn(
            f"the bounds were loosened by {certificate.least_slack:.3g}: it is not known whether "
            f"less would do. A smaller nu than {certificate.nu:.3g} decides it.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if certificate.status is Status.IMPOSSIBLE:
        loosened = (
            f"every bound was loosened by {certificate.least_slack:.4g}"
            if relax == "uniform"
            else f"bounds were loosened by {certificate.total_slack:.4g} in all"
        )
        remedy = (
            ", or use a more flexible learner."
            if certificate.possible
            else ": no decisions at all can meet them."
        )
        warnings.warn(
            f"the constraints cannot be met with this learner: {loosened}, the least that can. In "
            f"conflict: {'; '.join(row.sentence() for row in certificate.conflict)}. Loosen "
            f"these{remedy}",
            InfeasibleWarning,
            stacklevel=3,
        )
