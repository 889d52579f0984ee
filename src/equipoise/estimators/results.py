"""Results of a fit: from the last round of a solver to what a fitted classifier is made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import UNKNOWN
from equipoise.constraints.distribution import DistributionParity
from equipoise.constraints.slopes import row_blocks
from equipoise.engines.base import Engine
from equipoise.estimators.base import NUMBERS, Problem, warn_of_frozen
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.estimators.draws import SharedDraws
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.randomized import FitResult, RandomizedClassifier
from equipoise.estimators.regression.problem import RegressionProblem
from equipoise.estimators.seen_groups import errors_if_seen, is_large
from equipoise.exceptions import (
    ConstantDecisionWarning,
    EquipoiseWarning,
    InfeasibleWarning,
    LotteryWarning,
    NothingComparedWarning,
    RareLabelWarning,
)
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Scope, Status
from equipoise.game.feasibility import explain
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.least_random import Lottery, least_random_round
from equipoise.game.rounds import Outcome, Reason, Round
from equipoise.game.switches import Switched
from equipoise.metrics.audit import Tally
from equipoise.metrics.summaries import few_of_a_label
from equipoise.oracles.agreement import Agreement, check_shares
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People

#: Below this share of people selected, shares of those selected say next to nothing.
FEW_SELECTED = 0.01
#: What to do where a label is rare, in Python and on the command line.
IF_RARE = (
    "Where one label is rare, weigh its errors more: objective=Costs(...) in Python, "
    "--objective balanced on the command line."
)


def with_least_random(problem: Problem, found: Round) -> Round:
    """Return the last round of a solver with the least random mixture within ``nu`` of the best.

    The share decided by lot is that of the classifiers that are deployed, on the rows of the fit.
    """
    if len(found.mixture.indices) == 1:
        return replace(found, by_lot=Lottery(0.0, True))
    chosen = least_random_round(
        found,
        problem.lagrangian,
        problem.pool.s,
        lambda numbers: ask_again(problem, numbers).disagreement,
        nu=problem.nu,
        free=unconstrained(problem),
        n_decisions=len(problem.engine.classes),
    )
    return chosen if chosen.by_lot and chosen.by_lot.exact else measured(problem, chosen)


def measured(problem: Problem, found: Round) -> Round:
    """Return a round with the share decided by lot as counted row by row."""
    share, members = 0.0, found.mixture.indices
    if len(members) > 1:
        share = ask_again(problem, members).divided
    return replace(found, by_lot=Lottery(share, True))


def ask_again(problem: Problem, numbers: Iterable[int]) -> Agreement:
    """Ask classifiers of the pool about the rows of the fit once more, and keep the answers.

    They are compared with each other and, of two labels, with the unconstrained one.
    """
    pool, numbers = problem.pool, list(map(int, numbers))
    with config_context(assume_finite=True):  # they have seen these rows before
        classifiers = [pool.classifiers[h] for h in numbers]
        found = problem.engine.compare(classifiers, problem.unconstrained)
    problem.asked_again.update(zip(numbers, found.shares, strict=True))
    if found.switches is not None:
        problem.switches.update(zip(numbers, found.switches, strict=True))
    return found


def unconstrained(problem: Problem | RegressionProblem) -> int:
    """Return the number of the answer to the error alone; the least error known if never asked."""
    number = problem.pool.number_of(problem.lagrangian.error_slope)
    return int(problem.lagrangian.error(problem.pool.s).argmin()) if number is None else number


def result_of(problem: Problem, outcome: Outcome[Round], salt: int | None) -> FitResult:
    """Return the result of a solver's last round, with its certificate.

    It is checked against the classifiers that are deployed, see `verify`.
    """
    last = as_settled(outcome.last, outcome.reason)
    game, pool = problem.lagrangian, problem.pool
    engine, cells = problem.engine, problem.cells
    verify(problem, last.mixture.indices)
    given = (game if game.elastic is None else game.only(np.flatnonzero(~game.elastic))).as_given()
    violations = {"train": float(given.violation(last.s))}
    certificate = Certificate.of_round(
        replace(last, n_calls=pool.n_calls),
        game,
        pool.s,
        nu=problem.nu,
        scope=Scope.WHOLE_CLASS if problem.oracle.exact else Scope.ORACLE,
        cells=cells,
        out_of_fold=problem.oracle.out_of_fold,
    )
    certificate = replace(certificate, shared_trees=problem.oracle.shared_trees)
    certified = Tally.of_shares(cells, last.s)
    moved = switched(problem, certified.cells, last.mixture.indices, last.mixture.weights)
    draws = SharedDraws.of(problem) if len(last.mixture.indices) > 1 else None
    if draws is not None:
        draw = draws.deviation(game, last.mixture, pool.classifiers, last.gamma)
        certificate = replace(certificate, draw=draw)
    if is_large(last.error - certificate.free_error, certificate.free_error, game):
        certificate = replace(certificate, seen=errors_if_seen(problem, [game])[0])
    certificate = replace(certificate, switched=moved)
    people = fingerprint_of(engine, problem.people, engine.classes)
    salt = salt_of(cells, engine.classes) if salt is None else salt
    unconstrained_model, example = unconstrained_of(problem), engine.example(problem.people.X)
    members = [pool.classifiers[h] for h in last.mixture.indices]
    classifier = RandomizedClassifier(members, last.mixture.weights, engine.classes, salt)
    tallies = {"training": certified}
    if problem.oracle.out_of_fold:
        seen = engine.tally(classifier)
        tallies = {"training": seen, "out of fold": certified}
        violations = {"train": float(given.violation(seen.s)), "out_of_fold": violations["train"]}
    return FitResult(
        classifier,
        certificate,
        problem.constraint,
        tallies,
        violations,
        problem.nu,
        game.B,
        last.iteration,
        pool.n_calls,
        people,
        example,
        unconstrained_model,
    )


def fingerprint_of(
    engine: Engine | type[Engine], people: People, classes: NDArray = NUMBERS
) -> Fingerprint | None:
    """Return the fingerprint of people; None where rows cannot be hashed."""
    try:
        return Fingerprint.of(engine.hashed(people, classes))
    except TypeError:
        return None


def as_settled(last: Round, reason: Reason) -> Round:
    """Return the last round; that of a search that was stopped proves nothing impossible."""
    return last if reason is Reason.FINISHED else last.without_proof()


def with_reason(problem: Problem, last: Round) -> Round:
    """Return the last round with the reason why its bounds are impossible; the learner is asked."""
    game, oracle, pool = problem.lagrangian, problem.oracle, problem.pool
    return replace(last, explained=explain(game, oracle, pool, problem.cells, nu=problem.nu))


def verify(problem: Problem, members: Iterable[int]) -> None:
    """Raise unless these classifiers of the pool decide about the rows of the fit as recorded.

    Those that were compared with each other have been asked again already. Out of fold, the oracle
    has asked the models of the folds twice; they are not deployed.
    """
    pool, again, chosen = problem.pool, problem.asked_again, sorted(set(map(int, members)))
    if new := [h for h in chosen if h not in again]:
        ask_again(problem, new)
    if not problem.oracle.out_of_fold:
        classifiers = [pool.classifiers[h] for h in chosen]
        check_shares(pool.s[chosen], [again[h] for h in chosen], classifiers)


def switched(
    problem: Problem, table: CellTable, members: Iterable[int], weights: Array | Sequence[float]
) -> Switched | None:
    """Return whom a mixture decides on differently than without constraints; None if not known.

    Its members have been asked again. ``table`` are the cells, without rows.
    """
    switches = [problem.switches.get(int(h)) for h in members]
    if any(one is None for one in switches):
        return None
    moved = np.tensordot(weights, np.array(switches), 1)
    return Switched(table, moved, problem.engine.classes)


def warn(
    problem: Problem, outcome: Outcome[Round], certificate: Certificate, relax: str = "uniform"
) -> None:
    """Warn of remarks, of a fit that ended early, of impossible bounds, and of no one rule."""
    if certificate.why_by_lot:
        warnings.warn(certificate.why_by_lot, LotteryWarning, stacklevel=3)
    warn_of(remarks(problem.lagrangian, problem.cells, problem.cells.shares(outcome.last.s)))
    warn_of_frozen(problem)
    if outcome.reason is Reason.FINISHED:
        warn_of_bounds(certificate, relax)
    else:
        warn_of_stop(outcome, certificate)


def warn_of_bounds(certificate: Certificate, relax: str = "uniform") -> None:
    """Warn where a search that came to its end found bounds impossible, or could not tell."""
    status = certificate.status
    if status is Status.NOT_YET and certificate.least_slack > 0:
        warnings.warn(
            f"the bounds were loosened by {certificate.least_slack:.3g}: it is not known whether "
            f"less would do. A smaller nu than {certificate.nu:.3g} decides it.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if status is Status.IMPOSSIBLE:
        loosened = (
            f"every bound was loosened by {certificate.least_slack:.4g}"
            if relax == "uniform"
            else f"bounds were loosened by {certificate.total_slack:.4g} in all"
        )
        remedy = (
            ", or use a more flexible learner."
            if certificate.possible
            else ": no decisions at all can meet all of the bounds."
        )
        warnings.warn(
            f"the constraints cannot be met with this learner: {loosened}, the least that can. In "
            f"conflict: {'; '.join(row.sentence() for row in certificate.conflict)}. Loosen "
            f"these{remedy}",
            InfeasibleWarning,
            stacklevel=4,
        )


def warn_of_stop(outcome: Outcome[Round], certificate: Certificate) -> None:
    """Warn of a search that was stopped before its gap was closed."""
    is_met = certificate.feasible
    how = "Fit again" if outcome.reason is Reason.INTERRUPT else "Raise max_iter"
    if outcome.reason.is_early and not certificate.is_optimal():
        warnings.warn(
            f"{outcome.reason.value} after {outcome.n_rounds} rounds: the bounds are "
            f"{certificate.status.value}, and the gap is {certificate.gap:.3g}, above "
            f"nu={certificate.nu:.3g}. {how}{', or accept a larger nu' * is_met}.",
            ConvergenceWarning,
            stacklevel=4,
        )


Remark = tuple[type[EquipoiseWarning], str]


def remarks(lagrangian: Lagrangian | None, cells: CellTable, shares: Array) -> list[Remark]:
    """Return remarks on what is easily overlooked: rare labels, one decision, idle bounds.

    ``shares`` of people get each decision. Without a game, nothing is said of its bounds.
    """
    found = rare_labels(cells)
    selected = float(shares[1:].sum())
    if shares.max() >= 1 - TOLERANCE:
        only = int(shares.argmax())
        does = f"selects {'everybody' if only else 'nobody'}"
        if len(shares) > 2:
            does = f"decides {cells.decisions[only]} for everybody"
        found.append(
            (
                ConstantDecisionWarning,
                f"it {does}: every group is treated alike, and nothing is decided. {IF_RARE}",
            )
        )
    elif selected < FEW_SELECTED and any(
        row.constraint == DistributionParity.name
        for row in (() if lagrangian is None else lagrangian.rows)
    ):
        found.append(
            (
                ConstantDecisionWarning,
                f"it selects {selected:.2%} of the people: {DistributionParity.name} is about "
                "those selected, and asks next to nothing of so few. Add a floor: constraint & "
                "SelectionRate(at_least=...).",
            )
        )
    return found + remarks_on_bounds(lagrangian, cells)


def remarks_on_bounds(
    lagrangian: Lagrangian | None, cells: CellTable, made: str = "decisions"
) -> list[Remark]:
    """Return remarks on bounds that ask nothing of what is ``made``; without a game, on groups."""
    text = ""
    alone = [
        name
        for name, values in cells.sensitive.items()
        if len({value for value in values.tolist() if value is not UNKNOWN}) == 1
    ]
    if alone:
        names = ", ".join(map(repr, alone))
        text = f"everybody has the same value of {names}: no groups differ in it."
    elif lagrangian is not None and not len(lagrangian.c):
        text = "no inequality is left: nothing is compared."
    elif lagrangian is not None and none_can_bind(lagrangian, cells):
        text = (
            f"no {made} whatsoever could exceed the bounds: they ask nothing. Differences of "
            "rates are at most 1; choose a smaller bound."
        )
    return [(NothingComparedWarning, text)] if text else []


def rare_labels(cells: CellTable) -> list[Remark]:
    """Return a remark on labels that few people have, where there are more than two labels."""
    people = [cells.count[cells.label == v].sum() for v in range(len(cells.decisions))]
    rare = few_of_a_label(cells.decisions, np.array(people))
    return [(RareLabelWarning, text) for text in rare]


def remarks_of(certificate: Certificate, cells: CellTable) -> list[Remark]:
    """Return the remarks on what a certificate speaks of; some need its evidence."""
    if (evidence := certificate.evidence) is None:
        constant = np.nan if certificate.constant is None else certificate.constant
        shares = constant if isinstance(constant, tuple) else (1 - constant, constant)
        return remarks(None, cells, np.array(shares))
    return remarks(evidence.lagrangian, cells, cells.shares(evidence.mean_shares()))


def remarks_of_points(points: Sequence[FrontierPoint], cells: CellTable) -> list[Remark]:
    """Return the remarks that are true of every point of a frontier."""
    found = remarks_of(points[0].certificate, cells)
    for point in points[1:]:
        if not found:  # as a rule
            break
        others = remarks_of(point.certificate, cells)
        found = [remark for remark in found if remark in others]
    return found


def none_can_bind(lagrangian: Lagrangian, cells: CellTable) -> bool:
    """Return whether all inequalities hold for any decisions, so that they compare nothing."""
    if not cells.is_plain or (lagrangian.elastic is not None and lagrangian.elastic.any()):
        return False
    endless = np.isinf(cells.limits()[1])
    for rows, slopes in row_blocks(lagrangian.gamma_slope):
        by_cell = np.reshape(slopes, (len(slopes), len(cells.mass), -1))
        largest = by_cell.max(axis=2, initial=0.0) @ cells.mass
        largest = np.where((slopes[:, endless] > 0).any(axis=1), np.inf, largest)
        if (lagrangian.gamma_offset[rows] + largest > lagrangian.c[rows] + TOLERANCE).any():
            return False
    return True


def warn_of(found: Iterable[Remark]) -> None:
    """Warn of each remark, once."""
    for category, text in dict.fromkeys(found):
        warnings.warn(text, category, stacklevel=4)
