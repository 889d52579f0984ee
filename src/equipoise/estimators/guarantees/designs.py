"""Fits with a proof in one call: how the people are divided between learning and proof."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.engines.base import Engine, engine_for
from equipoise.estimators.base import Problem, read_limits
from equipoise.estimators.decisions.one_rule import with_one_rule
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.estimators.randomized import FitResult, RandomizedClassifier
from equipoise.estimators.results import fingerprint_of, result_of
from equipoise.exceptions import LotteryWarning
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Scope
from equipoise.game.known import Queries
from equipoise.game.mixture import Mixture, best_mixture
from equipoise.game.rounds import Outcome, Pool, Round
from equipoise.game.switches import Switched
from equipoise.guarantees.path import Path
from equipoise.guarantees.people_needed import read_probability
from equipoise.guarantees.proof import Decided, Proof, Walk, walk
from equipoise.guarantees.tested_rows import TestedRows
from equipoise.metrics.audit import Tally
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.decisions import decisions, learner_of
from equipoise.oracles.thresholds import is_linear
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People
from equipoise.rows.tables import take_rows

if TYPE_CHECKING:
    from equipoise.estimators.reductions import FairClassifier

from equipoise.estimators.guarantees.proofs import (
    note_people,
    people_for_proof,
    rows_of_proof,
    sure_constants,
    walk_people,
)

#: Candidates that one rule is searched for, in standard errors; each search may take seconds.
_RULES = (3.0, 2.5, 2.0, 1.6, 1.2, 0.8, 0.4, 0.0)


@dataclass(frozen=True, eq=False)
class Proven:
    """A fit whose bounds were put to the proof."""

    result: FitResult
    proof: Proof
    outcome: Outcome[Round]


def fit_with_proof(model: FairClassifier, people: People) -> Proven:
    """Return a fit whose bounds are proven at the confidence that the model asks for."""
    read_probability(model.confidence, "confidence")
    designs = {"split": _split, "cross_fit": _cross_fit, "margin": _margin}
    if model.proof not in designs:
        raise ValueError(f"proof is {model.proof!r}; expected 'split', 'cross_fit' or 'margin'.")
    if model.B not in (None, np.inf):
        raise ValueError(
            f"B is {model.B!r}; with confidence= the constraints are hard. Leave B out."
        )
    if model.deterministic and model.proof != "split":
        raise ValueError(
            f"proof={model.proof!r} and deterministic=True: one rule is proven on people apart "
            "from those it was searched on. Use proof='split'."
        )
    return designs[model.proof](model, people)


def _split(model: FairClassifier, people: People) -> Proven:
    """Learn from one half and prove on the other."""
    learned, apart = engine_for(people.X).halves(people)
    trained = _Trained.of(model, learned, 1.0)
    if model.deterministic:
        trained = trained.with_rules()
    problem, path = trained.problem, trained.path
    apart = apart.by(problem.cells.rules)
    engine = model._open(apart)
    rows = rows_of_proof(problem.constraint, engine.cells.table(), problem.cells.table())
    salt, delta = _salt(model, problem.engine), 1 - _confidence(model)
    decided, walked = walk_people(path, problem.pool, rows, engine, salt, delta)
    ratio = engine.cells.n_effective / problem.cells.n_effective
    proof = _proof(model, rows, (decided, walked), trained, (engine, apart), ratio)
    found = trained.finish(proof, model)
    if (seen := found.result.people) is not None:
        marked = seen.with_held_out(engine.hashed(apart, engine.classes))
        found = replace(found, result=replace(found.result, people=marked))
    return found


def _margin(model: FairClassifier, people: People) -> Proven:
    """Learn from everybody, and test on the same people: for stiff learners."""
    trained = _Trained.of(model, people, 1.0)
    problem, path = trained.problem, trained.path
    answers = [learner_of(h) for h in problem.pool.classifiers[2:]]
    if problem.oracle.out_of_fold or not answers or not all(map(is_linear, answers)):
        raise ValueError(
            "proof='margin' tests on the people learned from, which speaks for linear learners "
            f"with oracle='refit' only; got {type(model.estimator).__name__} with "
            f"oracle={model.oracle!r}. Use proof='cross_fit' or 'split'."
        )
    decided = Decided(
        np.array([mixture.shares(problem.pool.s) for mixture in path.mixtures]),
        np.array([path.reach(mixture) for mixture in path.mixtures]),
    )
    test = decided.tests(trained.rows, joint=True)
    walked = walk(len(path.mixtures), test, 1 - _confidence(model))
    tested = problem.engine, people
    return trained.finish(
        _proof(model, trained.rows, (decided, walked), trained, tested, 1.0), model
    )


def _cross_fit(model: FairClassifier, people: People) -> Proven:
    """Learn from both halves, test each fit on the other half, and deploy the average of both."""
    if model.constraint.n_open:
        raise ValueError(
            f"proof='cross_fit' fits twice, but {model.constraint!r} has a parameter that a fit "
            "finds. Give it a value, or use proof='split'."
        )
    if not engine_for(people.X).is_local:
        raise ValueError(
            f"proof='cross_fit' adds up decisions about single rows, but X is a "
            f"{type(people.X).__name__}, whose rows are on other machines. Use proof='split'."
        )
    engine = model._open(people)
    both = [_Trained.of(model, part, np.sqrt(0.5)) for part in engine_for(people.X).halves(people)]
    most = min(each.path.taus[0] for each in both)
    both = [each.no_stricter(most) for each in both]
    n_points = min(len(each.path.mixtures) for each in both)  # both end at the same, the loosest
    both = [replace(each, path=each.path.last(n_points)) for each in both]
    rows = TestedRows.of(model.constraint, engine.cells.table())
    decided = _crosswise(both, people, engine.cells)
    walked = walk(n_points, decided.tests(rows, joint=True), 1 - _confidence(model))
    proof = _proof(model, rows, (decided, walked), both[0], (engine, people), 1.0)
    return _average(model, people, engine, both, proof)


def _crosswise(both: Sequence[_Trained], people: People, cells: Any) -> Decided:
    """Return the decisions of two fits, each about the half that it has not seen."""
    (_, first), (_, second) = make_folds(cells, 2)
    shares: Any = 0.0
    for each, other in zip(both, (second, first), strict=True):
        pool, mixtures = each.problem.pool, each.path.mixtures
        used = sorted({int(h) for mixture in mixtures for h in mixture.indices})
        s = np.zeros((len(pool), cells.n_cells))
        selected = decisions([pool.classifiers[h] for h in used], take_rows(people.X, other))
        for number, decided in zip(used, selected, strict=True):
            h = np.zeros(len(cells.code))
            h[other] = decided
            s[number] = cells.sum(h)
        shares = shares + np.array([mixture.shares(s) for mixture in mixtures])
    reach = [[each.path.reach(mixture) for mixture in each.path.mixtures] for each in both]
    return Decided(shares, np.mean(reach, axis=0))


def _proof(
    model: FairClassifier,
    rows: TestedRows,
    found: tuple[Decided, Walk],
    trained: _Trained,
    tested: tuple[Engine, People],
    ratio: float,
) -> Proof:
    """Return the proof on people of whom there are ``ratio`` for each learned from."""
    digest, reused = note_people(*tested, _statement(model))
    decided, walked = found
    path, pool, confidence = trained.path, trained.problem.pool, _confidence(model)
    return Proof.of_walk(
        rows,
        walked,
        decided,
        confidence=confidence,
        design=model.proof,
        fingerprint=digest,
        reused=reused,
        needed=people_for_proof(walked, decided, trained.rows, path, pool, ratio, confidence),
    )


def _average(
    model: FairClassifier,
    people: People,
    engine: Engine,
    both: Sequence[_Trained],
    proof: Proof,
) -> Proven:
    """Return the average of two mixtures as the fit to all people."""
    pairs = [(each.problem.pool, each.path.mixtures[proof.point]) for each in both]
    members = [h for pool, mixture in pairs for h in mixture.members(pool.classifiers)]
    weights = np.concatenate([mixture.weights / 2 for _, mixture in pairs])
    table, unconstrained = engine.cells.table(), unconstrained_of(both[0].problem)
    s, _, _, switches = engine.compare(members, unconstrained.classifier)
    pool = Pool.of(members, s)
    pool.n_calls = sum(each.problem.pool.n_calls for each in both)
    game = model._game(model.constraint, table).as_given()
    mixture = Mixture.of_weights(weights, np.zeros(game.n_constraints))
    n_rounds = sum(each.path.n_rounds for each in both)
    proving = best_mixture(replace(game, B=64.0), s).multipliers
    found = Round.of_mixture(game, pool, mixture, n_rounds, [proving])
    nu = both[0].problem.nu
    certificate = Certificate.of_round(found, game, s, nu=nu, scope=Scope.POOL, cells=table)
    tallies = {"training": Tally.of_shares(table, mixture.shares(s))}
    mixed = RandomizedClassifier(members, weights, engine.classes, _salt(model, engine))
    if switches is not None:
        switched = Switched.of_mixture(table, switches, mixture, engine.classes)
        certificate = replace(certificate, switched=switched)
    result = FitResult(
        mixed,
        certificate,
        model.constraint,
        tallies,
        {"train": certificate.violation},
        nu,
        np.inf,
        n_rounds,
        pool.n_calls,
        fingerprint_of(engine, people, engine.classes),
        engine.example(people.X),
        unconstrained,
    )
    return Proven(result, proof, Outcome(found, n_rounds, both[0].path.reason))


@dataclass(frozen=True, eq=False)
class _Trained:
    """Candidates trained on some people, and the rows over their cells."""

    problem: Problem
    path: Path
    rows: TestedRows
    queries: Queries

    @classmethod
    def of(cls, model: FairClassifier, people: People, scale: float) -> _Trained:
        """Train the candidates; see `Path.over` for ``scale``."""
        limits, _ = read_limits(model)
        problem = model._state(people)
        TestedRows.of(problem.constraint, problem.cells.table())  # refuses before any work
        with problem.opened:
            problem.learn_labels()
            if problem.constraint is not model.constraint:  # it has parameters to be found first
                problem = model._with_parameters(problem)
            game, queries = problem.lagrangian.as_given(), Queries([], [])
            rows = TestedRows.of(problem.constraint, problem.cells.table())
            path = Path.train(
                game,
                problem.oracle,
                problem.pool,
                rows,
                float(scale),
                nu=problem.nu,
                limits=limits,
                queries=queries,
                constants=sure_constants(problem.pool, rows),
            )
        return cls(replace(problem, lagrangian=game), path, rows, queries)

    def no_stricter(self, most: float) -> _Trained:
        """Return the same with candidates no stricter than ``most``."""
        again = self.path.again(self.problem.pool, self.problem.nu, most)
        return replace(self, path=again)

    def with_rules(self) -> _Trained:
        """Return the same with one rule in place of each of some candidates, where one is found.

        Rules are searched for on the people learned from, so that those of the proof are as new to
        them as to the mixtures.
        """
        problem, why = self.problem, ""
        pool, errors = problem.pool, self.path.errors
        plain = replace(self.path, constants={}).again(pool, problem.nu)
        taus = [plain.taus[0], *(tau for tau in plain.taus if round(tau, 1) in _RULES)]
        mixtures = []
        for tau in dict.fromkeys(taus):
            tight = replace(problem, lagrangian=problem.lagrangian.relaxed(-tau * errors))
            mixture = plain.mixtures[plain.taus.index(tau)]
            found = Round.of_mixture(tight.lagrangian, pool, mixture, plain.n_rounds, [])
            ruled = with_one_rule(tight, found, found)
            why = why or ruled.why_by_lot
            if len(ruled.mixture.indices) == 1:
                mixtures.append(ruled.mixture)
        if mixtures:
            return replace(self, path=replace(plain, mixtures=mixtures))
        warnings.warn(f"{why} The proof is about mixtures.", LotteryWarning, stacklevel=5)
        return self

    def finish(self, proof: Proof, model: FairClassifier) -> Proven:
        """Return the fit of the candidate that the proof names."""
        problem, path, game = self.problem, self.path, self.problem.lagrangian
        mixture = path.mixtures[proof.point]
        asked = self.queries.optimality
        found = Round.of_mixture(game, problem.pool, mixture, path.n_rounds, asked)
        outcome = Outcome(found, path.n_rounds, path.reason)
        result = result_of(problem, outcome, read_limits(model)[1])
        return Proven(result, proof, outcome)


def _statement(model: FairClassifier) -> str:
    given = (model.constraint, model.estimator, model.oracle, model.objective, model.random_state)
    return f"{given!r} {model.proof} {model.confidence}"


def _salt(model: FairClassifier, engine: Engine) -> int:
    """Return the salt of the draws: the one given, or that of the problem."""
    given = read_limits(model)[1]
    return salt_of(engine.cells, engine.classes) if given is None else given


def _confidence(model: FairClassifier) -> float:
    assert model.confidence is not None
    return float(model.confidence)
