"""Treatment equality: false negatives in proportion to false positives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from equipoise.constraints.base import Constraint
from equipoise.constraints.bounds import Bounds
from equipoise.constraints.groups import GroupConstraint, group_name
from equipoise.constraints.moments import MomentsBuilder, Row

#: g(label, prediction): shares of all people of a group, not of those with one label.
_FALSE_NEGATIVE = np.array([[0.0, 0.0], [1.0, 0.0]])
_FALSE_POSITIVE = np.array([[0.0, 1.0], [0.0, 0.0]])


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

    name = "treatment equality"
    short_name = "treatment"
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
        bounds = self.bound_table(builder, self.eps)
        cells, tau = builder.cells, self._checked_tau()
        negative, positive = _FALSE_NEGATIVE[cells.label], _FALSE_POSITIVE[cells.label]
        for event, mask in self.events(builder):
            for group, members in self.members(builder, event, mask).items():
                fn, fp = builder.moment(members, negative), builder.moment(members, positive)
                for side, word in ((1, "above"), (-1, "below")):
                    text = (
                        f"false negatives of {group_name(group)} {word} {tau:g} x false positives"
                    )
                    eps = bounds.next(event, group, side=side)
                    row = Row(self.name, text, group, None, event, side, eps, " by at most")
                    builder.row(row, {fn: side, fp: -side * tau}, follows_eps=True)
        bounds.check_all_used()

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
