"""Proofs of fitted classifiers: candidates from the fit, tested on people apart from it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import All, Constraint
from equipoise.engines.base import Engine
from equipoise.estimators.base import overlap_of, read_fallback
from equipoise.estimators.frontier_point import point_of, with_eps
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.exceptions import (
    EquipoiseWarning,
    NotProvenWarning,
    RegardlessWarning,
    ReusedPeopleWarning,
    SeenPeopleWarning,
)
from equipoise.game.column_generation import over_pool
from equipoise.game.rounds import Pool, Round
from equipoise.guarantees.path import Path
from equipoise.guarantees.people_needed import Needed, needed_for, read_probability
from equipoise.guarantees.proof import Decided, Proof, Walk, walk
from equipoise.guarantees.tested_rows import TestedRows
from equipoise.oracles.trainers import is_constant
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.people import People
from equipoise.rows.validation import check_two_labels

if TYPE_CHECKING:
    from equipoise.estimators.frontier import Frontier
    from equipoise.estimators.reductions import FairClassifier

#: What was proven on which people in this process: statements by fingerprint.
_PROVEN: dict[str, list[str]] = {}


def prove(
    self: Frontier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    eps: float | None = None,
    confidence: float = 0.95,
    fallback: str | None = None,
) -> FairClassifier:
    """Return the most accurate classifier known whose bound is proven for people not seen.

    Candidates are mixtures of the classifiers of the fit, their bounds tightened by so many
    standard errors. They are tested from the fairest to the loosest, up to the first that fails;
    the last one that did not is returned. Nothing is trained.

    Parameters
    ----------
    X, y, sensitive_features, control_features, sample_weight
        People apart from those of the fit and of all other proofs, from the population that the
        promise is about; as for ``fit``. With weights, the proof counts effective numbers of people
        and is asymptotic.
    eps : float, optional
        The bound; by default that of the constraint.
    confidence : float, default=0.95
        The promise is kept with at least this probability over the draw of these people.
    fallback : {None, "fairest"}, default=None
        What decides where nothing is proven; see `FairClassifier`.

    Returns
    -------
    FairClassifier
        With ``proof_``, a `equipoise.Proof`. Where that does not hold, a warning says how many
        people it would take.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, Frontier
    >>> rng = np.random.default_rng(0)
    >>> A = rng.choice(["F", "M"], 8000)
    >>> X = np.column_stack([(A == "M") + rng.normal(size=8000), rng.normal(size=8000)])
    >>> y = (X.sum(axis=1) + rng.normal(size=8000) > 0.5).astype(int)
    >>> frontier = Frontier(LogisticRegression(), DemographicParity(reference="pairwise"))
    >>> frontier = frontier.fit(X[:4000], y[:4000], sensitive_features=A[:4000])
    >>> model = frontier.prove(X[4000:], y[4000:], sensitive_features=A[4000:], eps=0.06)
    >>> print(model.proof_)  # doctest: +NORMALIZE_WHITESPACE
    With probability 95 % over the draw of the 4,000 people of the proof, both bounds hold at 0.06
    for the population that they come from. Limiting: demographic parity: F below M by at most
    0.06, 1,967 people.
    """
    check_is_fitted(self)
    check_two_labels(self.classes_, "prove")
    read_probability(confidence, "confidence")
    read_fallback(fallback)
    people = People(X, y, sensitive_features, control_features, sample_weight)
    model = _prove(self, people, eps, confidence)
    model.confidence, model.fallback = confidence, fallback
    warn_of_proof(model.proof_)
    return model


def _prove(
    frontier: Frontier, people: People, eps: float | None, confidence: float
) -> FairClassifier:
    bound = _one_bound(frontier.constraint) if eps is None else float(eps)
    constraint = with_eps(frontier.constraint, bound)
    seen = _check_apart(frontier, people)
    engine = frontier._open_new(people)
    rows = rows_of_proof(constraint, engine.cells.table(), frontier.cells_)
    known = TestedRows.of(constraint, frontier.cells_)
    game = frontier.lagrangian_.with_bound(bound).as_given()
    pool, nu = frontier.pool_, frontier.nu_
    ratio = engine.cells.n_effective / frontier.cells_.n_effective
    path = Path.over(
        game,
        pool,
        frontier._free,
        known,
        float(ratio**-0.5),
        nu=nu,
        constants=sure_constants(pool, known),
    )
    decided, walked = walk_people(path, pool, rows, engine, frontier._salt, 1 - confidence)
    fitted = "" if frontier.people_ is None else frontier.people_.digest
    statement = f"{constraint!r} {frontier.estimator!r} {confidence} {fitted}"
    digest, reused = note_people(engine, people, statement, frontier.__dict__)
    proof = Proof.of_walk(
        rows,
        walked,
        decided,
        confidence=confidence,
        design="apart",
        fingerprint=digest,
        reused=reused,
        seen=seen,
        needed=people_for_proof(walked, decided, known, path, pool, ratio, confidence),
    )
    (best,) = over_pool([game], pool, frontier._queries, unconstrained=frontier._free, nu=nu)
    chosen = path.mixtures[proof.point]
    found = Round.of_mixture(game, pool, chosen, frontier.n_iter_, best.queries)
    point = point_of(bound, found, game, frontier._certificate(found, game))
    return frontier._classifier(point, proof)


def warn_of_proof(proof: Proof) -> None:
    """Warn where nothing was proven, or at the price of decisions regardless of who it is."""
    if not proof.holds:
        warnings.warn(proof.sentence, NotProvenWarning, stacklevel=3)
    elif proof.regardless:
        warnings.warn(proof.sentence, RegardlessWarning, stacklevel=3)


def sure_constants(pool: Pool, rows: TestedRows) -> dict[int, int]:
    """Return constant classifiers of a pool whose rows are known for sure: numbers, decisions."""
    constants = {h: int(c.constant) for h, c in enumerate(pool.classifiers) if is_constant(c)}
    return {h: label for h, label in constants.items() if rows.sure[label]}


def walk_people(
    path: Path, pool: Pool, rows: TestedRows, engine: Engine, salt: int, delta: float
) -> tuple[Decided, Walk]:
    """Walk along the path on the people of an engine, which were not learned from."""
    mixtures, classifiers = path.mixtures, pool.classifiers
    used = sorted({int(h) for mixture in mixtures for h in mixture.indices})
    s = np.zeros((len(classifiers), rows.cells.n_cells))
    s[used] = engine.shares([classifiers[h] for h in used])
    decided = Decided(
        np.array([mixture.shares(s) for mixture in mixtures]),
        np.array([path.reach(mixture) for mixture in mixtures]),
    )
    if not rows.exact.any():
        return decided, walk(len(mixtures), decided.tests(rows), delta)

    def test(t: int) -> Array:
        # Decisions as they will be drawn: a fixed classifier, so that counts are whole.
        left = ~np.isin(mixtures[t].indices, list(path.constants))
        members = [classifiers[h] for h in mixtures[t].indices[left]]
        among, others = decided.among(rows, [t])
        if not members:
            return among.p_values(others)[0]
        drawn = RandomizedClassifier(members, mixtures[t].weights[left], (0, 1), salt)
        return among.p_values(others, engine.shares([drawn]))[0]

    return decided, walk(len(mixtures), test, delta)


def rows_of_proof(constraint: Constraint, cells: CellTable, known: CellTable) -> TestedRows:
    """Return the rows over the people of a proof; raise where one of the fit is not among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        rows = TestedRows.of(constraint, cells, known)
        asked = constraint.moments(known).rows
    there = {row.sentence() for row in rows.moments.rows}
    if missing := [row for row in asked if row.sentence() not in there]:
        raise ValueError(
            f"nothing can be proven about {missing[0].sentence()!r}: the people of the proof have "
            "too few people for it, or none. Draw them from the same population as those of the "
            "fit, or leave the group out of the constraint."
        )
    return rows


def people_for_proof(
    walked: Walk,
    decided: Decided,
    known: TestedRows,
    path: Path,
    pool: Pool,
    ratio: float,
    confidence: float,
) -> Needed | None:
    """Return how many people a proof would take, from the fit alone; None if there are enough.

    ``known`` are rows over people learned from, of whom there are 1 / ratio for each of the proof.
    """
    if walked.last >= 0 and not decided.regardless[walked.last]:
        return None
    s = path.plain_strictest(pool)
    cells = known.cells
    sized = replace(cells, count=cells.count * ratio, square=cells.square / ratio)
    return needed_for(replace(known, cells=sized), s, ratio=float(ratio), confidence=confidence)


def _one_bound(constraint: Constraint) -> float:
    """Return the bound of a constraint, if it has one for all rows."""
    parts = constraint.parts if isinstance(constraint, All) else (constraint,)
    bounds: list[Any] = [part.get_params().get("eps") for part in parts]
    if any(not isinstance(eps, (int, float)) or eps != bounds[0] for eps in bounds):
        raise ValueError(
            f"{constraint!r} has no one bound for all rows, as a frontier does; give eps=."
        )
    return float(bounds[0])


def _check_apart(frontier: Frontier, people: People) -> str:
    """Raise where all people of a proof were learned from; warn where some were, and say it."""
    overlap = overlap_of(frontier, people)
    if overlap is None or overlap.set_apart or not (overlap.low or overlap.relabelled):
        return ""
    if overlap.low == overlap.people:
        raise ValueError(
            f"of the people of the proof, {overlap}; expected people apart from the fit. Fit a "
            "part of the table and prove on the rest, or use FairClassifier(confidence=...)."
        )
    warnings.warn(
        f"of the people of the proof, {overlap}. A proof speaks of people apart from the fit.",
        SeenPeopleWarning,
        stacklevel=4,
    )
    return str(overlap)


def note_people(
    engine: Engine, people: People, statement: str, kept: dict[str, Any] | None = None
) -> tuple[str, bool]:
    """Return the fingerprint of the people of a proof, and whether they had served another one.

    ``kept`` is where a frontier keeps what was proven on whom, besides this process.
    """
    try:
        digest = Fingerprint.of(engine.hashed(people, engine.classes)).digest
    except TypeError:  # rows that cannot be hashed
        return "", False
    ledgers = [_PROVEN] if kept is None else [_PROVEN, kept.setdefault("proofs_", {})]
    before = [other for ledger in ledgers for other in ledger.get(digest, []) if other != statement]
    for ledger in ledgers:
        if statement not in ledger.setdefault(digest, []):
            ledger[digest].append(statement)
    if before:
        warnings.warn(
            "the same people served another proof before. Each proof alone keeps its promise; the "
            "best of several need not. Draw new people, or decide on one proof beforehand.",
            ReusedPeopleWarning,
            stacklevel=4,
        )
    return digest, bool(before)
