"""Rounds of the game, and the one driver that runs a solver.

A solver is a generator: it does one round, yields where the game stands, and returns once neither
player can gain more than ``nu``. Progress, early stopping and interruption are here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.progress import Tell, check_verbose, telling

if TYPE_CHECKING:
    from equipoise.game.feasibility import Conflict


class Response(NamedTuple):
    """The answer of an oracle: a classifier, and its selected share of each cell."""

    classifier: Any
    s: Array


class Oracle(Protocol):
    """Best_h: from the signed cost of predicting 1 in each cell to a classifier of least cost."""

    #: Whether the answer is a true minimiser over the class H (else the learner's best effort).
    exact: bool
    #: Whether shares are measured on rows that the classifier was not trained on.
    out_of_fold: bool
    #: The probabilities that every answer cuts, `equipoise.oracles.plugin.SharedProbabilities`;
    #: None where each answer has scores of its own, or workers hold the rows.
    shared: Any = None
    #: Part of their trees that answers share with the answer without constraints.
    shared_trees: float = 0.0

    def best_response(self, costs: Array) -> Response:
        """Return a classifier that makes the costs of those it selects as low as it can."""
        ...

    def start_from(self, classifier: Any) -> None:
        """Train the next classifier from this one, where the learner can; else do nothing."""
        return

    def grow_from(self, classifier: Any) -> None:
        """Share the first trees of this one, the answer without constraints, where asked to."""
        return


#: A query whose labels differ for this share of the weight is another one, and an answer that is
#: better than a constant's by less than that share of the weight does not answer it.
_OTHER_LABELS, _NO_GAIN = 0.1, 1e-3

Respond = Callable[[Oracle, list[Array]], Iterable[Response]]


def key_of(costs: Array) -> bytes:
    """Return a key that is the same for costs that are the same to a learner."""
    # Only the ratios of the costs matter to a learner; adding 0.0 makes -0.0 the same as 0.0.
    return (np.round(costs / max(np.abs(costs).max(), 1e-300), 12) + 0.0).tobytes()


@dataclass(eq=False, repr=False)
class Pool:
    """The classifiers found so far, each known by its selected shares s(h).

    A pool knows no bound and no constraint: the same one serves them all.

    Parameters
    ----------
    respond : callable, optional
        Puts a list of costs to an oracle and yields its responses in order; by default one after
        the other.

    Attributes
    ----------
    classifiers : list of P
    s : array of shape (P, C)
        Their selected shares. A classifier that is added makes another array.
    n_calls : int
    """

    respond: Respond | None = None
    classifiers: list[Any] = field(default_factory=list)
    s: Array = field(default_factory=lambda: np.zeros((0, 0)))
    n_calls: int = 0
    _asked: dict[bytes, int] = field(default_factory=dict)
    #: The oracle's own answers to the costs of `keep`.
    _kept: dict[bytes, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, classifiers: Iterable[Any], s: Array) -> Pool:
        """Return a pool of these classifiers, all of them, with these shares (P, C)."""
        return cls(classifiers=list(classifiers), s=np.array(s))

    def __len__(self) -> int:
        return len(self.classifiers)

    def ask(self, oracle: Oracle, *costs: Array) -> list[int]:
        """Return the numbers of the oracle's classifiers for these costs, asking only once each."""
        keys = [key_of(c) for c in costs]
        new = {key: c for key, c in zip(keys, costs, strict=True) if key not in self._asked}
        if new and self._asked:
            oracle.start_from(self._nearest(next(iter(new))))
        if new and (first := next(iter(self._kept.values()), None)) is not None:
            oracle.grow_from(first)
        answers: Iterable[Response] = (oracle.best_response(c) for c in new.values())
        if self.respond is not None:
            answers = self.respond(oracle, list(new.values()))
        for key, response in zip(new, answers, strict=True):
            self.n_calls += 1
            self._asked[key] = self.add(*response)
            if key in self._kept:
                self._kept[key] = response.classifier
        return [self._asked[key] for key in keys]

    def _nearest(self, key: bytes) -> Any:
        """Return the answer to the most similar costs, from which a learner may start."""
        known = np.frombuffer(b"".join(self._asked)).reshape(len(self._asked), -1)
        distance = np.abs(known - np.frombuffer(key)).sum(axis=1)
        return self.classifiers[list(self._asked.values())[int(distance.argmin())]]

    def ignores_labels(self, mass: Array, n_constants: int) -> bool:
        """Return whether the oracle gives one answer whatever the labels of a query are.

        All queries then have the same answer besides constants, the first ``n_constants`` of the
        pool: also one whose labels differ from the first query's for a tenth of the weight, to
        which a constant is as good an answer. ``mass`` are the shares of the cells.
        """
        queries = [key for key, number in self._asked.items() if number >= n_constants]
        numbers = {self._asked[key] for key in queries}
        if len(numbers) != 1 or len(queries) < 2:
            return False
        costs = np.frombuffer(b"".join(queries)).reshape(len(queries), -1)
        weight = np.abs(costs) * np.resize(mass, costs.shape[1])
        differs = (costs < 0) != (costs[0] < 0)
        changed = (weight * differs).sum(axis=1) > _OTHER_LABELS * weight.sum(axis=1)
        best_constant = (costs @ self.s[:n_constants].T).min(axis=1)
        gain = best_constant - costs @ self.s[numbers.pop()]
        return bool((changed & (gain < _NO_GAIN * weight.sum(axis=1))).any())

    def detached(self) -> Pool:
        """Return the pool without its means to ask in parallel or to write files."""
        pool = Pool.of(self.classifiers, self.s)
        pool.n_calls, pool._asked = self.n_calls, dict(self._asked)
        return pool

    def keep(self, costs: Array) -> None:
        """Keep the answer to these costs; the pool may have another classifier of its shares.

        The first of them are those without constraints, from whose answer others may grow.
        """
        self._kept.setdefault(key_of(costs), None)

    def answer_to(self, costs: Array) -> Any:
        """Return the oracle's own answer to costs of `keep`; None if it was not asked."""
        return self._kept.get(key_of(costs))

    def number_of(self, costs: Array) -> int | None:
        """Return the number of the answer to these costs; None if they were not asked."""
        return self._asked.get(key_of(costs))

    def knows(self, costs: Array) -> bool:
        """Whether the oracle was asked for these costs already."""
        return key_of(costs) in self._asked

    def add(self, classifier: Any, s: Array) -> int:
        """Add a classifier unless one with the same shares is there; return its number."""
        if len(self.s):
            distance = np.abs(self.s - s).max(axis=1)
            if distance.min() <= 1e-13:
                return int(distance.argmin())
        self.classifiers.append(classifier)
        self.s = np.vstack([self.s, s]) if len(self.s) else np.array([s])
        return len(self.classifiers) - 1


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game: the randomized classifier Q, the multipliers, and what is proven.

    Attributes
    ----------
    iteration, n_calls : int
        Rounds run and calls of the oracle so far.
    mixture : Mixture
        Q, as weights of classifiers in the pool.
    s : array of shape (C,)
        Its selected shares, s(Q).
    multipliers : array of shape (K,)
        The multipliers lambda that prove ``lower``.
    error : float
        err(Q).
    gamma : array of shape (K,)
        gamma(Q), the values of the constraints.
    violation : float
        By how much the worst constraint is exceeded.
    lower, upper : float
        No classifier does better than ``lower``; Q itself does no worse than ``upper``.
    gap : float
        nu_t: how much either player could still gain.
    queries, slack_queries : sequences of arrays of shape (K,)
        The multipliers whose best responses prove ``lower`` and ``proven_slack``, as of this round.
    stage : "optimality", "feasibility" or "minimax"
        Whether error is being minimised, or first the violation, or a largest rate, alone.
    least_slack : float
        Loosening of every bound with which the constraints are met, zero if none is needed.
    proven_slack : float
        No classifier meets the constraints with less than this loosening.
    conflict : tuple of int
        If there is such a slack, numbers of constraints that contradict each other.
    loosening : array of shape (K,)
        By how much each bound is loosened in this round, for want of a classifier that meets it.
    worst_rate : pair of float, or None
        Where a largest rate had to be made least: its lower and its upper value.
    explained : Conflict or None
        Why the constraints cannot be met, once a search that found so has come to its end.
    by_lot : Lottery or None
        The share of people whom Q decides about by lot; None where that is not known.
    why_by_lot : str
        Where one rule was asked for and is not the result, the reason.
    """

    iteration: int
    n_calls: int
    mixture: Mixture = field(repr=False)
    s: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    error: float
    gamma: Array = field(repr=False)
    violation: float
    lower: float
    upper: float
    gap: float
    queries: Sequence[Array] = field(default=(), repr=False)
    slack_queries: Sequence[Array] = field(default=(), repr=False)
    stage: str = "optimality"
    least_slack: float = 0.0
    proven_slack: float = 0.0
    conflict: tuple[int, ...] = ()
    loosening: Array | float = field(default=0.0, repr=False)
    worst_rate: tuple[float, float] | None = None
    explained: Conflict | None = field(default=None, repr=False)
    by_lot: Lottery | None = None
    why_by_lot: str = ""

    @classmethod
    def of_mixture(
        cls,
        lagrangian: Lagrangian,
        pool: Pool,
        mixture: Mixture,
        iteration: int,
        queries: Sequence[Array] = (),
        **fields: Any,
    ) -> Round:
        """Return the round of a mixture of the pool, with the lower value that queries prove."""
        s = mixture.shares(pool.s)
        lower, multipliers = -np.inf, np.zeros(lagrangian.n_constraints)
        if len(queries):
            lower, multipliers = lagrangian.lower(pool.s, np.array(queries))
        error, gamma, violation, upper = lagrangian.worth(s)
        return cls(
            iteration=iteration,
            n_calls=pool.n_calls,
            mixture=mixture,
            s=s,
            multipliers=multipliers,
            error=error,
            gamma=gamma,
            violation=violation,
            lower=lower,
            upper=upper,
            gap=max(upper - lower, 0.0),
            queries=queries,
            **fields,
        )

    def without_proof(self) -> Round:
        """Return the round of a search that was stopped, which proves nothing impossible.

        Where the oracle is a learner, it may still find what none of its answers so far allows.
        """
        return replace(self, proven_slack=0.0, conflict=(), explained=None)

    def mixing(self, game: Lagrangian, s: Array, mixture: Mixture, **fields: Any) -> Round:
        """Return the round with another mixture of the pool ``s``; the lower value stays.

        ``game`` has its bounds as loosened in this round.
        """
        mixed = mixture.shares(s)
        error, gamma, violation, upper = game.worth(mixed)
        return replace(
            self,
            mixture=mixture,
            s=mixed,
            error=error,
            gamma=gamma,
            violation=violation,
            upper=upper,
            gap=max(upper - self.lower, 0.0),
            **fields,
        )


class Reason(Enum):
    """Why a solver ended; the value is a sentence for users."""

    FINISHED = "came to its end"
    MAX_ITER = "stopped by max_iter"
    CALLBACK = "stopped by the callback"
    INTERRUPT = "interrupted from the keyboard"

    @property
    def is_early(self) -> bool:
        """Whether the end came before the solver's own, and not by the user's callback."""
        return self in (Reason.MAX_ITER, Reason.INTERRUPT)


@dataclass(frozen=True)
class Limits:
    """When to stop a solver, and whom to tell about its rounds.

    Attributes
    ----------
    max_iter : int
        The most rounds to run.
    callback : callable, optional
        Called with what each round yields; True stops the solver.
    verbose : bool, "bar" or "lines"
        Whether to show progress, and how; see `equipoise.progress`.
    seen_as : callable, optional
        From what a solver yields to what callback and progress get to see of it, where the game has
        units of its own.
    measure : str
        What progress calls the number that is made least.
    """

    max_iter: int
    callback: Callable[[Any], object] | None = None
    verbose: bool | int | str | None = False
    seen_as: Callable[[Any], Any] = lambda found: found
    measure: str = "error"

    def __post_init__(self) -> None:
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"callback is {self.callback!r}; expected a function that takes a Round."
            )
        if self.verbose:
            check_verbose(self.verbose)


T = TypeVar("T", Round, list[Round])

_INTERRUPTED = "interrupted: the best so far is measured"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The last round of a solver, the number of rounds, and why there were no more."""

    last: T
    n_rounds: int
    reason: Reason


def run(rounds: Iterable[T], limits: Limits, nu: float = 0.0) -> Outcome[T]:
    """Run a solver to its end or to the limits; an interrupt keeps the rounds that are complete.

    A solver yields a Round, or a list of them with one for each bound. How far it has got is told
    by the gap ``nu`` that it is to reach.
    """
    if limits.verbose:
        with telling(limits.verbose) as tell:
            outcome = run(_told(rounds, nu, tell, limits), replace(limits, verbose=False))
            if outcome.reason is Reason.INTERRUPT:
                tell(None, _INTERRUPTED, _INTERRUPTED)
            return outcome
    complete: list[T] = []
    n_rounds, reason = 0, Reason.FINISHED
    try:
        for n_rounds, found in enumerate(rounds, 1):
            complete[:] = [found]
            answer = limits.callback(limits.seen_as(found)) if limits.callback is not None else None
            if isinstance(answer, (bool, np.bool_)) and answer:
                reason = Reason.CALLBACK
                break
            if n_rounds >= limits.max_iter:
                reason = Reason.MAX_ITER
                break
    except KeyboardInterrupt:
        if not complete:
            raise
        reason = Reason.INTERRUPT
    return Outcome(complete[0], n_rounds, reason)


def is_searching(frame: FrameType | None) -> bool:
    """Return whether this frame is inside of a solver that has a round to keep when it ends."""
    while frame is not None:
        if frame.f_code is run.__code__ and frame.f_locals.get("complete"):
            return True
        frame = frame.f_back
    return False


def _told(rounds: Iterable[T], nu: float, tell: Tell, limits: Limits) -> Iterator[T]:
    """Yield the rounds and tell of each; a bar never goes back."""
    furthest = 0.0
    for found in rounds:
        furthest = max(furthest, nearness(found, nu))
        line = progress(limits.seen_as(found), limits.measure)
        tell(furthest if nu > 0 else None, line.partition(": ")[2], line)
        yield found


def nearness(found: Round | list[Round], nu: float) -> float:
    """Return how near the gaps are to ``nu``, from 0 to 1 once all have reached it."""
    gaps = [each.gap for each in ([found] if isinstance(found, Round) else found)]
    return float(np.mean([1.0 if gap <= nu else nu / gap for gap in gaps]))


def progress(found: Round | list[Round], measure: str = "error") -> str:
    """Return the line that is printed for a round."""
    if isinstance(found, Round):
        gap = "not met yet" if np.isinf(found.gap) else f"{found.gap:.6f}"
        return (
            f"[{found.stage}] round {found.iteration}: {found.n_calls} calls, {measure} "
            f"{found.error:.4f}, violation {found.violation:.4f}, gap {gap}"
        )
    gaps = np.array([each.gap for each in found])
    is_met = np.isfinite(gaps)
    worst = f"{gaps[is_met].max():.6f}" if is_met.any() else "unknown"
    unmet = f", {np.count_nonzero(~is_met)} bounds not met yet" if not is_met.all() else ""
    last = max(found, key=lambda each: each.iteration)
    return f"round {last.iteration}: {last.n_calls} calls, largest gap {worst}{unmet}"
