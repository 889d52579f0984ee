"""Fits with a proof in one call: how the people are divided between learning and proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Cells
from equipoise.engines.base import Engine
from equipoise.estimators.base import Problem, Reduction, fingerprint_of, read_limits
from equipoise.estimators.randomized import FitResult, RandomizedClassifier
from equipoise.estimators.results import result_of
from equipoise.estimators.scores import unconstrained_of
from equipoise.estimators.switched import switched_of
from equipoise.game.certificate import Certificate, Scope
from equipoise.game.column_generation import Queries
from equipoise.game.mixture import Mixture, best_mixture
from equipoise.game.rounds import Outcome, Pool, Round
from equipoise.guarantees.needed import check_probability
from equipoise.guarantees.path import Path
from equipoise.guarantees.proof import Proof, walk
from equipoise.guarantees.tested_rows import TestedRows
from equipoise.metrics.audit import Tally
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.decisions import decisions, learner_of
from equipoise.oracles.thresholds import is_linear
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People
from equipoise.rows.tables import Batched, take_rows

if TYPE_CHECKING:
    from equipoise.estimators.reductions import FairClassifier

from equipoise.estimators.proofs import (
    as_written,
    note_people,
    people_for_proof,
    rows_of_proof,
    walk_people,
)


@dataclass(frozen=True, eq=False)
class Proven:
    """A fit whose bounds were put to the proof."""

    result: FitResult
    proof: Proof
    outcome: Outcome[Round]


def fit_with_proof(model: FairClassifier, people: People) -> Proven:
    """Return a fit whose bounds are proven at the confidence that the model asks for."""
    check_probability(model.confidence, "confidence")  # type: ignore[arg-type]
    designs = {"split": _split, "cross_fit": _cross_fit, "margin": _margin}
    if model.proof not in designs:
        raise ValueError(f"proof is {model.proof!r}; expected 'split', 'cross_fit' or 'margin'.")
    if model.B not in (None, np.inf):
        raise ValueError(
            f"B is {model.B!r}; with confidence= the constraints are hard. Leave B out."
        )
    return designs[model.proof](model, people)


def _split(model: FairClassifier, people: People) -> Proven:
    """Learn from one half and prove on the other."""
    (learn, test), parts = _halves(model, people, "split")
    trained = _Trained.of(model, parts[0], np.sqrt(len(learn) / len(test)))
    problem, path = trained.problem, trained.path
    engine = model._open(parts[1])
    rows = rows_of_proof(problem.constraint, engine.cells.table(), problem.cells.table())
    salt, delta = _salt(model, problem.engine), 1 - _confidence(model)
    walked = walk_people(path.mixtures, problem.pool.classifiers, rows, engine, salt, delta)
    digest, reused = note_people(engine, parts[1], _statement(model))
    known, ratio = trained.rows, len(test) / len(learn)
    proof = Proof.of_walk(
        rows,
        walked,
        len(path.mixtures),
        confidence=_confidence(model),
        design="split",
        fingerprint=digest,
        reused=reused,
        needed=people_for_proof(walked, known, path, problem.pool, ratio, _confidence(model)),
    )
    found = trained.finish(proof, model)
    if (seen := found.result.people) is not None:
        apart = seen.with_held_out(engine.hashed(parts[1], engine.classes))
        found = replace(found, result=replace(found.result, people=apart))
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
    shares = np.array([mixture.shares(problem.pool.s) for mixture in path.mixtures])
    p = trained.rows.joint_p_values(shares)
    walked = walk(len(p), lambda t: p[t], 1 - _confidence(model))
    digest, reused = note_people(problem.engine, people, _statement(model))
    proof = Proof.of_walk(
        trained.rows,
        walked,
        len(p),
        confidence=_confidence(model),
        design="margin",
        fingerprint=digest,
        reused=reused,
        needed=people_for_proof(walked, trained.rows, path, problem.pool, 1.0, _confidence(model)),
    )
    return trained.finish(proof, model)


def _cross_fit(model: FairClassifier, people: People) -> Proven:
    """Learn from both halves, test each fit on the other half, and deploy the average of both."""
    if model.constraint.n_open:
        raise ValueError(
            f"proof='cross_fit' fits twice, but {model.constraint!r} has a parameter that a fit "
            "finds. Give it a value, or use proof='split'."
        )
    halves, parts = _halves(model, people, "cross_fit")
    engine = model._open(people)
    cells: Any = engine.cells
    both = [_Trained.of(model, part, np.sqrt(0.5)) for part in parts]
    most = min(each.path.strictest(each.problem.pool) for each in both)
    paths = [each.path.again(each.problem.pool, each.problem.nu, most).mixtures for each in both]
    rows = TestedRows.of(model.constraint, cells.table())
    shares = np.zeros((len(paths[0]), cells.n_cells))
    for each, mixtures, other in zip(both, paths, halves[::-1], strict=True):
        pool, X = each.problem.pool, take_rows(people.X, other)
        s = np.zeros((len(pool), cells.n_cells))
        for number, decided in _decided(pool.classifiers, mixtures, X):
            h = np.zeros(len(cells.code))
            h[other] = decided
            s[number] = cells.sum(h)
        shares += np.array([mixture.shares(s) for mixture in mixtures])
    p = rows.joint_p_values(shares)
    walked = walk(len(p), lambda t: p[t], 1 - _confidence(model))
    digest, reused = note_people(engine, people, _statement(model))
    first = both[0]
    proof = Proof.of_walk(
        rows,
        walked,
        len(p),
        confidence=_confidence(model),
        design="cross_fit",
        fingerprint=digest,
        reused=reused,
        needed=people_for_proof(
            walked, first.rows, first.path, first.problem.pool, 1.0, _confidence(model)
        ),
    )
    pairs = [
        (each.problem.pool, mixtures[proof.point])
        for each, mixtures in zip(both, paths, strict=True)
    ]
    return _average(model, people, engine, pairs, both, proof)


def _average(
    model: FairClassifier,
    people: People,
    engine: Engine,
    pairs: Sequence[tuple[Pool, Mixture]],
    both: Sequence[_Trained],
    proof: Proof,
) -> Proven:
    """Return the average of two mixtures as the fit to all people."""
    members = [h for pool, mixture in pairs for h in mixture.members(pool.classifiers)]
    weights = np.concatenate([mixture.weights / 2 for _, mixture in pairs])
    table, s = engine.cells.table(), engine.shares(members)
    pool = Pool.of(members, s)
    pool.n_calls = sum(each.problem.pool.n_calls for each in both)
    game = as_written(model._game(model.constraint, table))
    mixture = Mixture.of_weights(weights, np.zeros(game.n_constraints))
    n_rounds = sum(each.path.n_rounds for each in both)
    proving = best_mixture(replace(game, B=64.0), s).multipliers
    found = Round.of_mixture(game, pool, mixture, n_rounds, [proving])
    nu = both[0].problem.nu
    certificate = Certificate.of_round(found, game, s, nu=nu, scope=Scope.POOL, cells=table)
    tallies = {"training": Tally.of_shares(table, mixture.shares(s))}
    mixed = RandomizedClassifier(members, weights, engine.classes, _salt(model, engine))
    unconstrained = unconstrained_of(both[0].problem)
    certificate = replace(certificate, switched=switched_of(engine, mixed, unconstrained))
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
        fingerprint_of(engine, people),
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
            if problem.constraint is not model.constraint:  # it has parameters to be found first
                problem = model._with_parameters(problem)
            game, queries = as_written(problem.lagrangian), Queries([], [])
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
            )
        return cls(replace(problem, lagrangian=game), path, rows, queries)

    def finish(self, proof: Proof, model: FairClassifier) -> Proven:
        """Return the fit of the candidate that the proof names."""
        problem, path, game = self.problem, self.path, self.problem.lagrangian
        mixture = path.mixtures[proof.point]
        asked = self.queries.optimality
        found = Round.of_mixture(game, problem.pool, mixture, path.n_rounds, asked)
        outcome = Outcome(found, path.n_rounds, path.reason)
        result = result_of(problem, outcome, read_limits(model)[1])
        return Proven(result, proof, outcome)


def _halves(
    model: Reduction, people: People, design: str
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], list[People]]:
    """Return the rows of two halves, dealt evenly from every cell, and these people."""
    engine = model._open(people)
    if not engine.is_local or isinstance(people.X, Batched):
        raise ValueError(
            f"proof={design!r} takes rows apart, but X is not in the memory of this process. Fit a "
            "Frontier to one part of the table and call its prove() with the other, or use "
            "proof='margin'."
        )
    cells = engine.cells
    TestedRows.of(model.constraint.closed(np.ones(model.constraint.n_open)), cells.table())
    assert isinstance(cells, Cells)
    first, second = (test for _, test in make_folds(cells, 2))
    parts = []
    for rows in (first, second):
        code = cells.code[rows]
        parts.append(
            People(
                take_rows(people.X, rows),
                engine.classes[cells.label[code]],
                {name: values[code] for name, values in cells.sensitive.items()},
                {name: values[code] for name, values in cells.control.items()} or None,
                None if cells.weight is None else cells.weight[rows],
            ).by(cells.rules)
        )
    return (first, second), parts


def _decided(classifiers: Sequence[Any], mixtures: Sequence[Mixture], X: Any) -> Any:
    """Yield the number and the decisions of every classifier that is mixed."""
    used = sorted({int(h) for mixture in mixtures for h in mixture.indices})
    return zip(used, decisions([classifiers[h] for h in used], X), strict=True)


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
