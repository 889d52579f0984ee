"""Group bounds: constraints that hold a group's rate by itself to a number."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import CellTable, Mask
from equipoise.cells.threshold_table import ThresholdTable
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import Bounds, GroupConstraint, RateOf, group_name
from equipoise.constraints.moments import MomentsBuilder
from equipoise.constraints.rates import ERROR, SELECTION, number_of, one_against_rest, shown
from equipoise.constraints.rows import DIFFERENCE, Event, Row


@dataclass(repr=False)
class BoundedGroupError(GroupConstraint):
    """Other names: bounded group loss. Called `BoundedGroupLoss` too.

    Use it where a service must be good enough for everybody: nobody is made worse off for the sake
    of equality.

    Parameters
    ----------
    bound : float, mapping or sequence, default=0.2
        The largest error rate; for each group (``{"F": 0.1, "else": 0.2}``) or row its own.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = BoundedGroupError(0.1).moments(cells)
    >>> print(moments.rows[0], moments.c.tolist())
    bounded group error: error of F [0.1, 0.1]
    """

    bound: Bounds = 0.2

    name = "bounded group error"
    asks = "No group's error rate exceeds a bound."
    formula = "P[h(X)!=Y | A=a] <= bound for every group a."
    misleads = "Groups may still be served differently well below the bound."

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Bound the error rate, or the mean loss, of every group, stratum by stratum."""
        rows = _losses(self, builder, " at most")
        self.add_bounded(builder, rows, self.bound, parameter="bound")


@dataclass(repr=False)
class MinimaxGroupError(GroupConstraint):
    """Other names: minimax (Rawlsian, max-min) fairness, distributionally robust over groups.

    Use it where nobody should be made worse off without anybody gaining, and where no bound is
    known beforehand. Among the classifiers that do it, the overall error is made least.

    Examples
    --------
    >>> MinimaxGroupError(on="race", min_size=50)
    MinimaxGroupError(on='race', min_size=50)
    """

    name = "worst group error"
    asks = "The worst-off group's error rate is as small as it can be."
    formula = "min over h of max over a of P[h(X)!=Y | A=a]."
    misleads = (
        "One group that is hard to classify, perhaps because its labels are noise, may set the "
        "rate for all; look at which group limits the result."
    )

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add the error rate, or the mean loss, of every group, to be made small together."""
        builder.add(_losses(self, builder, ""))


def _losses(
    asked: GroupConstraint, builder: MomentsBuilder, limit: str
) -> list[tuple[Row, dict[int, float]]]:
    """Return a row for the error rate of each group, or of a regressor for its mean loss."""
    cells, rows = builder.cells, []
    name, what, g = asked.name, "error", ERROR.table(cells)
    if isinstance(cells, ThresholdTable):
        name, what, g = "group loss", "loss", cells.column(0)
    for event, mask in asked.events(builder):
        for group, members in asked.members(builder, event, mask).items():
            row = Row(name, f"{what} of {group_name(group)}", group, event=event, limit=limit)
            rows.append((row, {builder.moment(members, g): 1.0}))
    return rows


@dataclass(repr=False)
class SelectionRate(GroupConstraint):
    """Other names: quota, budget, capacity, rate constraint.

    Use it for capacities ("no more than 30 % can be invited") and quotas.

    Parameters
    ----------
    at_least, at_most : float in [0, 1], optional
        The floor and the cap.
    group : group, "each" or None, default=None
        Whom it is for: everybody (None), each group by itself, or one group.
    positive : decision, optional
        The decision that is meant; of two it is the second.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for row in (SelectionRate(at_most=0.3) & SelectionRate(0.1, group="F")).moments(cells).rows:
    ...     print(row)
    selection rate: everybody at most 0.3
    selection rate: F at least 0.1
    """

    at_least: float | None = None
    at_most: float | None = None
    group: Hashable = field(default=None, kw_only=True)
    positive: Hashable = field(default=None, kw_only=True)

    name = "selection rate"
    asks = "The share of people selected has a floor, a cap, or both."
    formula = "at_least <= P[h(X)=1] <= at_most, for everybody, one group, or each group."
    misleads = (
        "It fixes numbers and not relations: with other people the same numbers may be easy or "
        "impossible."
    )

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Bound the selection rate of everybody or of groups, stratum by stratum."""
        self._check()
        g = SELECTION.table(builder.cells, _positive(self, builder.cells))
        limits = ((-1, self.at_least, "at least"), (1, self.at_most, "at most"))
        for event, mask in self.events(builder, _among(self.positive, builder.cells)):
            for group, members in self._who(builder, event, mask).items():
                rate = builder.moment(members, g)
                for side, limit, word in limits:
                    if limit is not None:
                        text = f"{group_name(group)} {word} {limit:g}"
                        bound = side * float(limit)
                        row = Row(self.name, text, group, event=event, side=side, bound=bound)
                        builder.row(row, {rate: float(side)})

    def _who(self, builder: MomentsBuilder, event: Event, mask: Mask) -> dict[Hashable, Mask]:
        if self.group is None:
            return {"everybody": mask}
        groups = self.members(builder, event, mask)
        if self.group == "each":
            return groups
        if self.group not in groups:
            if builder.known is not None and self.group in self.all_groups(builder):
                return {}
            raise ValueError(
                f"group={self.group!r} is neither None, 'each' nor a group with enough people"
                f"{event}; the groups are {', '.join(map(repr, groups))}."
            )
        return {self.group: groups[self.group]}

    def _check(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("SelectionRate has neither at_least nor at_most; give one or both.")
        for name in ("at_least", "at_most"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0 <= value <= 1):
                raise ValueError(f"{name} of SelectionRate is {value!r}; expected 0 to 1.")


def _positive(constraint: SelectionRate | TreatmentEquality, cells: CellTable) -> int:
    """Return the number of the favourable decision; an error if it must be named and is not."""
    if constraint.positive is not None:
        return number_of(constraint.positive, cells, "positive")
    if cells.n_decisions > 2:
        name = type(constraint).__name__
        raise ValueError(
            f"{name} is about one decision, but there are {cells.n_decisions}: "
            f"{shown(cells.decisions)}. Name it: {name}(positive={cells.decisions[-1]!r}, ...)."
        )
    return 1


def _among(positive: Hashable, cells: CellTable) -> dict[RateOf, Mask]:
    return {(None, positive): np.ones(cells.n_cells, dtype=bool)}


#: g(label, prediction): shares of all people of a group, not of those with one label.
_FALSE_NEGATIVE = ((0.0, 0.0), (1.0, 0.0))
_FALSE_POSITIVE = ((0.0, 1.0), (0.0, 0.0))


@dataclass(repr=False)
class TreatmentEquality(GroupConstraint):
    """Other names: equal ratio of false negatives to false positives (Berk).

    Use it where the two errors are a trade, leniency against severity, and every group should get
    the same deal.

    Parameters
    ----------
    eps : float, mapping or sequence, default=0.01
        Bound on the difference, as a share of the group.
    tau : float > 0 or None, default=None
        False negatives per false positive. None: the value of least error, or where none can be
        met, of least violation. ``fit`` searches for it, see ``constraint_`` of the estimator:
        over a list of classifiers a better value is hardly ever missed; a learner is fitted up to
        40 times more, and it is the best value for what these fits found.
    positive : decision, optional
        The favourable decision; of two it is the second.
    on, groups, min_size, small
        See `GroupConstraint`.

    Examples
    --------
    >>> from equipoise.cells.rows import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> print(TreatmentEquality(tau=2.0).moments(cells).rows[0])
    treatment equality: false negatives of F above 2 x false positives
    """

    eps: Bounds = 0.01
    tau: float | None = field(default=None, kw_only=True)
    positive: Hashable = field(default=None, kw_only=True)

    name = "treatment equality"
    asks = "False negatives and false positives are in the same proportion in every group."
    formula = "| P[h(X)=0, Y=1 | A=a] - tau P[h(X)=1, Y=0 | A=a] | <= eps for every group a."
    misleads = "It says nothing about how many errors there are."

    @property
    def n_open(self) -> int:
        """One while tau is still to be found."""
        return int(self.tau is None)

    def closed(self, values: ArrayLike) -> Constraint:
        """Return the constraint with tau filled in, if it is open."""
        return replace(self, tau=float(np.asarray(values)[0])) if self.n_open else self

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Tie false negatives to false positives in every group, stratum by stratum."""
        rows, cells, tau = [], builder.cells, self._checked_tau()
        number, among = _positive(self, cells), _among(self.positive, cells)
        negative, positive = (
            one_against_rest(utility, cells, number)
            for utility in (_FALSE_NEGATIVE, _FALSE_POSITIVE)
        )
        for event, mask in self.events(builder, among):
            for group, members in self.members(builder, event, mask).items():
                fn, fp = builder.moment(members, negative), builder.moment(members, positive)
                for side, word in ((1, "above"), (-1, "below")):
                    text = (
                        f"false negatives of {group_name(group)} {word} {tau:g} x false positives"
                    )
                    row = Row(self.name, text, group, None, event, side, limit=DIFFERENCE)
                    rows.append((row, {fn: side, fp: -side * tau}))
        self.add_bounded(builder, rows, self.eps, among)

    def _checked_tau(self) -> float:
        if self.tau is None:
            raise ValueError(
                "tau of TreatmentEquality is open: FairClassifier, ExponentiatedGradient and "
                "GridSearch find it in fit. Elsewhere give a number: TreatmentEquality(tau=1.0)."
            )
        if not is_number(self.tau) or not np.isfinite(self.tau) or self.tau <= 0:
            raise ValueError(
                f"tau of TreatmentEquality is {self.tau!r}; expected a number > 0 (false negatives "
                "per false positive), or None to have it found."
            )
        return float(self.tau)
