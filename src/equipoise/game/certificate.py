"""The certificate: what a fit has proven, in numbers and in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.rows import Row
from equipoise.faces import Columns, Face, FrozenRecords, Records, facts, folded, paragraph, table
from equipoise.game.draws import DrawDeviation
from equipoise.game.evidence import Evidence, Price, Scope, SeenGroups, Status
from equipoise.game.lagrangian import TOLERANCE, Lagrangian, is_met
from equipoise.game.least_random import Lottery
from equipoise.game.rounds import Round
from equipoise.game.statement import facts_of, sentences_of
from equipoise.game.switches import Switched

#: A classifier whose selection rates differ by no more than this between cells is called constant.
_NEARLY = 0.01
#: Values recomputed from the evidence differ from those stated by no more than this.
_RECOMPUTED = 1e-9
#: The numbers of a certificate in JSON.
_NUMBERS: tuple[str, ...] = ("error", "violation", "lower", "upper", "gap", "nu", "B")
_NUMBERS += ("least_slack", "proven_slack", "free_error")
#: Those that are stated where people are left out: the error is of the others.
_NUMBERS_OF_SEARCH = ("error", "gap", "nu", "B")


@dataclass(frozen=True, eq=False)
class Certificate(Face):
    """Proof of how close a randomized classifier Q is to the best one, on the data of the fit.

    Attributes
    ----------
    error : float
        err(Q), in the units of the objective.
    violation : float
        By how much the worst constraint exceeds its bound, as loosened where ``least_slack`` or
        ``sampling_slack`` is positive; zero when all are met.
    excess : float or None
        By how much the worst constraint exceeds the bound that was asked for, before it was
        loosened by ``least_slack``; None in files of earlier versions.
    lower, upper : float
        Any classifier within the constraints errs at least ``lower``; Q is worth ``upper``, which
        is its error plus B times its violation.
    gap : float
        nu_t of Algorithm 1: how far Q may be from the best.
    nu, B : float
        The gap asked for, and the bound on the multipliers (infinite: hard constraints).
    scope : Scope
        Whom ``lower`` speaks of: all of H where the oracle finds true minimisers; else, *relative
        to the oracle*, every classifier that the learner was able to find; or the pool alone.
    gamma, bound, multipliers : arrays of shape (K,)
        Each constraint's value M mu(Q), its bound c, and its multiplier lambda: the multipliers
        are those that prove ``lower``.
    rows : sequence of Row
        The constraints, in words.
    least_slack, proven_slack : float
        When positive, every bound was loosened by ``least_slack``, the least for which a mixture
        was found; ``bound`` holds the loosened bounds. No classifier can do with less than
        ``proven_slack``: where that is positive, the constraints are proven impossible.
    total_slack : float
        The least sum of loosenings, when each bound may be loosened by its own amount; ``slacks``
        is one such choice, of shape (K,).
    conflict : tuple of Row
        When they cannot be met, constraints that contradict each other while no part of them does.
        Of a point of a frontier, which asks the learner nothing further, a part of them may do so.
    possible : bool
        When they cannot be met: whether any decisions at all could, even those that know every
        label. If so, it is the learner that does not find them.
    sampling_slack : float
        By how much the parameter of this name has loosened bounds beforehand, at most. Whether they
        are met is said of bounds so loosened.
    worst_rate : pair of float, or None
        With `MinimaxGroupError`: the largest group error, and a lower value for it, lower first.
    constant : float, tuple of V floats or None
        The share selected, when it is (nearly) the same for everybody, whatever group and label;
        of more than two decisions, the share of each.
    free_error : float
        The least error found without regard to the constraints: what they cost is ``error`` minus
        this.
    n_calls : int
        Calls of the oracle; of one that refits, the learner was trained as often.
    by_lot : Lottery or None
        The share of the people measured who are decided at random, since the members of Q divide on
        them; None where that is not known. By weight where people are ``weighted``.
    draw : DrawDeviation or None
        How far the decisions drawn lie from their expectation. None where nobody is drawn, where it
        is negligible, and where the rows are not in memory.
    proof : str
        What is proven about people who were not seen, or not, where a proof was asked for.
    seen : SeenGroups or None
        Where the price is large: what decisions that see the groups would err within the bounds.
    why_by_lot : str
        Where one rule was asked for (``deterministic=True``) and is not the result, the reason.
    switched : Switched or None
        Who is decided on differently than by the unconstrained model; None if that is not known.
    evidence : Evidence or None
        What all of this follows from; see `check`. None where a model file does not keep it.
    few : int
        Where positive, people in groups of fewer are left out, see `without_few`.
    out_of_fold : bool
        Whether all of it speaks of out-of-fold decisions, and not of the classifiers deployed.
    measure : "error" or "loss"
        What ``error`` is: of a regressor it is the mean loss.
    unit, tolerance : float
        What a large error is, 1 or the loss of a constant; and by how much a constraint may be
        exceeded for rounding.
    n_thresholds : int
        Of a regressor under parity, the number of thresholds at which ``gamma`` is measured.
    exact_difference : float
        Of a regressor under parity, the largest difference at any threshold, NaN where that is not
        known.
    shared_trees : float
        The part of their trees that members share: the learner that ``lower`` is relative to grows
        the rest alone.
    """

    error: float
    violation: float
    lower: float
    upper: float
    gap: float
    nu: float
    B: float
    scope: Scope
    gamma: Array = field(repr=False)
    bound: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    rows: Sequence[Row] = field(repr=False)
    evidence: Evidence | None = field(repr=False)
    least_slack: float = 0.0
    proven_slack: float = 0.0
    total_slack: float = 0.0
    slacks: Array | float = field(default=0.0, repr=False)
    conflict: tuple[Row, ...] = field(default=(), repr=False)
    possible: bool = True
    worst_rate: tuple[float, float] | None = None
    constant: float | tuple[float, ...] | None = None
    free_error: float = 0.0
    n_calls: int = 0
    by_lot: Lottery | None = None
    why_by_lot: str = ""
    draw: DrawDeviation | None = None
    seen: SeenGroups | None = None
    few: int = 0
    out_of_fold: bool = False
    switched: Switched | None = field(default=None, repr=False)
    measure: str = "error"
    sampling_slack: float = 0.0
    weighted: bool = False
    unit: float = 1.0
    tolerance: float = TOLERANCE
    excess: float | None = None
    n_thresholds: int = 0
    exact_difference: float = np.nan
    shared_trees: float = 0.0
    proof: str = ""

    @classmethod
    def of_round(
        cls,
        found: Round,
        lagrangian: Lagrangian,
        s: Array,
        *,
        nu: float,
        scope: Scope,
        cells: CellTable,
        out_of_fold: bool = False,
    ) -> Certificate:
        """Return the certificate of a Round.

        Parameters
        ----------
        lagrangian : Lagrangian
            The game as it was stated.
        s : array of shape (P, C)
            The shares of the pool.
        cells : CellTable
            Tells whether the classifier is constant.
        """
        conflict = found.explained
        rows = found.conflict if conflict is None else conflict.rows
        loosened = lagrangian.relaxed(found.loosening)
        errors = lagrangian.error(s)
        elastic = False if lagrangian.elastic is None else lagrangian.elastic
        asked = np.where(elastic, np.inf, lagrangian.c)
        return cls(
            error=found.error,
            violation=found.violation,
            lower=found.lower,
            upper=found.upper,
            gap=found.gap,
            nu=nu,
            B=lagrangian.B,
            scope=scope,
            gamma=found.gamma,
            bound=loosened.c,
            multipliers=found.multipliers,
            rows=lagrangian.rows,
            least_slack=found.least_slack,
            proven_slack=found.proven_slack,
            total_slack=0.0 if conflict is None else conflict.total_slack,
            slacks=0.0 if conflict is None else conflict.slacks,
            conflict=FrozenRecords(lagrangian.rows[k] for k in rows),
            possible=conflict is None or conflict.possible,
            worst_rate=found.worst_rate,
            constant=_constant_rate(found.s, cells),
            free_error=float(errors.min()),
            n_calls=found.n_calls,
            by_lot=found.by_lot,
            why_by_lot=found.why_by_lot,
            out_of_fold=out_of_fold,
            sampling_slack=float(np.max(lagrangian.loosening, initial=0.0)),
            tolerance=lagrangian.tolerance,
            excess=float((found.gamma - asked).max(initial=0.0)),
            weighted=cells.n_effective < cells.n_examples * (1 - 1e-9),
            evidence=Evidence(
                loosened,
                s,
                found.mixture,
                np.asarray(found.queries),
                np.asarray(found.slack_queries),
            ),
        )

    def check(self) -> tuple[float, float]:
        """Prove the numbers again, from the pool's shares and the multipliers queried.

        These are error, violation, lower and upper value, gap, and the error without constraints.

        Returns
        -------
        lower, upper : float
            As recomputed.

        Raises
        ------
        ValueError
            If they are not the values that this certificate states, or if there is no evidence.
        """
        if self.evidence is None:
            raise ValueError(
                "this certificate has no evidence to check: it leaves out people in groups of "
                f"fewer than {self.few}, for others to read. Check the certificate of the model."
            )
        recomputed = self.evidence.numbers()
        found_gap = min(self.evidence.gaps(), key=lambda found: abs(self.gap - found))
        for name, found in {**recomputed, "gap": found_gap}.items():
            stated = getattr(self, name)
            if not (stated == found or abs(stated - found) <= _RECOMPUTED * max(1.0, abs(found))):
                raise ValueError(
                    f"the certificate states {name}={stated!r}, but its evidence gives {found!r}: "
                    "one of them was changed after the fit. Fit anew."
                )
        return recomputed["lower"], recomputed["upper"]

    def without_few(
        self, few: int, *, rows: Mask, error: float, share: float, switched: Switched | None
    ) -> Certificate:
        """Return the certificate for others: nothing in it counts people in groups of fewer.

        Lower and upper value, prices and slacks are of everybody, and are left out; so is the
        evidence.

        Parameters
        ----------
        few : int
        rows : mask of shape (K,)
            The constraints that are not about such a group.
        error : float
            The error of the people who are not in such a group, who are this ``share`` of all.
        switched : Switched or None
            Who of them is decided on differently.
        """
        by_lot = self.by_lot
        if by_lot is not None:
            most = min(by_lot.share / share, 1.0) if share > 0 else 1.0
            by_lot = Lottery(most, False)
        keep = np.flatnonzero(rows).tolist()
        texts = {str(self.rows[k]) for k in keep}
        return replace(
            self,
            few=few,
            error=error,
            excess=None,
            exact_difference=np.nan,
            free_error=-np.inf,
            by_lot=by_lot,
            draw=None,
            seen=None,
            switched=switched,
            rows=FrozenRecords(self.rows[k] for k in keep),
            gamma=self.gamma[keep],
            bound=self.bound[keep],
            multipliers=self.multipliers[keep],
            slacks=self.slacks[keep] if isinstance(self.slacks, np.ndarray) else self.slacks,
            conflict=FrozenRecords(row for row in self.conflict if str(row) in texts),
            evidence=None,
        )

    @property
    def status(self) -> Status:
        """Whether the constraints are met, impossible, or not met yet.

        As they were given, but for ``sampling_slack``.
        """
        if self.least_slack == 0 and is_met(self.violation, self.tolerance):
            return Status.MET
        return Status.IMPOSSIBLE if self.proven_slack > self.tolerance else Status.NOT_YET

    @property
    def verdict(self) -> str:
        """The status in words, with what a proof of impossibility is relative to."""
        is_proven = self.status is Status.IMPOSSIBLE
        return f"{self.status.value} {self.scope.value}" if is_proven else self.status.value

    @property
    def feasible(self) -> bool:
        """Whether the constraints are met, see ``status``."""
        return self.status is Status.MET

    @property
    def binding(self) -> tuple[Row, ...]:
        """The constraints that are used up to their bounds."""
        at_bound = np.flatnonzero(self.gamma >= self.bound - 10 * self.tolerance)
        return FrozenRecords(self.rows[k] for k in at_bound.tolist())

    @property
    def limiting_group(self) -> Hashable:
        """The group whose constraints cost most, None when none costs anything."""
        prices: dict[Hashable, float] = {}
        for k in np.flatnonzero(self.multipliers).tolist():
            for group in (self.rows[k].group, self.rows[k].against):
                if group not in (None, "overall", "everybody"):
                    prices[group] = prices.get(group, 0.0) + float(self.multipliers[k])
        best = max(prices, key=prices.__getitem__, default=None)
        return best if best is not None and prices[best] > self.least_price else None

    @property
    def saves_if_seen(self) -> bool:
        """Whether decisions that see the groups are known to cost half as much more, or less."""
        if self.seen is None or not self.feasible:
            return False
        # The lower value: what a search that was stopped has not found yet is no price.
        most = (self.lower - self.free_error) / 2
        return max(self.seen.error - self.free_error, 0.0) < most

    @property
    def least_price(self) -> float:
        """Multipliers below this are rounding."""
        return TOLERANCE * self.unit * (TOLERANCE / self.tolerance)

    def is_optimal(self, tolerance: float | None = None) -> bool:
        """Whether the gap is proven to be no more than ``tolerance`` (by default ``nu``)."""
        return self.gap <= (self.nu if tolerance is None else tolerance)

    def shadow_prices(self, loosening: float = 0.01) -> Records[Price]:
        """Return the most error that loosening each bound by this much could save, dearest first.

        Loosening row k by d saves no more than ``lambda_k d + gap``, since lambda proves a lower
        value for the loosened problem as well; and no more than dropping all constraints would
        save. Both hold in the scope of the certificate. Rows that cost nothing are left out.
        """
        most = max(self.error - self.free_error, 0.0)
        order = np.argsort(-self.multipliers, kind="stable")
        return Records(
            Price(self.rows[k], min(float(self.multipliers[k] * loosening) + self.gap, most))
            for k in order
            if self.multipliers[k] > self.least_price
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data for JSON, where infinity becomes None."""
        return {
            **{name: self._stated(name) for name in _NUMBERS},
            "n_calls": int(self.n_calls),
            "by_lot": None if self.by_lot is None else float(self.by_lot.share),
            "by_lot_exact": self.by_lot is not None and self.by_lot.exact,
            "why_by_lot": self.why_by_lot,
            "draw": None if self.draw is None else self.draw._asdict(),
            "seen": None if self.seen is None else self.seen._asdict(),
            "measure": self.measure,
            "scope": self.scope.value,
            "out_of_fold": self.out_of_fold,
            "excess": self.excess,
            "exact_difference": _finite(self.exact_difference),
            "shared_trees": self.shared_trees,
            "sampling_slack": self.sampling_slack,
            "weighted": self.weighted,
            "status": self.status.value,
            "gap_closed": bool(self.is_optimal()),
            "switched": None if self.switched is None else self.switched.total()._asdict(),
            "conflict": [row.sentence() for row in self.conflict],
            "text": str(self),
        }

    def _stated(self, name: str) -> float | None:
        """Return a number for JSON; None of everybody's, where people are left out."""
        if self.few and name not in _NUMBERS_OF_SEARCH:
            return None
        return _finite(getattr(self, name))

    def __str__(self) -> str:
        lines = [
            f"{name:<11} {value}" + (f"  ({remark})" if remark else "")
            for name, value, remark in facts_of(self)
        ]
        return "\n".join([*lines, *sentences_of(self)])

    def _columns(self) -> Columns:
        names, tight = [row.sentence() for row in self.rows], set(self.binding)
        numbers = {"value": self.gamma, "bound": self.bound, "multiplier": self.multipliers}
        return {"constraint": names, **numbers, "binding": [row in tight for row in self.rows]}

    def _repr_html_(self) -> str:
        sentences = "".join(map(paragraph, sentences_of(self)))
        rows = folded(f"{len(self.rows)} constraints", table(self._columns()))
        return facts(facts_of(self)) + sentences + rows


def _constant_rate(s: Array, cells: CellTable) -> float | tuple[float, ...] | None:
    if np.ptp(cells.rates(s)[:, 1:], axis=0).max(initial=0.0) > _NEARLY:
        return None
    shares = cells.shares(s)
    return float(shares[1]) if len(shares) == 2 else tuple(shares.tolist())


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
