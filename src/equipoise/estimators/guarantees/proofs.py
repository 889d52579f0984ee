"""Proofs of fitted classifiers: candidates from the fit, tested on people apart from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Cells
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
from equipoise.game.least_random import lottery
from equipoise.game.rounds import Pool, Round
from equipoise.guarantees.path import MOST_CONSTANT, Path
from equipoise.guarantees.people_needed import Needed, needed_for, read_probability
from equipoise.guarantees.proof import MOST_REGARDLESS, Proof, Walk, walk
from equipoise.guarantees.tested_rows import Decided, TestedRows, Units
from equipoise.oracles.decisions import decisions
from equipoise.oracles.trainers import is_constant
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.hashing import draw_uniform, hash_people
from equipoise.rows.people import People
from equipoise.rows.tables import batches
from equipoise.rows.validation import check_two_labels

if TYPE_CHECKING:
    from equipoise.estimators.frontier import Frontier
    from equipoise.estimators.reductions import FairClassifier

#: What was proven on which people in this process: statements by fingerprint.
_PROVEN: dict[str, list[str]] = {}
#: A smaller share of people who equal another one is not mentioned. Nor are any where, of those
#: with equal features, more than the rest of the second share differ in label or group.
_COPIES, _ALIKE = 0.01, 0.95


def prove(
    self: Frontier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    missing: str | None = None,
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
        promise is about; as for ``fit``.
    clusters, missing
        As for `FairClassifier.fit`; without ``missing``, as in the fit.
    eps : float, optional
        The bound; by default that of the constraint.
    confidence : float, default=0.95
        The promise is kept with at least this probability over the draw of these people.
    fallback : {None, "fairest", "lottery"}, default=None
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
    for the population that they come from. The test is exact. Limiting: demographic parity: F below
    M by at most 0.06, 1,967 people.
    """
    check_is_fitted(self)
    check_two_labels(self.classes_, "prove")
    read_probability(confidence, "confidence")
    read_fallback(fallback)
    if missing not in (None, "worst"):
        raise ValueError(f"missing is {missing!r}; expected 'worst', or None: as in the fit.")
    people = People(X, y, sensitive_features, control_features, sample_weight, clusters=clusters)
    model = _prove(self, people, eps, confidence, fallback, missing == "worst")
    model.confidence, model.fallback = confidence, fallback
    warn_of_proof(model.proof_)
    return model


def _prove(
    frontier: Frontier,
    people: People,
    eps: float | None,
    confidence: float,
    fallback: str | None,
    worst: bool,
) -> FairClassifier:
    bound = _one_bound(frontier.constraint) if eps is None else float(eps)
    constraint = with_eps(frontier.constraint, bound)
    seen = _check_apart(frontier, people)
    engine = frontier._open_new(people, "ignore" if worst else None)
    rows = rows_of_proof(constraint, engine.cells.table(), frontier.cells_)
    tested = Tested.of(engine, people, rows, worst)
    copies = copies_of(engine, people)
    known = TestedRows.of(constraint, frontier.cells_)
    game = frontier.lagrangian_.with_bound(bound).as_given()
    pool, nu = frontier.pool_, frontier.nu_
    ratio = engine.cells.n_effective / frontier.cells_.n_effective
    constants = sure_constants(pool, known)
    path = Path.over(
        game, pool, frontier._free, known, float(ratio**-0.5), nu=nu, constants=constants
    )
    walked = tested.walked(path, pool, frontier._salt, 1 - confidence)
    fitted = "" if frontier.people_ is None else frontier.people_.digest
    statement = f"{constraint!r} {frontier.estimator!r} {confidence} {fitted}"
    digest, reused = note_people(engine, people, statement, frontier.__dict__)
    proof = tested.proof(
        path,
        walked,
        pool,
        confidence=confidence,
        fallback=fallback,
        design="apart",
        known=known,
        ratio=ratio,
        fingerprint=digest,
        reused=reused,
        seen=seen,
        copies=copies,
    )
    (best,) = over_pool([game], pool, frontier._queries, unconstrained=frontier._free, nu=nu)
    chosen = path.mixtures[proof.point]
    found = Round.of_mixture(game, pool, chosen, frontier.n_iter_, best.queries)
    found = replace(found, by_lot=lottery(frontier.disagreement_, chosen.indices))
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


@dataclass(frozen=True, eq=False)
class Tested:
    """The people of a proof, and the rows that are tested on them.

    Attributes
    ----------
    engine : Engine
    rows : TestedRows
    units : Units or None
        Whom to count once, if not every person.
    worst : bool
        Whether people whose group is not known are counted where it hurts a row most.
    """

    __test__ = False  # no test of pytest's

    engine: Engine
    rows: TestedRows
    units: Units | None
    worst: bool

    @classmethod
    def of(cls, engine: Engine, people: People, rows: TestedRows, worst: bool) -> Tested:
        """Check who counts how, before any work."""
        cells = engine.cells
        clusters = people.read_clusters() if engine.is_local else people.clusters
        if not engine.is_local:
            even = np.allclose(cells.square, cells.mass / cells.count.sum(), rtol=1e-6)
            if clusters is not None or not even:
                raise ValueError(
                    "a proof with weights or clusters looks at single people, but X is a "
                    f"{type(people.X).__name__}, whose rows are on other machines. Prove on people "
                    "in memory or on disk: Frontier.prove."
                )
            return cls(engine, rows, None, worst)
        assert isinstance(cells, Cells)
        weight = cells.weight
        if weight is not None and np.ptp(weight) <= 1e-9 * weight.max():
            weight = None
        units = Units.of(weight, clusters, len(cells.code))
        if worst and units is not None:
            raise ValueError(
                "missing='worst' counts people, each once; got sample_weight or clusters. Use "
                "missing='ignore'."
            )
        if worst:
            rows.check_unknown()
        return cls(engine, rows, units, worst)

    def walked(self, path: Path, pool: Pool, salt: int, delta: float) -> Walk:
        """Walk along the path, with decisions as they will be drawn with this salt."""
        drawn = _Drawn(path, pool, self.engine, salt)

        def test(t: int) -> Array:
            low, high = path.reach(path.mixtures[t])
            rows = self.rows
            if low < 1.0 and high > 0.0:  # not one constant alone
                rows = rows.among(low, high)
            return rows.p_values(drawn.decided(t), delta, self.units, self.worst)

        return walk(len(path.mixtures), test, delta)

    @property
    def population(self) -> str:
        """Whom the proof is about, in words."""
        text = "the population that they come from"
        if self.units is not None:
            text = f"the {self.units.population} in {text}"
        unknown = self._n_unknown / self.rows.cells.n_examples
        if unknown == 0:
            return text
        if self.worst:
            return f"{text}, whatever groups the {100 * unknown:.2g} % are of who do not tell"
        return f"{text}, of people whose group is known ({100 * (1 - unknown):.3g} % of these)"

    @property
    def _n_unknown(self) -> int:
        return int(self.rows.cells.count[self.rows.cells.unknown].sum())

    def proof(
        self,
        path: Path,
        walked: Walk,
        pool: Pool,
        *,
        confidence: float,
        fallback: str | None,
        known: TestedRows,
        ratio: float,
        **more: Any,
    ) -> Proof:
        """Return the proof of a walk, with how many people one takes that has failed.

        ``known`` are the rows over people learned from, of whom there are 1 / ratio for each of the
        proof.
        """
        regardless = [path.regardless(mixture) for mixture in path.mixtures]
        needed: Needed | None = None
        failed = walked.last < 0 or regardless[walked.last] > 0
        if failed and self.units is None:
            cells = replace(known.cells, count=known.cells.count * ratio)
            shares = path.plain_strictest(pool)
            needed = needed_for(
                replace(known, cells=cells), shares, confidence=confidence, ratio=float(ratio)
            )
        return Proof.of_walk(
            self.rows,
            walked,
            regardless,
            confidence=confidence,
            most_regardless=MOST_CONSTANT if fallback == "lottery" else MOST_REGARDLESS,
            is_exact=self.units is None and bool(self.rows.is_exact.all()),
            people=self.rows.cells.n_examples - (0 if self.worst else self._n_unknown),
            population=self.population,
            needed=needed,
            **more,
        )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What the candidates of a path decide about people, as it will be drawn."""

    path: Path
    pool: Pool
    engine: Engine
    salt: int

    def decided(self, t: int) -> Decided:
        """Return the decisions of the members of a candidate that are not constants."""
        mixture = self.path.mixtures[t]
        left = ~np.isin(mixture.indices, list(self.path.constants))
        if not left.any():  # one constant, or a lottery between two
            left[:] = True
        members = mixture.indices[left]
        weights = mixture.weights[left] / mixture.weights[left].sum()
        cells = self.engine.cells
        if not self.engine.is_local:
            classifiers = [self.pool.classifiers[h] for h in members]
            (s,) = self.engine.shares(
                [RandomizedClassifier(classifiers, weights, (0, 1), self.salt)]
            )
            selected = np.round(s * cells.total_weight)
            return Decided(np.stack([cells.count - selected, selected], axis=1))
        assert isinstance(cells, Cells)
        answers = [self._answers[int(h)] for h in members]
        drawn = np.asarray(answers[0], dtype=np.intp)
        if len(members) > 1:
            number = np.searchsorted(np.cumsum(weights)[:-1], self._uniform, side="right")
            drawn = np.array(answers)[number, np.arange(len(number))].astype(np.intp)
        counts = np.bincount(2 * cells.code + drawn, minlength=2 * cells.n_cells)
        return Decided(counts.reshape(-1, 2).astype(float), cells.code, drawn)

    @cached_property
    def _answers(self) -> dict[int, NDArray]:
        used = sorted({int(h) for mixture in self.path.mixtures for h in mixture.indices})
        X: Any = getattr(self.engine, "X", None)
        return dict(zip(used, decisions([self.pool.classifiers[h] for h in used], X), strict=True))

    @cached_property
    def _uniform(self) -> Array:
        X: Any = getattr(self.engine, "X", None)
        return np.concatenate([draw_uniform(batch, salt=self.salt) for batch in batches(X)])


def rows_of_proof(constraint: Constraint, cells: CellTable, known: CellTable) -> TestedRows:
    """Return the rows over the people of a proof; raise where they are not those of the fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        rows = TestedRows.of(constraint, cells, known)
        asked = {row.sentence() for row in constraint.moments(known).rows}
        here = {row.sentence() for row in constraint.moments(cells).rows}
    there = {row.sentence() for row in rows.moments.rows}
    for missing, who in ((asked - there, "of the proof"), (here - asked, "learned from")):
        if missing:
            raise ValueError(
                f"nothing can be proven about {min(missing)!r}: the people {who} have too few "
                "people for it, or none. Collect more, or leave the group out of the constraint."
            )
    return rows


def copies_of(engine: Engine, people: People) -> float:
    """Return the share of people who equal another one, with a warning that says what to do."""
    if not engine.is_local or people.clusters is not None:
        return 0.0
    cells = engine.cells
    assert isinstance(cells, Cells)
    n = len(cells.code)
    try:
        hashes = hash_people(people.X, np.zeros(n), 1)
    except TypeError:  # rows that cannot be hashed
        return 0.0
    _, number, count = np.unique(hashes, return_inverse=True, return_counts=True)
    if len(count) == 1:
        raise ValueError(
            "all rows of X are equal: nothing can be learned from them. Pass the features."
        )
    first = np.zeros(len(count), dtype=cells.code.dtype)
    first[number] = cells.code
    alike = np.ones(len(count), dtype=bool)
    alike[number[first[number] != cells.code]] = False
    repeated = count > 1
    share = float(count[repeated].sum() / n)
    if share < _COPIES or alike[repeated].mean() < _ALIKE:
        return 0.0
    warnings.warn(
        f"{100 * share:.3g} % of the people equal another one in every value, label and group. If "
        "they are copies of people (oversampling, a join, several rows of a person), the proof is "
        "void: pass clusters=, what tells whose row it is. If they are different people, all is "
        "well.",
        SeenPeopleWarning,
        stacklevel=5,
    )
    return share


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
