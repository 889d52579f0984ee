"""The simplex method from a vertex that is known: programs that differ little from the last one.

Where a pool grows by one member, or a bound moves a little, the vertex that was best is a few steps
from the one that is. ::

    minimise  cost . Q   subject to   gamma Q <= c,  sum Q = 1,  Q >= 0

Columns of another kind, slacks, are not counted in the sum; what is said of members is true of
these. A vertex is given by the members that are mixed and the rows that are tight, one fewer. All
of the linear algebra is in their small matrix: a step exchanges a member or a row for another.

A result is returned only where it proves itself: weights, slacks, multipliers and reduced costs,
from a matrix that was inverted anew, all have the right sign. Else, and where steps lead nowhere,
there is none, and the caller solves from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, Mask

#: What may be on the wrong side of zero for rounding; that of the programs solved from the start.
_ROUNDING = 1e-10
#: Entries of a direction below this are none.
_NO_PIVOT = 1e-9
#: The most steps. Twenty and less are usual; a search that runs in circles takes any number.
_MOST_STEPS = 500


@dataclass(frozen=True, eq=False)
class Vertex:
    """Members mixed and rows that are tight, with the weights and multipliers that follow.

    Slacks among the members are -1, -2 and so on, whatever the number of members there are to
    choose from.
    """

    members: NDArray[np.intp]
    tight: NDArray[np.intp]
    weights: Array
    multipliers: Array  #: Of the tight rows.

    @classmethod
    def alone(cls, member: int) -> Vertex:
        """Return the vertex of one member, where no row is tight."""
        nothing = np.zeros(0)
        return cls(np.array([member]), nothing.astype(np.intp), np.ones(1), nothing)


@dataclass(frozen=True, eq=False)
class SimplexProgram:
    """One program: cost (P,) and gamma (P, K) of the members, and the bounds c (K,).

    The last ``n_slacks`` members are slacks.

    Examples
    --------
    >>> gamma = np.array([[0.0], [0.3], [-0.1]])
    >>> program = SimplexProgram(np.array([1.0, 0.2, 0.6]), gamma, c=np.array([0.1]))
    >>> found = program.from_vertex(Vertex.alone(0))
    >>> dict(zip(found.members.tolist(), found.weights.round(6).tolist(), strict=True))
    {1: 0.5, 2: 0.5}
    """

    cost: Array
    gamma: Array
    c: Array
    n_slacks: int = 0

    def from_vertex(self, start: Vertex) -> Vertex | None:
        """Return the best vertex, found from another one; None where that does not succeed.

        The vertex may be of other bounds, with fewer members to choose from, or both.
        """
        try:
            with np.errstate(all="ignore"):
                return _State(self, start).solved()
        except np.linalg.LinAlgError:
            return None


class _State:
    """A vertex on its way.

    ``lines`` has a one for each member, and below them gamma of each tight row;
    ``inverse`` is that of the lines of the members mixed. In the words of the simplex method,
    members mixed and slacks of rows that are not tight are basic.
    """

    def __init__(self, program: SimplexProgram, start: Vertex) -> None:
        self.program = program
        self.members = (start.members % len(program.cost)).tolist()
        self.tight = start.tight.tolist()
        self._invert()

    def _invert(self) -> None:
        """Compute the inverse anew, and what follows from it."""
        self.is_fresh = True
        counted = np.ones((1, n := len(self.program.cost)))
        counted[:, n - self.program.n_slacks :] = 0.0
        self.lines = np.vstack([counted, self.program.gamma.T[self.tight]])
        self.inverse = np.linalg.inv(self.lines[:, self.members])
        self._measure()

    def _measure(self) -> None:
        """Compute weights, slacks, multipliers and reduced costs of the vertex."""
        program, members = self.program, self.members
        self.mixed = program.gamma[members]
        self.weights = self.inverse[:, 0] + self.inverse[:, 1:] @ program.c[self.tight]
        self.slacks = program.c - self.weights @ self.mixed
        self.slacks[self.tight] = 0.0
        prices = program.cost[members] @ self.inverse
        self.multipliers = -prices[1:]
        self.reduced = program.cost - prices @ self.lines
        self.reduced[members] = 0.0

    def solved(self) -> Vertex | None:
        """Return the best vertex, or None."""
        # Members that would improve the mixture come once it is within the bounds.
        known = self.reduced >= -_ROUNDING
        for _ in range(_MOST_STEPS):
            if not min(self.weights.min(), self.slacks.min(initial=0.0)) >= -_ROUNDING:
                step = self._dual_step(known)
            elif not min(self.reduced.min(), self.multipliers.min(initial=0.0)) >= -_ROUNDING:
                step = self._primal_step()
            elif self.is_fresh:
                return self._vertex()
            else:
                self._invert()
                continue
            if not step:
                return None
            self._measure()
        return None

    def _vertex(self) -> Vertex:
        members, tight = (np.array(at, dtype=np.intp) for at in (self.members, self.tight))
        n = len(self.program.cost)
        members[members >= n - self.program.n_slacks] -= n
        least = np.maximum(self.weights, 0.0), np.maximum(self.multipliers, 0.0)
        return Vertex(members, tight, *least)

    def _primal_step(self) -> bool:
        """Let in what lowers the cost most, until something reaches zero; False if nothing does.

        What lowers it most by the length of the way (steepest edge, as far as the members go).
        """
        downs = np.hstack([self.inverse @ self.lines, self.inverse[:, 1:]])
        gains = np.concatenate([self.reduced, self.multipliers])
        lengths = np.sqrt(1.0 + np.einsum("ij,ij->j", downs, downs))
        enters = int((np.minimum(gains + _ROUNDING, 0.0) / lengths).argmin())
        down, slack_down = downs[:, enters], -downs[:, enters] @ self.mixed
        if enters < len(self.reduced):
            slack_down += self.program.gamma[enters]
        slack_down[self.tight] = 0.0
        values = np.maximum(np.concatenate([self.weights, self.slacks]), 0.0)
        return self._exchange(enters, _first(values, np.concatenate([down, slack_down])))

    def _dual_step(self, known: Mask) -> bool:
        """Put out what is most negative, for what costs least; False if nothing can replace it."""
        worst = int(np.concatenate([self.weights, self.slacks]).argmin())
        m = len(self.members)
        if worst < m:
            line, own = self.inverse[worst], np.zeros(len(known))
        else:
            line, own = -self.mixed[:, worst - m] @ self.inverse, self.program.gamma[:, worst - m]
        along = own + line @ self.lines
        along[self.members] = 0.0
        rates = np.concatenate([np.where(known, -along, 0.0), -line[1:]])
        costs = np.maximum(np.concatenate([self.reduced, self.multipliers]), 0.0)
        return self._exchange(_first(costs, rates), worst)

    def _exchange(self, enters: int | None, leaves: int | None) -> bool:
        """Mix a member, or let a tight row go, for a member or for a row that gets tight."""
        if enters is None or leaves is None:
            return False
        n, m, inverse, self.is_fresh = len(self.reduced), len(self.members), self.inverse, False
        mixes, tightens = enters < n, leaves >= m
        gone, loosened, row = leaves, enters - n + 1, leaves - m
        down = inverse @ self.lines[:, enters] if mixes else inverse[:, loosened]
        across = -self.mixed[:, row] @ inverse if tightens else inverse[gone]
        if tightens and mixes:
            entry = self.program.gamma[enters, row] - self.mixed[:, row] @ down
        else:
            entry = across[loosened] if tightens else down[gone]
        across = across / entry
        inverse = inverse - np.outer(down, across)
        if not tightens:
            inverse, self.members[gone] = _without(inverse, gone), self.members[-1]
            self.members.pop()
        if not mixes:
            inverse = _without(inverse.T, loosened).T
            self.lines, self.tight[loosened - 1] = _without(self.lines, loosened), self.tight[-1]
            self.tight.pop()
        if mixes:
            inverse = np.vstack([inverse, across])
            self.members.append(enters)
        if tightens:
            down = np.append(down, -1.0) if mixes else down
            inverse = np.column_stack([inverse, -down / entry])
            self.lines = np.vstack([self.lines, self.program.gamma[:, row]])
            self.tight.append(row)
        self.inverse = inverse
        return True


def _without(table: Array, line: int) -> Array:
    """Return a table without a line, in whose place comes the last one; the table is changed."""
    table[line] = table[-1]
    return table[:-1]


def _first(values: Array, rates: Array) -> int | None:
    """Return the place of the value that reaches zero first at these rates; None if none does.

    Of several at once, the one with the largest rate: it is divided by.
    """
    ratios = np.divide(values, rates, where=rates > _NO_PIVOT, out=np.full(len(values), np.inf))
    least = ratios.min()
    if not np.isfinite(least):
        return None
    return int(np.where(ratios <= least + 1e-12, rates, 0.0).argmax())
