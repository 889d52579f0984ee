"""The least random optimum: of mixtures that are as good, the one that decides fewest by lot.

A mixture decides by lot about those on whom its members divide. That share is a function of the
*set* of members, not of their weights. With d(i, j) the share on whom two members differ, it is
d(i, j) of two and (d(i, j) + d(i, k) + d(j, k)) / 2 of three, since on whom three divide, exactly
two pairs differ. Of more members it is at most the least spanning tree, since where all edges
agree, all agree. So sets of up to three are searched by
their shares, and larger ones come from linear programs ::

    minimise  sum_j q_j d(j, r)   subject to   bounds met as before,  err(q) <= most

for members r that could have much weight: who disagrees with nearly nobody divides nearly nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from equipoise.cells.table import Array, Mask
from equipoise.game.mixture import Mixture, cheapest_mixtures, least_excesses
from equipoise.game.simplex import Vertex

if TYPE_CHECKING:
    from equipoise.game.lagrangian import Lagrangian
    from equipoise.game.rounds import Round

#: Members that could have no more weight than this within the gap are not considered, nor are more
#: members than this number: they would be new names for the same lottery.
_LEAST_WEIGHT, _MOST_MEMBERS = 0.05, 32
#: References r of the programs, and sets of three, that are tried.
_REFERENCES, _TRIPLES = 6, 64
#: Numbers that are looked at together: 2 MiB.
_AT_ONCE = 1 << 18
#: Part of the gap that may be given up: rounding must not open it.
_OF_GAP = 0.999
#: A word of which every bit is set.
_ALL = np.uint64(np.iinfo(np.uint64).max)
#: Shares that differ by less are the same, and inequalities exceeded by less are met.
_ROUNDING = 1e-12


class Lottery(NamedTuple):
    """The share of people that a mixture decides by lot; the most it can be unless ``exact``."""

    share: float
    exact: bool


def lottery(disagreement: Array, members: NDArray[np.intp], n_decisions: int = 2) -> Lottery:
    """Return the share decided by lot, from the shares on which each two classifiers differ (P, P).

    Of more than two decisions three members may all differ, so that it is exact of two members.

    >>> differ = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> lottery(differ, np.array([0, 2])), lottery(differ, np.array([1])).share
    (Lottery(share=0.3, exact=True), 0.0)
    """
    among = disagreement[np.ix_(members, members)]
    if len(members) <= 3:
        share = float(among.sum()) / (2.0 if len(members) < 3 else 4.0)
        exact = n_decisions == 2 or len(members) < 3
        return Lottery(share if exact else min(share, 1.0), exact)
    # A spanning tree leaves out edges of no length; they add nothing.
    return Lottery(min(float(minimum_spanning_tree(among).sum()), 1.0), False)


def least_random_round(
    found: Round,
    game: Lagrangian,
    s: Array,
    disagreement: Callable[[NDArray[np.intp]], Array],
    *,
    nu: float,
    free: int,
    n_decisions: int = 2,
) -> Round:
    """Return the last round of a solver with the least random mixture within ``nu`` of the best.

    Parameters
    ----------
    found : Round
    game : Lagrangian
        As it was stated.
    s : array of shape (P, C)
        The shares of the whole pool.
    disagreement : callable
        From numbers of m classifiers to the share of people on whom each two of these decide
        differently, of shape (m, m).
    free : int
        The number of the unconstrained classifier.
    n_decisions : int, default=2
    """
    game, mixture = game.relaxed(found.loosening), found.mixture
    value = s @ game.costs(found.multipliers)  # but for what is the same of all
    numbers = members_that_matter(value, mixture, gap=max(nu, found.gap), free=free)
    among = disagreement(numbers)
    most = found.error + max(_OF_GAP * nu - found.gap, 0.0)
    asked = np.append(np.maximum(game.c, found.gamma), most)  # bounds as the mixture meets them
    chosen = least_random(
        np.column_stack([game.gamma(s[numbers]), game.error(s[numbers])]) - asked,
        among,
        replace(  # whose members come first
            mixture,
            indices=np.arange(len(mixture.indices)),
            vertex=_among(mixture.vertex, members=numbers),
        ),
        free=int(np.flatnonzero(numbers == free)[0]),
    )
    by_lot = lottery(among, chosen.indices, n_decisions)
    return found.mixing(game, s, replace(chosen, indices=numbers[chosen.indices]), by_lot=by_lot)


def _among(
    vertex: Vertex | None,
    members: NDArray[np.intp] | None = None,
    rows: NDArray[np.intp] | None = None,
) -> Vertex | None:
    """Return a vertex in other numbers, where some members or rows are left; or None.

    There is none where one of its own is not left.
    """
    if vertex is None:
        return None
    found = [
        at if left is None else np.array([*map(_places(left).get, at.tolist())], dtype=float)
        for at, left in ((vertex.members, members), (vertex.tight, rows))
    ]
    if any(np.isnan(at).any() for at in found):
        return None
    return replace(vertex, members=found[0].astype(np.intp), tight=found[1].astype(np.intp))


def _places(numbers: NDArray[np.intp]) -> dict[int, int]:
    return {number: place for place, number in enumerate(numbers.tolist())}


def members_that_matter(
    value: Array, mixture: Mixture, *, gap: float, free: int
) -> NDArray[np.intp]:
    """Return members that a mixture within ``gap`` could weigh, its own first; and ``free``.

    ``value`` (P,) is L(j, lambda) of each classifier j, at multipliers that prove the lower value;
    what is the same of all may be missing.
    The weights q of such a mixture have ``sum_j q_j (L(j, lambda) - lower) <= gap``.
    """
    above = value - value.min()
    order = np.argsort(above, kind="stable")
    few = order[above[order] <= gap / _LEAST_WEIGHT][:_MOST_MEMBERS] if np.isfinite(gap) else []
    return np.array(list(dict.fromkeys([*mixture.indices, *few, free])), dtype=np.intp)


def least_random(excess: Array, disagreement: Array, mixture: Mixture, *, free: int) -> Mixture:
    """Return the mixture that decides fewest by lot and, of such, fewest otherwise than ``free``.

    Where nothing is gained, ``mixture`` is returned as it is.

    Parameters
    ----------
    excess : array of shape (P, R)
        By how much each classifier exceeds what is asked: each bound, and the most error.
    disagreement : array of shape (P, P)
        The share of people on whom each two classifiers decide differently.
    mixture : Mixture
        Of these classifiers; it exceeds nothing.
    free : int
        The number of the unconstrained classifier.
    """
    if len(mixture.indices) == 1:
        return mixture
    search = _Search(excess, disagreement, mixture)
    search.try_few(1)
    search.try_few(2)
    if search.share > _ROUNDING and len(excess) > 3:  # of three, all but the whole were tried
        search.try_references()
        search.try_few(3)
    return search.result(free)


class _Search:
    """The best set of members so far, and its share decided by lot."""

    def __init__(self, excess: Array, disagreement: Array, mixture: Mixture) -> None:
        # Other inequalities hold whatever is mixed.
        may_bind = np.flatnonzero(excess.max(axis=0, initial=-np.inf) > _ROUNDING)
        self.excess, self.disagreement, self.mixture = excess[:, may_bind], disagreement, mixture
        #: Where programs start: of the mixture as it was, and of the best set of members.
        self.start = self.vertex = _among(mixture.vertex, rows=may_bind)
        self.members = mixture.indices
        self._met = _as_words(self.excess <= _ROUNDING)
        self.share = lottery(disagreement, mixture.indices).share

    def _offer(self, members: NDArray[np.intp], vertex: Vertex | None = None) -> None:
        share = lottery(self.disagreement, members).share
        if share < self.share - _ROUNDING:
            self.members, self.share, self.vertex = members, share, vertex

    def try_few(self, size: int) -> None:
        """Try all sets of one, two or three members that would be better, best first."""
        if size == 3 and len(self.excess) > _MOST_MEMBERS:
            return
        sets = np.array(list(combinations(range(len(self.excess)), size)), dtype=np.intp)
        sets = sets.reshape(-1, size)
        pairs = [self.disagreement[sets[:, i], sets[:, j]] for i, j in combinations(range(size), 2)]
        share = sum(pairs, np.zeros(len(sets))) / max(size - 1, 1)
        better = np.flatnonzero(share < self.share - _ROUNDING)
        sets = sets[better[np.argsort(share[better], kind="stable")]]
        if size == 3:
            sets = np.concatenate([sets[:0], *self._possible(sets)])[:_TRIPLES]
            met = least_excesses([self.excess[members] for members in sets]) <= _ROUNDING
            if met.any():
                self._offer(sets[int(met.argmax())])
            return
        for some in self._possible(sets):
            least, most = _weights_of_first(self.excess[some[:, 0]], self.excess[some[:, -1]])
            if (met := least <= most).any():
                return self._offer(some[int(met.argmax())])

    def _possible(self, sets: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Yield those sets in which each inequality is met by a member, some at a time.

        More only the program can tell.
        """
        step = max(_AT_ONCE // max(self.excess.shape[1], 1), 1)
        for start in range(0, len(sets), step):
            some = sets[start : start + step]
            met = np.bitwise_or.reduce(self._met[some], axis=1)
            if (possible := (met == _ALL).all(axis=1)).any():
                yield some[possible]

    def try_references(self) -> None:
        """Try what the programs find: least disagreement with one classifier."""
        own = self.mixture.indices
        near = np.argsort(self.disagreement[own].sum(axis=0), kind="stable")
        few = list(dict.fromkeys([*own.tolist(), *near.tolist()]))[:_REFERENCES]
        for found in cheapest_mixtures(self.disagreement[few], self.excess, self.start):
            self._offer(found.indices, found.vertex)

    def result(self, free: int) -> Mixture:
        """Return the mixture of these members that decides fewest otherwise than ``free``."""
        own, costs = self.mixture, self.disagreement[self.members, free]
        best = self._nearest(costs)
        if best is None:
            return own
        if self.members is own.indices and best.weights @ costs[best.indices] >= (
            own.weights @ costs - _ROUNDING
        ):
            return own
        return Mixture(self.members[best.indices], best.weights, own.multipliers, own.slacks)

    def _nearest(self, costs: Array) -> Mixture | None:
        """Return the cheapest mixture of the members; two need no program."""
        excess = self.excess[self.members]
        if len(excess) != 2:
            start = _among(self.vertex, members=self.members)
            return next(iter(cheapest_mixtures(costs[None, :], excess, start)), None)
        (least,), (most,) = _weights_of_first(*excess[:, None])
        at = most if costs[0] <= costs[1] else least
        if least > most:
            return None
        return Mixture.of_weights(np.array([at, 1.0 - at]), self.mixture.multipliers)


def _as_words(mask: Mask) -> NDArray[np.uint64]:
    """Return the bits of each line, 64 in a word; those that are missing are set."""
    padded = np.ones((len(mask), -(-mask.shape[1] // 64) * 64), dtype=bool)
    padded[:, : mask.shape[1]] = mask
    return np.packbits(padded, axis=1).view(np.uint64)


def _weights_of_first(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the least and the most weight of the first of each pair, given excesses (m, R).

    A mixture of the two meets all inequalities with weights between; with none if least > most.
    """
    slope, room = first - second, _ROUNDING - second
    with np.errstate(divide="ignore", invalid="ignore"):
        at = room / slope  # the weight of the first at which an inequality is used up
    most = np.where(slope > 0, at, np.inf).min(axis=1, initial=1.0)
    least = np.where(slope < 0, at, -np.inf).max(axis=1, initial=0.0)
    return np.where(((slope == 0) & (room < 0)).any(axis=1), np.inf, least), most
