"""The rows of a constraint over the cells of some people, as inequalities that can be tested.

Which test a row gets depends on what kind of row it is, never on the data. One or two strata of
people who count the same, with outcomes of 0 or 1: the exact test. A group against "overall" is of
this kind, too: the group, and the others. Other disjoint strata: the goal bet. Weights, clusters
and events that overlap otherwise: the goal bet over independent units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import add_up
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.cells.values import UNKNOWN
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import people_of
from equipoise.guarantees.exact_test import exact_p, score_p, share_limits
from equipoise.guarantees.goal_bet import goal_p, units_p
from equipoise.guarantees.row_tables import RowTables

#: The limits of a share that rows on "overall" depend on are wrong with this probability at most.
_SHARE_ERROR = 5e-4
#: A row whose score test is so many times above the level fails without another test.
_FAR = 1.5
#: With so many people in a stratum the score test is close to the exact one.
_MANY = 500


@dataclass(frozen=True, eq=False)
class Decided:
    """Decisions about the people of a proof: how many of each cell are selected.

    Attributes
    ----------
    counts : array of shape (C, 2)
        People of each cell who are not selected, and who are.
    code, selected : arrays of shape (n,), or None
        The cell of every person, and the decision. Without them, people are those counted.
    """

    counts: Array
    code: NDArray[np.integer] | None = None
    selected: NDArray[np.integer] | None = None

    def people(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Return the cell and the decision of every person."""
        if self.code is not None and self.selected is not None:
            return self.code, self.selected
        number = self.counts.round().astype(int).ravel()
        cell = np.repeat(np.arange(len(number)), number)
        return cell // 2, cell % 2


@dataclass(frozen=True, eq=False)
class Units:
    """Whom a proof counts once: persons with weights, or clusters.

    Attributes
    ----------
    weight : array of shape (n,)
        What each person weighs.
    unit : array of shape (n,)
        The number of each person's unit; -1 where it is not counted.
    cap : float
        The most that a unit weighs; larger ones are not counted.
    left_out : float
        The share of all weight that is not counted.
    are_clusters : bool
    """

    weight: Array
    unit: NDArray[np.intp]
    cap: float
    left_out: float
    are_clusters: bool

    #: So many units come first, in an order by a seed: none that is larger is counted.
    FIRST = 0.1
    #: Where units that are not counted hold a larger share of the weight, nothing is proven.
    MOST_LEFT_OUT = 0.01

    @classmethod
    def of(cls, weight: Array | None, clusters: NDArray | None, n: int) -> Units | None:
        """Return the units of n people; None where everybody counts the same."""
        if weight is None and clusters is None:
            return None
        own = np.ones(n) if weight is None else weight
        number = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
        size = add_up(number, number.max() + 1, own)
        order = np.random.default_rng(0).permutation(len(size))
        first = order[: int(np.ceil(cls.FIRST * len(size)))]
        cap = float(size[first].max())
        is_counted = size <= cap
        is_counted[first] = False
        place = np.empty(len(size), dtype=np.intp)
        place[order] = np.cumsum(is_counted[order]) - 1
        place[~is_counted] = -1
        left_out = float(size[size > cap].sum() / size.sum())
        return cls(own, place[number], cap, left_out, clusters is not None)

    @property
    def population(self) -> str:
        """Whom the proof is about, in words."""
        if not self.are_clusters:
            return f"people who weigh at most {self.cap:.6g}"
        if self.is_weighted:
            return f"clusters that weigh at most {self.cap:.6g}"
        return f"clusters of at most {self.cap:.6g} people"

    @property
    def is_weighted(self) -> bool:
        """Whether people weigh differently."""
        return bool(np.ptp(self.weight) > 0)


@dataclass(frozen=True, eq=False)
class Strata:
    """One row over disjoint strata of people: ``a . p <= c``.

    Attributes
    ----------
    inside : mask of shape (S, C)
    outcome : array of shape (S, C, 2)
        From 0 to 1: what is averaged, for either decision.
    a : array of shape (S,)
    slope : array of shape (S,)
        How ``a`` grows with the share of the first of two strata; zero but for "overall".
    c : float
    """

    inside: Mask
    outcome: Array
    a: Array
    slope: Array
    c: float

    def sums(self, counts: Array, unknown: Mask | None = None) -> tuple[Array, Array]:
        """Return the sums of outcomes, and people, of each stratum.

        ``unknown``, of shape (S, C), are cells of people who may be of a stratum or not. They are
        counted where it hurts: with their outcome where that adds to the row, without it where that
        takes off. In the population no other groups of theirs give the row a larger value.
        """
        x = (self.inside[:, :, None] * self.outcome * counts).sum(axis=(1, 2))
        n = (self.inside[:, :, None] * counts).sum(axis=(1, 2))
        if unknown is not None:
            adds = (self.a + self.slope / 2 > 0)[:, None, None]
            hurts = unknown[:, :, None] & (self.outcome == adds)
            people = (hurts * counts).sum(axis=(1, 2))
            n = n + people
            x = x + people * adds[:, 0, 0]
        return x, n

    def p_value(self, x: Array, n: Array, level: float) -> float:
        """Return the exact p-value of one or two strata; that of the score test if it is far off.

        The coefficients of a group and the others depend on the share of the group. The value of
        the row is linear in that share, so that a row that fails does so at one of its limits.
        """
        if not n.all():
            return 1.0
        if not self.slope.any():
            return self._p_value(x, n, self.a, level)
        limits = share_limits(n[0], n.sum(), _SHARE_ERROR)
        ends = [self._p_value(x, n, self.a + share * self.slope, level) for share in limits]
        return min(max(ends) + _SHARE_ERROR, 1.0)

    def is_likely_proven(self, x: Array, n: Array, level: float) -> bool:
        """Return whether the row is proven, by the score test where that is clear."""
        if n.all():
            score = float(score_p(x, n, self.a + n[0] / n.sum() * self.slope, self.c))
            near = 0.7 if n.min() >= _MANY else 0.4
            if n.min() >= 20 * _MANY or not near * level < score < _FAR * level:
                return score <= level
        return self.p_value(x, n, level) <= level

    def _p_value(self, x: Array, n: Array, a: Array, level: float) -> float:
        score = float(score_p(x, n, a, self.c))
        return score if score > _FAR * level else exact_p(x, n, a, self.c)


@dataclass(frozen=True, eq=False)
class TestedRows(RowTables):
    """The inequalities M mu(h) <= c over the cells of some people, ready to be tested."""

    __test__ = False  # no test of pytest's

    @classmethod
    def of(
        cls, constraint: Constraint, cells: CellTable, known: CellTable | None = None
    ) -> TestedRows:
        """Return the rows of a constraint; ``known`` are the cells of the fit, if others.

        Raises
        ------
        ValueError
            Where people count in more than one way, where a row has no bound of its own, and where
            no decisions could change any row, since there is one group only.
        """
        if not cells.is_plain:
            raise ValueError(
                "people count in more than one way (group probabilities, utilities or "
                "constraint_weights=False); a proof needs their groups themselves, and one weight "
                "for error and constraints."
            )
        rows = cls.compiled(constraint, cells, known)
        moments = rows.moments
        if moments.elastic is not None:
            raise ValueError(
                f"{constraint!r} has no bound to be proven; use BoundedGroupError(bound=...)."
            )
        moved = moments.mu(np.diag(cells.mass)) - moments.mu(np.zeros(cells.n_cells))
        if not np.abs(moved @ moments.M.T).max(initial=0.0) > 1e-12:
            raise ValueError(
                f"nothing can be proven of {constraint!r}: no decisions about these people could "
                "change what it compares. Are they all of one group?"
            )
        return rows

    @property
    def n_rows(self) -> int:
        """K, the number of inequalities."""
        return len(self.moments.c)

    @cached_property
    def people(self) -> Array:
        """The number of people behind each moment."""
        return self.event @ self.cells.count

    @cached_property
    def smallest(self) -> Array:
        """People of the smallest event of each row: shape (K,)."""
        return self._behind.min(axis=1, initial=np.inf)

    @cached_property
    def _behind(self) -> Array:
        return np.where(self.M != 0, self.people, np.inf)

    def fewest(self, row: int) -> str:
        """Return who the people of the smallest event of a row are, in words."""
        return people_of(self.cells, self.event[self._behind[row].argmin()] > 0)

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """The least value of each moment and its range, over all decisions."""
        inside = self.event[:, :, None] > 0
        least = np.where(inside, self.g, np.inf).min(axis=(1, 2), initial=np.inf)
        most = np.where(inside, self.g, -np.inf).max(axis=(1, 2), initial=-np.inf)
        return np.nan_to_num(least, posinf=0.0), np.nan_to_num(most - least, neginf=0.0)

    @cached_property
    def overlapping(self) -> Mask:
        """Rows with people who are in several of its events: shape (K,)."""
        return ((self.M != 0).astype(float) @ self.event).max(axis=1, initial=0.0) > 1

    @cached_property
    def strata(self) -> list[Strata | None]:
        """Each row over disjoint strata; None where its events overlap otherwise."""
        return [self._strata(k) for k in range(self.n_rows)]

    def _strata(self, k: int) -> Strata | None:
        used = np.flatnonzero(self.M[k])
        least, scale = (values[used] for values in self._range)
        outcome = (self.g[used] - least[:, None, None]) / np.maximum(scale, 1e-300)[:, None, None]
        outcome = outcome.round(12)  # 0 and 1 are these numbers, whatever was subtracted
        inside = self.event[used] > 0
        a = self.M[k, used] * scale
        c = float(self.moments.c[k] - self.M[k, used] @ least)
        if not self.overlapping[k]:
            return Strata(inside, outcome, a, np.zeros(len(a)), c)
        if len(used) != 2:
            return None
        order = np.argsort(inside.sum(axis=1))
        part, everybody = inside[order]
        same = np.allclose(outcome[0][part], outcome[1][part]) and np.isclose(*scale)
        if (part & ~everybody).any() or not same:
            return None
        own, overall = a[order]
        return Strata(
            np.array([part, everybody & ~part]),
            outcome[order[[1, 1]]],
            np.array([own, overall]),
            np.array([overall, -overall]),
            c,
        )

    @cached_property
    def is_exact(self) -> Mask:
        """Rows of one or two strata with outcomes of 0 and 1, as long as everybody counts once."""
        return np.array(
            [
                strata is not None
                and len(strata.a) <= 2
                and bool(np.isin(strata.outcome[strata.inside], (0.0, 1.0)).all())
                for strata in self.strata
            ]
        )

    @cached_property
    def sure(self) -> Mask:
        """Whether every row is known for sure where nobody, and where everybody, is selected.

        Where rows compare decisions alone it is. Errors depend on labels, too.
        """
        inside, used = self.event[:, :, None] > 0, (self.M != 0).any(axis=0)
        least = np.where(inside, self.g, np.inf).min(axis=1, initial=np.inf)
        most = np.where(inside, self.g, -np.inf).max(axis=1, initial=-np.inf)
        return ((most - least)[used] <= 0).all(axis=0)

    def among(self, low: float, high: float) -> TestedRows:
        """Return the rows as inequalities on the decisions that are not the same for everybody.

        A mixture selects everybody with probability ``low``, nobody with 1 - ``high``, and leaves
        the others to its other members; decisions are to be those of the latter alone.
        """
        if (low, high) == (0.0, 1.0):
            return self
        g0, g1 = np.moveaxis(self.g, -1, 0)
        moments, mass = self.moments, self.cells.mass
        offset = moments.offset + moments.U @ (low * mass)
        moments = replace(moments, U=(high - low) * moments.U, offset=offset)
        g = np.stack([g0 + low * (g1 - g0), g0 + high * (g1 - g0)], axis=-1)
        return replace(self, moments=moments, g=g)

    def gamma(self, s: Array) -> Array:
        """Return M mu(h), for shares (..., C): shape (..., K)."""
        return self.moments.mu(s) @ self.M.T

    def standard_errors(self, s: Array) -> Array:
        """Return the standard error of each row's value, at shares of shape (C,): shape (K,).

        Rates are drawn towards one half by one person on either side, so that none is known for
        sure.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            n = np.nan_to_num(self.cells.mass**2 / self.cells.square)
        r = (np.clip(s / self.cells.mass, 0.0, 1.0) * n + 1) / (n + 2)
        mu = self.moments.mu(r * self.cells.mass)
        share = self.event / (self.event @ self.cells.mass)[:, None]
        moved = share[:, :, None] * (self.g - mu[:, None, None])
        moved *= np.sqrt(np.stack([1 - r, r], axis=-1) * self.cells.square[:, None])
        return np.sqrt(np.square(self.M @ moved.reshape(len(moved), -1)).sum(axis=1))

    def check_unknown(self) -> None:
        """Raise where people of unknown groups cannot be counted at their worst."""
        for row, strata, exact in zip(self.moments.rows, self.strata, self.is_exact, strict=True):
            signs = () if strata is None else np.sign(strata.a + strata.slope / 2)
            if not exact or len(set(signs)) < len(signs):
                raise ValueError(
                    f"missing='worst' is for rows that compare two groups or bound one, by counts; "
                    f"{row.sentence()!r} is another. Use missing='ignore'."
                )

    @cached_property
    def _unknown(self) -> Mask:
        """Cells (C, C) of unknown groups that may be each cell: what is known of both is equal."""
        cells = self.cells
        may_be = np.repeat(cells.unknown[:, None], cells.n_cells, axis=1)
        for values in (cells.label, *cells.control.values(), *cells.sensitive.values()):
            column = np.asarray(values, dtype=object)
            is_missing = np.array([value is UNKNOWN for value in column])
            may_be &= is_missing[:, None] | (column[:, None] == column[None, :])
        return may_be & ~cells.unknown[None, :]

    def p_values(
        self, decided: Decided, level: float, units: Units | None = None, worst: bool = False
    ) -> Array:
        """Return the p-value of each row, made for this level: shape (K,).

        Parameters
        ----------
        decided : Decided
        level : float
            The probability with which a row that does not hold may be called proven.
        units : Units, optional
            Whom to count once, if not every person.
        worst : bool, default=False
            Whether people whose group is not known are counted where it hurts a row most.
        """
        if units is not None and units.left_out > Units.MOST_LEFT_OUT:
            return np.ones(self.n_rows)
        return np.array(
            [self._p_value(k, decided, level, units, worst) for k in range(self.n_rows)]
        )

    def _p_value(
        self, k: int, decided: Decided, level: float, units: Units | None, worst: bool
    ) -> float:
        strata = self.strata[k]
        if units is not None or strata is None:
            n = len(decided.people()[0])
            return self._of_units(k, decided, level, units or _singles(n))
        if self.is_exact[k]:
            unknown = (self._unknown @ strata.inside.T).T if worst else None
            return strata.p_value(*strata.sums(decided.counts, unknown), level)
        rng = np.random.default_rng(0)
        outcomes = []
        for inside, outcome in zip(strata.inside, strata.outcome, strict=True):
            number = decided.counts[inside].round().astype(int)
            values = np.repeat(outcome[inside].ravel(), number.ravel())
            outcomes.append(rng.permutation(values)[None])
        middle = np.full(len(outcomes), 0.5)
        return float(goal_p(outcomes, strata.a, strata.c, level, prior=middle)[0])

    def _of_units(self, k: int, decided: Decided, level: float, units: Units) -> float:
        used = np.flatnonzero(self.M[k])
        least, scale = (values[used] for values in self._range)
        code, selected = decided.people()
        counted = units.unit >= 0
        unit = units.unit[counted]
        n = int(unit.max(initial=-1)) + 1
        w, u = np.zeros((2, len(used), n))
        for i, j in enumerate(used):
            inside = self.event[j, code[counted]] * units.weight[counted]
            value = (self.g[j, code, selected][counted] - least[i]) / max(scale[i], 1e-300)
            w[i] = add_up(unit, n, inside)
            u[i] = add_up(unit, n, inside * np.clip(value, 0.0, 1.0))
        a = self.M[k, used] * scale
        c = float(self.moments.c[k] - self.M[k, used] @ least)
        disjoint = not self.overlapping[k]
        p = units_p(
            w,
            u[None],
            a,
            c,
            level,
            units.cap,
            is_disjoint=disjoint,
            is_single=disjoint and not units.are_clusters,
        )
        return float(p[0])


def _singles(n: int) -> Units:
    """Return n people who count the same, in an order by a seed."""
    return Units(np.ones(n), np.random.default_rng(0).permutation(n), 1.0, 0.0, False)
