"""Fits with a proof in one call: how the people are divided between learning and proof."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.engines.base import Engine, engine_for
from equipoise.estimators.base import Problem, read_limits
from equipoise.estimators.decisions.one_rule import with_one_rule
from equipoise.estimators.decisions.unconstrained import unconstrained_of
from equipoise.estimators.guarantees.proofs import (
    Tested,
    copies_of,
    note_people,
    rows_of_proof,
    sure_constants,
)
from equipoise.estimators.randomized import FitResult, RandomizedClassifier
from equipoise.estimators.results import fingerprint_of, measured, result_of
from equipoise.exceptions import LotteryWarning
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import over_pool
from equipoise.game.evidence import Scope
from equipoise.game.known import Queries
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture, best_mixture
from equipoise.game.rounds import Outcome, Pool, Round
from equipoise.game.switches import Switched
from equipoise.guarantees.exact_test import score_p
from equipoise.guarantees.path import MOST_CONSTANT, Path
from equipoise.guarantees.people_needed import needed_for, read_probability
from equipoise.guarantees.proof import MOST_REGARDLESS, Proof, Walk
from equipoise.guarantees.tested_rows import TestedRows
from equipoise.metrics.audit import Tally
from equipoise.rows.hashing import salt_of
from equipoise.rows.people import People

if TYPE_CHECKING:
    from equipoise.estimators.reductions import FairClassifier

#: Candidates that one rule is searched for, in standard errors; each search may take seconds.
_RULES = (3.0, 2.5, 2.0, 1.6, 1.2, 0.8, 0.4, 0.0)
#: Models of a forward proof, and the standard errors of room that each is given.
_MODELS, _ROOM = 4, 1.0


@dataclass(frozen=True, eq=False)
class Proven:
    """A fit whose bounds were put to the proof."""

    result: FitResult
    proof: Proof
    outcome: Outcome[Round]


def fit_with_proof(model: FairClassifier, people: People, worst: bool) -> Proven:
    """Return a fit whose bounds are proven at the confidence that the model asks for."""
    read_probability(model.confidence, "confidence")
    read_probability(model.proof_share, "proof_share")
    designs = {"split": _split, "forward": _forward}
    if model.proof not in designs:
        raise ValueError(f"proof is {model.proof!r}; expected 'split' or 'forward'.")
    if model.B not in (None, np.inf):
        raise ValueError(
            f"B is {model.B!r}; with confidence= the constraints are hard. Leave B out."
        )
    return designs[model.proof](model, people, worst)


def _split(model: FairClassifier, people: People, worst: bool) -> Proven:
    """Learn from one part of the people and prove on the others."""
    kind = engine_for(people.X)
    edge = 1 - model.proof_share
    learned = kind.between(people, 0.0, edge)
    apart = kind.between(people, edge, 1.0)
    copies = 0.0
    if kind.is_local:
        _check_before_work(model, learned, apart, worst)
        copies = copies_of(model._open(people), people)
    trained = _Trained.of(model, learned, np.sqrt((1 - model.proof_share) / model.proof_share))
    if model.deterministic:
        trained = trained.with_rules()
    problem = trained.problem
    apart = apart.by(problem.cells.rules)
    engine = model._open(apart)
    rows = rows_of_proof(problem.constraint, engine.cells.table(), problem.cells.table())
    tested = Tested.of(engine, apart, rows, worst)
    salt = _salt(model, problem.engine)
    walked = tested.walked(trained.path, problem.pool, salt, 1 - _confidence(model))
    digest, reused = note_people(engine, apart, _statement(model))
    proof = tested.proof(
        trained.path,
        walked,
        problem.pool,
        confidence=_confidence(model),
        fallback=model.fallback,
        design="split",
        known=trained.rows,
        ratio=engine.cells.n_effective / problem.cells.n_effective,
        fingerprint=digest,
        reused=reused,
        copies=copies,
    )
    found = trained.finish(proof, model)
    if (seen := found.result.people) is not None:
        marked = seen.with_held_out(engine.hashed(apart, engine.classes))
        found = replace(found, result=replace(found.result, people=marked))
    return found


def _check_before_work(model: FairClassifier, learned: People, apart: People, worst: bool) -> None:
    """Raise where people are too few, or count in a way, that no proof is possible for."""
    constraint = model.constraint
    if constraint.n_open:
        constraint = constraint.closed(np.ones(constraint.n_open))
    engines = [model._open(part) for part in (learned, apart)]
    cells, known = (engine.cells.table() for engine in engines[::-1])
    Tested.of(engines[1], apart, rows_of_proof(constraint, cells, known), worst)


def _forward(model: FairClassifier, people: People, worst: bool) -> Proven:
    """Test each of several models on the people after it, and deploy all in equal parts.

    The difference between what a model does to those people and to the population is, summed over
    the models, a martingale for any learner. So each may be given the room that is still missing.
    """
    _check_forward(model, people, worst)
    kind = engine_for(people.X)
    engine = model._open(people)
    copies = copies_of(engine, people)
    rows = TestedRows.of(model.constraint, engine.cells.table())
    tested = Tested.of(engine, people, rows, worst)
    if tested.units is not None or None in rows.strata:
        raise ValueError(
            "proof='forward' is for people who count the same, and rows between separate groups or "
            "a group and all; got weights, clusters or other rows. Use proof='split'."
        )
    level = 1 - _confidence(model)
    edges = np.linspace(1 - model.proof_share, 1.0, _MODELS + 1)
    models: list[_Trained] = []
    mixtures: list[Mixture] = []
    blocks: list[_Block] = []
    for start, end in pairwise(edges.tolist()):
        learned = kind.between(people, 0.0, start)
        block = model._open(kind.between(people, start, end))
        if not models:
            rows_of_proof(model.constraint, block.cells.table(), learned.read_plain()[0].table())
        trained = _Trained.of(model, learned, np.sqrt(start / model.proof_share))
        gained = sum((one.room for one in blocks), np.zeros(rows.n_rows)) / _MODELS
        left = (1 - start) / model.proof_share
        mixture = trained.steered(gained, left, model.proof_share / start, level)
        models.append(trained)
        mixtures.append(mixture)
        blocks.append(_Block.of(model.constraint, block, trained, mixture))
    p = _p_values_of(blocks)
    shares = [one.path.regardless(mixture) for one, mixture in zip(models, mixtures, strict=True)]
    digest, reused = note_people(engine, people, _statement(model))
    n_people = round(rows.cells.n_examples * model.proof_share)
    last = models[-1]
    cells = last.rows.cells
    sized = replace(cells, count=cells.count * (n_people / cells.n_examples))
    lottery = model.fallback == "lottery"
    proof = Proof.of_walk(
        rows,
        Walk(0 if (p <= level).all() else -1, p[None]),
        [float(np.mean(shares))],
        confidence=_confidence(model),
        most_regardless=MOST_CONSTANT if lottery else MOST_REGARDLESS,
        design="forward",
        is_exact=False,
        people=n_people,
        population=tested.population,
        fingerprint=digest,
        reused=reused,
        copies=copies,
    )
    proof = replace(proof, limiting_people=round(proof.limiting_people * model.proof_share))
    if not proof.holds or proof.regardless:
        needed = needed_for(
            replace(last.rows, cells=sized),
            last.path.plain_strictest(last.problem.pool),
            confidence=_confidence(model),
            ratio=model.proof_share / (1 - model.proof_share),
        )
        proof = replace(proof, needed=needed)
    return _average(model, people, engine, models, mixtures, proof)


def _check_forward(model: FairClassifier, people: People, worst: bool) -> None:
    reasons = {
        "deterministic=True": bool(model.deterministic),
        "missing='worst'": worst,
        f"{model.constraint!r}, which has a parameter that a fit finds": model.constraint.n_open,
        f"X of type {type(people.X).__name__}, whose rows are on other machines": not engine_for(
            people.X
        ).is_local,
    }
    for reason, is_given in reasons.items():
        if is_given:
            raise ValueError(f"proof='forward' fits several times; got {reason}. Use 'split'.")


@dataclass(frozen=True, eq=False)
class _Block:
    """What one model does to the people after it: rates of each row's strata.

    Attributes
    ----------
    rows : TestedRows
    rates, people : list of arrays of shape (S,)
        A pair for each row.
    room : array of shape (K,)
        What rows are below their bounds.
    """

    rows: TestedRows
    rates: list[Array]
    people: list[Array]
    room: Array

    @classmethod
    def of(
        cls, constraint: Constraint, engine: Engine, trained: _Trained, mixture: Mixture
    ) -> _Block:
        """Ask the members of a mixture about these people; decisions count in expectation."""
        rows = rows_of_proof(constraint, engine.cells.table(), trained.problem.cells)
        members = mixture.members(trained.problem.pool.classifiers)
        s = mixture.weights @ engine.shares(members)
        cells = rows.cells
        selected = s / cells.mass * cells.count
        counts = np.stack([cells.count - selected, selected], axis=1)
        sums = [one.sums(counts) for one in rows.strata if one is not None]
        rates = [x / np.maximum(n, 1) for x, n in sums]
        return cls(rows, rates, [n for _, n in sums], rows.moments.c - rows.gamma(s))


def _p_values_of(blocks: Sequence[_Block]) -> Array:
    """Return the p-value of each row: the score test of its mean over the blocks, all alike."""
    p = []
    for k, strata in enumerate(blocks[0].rows.strata):
        assert strata is not None
        people = np.array([block.people[k] for block in blocks])
        if not people.all():
            p.append(1.0)
            continue
        rate = np.mean([block.rates[k] for block in blocks], axis=0)
        n = len(blocks) ** 2 / (1 / people).sum(axis=0)
        share = people[:, 0].sum() / people.sum()
        p.append(float(score_p(rate * n, n, strata.a + share * strata.slope, strata.c)))
    return np.array(p)


def _average(
    model: FairClassifier,
    people: People,
    engine: Engine,
    models: Sequence[_Trained],
    mixtures: Sequence[Mixture],
    proof: Proof,
) -> Proven:
    """Return the average of mixtures as the fit to all people."""
    members = [
        h
        for one, mixture in zip(models, mixtures, strict=True)
        for h in mixture.members(one.problem.pool.classifiers)
    ]
    weights = np.concatenate([mixture.weights / len(mixtures) for mixture in mixtures])
    first = models[0]
    table, unconstrained = engine.cells.table(), unconstrained_of(first.problem)
    s, _, divided, switches = engine.compare(members, unconstrained.classifier)
    pool = Pool.of(members, s)
    pool.n_calls = sum(one.problem.pool.n_calls for one in models)
    game = model._game(model.constraint, table).as_given()
    mixture = Mixture.of_weights(weights, np.zeros(game.n_constraints))
    n_rounds = sum(one.path.n_rounds for one in models)
    proving = best_mixture(replace(game, B=64.0), s).multipliers
    found = Round.of_mixture(game, pool, mixture, n_rounds, [proving])
    found = replace(found, by_lot=Lottery(divided, True))
    nu = first.problem.nu
    certificate = Certificate.of_round(found, game, s, nu=nu, scope=Scope.POOL, cells=table)
    if switches is not None:
        switched = Switched.of_mixture(table, switches, mixture, engine.classes)
        certificate = replace(certificate, switched=switched)
    result = FitResult(
        RandomizedClassifier(members, weights, engine.classes, _salt(model, engine)),
        certificate,
        model.constraint,
        {"training": Tally.of_shares(table, mixture.shares(s))},
        {"train": certificate.violation},
        nu,
        np.inf,
        n_rounds,
        pool.n_calls,
        fingerprint_of(engine, people, engine.classes),
        engine.example(people.X),
        unconstrained,
    )
    return Proven(result, proof, Outcome(found, n_rounds, first.path.reason))


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

    def steered(self, gained: Array, left: float, ratio: float, level: float) -> Mixture:
        """Return the mixture whose rows have the room that a forward proof still needs.

        Parameters
        ----------
        gained : array of shape (K,)
            The part of the mean room that the blocks before have.
        left : float
            The share of people of the proof in this block and those to come.
        ratio : float
            People of the proof for each learned from.
        level : float
        """
        path = self.path
        noise = _ROOM * np.sqrt(left + left**2 * ratio)
        tighter = (path.errors * (norm.isf(level) + noise) - gained) / left
        (found,) = over_pool(
            [path.game.relaxed(-tighter)],
            self.problem.pool,
            None,
            unconstrained=path.free,
            nu=self.problem.nu,
        )
        return found.mixture

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
        found = measured(
            problem, Round.of_mixture(game, problem.pool, mixture, path.n_rounds, asked)
        )
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
