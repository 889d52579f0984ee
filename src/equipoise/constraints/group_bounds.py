"""Bounds: constraints that hold a group's rate by itself to a number, not to another group's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize_scalar

from equipoise.constraints.base import Constraint
from equipoise.constraints.bounds import Allowance, Allowed
from equipoise.constraints.groups import (
    ERROR,
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    SELECTION,
    Event,
    GroupConstraint,
    called,
)
from equipoise.constraints.moments import Builder, Row

#: Values of tau tried before the best one is refined: FN = tau x FP, on the scale of the angle.
_ANGLES = np.linspace(0.0, np.pi / 2, 41)[1:-1]


@dataclass(repr=False)
class BoundedGroupError(GroupConstraint):
    """No group's error rate exceeds a bound.

    ``P[h(X)!=Y | A=a] <= bound`` for every group ``a``.

    Other names: bounded group loss. Called `BoundedGroupLoss` too.

    Use it where a service must be good enough for everybody. Groups may still be served
    differently well below the bound; nobody is made worse off for the sake of equality.

    Parameters
    ----------
    bound : float, mapping or sequence, default=0.2
        The largest error rate; for each group (``{"F": 0.1, "else": 0.2}``) or row its own.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = BoundedGroupError(0.1).moments(cells)
    >>> print(moments.rows[0], moments.c.tolist())
    bounded group error: error of F [0.1, 0.1]
    """

    bound: Allowed = 0.2

    name = "bounded group error"

    def add_rows(self, builder: Builder) -> None:
        """Bound the error rate of every group, stratum by stratum."""
        cells = builder.cells
        allowance = Allowance(self.bound, type(self).__name__, "bound")
        g = np.array(ERROR)[cells.label]
        for event in self.events(cells):
            for group, mask in self.members(cells, event).items():
                row = Row(f"{self.name}{event.words}", group, f"error of {called(group)}")
                bound = allowance.of(event.names, group)
                builder.row(row, {builder.moment(mask, g): 1.0}, bound)
        allowance.close()


@dataclass(repr=False)
class MinimaxGroupError(GroupConstraint):
    """The worst-off group's error rate is as small as it can be.

    Minimises ``max over a of P[h(X)!=Y | A=a]``; among the classifiers that do, the overall error.

    Other names: minimax (Rawlsian, max-min) fairness, distributionally robust over groups.

    Use it where nobody should be made worse off without anybody gaining, and where no bound is
    known beforehand. One group that is hard to classify, perhaps because its labels are noise, may
    set the level for all; look at which group limits the result.

    Parameters
    ----------
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> MinimaxGroupError(on="race", min_size=50)
    MinimaxGroupError(on='race', min_size=50)
    """

    name = "worst group error"

    def add_rows(self, builder: Builder) -> None:
        """Add the error rate of every group, to be made small together."""
        cells = builder.cells
        g = np.array(ERROR)[cells.label]
        for event in self.events(cells):
            for group, mask in self.members(cells, event).items():
                row = Row(f"{self.name}{event.words}", group, f"error of {called(group)}")
                builder.row(row, {builder.moment(mask, g): 1.0}, 0.0, elastic=True)


@dataclass(repr=False)
class SelectionRate(GroupConstraint):
    """The share of people selected has a floor, a cap, or both.

    ``at_least <= P[h(X)=1] <= at_most``, for everybody, one group, or each group.

    Other names: quota, budget, capacity, rate constraint.

    Use it for capacities ("no more than 30 % can be invited") and quotas. It fixes numbers and not
    relations: with other people the same numbers may be easy or impossible.

    Parameters
    ----------
    at_least, at_most : float in [0, 1], optional
        The floor and the cap.
    group : group, "each" or None, default=None
        Whom it is for: everybody (None), each group by itself, or one group.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for row in (SelectionRate(at_most=0.3) & SelectionRate(0.1, group="F")).moments(cells).rows:
    ...     print(row)
    selection rate: everybody at most 0.3
    selection rate: F at least 0.1
    """

    at_least: float | None = None
    at_most: float | None = None
    group: Hashable = field(default=None, kw_only=True)

    name = "selection rate"

    def add_rows(self, builder: Builder) -> None:
        """Bound the selection rate of everybody or of groups, stratum by stratum."""
        self._check()
        g = np.array(SELECTION)[builder.cells.label]
        for event in self.events(builder.cells):
            for group, mask in self._who(builder, event).items():
                rate = builder.moment(mask, g)
                name = f"{self.name}{event.words}"
                if self.at_least is not None:
                    row = Row(name, group, f"{called(group)} at least {self.at_least:g}")
                    builder.row(row, {rate: -1.0}, -float(self.at_least))
                if self.at_most is not None:
                    row = Row(name, group, f"{called(group)} at most {self.at_most:g}")
                    builder.row(row, {rate: 1.0}, float(self.at_most))

    def _who(self, builder: Builder, event: Event) -> dict:
        if self.group is None:
            return {"everybody": event.mask}
        groups = self.members(builder.cells, event)
        if self.group == "each":
            return groups
        if self.group not in groups:
            raise ValueError(
                f"group={self.group!r} is neither None, 'each' nor a group with enough examples"
                f"{event.words}; the groups are {', '.join(map(repr, groups))}."
            )
        return {self.group: groups[self.group]}

    def _check(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("SelectionRate has neither at_least nor at_most; give one or both.")
        for name in ("at_least", "at_most"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= value <= 1):
                raise ValueError(f"{name} of SelectionRate is {value!r}; expected 0 to 1.")


@dataclass(repr=False)
class TreatmentEquality(GroupConstraint):
    """False negatives and false positives are in the same proportion in every group.

    ``| P[h(X)=0, Y=1 | A=a] - tau P[h(X)=1, Y=0 | A=a] | <= eps`` for every group ``a``.

    Other names: equal ratio of false negatives to false positives (Berk).

    Use it where the two errors are a trade, leniency against severity, and every group should get
    the same deal. It says nothing about how many errors there are.

    Parameters
    ----------
    eps : float, mapping or sequence, default=0.01
        Bound on the difference, as a share of the group.
    tau : float > 0 or None, default=None
        False negatives per false positive. None: the value of least error, found by a search over
        the classifiers of the fit without further fits; see ``constraint_`` of the estimator.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> print(TreatmentEquality(tau=2.0).moments(cells).rows[0])
    treatment equality: false negatives of F above 2 x false positives
    """

    eps: Allowed = 0.01
    tau: float | None = field(default=None, kw_only=True)

    name = "treatment equality"

    @property
    def is_open(self) -> bool:
        """Whether tau is still to be found."""
        return self.tau is None

    def settle(self, value: Callable[[Constraint], float]) -> Constraint:
        """Search the tau for which ``value`` is least: on a grid of angles, then in between."""
        if not self.is_open:
            return self
        values = [value(replace(self, tau=float(np.tan(angle)))) for angle in _ANGLES]
        best = int(np.argmin(values))
        step = _ANGLES[1] - _ANGLES[0]
        refined = minimize_scalar(
            lambda angle: value(replace(self, tau=float(np.tan(angle)))),
            bounds=(_ANGLES[best] - step, _ANGLES[best] + step),
            method="bounded",
            options={"xatol": 1e-3},
        )
        angle = refined.x if refined.fun < values[best] else _ANGLES[best]
        return replace(self, tau=float(np.tan(angle)))

    def add_rows(self, builder: Builder) -> None:
        """Tie false negatives to false positives in every group, stratum by stratum."""
        allowance = Allowance(self.eps, type(self).__name__)
        cells, tau = builder.cells, self._checked_tau()
        negative, positive = (np.array(g)[cells.label] for g in (FALSE_NEGATIVE, FALSE_POSITIVE))
        for event in self.events(cells):
            for group, mask in self.members(cells, event).items():
                fn, fp = builder.moment(mask, negative), builder.moment(mask, positive)
                for side, sign in (("above", 1.0), ("below", -1.0)):
                    text = f"false negatives of {called(group)} {side} {tau:g} x false positives"
                    row = Row(f"{self.name}{event.words}", group, text)
                    eps = allowance.of(event.names, group)
                    builder.row(row, {fn: sign, fp: -sign * tau}, eps)
        allowance.close()

    def _checked_tau(self) -> float:
        if self.tau is None:
            raise ValueError(
                "tau of TreatmentEquality is open: FairClassifier, ExponentiatedGradient and "
                "GridSearch find it in fit. Elsewhere give a number: TreatmentEquality(tau=1.0)."
            )
        number = isinstance(self.tau, (int, float, np.number)) and not isinstance(self.tau, bool)
        if not number or not np.isfinite(self.tau) or self.tau <= 0:
            raise ValueError(
                f"tau of TreatmentEquality is {self.tau!r}; expected a number > 0 (false negatives "
                "per false positive), or None to have it found."
            )
        return float(self.tau)


#: fairlearn's name.
BoundedGroupLoss = BoundedGroupError
