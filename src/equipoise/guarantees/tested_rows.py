"""The rows of a constraint over the cells of some people, as inequalities that can be tested."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import people_of
from equipoise.guarantees.exact_test import exact_p, most_likely_rates, p_of, reach_of, score_p
from equipoise.guarantees.row_tables import RowTables

#: Draws from the normal distribution for the chance that any row breaks.
_DRAWS = 10_000
#: Chances below this need not be told apart.
_SURE = 1e-3
#: Rows with a stratum of fewer people are tested exactly.
FEW_PEOPLE = 200


@dataclass(frozen=True, eq=False)
class TestedRows(RowTables):
    """The inequalities M mu(h) <= c over the cells of some people, ready to be tested.

    Every moment is a rate of people in its event, after scaling to [0, 1]. Where the events of a
    row have nobody in common, it is an inequality between rates of disjoint strata. Where they have
    (a group against everybody), its variance is that of its linearisation: asymptotic.
    """

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
    def is_weighted(self) -> bool:
        """Whether people weigh differently."""
        even = self.cells.mass / self.cells.count.sum()
        return not np.allclose(self.cells.square, even, rtol=1e-6)

    @cached_property
    def people(self) -> Array:
        """Kish's effective number of people behind each moment; their number without weights."""
        return (self.event @ self.cells.mass) ** 2 / (self.event @ self.cells.square)

    @cached_property
    def _range(self) -> tuple[Array, Array]:
        """The least value of each moment and its range, over all decisions."""
        inside = self.event[:, :, None] > 0
        least = np.where(inside, self.g, np.inf).min(axis=(1, 2), initial=np.inf)
        most = np.where(inside, self.g, -np.inf).max(axis=(1, 2), initial=-np.inf)
        return least, most - least

    @cached_property
    def overlapping(self) -> Mask:
        """Rows with people who are in several of its events: shape (K,)."""
        return ((self.M != 0).astype(float) @ self.event).max(axis=1, initial=0.0) > 1

    @cached_property
    def smallest(self) -> Array:
        """People of the smallest stratum of each row: shape (K,)."""
        return self._behind.min(axis=1, initial=np.inf)

    @cached_property
    def _behind(self) -> Array:
        return np.where(self.M != 0, self.people, np.inf)

    def fewest(self, row: int) -> str:
        """Return who the people of the smallest stratum of a row are, in words."""
        return people_of(self.cells, self.event[self._behind[row].argmin()] > 0)

    @cached_property
    def exact(self) -> Mask:
        """Rows that are tested exactly: one or two disjoint strata, one of them small."""
        strata = (self.coefficients != 0).sum(axis=1)
        few = self.smallest < FEW_PEOPLE
        return few & ~self.overlapping & (strata <= 2) & (not self.is_weighted) & self._is_binary

    @cached_property
    def _is_binary(self) -> Mask:
        """Rows whose moments count people, so that drawn decisions give whole counts."""
        least, scale = self._range
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = (self.g - least[:, None, None]) / scale[:, None, None]
        whole = (rate == 0) | (rate == 1) | (self.event[:, :, None] == 0)
        return ~((self.M != 0) & ~whole.all(axis=(1, 2))).any(axis=1)

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
        the others to its other members; shares are to be those of the latter alone.
        """
        g0, g1 = np.moveaxis(self.g, -1, 0)
        moments, mass = self.moments, self.cells.mass
        offset = moments.offset + moments.U @ (low * mass)
        moments = replace(moments, U=(high - low) * moments.U, offset=offset)
        g = np.stack([g0 + low * (g1 - g0), g0 + high * (g1 - g0)], axis=-1)
        return replace(self, moments=moments, g=g)

    @property
    def method(self) -> str:
        """The weakest of the tests used: "asymptotic", "score" or "exact"."""
        if self.is_weighted or self.overlapping.any():
            return "asymptotic"
        if (self.smallest[~self.exact] < FEW_PEOPLE).any():
            return "asymptotic"
        return "exact" if self.exact.all() else "score"

    @cached_property
    def coefficients(self) -> Array:
        """The coefficient of each stratum's rate in each row: shape (K, J)."""
        return self.M * np.nan_to_num(self._range[1], posinf=0.0, neginf=0.0)

    @cached_property
    def bounds(self) -> Array:
        """The bound of each row on the sum of coefficients times rates: shape (K,)."""
        least = np.nan_to_num(self._range[0], posinf=0.0, neginf=0.0)
        return self.moments.c - self.M @ least

    def rates(self, s: Array) -> Array:
        """Return the moments on a scale from 0 to 1, for shares (..., C): shape (..., J)."""
        least, scale = self._range
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = (self.moments.mu(s) - least) / scale
        return np.clip(np.nan_to_num(rate), 0.0, 1.0)

    def gamma(self, s: Array) -> Array:
        """Return M mu(h), for shares (..., C): shape (..., K)."""
        return self.moments.mu(s) @ self.M.T

    def moved(self, s: Array) -> Array:
        """Return how far rows are moved by people of each cell and decision: shape (K, 2 C).

        Linearised and scaled, so that the sum of squares is the variance of a row's value at these
        shares (C,). Rates are drawn towards one half by one person on either side, so that none is
        known for sure.
        """
        n = self._cell_people
        r = (np.clip(s / self.cells.mass, 0.0, 1.0) * n + 1) / (n + 2)
        mu = self.moments.mu(r * self.cells.mass)
        share = self.event / (self.event @ self.cells.mass)[:, None]
        each = share[:, :, None] * (self.g - mu[:, None, None])
        each *= np.sqrt(np.stack([1 - r, r], axis=-1) * self.cells.square[:, None])
        return self.M @ each.reshape(len(each), -1)

    def standard_errors(self, s: Array) -> Array:
        """Return the standard error of each row's value, at shares of shape (C,): shape (K,)."""
        return np.sqrt(np.square(self.moved(s)).sum(axis=1))

    def p_values(self, s: Array, drawn: Array | None = None) -> Array:
        """Return the p-value of each row at each point of a path: shape (T, K).

        Parameters
        ----------
        s : array of shape (T, C)
            Selected shares: expected decisions.
        drawn : array of shape (T, C), optional
            Those of drawn decisions, which exact tests need. Without them such rows get the p-value
            of the score test.
        """
        p = np.ones((len(s), self.n_rows))
        rates, plain = self.rates(s), np.flatnonzero(~self.overlapping)
        if len(plain):
            at, a = _packed(self.coefficients[plain])
            n = np.where(a != 0, self.people[at], 1.0)
            p[:, plain] = score_p(rates[:, at] * n, n, a, self.bounds[plain])
        if self.overlapping.any():
            p[:, self.overlapping] = self._overlapping_p(s)
        if drawn is not None:
            self._test_exactly(p, self.rates(drawn))
        return p

    def joint_p_values(self, s: Array) -> Array:
        """Return the chance that any row is as far below its bound by luck: shape (T, K).

        For decisions about the people whom the path was tuned on, or cross-fitted ones: where
        several rows lie at the same distance from their bounds, any of them may break. The rows of
        a point get the chance that the one nearest to its bound, or one as near, breaks.
        """
        p = self.p_values(s)
        for t in range(len(s)):
            if p[t].max(initial=0.0) > 0.5 or p[t].sum() < _SURE:  # at most the sum of all chances
                continue
            moved = self.moved(s[t])
            error = np.sqrt(np.square(moved).sum(axis=1))
            drawn = self._normal @ (moved / np.maximum(error, 1e-300)[:, None]).T
            any_breaks = float((drawn > norm.isf(p[t])).any(axis=1).mean())
            p[t] = np.maximum(p[t], np.where(p[t] == p[t].max(initial=0.0), any_breaks, 0.0))
        return p

    @cached_property
    def _normal(self) -> Array:
        rng = np.random.default_rng(0)  # fixed: a proof must not differ between calls
        return rng.standard_normal((_DRAWS, 2 * self.cells.n_cells))

    def _test_exactly(self, p: Array, rates: Array) -> None:
        """Replace p-values of the score test where there are few people.

        One that is well above every usual level is kept, since it proves nothing.
        """
        for k in np.flatnonzero(self.exact):
            at = np.flatnonzero(self.coefficients[k])
            n = self.people[at].round()
            for t in range(len(p)):
                x = np.round(rates[t, at] * n)
                score = float(score_p(x, n, self.coefficients[k, at], self.bounds[k]))
                p[t, k] = score
                if score <= 0.5:
                    p[t, k] = exact_p(x, n, self.coefficients[k, at], float(self.bounds[k]))

    @cached_property
    def _cell_people(self) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num(self.cells.mass**2 / self.cells.square)

    def _overlapping_p(self, s: Array) -> Array:
        """Return the p-values of rows whose events share people, cell by cell as a stratum."""
        rows, n = np.flatnonzero(self.overlapping), self._cell_people
        a = (self.M[rows] @ self.moments.U) * self.cells.mass
        c = self.moments.c[rows] - self.M[rows] @ self.moments.offset
        r = np.clip(s / self.cells.mass, 0.0, 1.0)
        likely = most_likely_rates((r * n)[:, None, :], n, a, c)
        variance = [self._linearised(k, likely[:, i]) for i, k in enumerate(rows.tolist())]
        return p_of(c - r @ a.T, np.stack(variance, axis=1), *reach_of(a), c)

    def _linearised(self, k: int, r: Array) -> Array:
        """Return the variance of a row's value where cells are selected at rates r (T, C).

        A person of weight w who gets g moves the mean of an event of mass Q by w (g - mean) / Q.
        """
        mu = self.moments.mu(r * self.cells.mass)
        used = np.flatnonzero(self.M[k])
        share = self.event[used] / (self.event[used] @ self.cells.mass)[:, None]
        moved = np.einsum(
            "j,jc,tjch->tch",
            self.M[k, used],
            share,
            self.g[used][None] - mu[:, used][:, :, None, None],
        )
        mean_square = (1 - r) * moved[..., 0] ** 2 + r * moved[..., 1] ** 2
        return mean_square @ self.cells.square


def _packed(a: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the columns and values of the entries that are not zero, padded with zeros."""
    width = max(int((a != 0).sum(axis=1).max(initial=0)), 1)
    at = np.argsort(a == 0, axis=1, kind="stable")[:, :width]
    return at, np.take_along_axis(a, at, axis=1)
