"""Tries: queries beyond those that the gaps ask for, since a learner may not answer exactly.

A learner minimises a loss of its own. To the multipliers of the linear program it may answer with a
classifier that is far from the best one, and then the gap closes too early. What it can do is found
in its answers to other multipliers.

- Between the multipliers whose answers are mixed, where ``-Cov(lambda_h, gamma(h))`` promises more.
- At multiples of the multipliers, of the program's and of those that led to its members, where the
  learner was *seen to err*, since a classifier already known does better by more than twice nu at
  the costs that it was given, or where nu is far below the game's ``default_nu``: who asks for such
  precision would pay for a few more queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.cells.table import Array
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture
from equipoise.game.rounds import Pool

#: An oracle that is not exact is tried between known multipliers until this many tries fail, or
#: this share of the calls before has been spent on tries.
_FAILED_TRIES, _SHARE_OF_TRIES = 2, 0.3
#: One that errs by more than this many nu is seen to: on German credit and credit default, those
#: that err by less gained nothing from tries.
_ERRS_BY = 2.0
#: Where nu is below this part of the default, any is tried at multiples, seen to err or not.
_PRECISE = 0.1
#: Tries at multiples end when this many in a row fail.
_FAILED_MULTIPLES = 3
#: A try has failed that gains no more than this part of nu.
_LEAST_GAIN = 0.25


class Query(NamedTuple):
    """Multipliers to put to the oracle, and the costs that stand for them."""

    stage: str
    lam: Array
    costs: Array


class Bound(Protocol):
    """The state of one bound, as far as tries look at it."""

    game: Lagrangian
    mixture: Mixture
    upper: float


class Tries:
    """What an oracle has answered so far, and what it is tried at once all gaps are closed.

    Parameters
    ----------
    exact : bool
        Whether the oracle is; then nothing is tried.
    nu : float
    default_nu : float
        That of the game.
    """

    def __init__(self, exact: bool, nu: float, default_nu: float) -> None:
        self._nu, self._is_precise = nu, nu < _PRECISE * default_nu
        self._answers: list[tuple[Array, int]] = []
        self._origin: dict[int, Array] = {}
        self._failures_left, self._tries_left = _FAILED_TRIES, 0.0 if exact else np.inf
        self._multiples_left = 0 if exact else _FAILED_MULTIPLES
        self._tried: list[tuple[Bound, float]] = []
        self._at_multiples = False

    def note(self, lam: Array, h: int) -> None:
        """Take note of an answer: classifier ``h`` of the pool, to these multipliers."""
        self._answers.append((lam, h))
        self._origin.setdefault(h, lam)

    def next(
        self, bounds: Sequence[Bound], batch: int, pool: Pool, error: Array, gamma: Array
    ) -> list[Query]:
        """Return what to try next, nothing at the end; error (P,) and gamma (P, K) of the pool."""
        self._judge()
        if self._failures_left > 0 and self._tries_left > 0 and not self._at_multiples:
            self._tries_left = min(self._tries_left, round(_SHARE_OF_TRIES * pool.n_calls))
            found = self._between_origins(bounds, pool, gamma)[: min(batch, int(self._tries_left))]
            if found:
                self._tries_left -= len(found)
                self._tried = [(bound, bound.upper) for bound, _ in found]
                return [query for _, query in found]
        self._tries_left = 0
        if self._multiples_left > 0 and (self._is_precise or self._has_erred(error, gamma)):
            self._at_multiples = True
            new = [query for query in self._multiples(bounds) if not pool.knows(query.costs)]
            if new:
                self._tried = [(bound, bound.upper) for bound in bounds]
                return new[:1]
        self._multiples_left, self._tried = 0, []
        return []

    def _judge(self) -> None:
        """Count the last tries that gained next to nothing."""
        least = _LEAST_GAIN * self._nu
        failed = [bound.upper > before - least for bound, before in self._tried]
        if not failed:
            return
        if self._at_multiples:  # one try, for all bounds
            self._multiples_left = self._multiples_left - 1 if all(failed) else _FAILED_MULTIPLES
        else:
            self._failures_left -= sum(failed)

    def _has_erred(self, error: Array, gamma: Array) -> bool:
        """Whether some answer cost more than a classifier that is known, by more than 2 nu."""
        lams, answers = zip(*self._answers, strict=True)
        values = error + np.array(lams) @ gamma.T
        answered = values[np.arange(len(answers)), np.array(answers)]
        return bool((answered - values.min(axis=1)).max() > _ERRS_BY * self._nu)

    def _between_origins(
        self, bounds: Sequence[Bound], pool: Pool, gamma: Array
    ) -> list[tuple[Bound, Query]]:
        """Return queries between the multipliers whose responses the LP mixes, most gain first.

        A learner that minimises a surrogate loss gives the classifier that just meets a bound in
        answer to other multipliers than the LP's. They lie between the origins lambda_h of the
        classifiers mixed, and what is found there beats the mixture by up to
        ``-Cov(lambda_h, gamma(h))`` over Q, since each member is a best response to its own origin.
        """
        found: list[tuple[float, Bound, Query]] = []
        for bound in bounds:
            has_origin = [h in self._origin for h in bound.mixture.indices.tolist()]
            members = bound.mixture.indices[has_origin]
            if len(members) < 2:
                continue
            weights = bound.mixture.weights[has_origin] / bound.mixture.weights[has_origin].sum()
            lams = np.array([self._origin[h] for h in members.tolist()])
            gammas = gamma[members]
            lam = weights @ lams
            gain = -float(weights @ np.sum((lams - lam) * (gammas - weights @ gammas), axis=1))
            if gain > self._nu / 2 and not pool.knows(costs := bound.game.costs(lam)):
                found.append((gain, bound, Query("optimality", lam, costs)))
        return [(bound, query) for _, bound, query in sorted(found, key=lambda item: -item[0])]

    def _multiples(self, bounds: Sequence[Bound]) -> list[Query]:
        """Return multiples of multipliers that may be put to the oracle, dearest bound first.

        Twice those of the program; twice all that led to its members, the largest first, since
        beyond these the learner turned to another classifier; four times the program's. Many are
        equally large but for rounding, steps within one limit: of these the latest comes first.
        """
        found = []
        for bound in sorted(bounds, key=lambda bound: -bound.upper):
            lam, members = bound.mixture.multipliers, bound.mixture.indices.tolist()
            led = [each for each, h in reversed(self._answers) if h in members]
            led.sort(key=lambda each: -round(float(each.sum()) / bound.game.scale, 9))
            multiples = [2.0 * lam, *(2.0 * each for each in led), 4.0 * lam]
            within = (lam for lam in multiples if lam.any() and lam.sum() <= bound.game.B)
            found += [Query("optimality", lam, bound.game.costs(lam)) for lam in within]
        return found
