"""Parities: a rate compared between groups, within events.

Each says in plain words what it asks, its formula, its other names, and when it fits. All take the
parameters of `equipoise.constraints.Parity`: ``eps``, ``reference``, ``ratio``, which decisions
(``decisions``, ``positive``) and whom to compare (``on``, ``groups``, ``min_size``, ``small``).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from equipoise.cells.table import CellTable
from equipoise.constraints.comparison import Compared, Parity
from equipoise.constraints.groups import Bounds
from equipoise.constraints.moments import Utility, utility_table
from equipoise.constraints.rates import ERROR, FNR, FPR, SELECTION, TPR, shown


class DemographicParity(Parity):
    """Definition 1. Other names: statistical parity, independence, equal acceptance rate.

    Use it where the label itself is the product of past discrimination, or where equal shares are
    the aim.

    Examples
    --------
    >>> DemographicParity(eps=0.02)
    DemographicParity(eps=0.02)
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for row in DemographicParity().moments(cells).rows:
    ...     print(row)
    demographic parity: F above overall
    demographic parity: F below overall
    demographic parity: M above overall
    demographic parity: M below overall
    """

    name = "demographic parity"
    asks = "Every group is selected equally often."
    formula = "| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps for every group a."
    of_several = (
        "Every group gets each decision equally often.",
        "| P[h(X)=v | A=a] - P[h(X)=v] | <= eps for every group a and decision v.",
    )
    misleads = (
        "It looks at decisions only, never at the true label. It does not ask that the decisions "
        "be right: a classifier that is accurate in one group and picks at random in another can "
        "satisfy it, and a perfect classifier violates it when base rates differ."
    )
    takes_turns = True


class EqualizedOdds(Parity):
    """Definition 2. Other names: separation, positive-rate parity, conditional procedure accuracy.

    Among people with the same true label, membership in a group does not change the odds of being
    selected. Use it where the label can be trusted.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = EqualizedOdds(eps=0.05, reference="pairwise").moments(cells)
    >>> print(moments.rows[0], moments.c[0])
    equalized odds given label 0: F above M 0.05
    """

    name = "equalized odds"
    asks = "Every group has the same true-positive and the same false-positive rate."
    formula = "| P[h(X)=1 | A=a, Y=y] - P[h(X)=1 | Y=y] | <= eps for every group a and label y."
    of_several = (
        "Among people with the same label, every group gets each decision equally often.",
        "| P[h(X)=v | A=a, Y=y] - P[h(X)=v | Y=y] | <= eps for every group a, label y and "
        "decision v.",
    )
    misleads = (
        "It does not ask for equal selection rates, and it inherits whatever is wrong with the "
        "label."
    )
    rates = (FPR, TPR)

    def _of_many(self, numbers: list[int], cells: CellTable) -> Compared:
        """Return the rates of these decisions among people with each label."""
        return {
            (name, cells.decisions[number]): (cells.label == label, SELECTION.table(cells, number))
            for label, name in enumerate(cells.decisions)
            for number in numbers
        }


class EqualOpportunity(Parity):
    """Other names: equality of opportunity, true-positive-rate parity, balance for the positive
    class, equal recall. Called `TruePositiveRateParity` too.

    Use it where being turned down wrongly is the harm and the label can be trusted, as in lending
    to people who would repay.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> print(EqualOpportunity(reference="M").moments(cells).rows[1])
    equal opportunity given label 1: F below M
    """

    name = "equal opportunity"
    asks = "Those who deserve it are selected equally often in every group."
    formula = "| P[h(X)=1 | A=a, Y=1] - P[h(X)=1 | Y=1] | <= eps for every group a."
    of_several = (
        "Among people with the same label, every group gets the decision of that label equally "
        "often.",
        "| P[h(X)=v | A=a, Y=v] - P[h(X)=v | Y=v] | <= eps for every group a and label v.",
    )
    misleads = "It says nothing about those who are selected wrongly, and it trusts the label."
    rates = (TPR,)
    takes_turns = True


class FalsePositiveRateParity(Parity):
    """Other names: predictive equality, balance for the negative class.

    Use it where being selected is the harm, as when people are searched or detained.

    Examples
    --------
    >>> FalsePositiveRateParity({"F": 0.01, "M": 0.03})
    FalsePositiveRateParity(eps={'F': 0.01, 'M': 0.03})
    """

    name = "false-positive-rate parity"
    asks = "Those who do not deserve it are selected equally often in every group."
    formula = "| P[h(X)=1 | A=a, Y=0] - P[h(X)=1 | Y=0] | <= eps for every group a."
    misleads = "It says nothing about those who are turned down wrongly, and it trusts the label."
    rates = (FPR,)


class FalseNegativeRateParity(Parity):
    """Other names: equal miss rate. As a difference it asks the same as `EqualOpportunity`; as a
    ratio it asks more, because a miss rate of 2 % against one of 1 % is a ratio of one half, while
    the hit rates 98 % and 99 % are nearly the same.

    Use the ratio form where misses are rare and each one is grave, as in medicine.

    Examples
    --------
    >>> FalseNegativeRateParity(eps=0, ratio=0.8, reference="pairwise")
    FalseNegativeRateParity(eps=0, reference='pairwise', ratio=0.8)
    """

    name = "false-negative-rate parity"
    asks = "Those who deserve it are turned down equally often in every group."
    formula = "| P[h(X)=0 | A=a, Y=1] - P[h(X)=0 | Y=1] | <= eps for every group a."
    misleads = "Like equal opportunity it is blind to false alarms, and as good as the label."
    rates = (FNR,)


class ErrorRateBalance(Parity):
    """Other names: equal false-positive and false-negative rates (Chouldechova). As a difference it
    is `EqualizedOdds`; as a ratio it compares the error rates themselves, which asks more where
    errors are rare.

    Use it where both errors do harm, each in its own way, and the label can be trusted.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> import numpy as np
    >>> balance, odds = (c.moments(cells) for c in (ErrorRateBalance(), EqualizedOdds()))
    >>> s = np.array([0.1, 0.2, 0.05, 0.15])  # the same worst gap, for every classifier
    >>> gaps = [float((m.M @ m.mu(s)).max()) for m in (balance, odds)]
    >>> bool(np.isclose(*gaps))
    True
    """

    name = "error-rate balance"
    asks = "Both kinds of error are equally frequent in every group."
    formula = "| P[h(X)!=Y | A=a, Y=y] - P[h(X)!=Y | Y=y] | <= eps for every group a and label y."
    misleads = (
        "Where base rates differ it rules out equal precision, unless the classifier is perfect. "
        "It trusts the label."
    )
    rates = (FPR, FNR)


class AccuracyEquality(Parity):
    """Other names: overall accuracy equality, error-rate parity. Called `ErrorRateParity` too. The
    ratio form compares error rates, not accuracies.

    Use it where both kinds of error do the same harm.

    Examples
    --------
    >>> AccuracyEquality(0.05, on="race")
    AccuracyEquality(eps=0.05, on='race')
    """

    name = "accuracy equality"
    asks = "Decisions are right equally often in every group."
    formula = "| P[h(X)!=Y | A=a] - P[h(X)!=Y] | <= eps for every group a."
    misleads = (
        "A group may pay with one kind of error what it gains in the other: where the two do "
        "different harm, use equalized odds."
    )
    rates = (ERROR,)

    def _of_many(self, numbers: list[int], cells: CellTable) -> Compared:
        """Return the error rate, of decisions of every kind."""
        if self.decisions is not None:
            raise ValueError(
                f"AccuracyEquality got decisions={self.decisions!r}; wrong decisions of every kind "
                "count, so leave it out, or name one decision as positive=."
            )
        return {(None, None): (ERROR.event(cells), ERROR.table(cells))}


@dataclass(repr=False)
class FourFifthsRule(Parity):
    """Other names: 80 % rule, disparate impact ratio. A rule of thumb of the US Uniform Guidelines
    on Employee Selection Procedures, 1978.

    Use it where this rule is the yardstick. It is `DemographicParity` as a ratio between pairs,
    exactly, and linear; selecting hardly anybody does not get around it.

    Parameters
    ----------
    eps : float, default=0
        Slack: ``0.8 mu_b - mu_a <= eps``.
    ratio : float, default=0.8
        The fraction asked for.
    reference, positive, on, groups, min_size, small
        See `Parity`; the reference is "pairwise" by default.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = FourFifthsRule().moments(cells)
    >>> print(moments.rows[1], moments.M.toarray()[1, :2].tolist(), moments.c[1])
    four-fifths rule: F below M [-1.0, 0.8] 0.0
    """

    eps: Bounds = 0.0
    reference: Hashable = field(default="pairwise", kw_only=True)
    ratio: float = field(default=0.8, kw_only=True)

    name = "four-fifths rule"
    asks = "The selection rate of every group is at least four fifths of that of every other."
    formula = "P[h(X)=1 | A=a] >= 0.8 P[h(X)=1 | A=b] for all groups a and b."
    misleads = (
        "It has the limits of demographic parity: it looks at decisions only. A rate of zero in "
        "every group satisfies it."
    )


@dataclass(repr=False)
class UtilityParity(Parity):
    """Other names: equal expected benefit, equality of outcome.

    Use it where what people get out of a decision is not the decision itself: a limit, a waiting
    time, a price, scaled to [0, 1].

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.
    utility : table, callable or str
        A 2 x 2 table ``g[label][prediction]``, V x V of more labels; a function of (sensitive
        values, label, prediction) with values in [0, 1]; or the name of a utility that differs
        from person to person, whose values under prediction 0 and 1 are passed as
        ``fit(..., utilities=...)``.
    labels : tuple of labels (0 and 1 of two), or None, default=None
        Compare people with the same label only, for each of these labels.

    Examples
    --------
    >>> benefit = UtilityParity(0.05, utility=[[0, 1], [0.2, 1]])  # comfort for those with label 1
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> benefit.moments(cells).offset.tolist()  # what everybody gets when nobody is selected
    [0.1, 0.1, 0.1]
    """

    utility: Utility = field(default=SELECTION.utility, kw_only=True)
    labels: tuple[Hashable, ...] | None = field(default=None, kw_only=True)

    name = "utility parity"
    asks = "A quantity of your own is (nearly) the same on average for every group."
    formula = "| E[g(X,A,Y,h(X)) | A=a] - E[g(X,A,Y,h(X))] | <= eps for every group a."
    misleads = "It compares means only: within a group some may get all of it."

    def compared(self, cells: CellTable) -> Compared:
        """Return who counts and the utility, by the label given."""
        if self.positive is not None or self.decisions is not None:
            raise ValueError(
                "UtilityParity got positive= or decisions=; its utility says what each decision is "
                "worth, so leave them out."
            )
        g, everybody = utility_table(self.utility, cells), np.ones(cells.n_cells, dtype=bool)
        if self.labels is None:
            return {(None, None): (everybody, g)}
        if not set(self.labels) <= set(cells.decisions):
            raise ValueError(
                f"labels is {self.labels!r}; expected None, or some of {shown(cells.decisions)}."
            )
        at = {name: cells.label == number for number, name in enumerate(cells.decisions)}
        return {(label, None): (at[label], g) for label in self.labels}
