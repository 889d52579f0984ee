"""The catalogue: fairness definitions by name.

Each says in plain words what it asks, its formula, its other names, and when it fits. All parities
take the parameters of `equipoise.constraints.groups.Parity`: ``eps``, ``reference``, ``ratio``,
and whom to compare (``on``, ``groups``, ``min_size``, ``small``).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NoReturn

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.bounds import Allowed
from equipoise.constraints.groups import ERROR, REJECTION, SELECTION, Parity
from equipoise.constraints.moments import Utility, utility_table

__all__ = [
    "AccuracyEquality",
    "Calibration",
    "DemographicParity",
    "EqualOpportunity",
    "EqualizedOdds",
    "ErrorRateBalance",
    "ErrorRateParity",
    "FalseNegativeRateParity",
    "FalsePositiveRateParity",
    "FourFifthsRule",
    "PredictiveParity",
    "TruePositiveRateParity",
    "UtilityParity",
]


class DemographicParity(Parity):
    """Every group is selected equally often (Definition 1; also called statistical parity).

    ``| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps`` for every group ``a``.

    Other names: statistical parity, independence, equal acceptance rate, group fairness.

    It looks at decisions only, never at the true label. Use it where the label itself is the
    product of past discrimination, or where equal shares are the aim. It does not ask that the
    decisions be right: a classifier that is accurate in one group and picks at random in another
    can satisfy it, and a perfect classifier violates it when base rates differ.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> DemographicParity(eps=0.02)
    DemographicParity(eps=0.02)
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for row in DemographicParity().moments(cells).rows:
    ...     print(row)
    demographic parity: F above overall
    demographic parity: F below overall
    demographic parity: M above overall
    demographic parity: M below overall
    """

    name = "demographic parity"


class EqualizedOdds(Parity):
    """Every group has the same true-positive and the same false-positive rate (Definition 2).

    ``| P[h(X)=1 | A=a, Y=y] - P[h(X)=1 | Y=y] | <= eps`` for every group ``a`` and label ``y``.

    Other names: separation, positive-rate parity, conditional procedure accuracy.

    Among people with the same true label, membership in a group does not change the odds of being
    selected. Use it where the label can be trusted. It does not ask for equal selection rates, and
    it inherits whatever is wrong with the label.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = EqualizedOdds(eps=0.05, reference="pairwise").moments(cells)
    >>> print(moments.rows[0], moments.c[0])
    equalized odds given label 0: F above M 0.05
    """

    name = "equalized odds"
    given = (0, 1)


class EqualOpportunity(Parity):
    """Those who deserve it are selected equally often in every group.

    ``| P[h(X)=1 | A=a, Y=1] - P[h(X)=1 | Y=1] | <= eps`` for every group ``a``.

    Other names: equality of opportunity, true-positive-rate parity, balance for the positive
    class, equal recall. Called `TruePositiveRateParity` too.

    Use it where being turned down wrongly is the harm and the label can be trusted, as in lending
    to people who would repay. It says nothing about those who are selected wrongly.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> print(EqualOpportunity(reference="M").moments(cells).rows[1])
    equal opportunity given label 1: F below M
    """

    name = "equal opportunity"
    given = (1,)


class FalsePositiveRateParity(Parity):
    """Those who do not deserve it are selected equally often in every group.

    ``| P[h(X)=1 | A=a, Y=0] - P[h(X)=1 | Y=0] | <= eps`` for every group ``a``.

    Other names: predictive equality, balance for the negative class.

    Use it where being selected is the harm, as when people are searched or detained. It says
    nothing about the guilty who are let go.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> FalsePositiveRateParity({"F": 0.01, "M": 0.03})
    FalsePositiveRateParity(eps={'F': 0.01, 'M': 0.03})
    """

    name = "false-positive-rate parity"
    given = (0,)


class FalseNegativeRateParity(Parity):
    """Those who deserve it are turned down equally often in every group.

    ``| P[h(X)=0 | A=a, Y=1] - P[h(X)=0 | Y=1] | <= eps`` for every group ``a``.

    Other names: equal miss rate. As a difference it asks the same as `EqualOpportunity`; as a
    ratio it asks more, because a miss rate of 2 % against one of 1 % is a ratio of one half, while
    the hit rates 98 % and 99 % are nearly the same.

    Use the ratio form where misses are rare and each one is grave, as in medicine. Like equal
    opportunity it is blind to false alarms, and as good as the label.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> FalseNegativeRateParity(eps=0, ratio=0.8, reference="pairwise")
    FalseNegativeRateParity(eps=0, reference='pairwise', ratio=0.8)
    """

    name = "false-negative-rate parity"
    measure = REJECTION
    given = (1,)


class ErrorRateBalance(Parity):
    """Both kinds of error are equally frequent in every group.

    ``| P[h(X)!=Y | A=a, Y=y] - P[h(X)!=Y | Y=y] | <= eps`` for every group ``a`` and label ``y``.

    Other names: equal false-positive and false-negative rates (Chouldechova). As a difference it
    is `EqualizedOdds`; as a ratio it compares the error rates themselves, which asks more where
    errors are rare.

    Use it where both errors do harm, each in its own way, and the label can be trusted. Where base
    rates differ it rules out equal precision, unless the classifier is perfect.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> import numpy as np
    >>> balance, odds = (c.moments(cells) for c in (ErrorRateBalance(), EqualizedOdds()))
    >>> s = np.array([0.1, 0.2, 0.05, 0.15])  # the same worst gap, for every classifier
    >>> gaps = [float((m.M @ m.mu(s)).max()) for m in (balance, odds)]
    >>> bool(np.isclose(*gaps))
    True
    """

    name = "error-rate balance"
    measure = ERROR
    given = (0, 1)


class AccuracyEquality(Parity):
    """Decisions are right equally often in every group.

    ``| P[h(X)!=Y | A=a] - P[h(X)!=Y] | <= eps`` for every group ``a``.

    Other names: overall accuracy equality, error-rate parity. Called `ErrorRateParity` too. The
    ratio form compares error rates, not accuracies.

    Use it where both kinds of error do the same harm. Where they do not, a group may pay with one
    kind what it gains in the other: use `EqualizedOdds`.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.

    Examples
    --------
    >>> AccuracyEquality(0.05, on="race")
    AccuracyEquality(eps=0.05, on='race')
    """

    name = "accuracy equality"
    measure = ERROR


@dataclass(repr=False)
class FourFifthsRule(Parity):
    """The selection rate of every group is at least four fifths of that of every other.

    ``P[h(X)=1 | A=a] >= 0.8 P[h(X)=1 | A=b]`` for all groups ``a`` and ``b``: exactly, and linear.

    Other names: 80 % rule, disparate impact ratio (the rule of thumb of the US Uniform Guidelines
    on Employee Selection Procedures, 1978).

    Use it where this rule is the yardstick. It is `DemographicParity` as a ratio between pairs,
    with the same limits; selecting hardly anybody does not get around it. A rate of zero in every
    group satisfies it.

    Parameters
    ----------
    eps : float, default=0
        Slack: ``0.8 mu_b - mu_a <= eps``.
    ratio : float, default=0.8
        The fraction asked for.
    reference, on, groups, min_size, small
        See `Parity`; the reference is "pairwise" by default.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = FourFifthsRule().moments(cells)
    >>> print(moments.rows[1], moments.M[1, :2].tolist(), moments.c[1])
    four-fifths rule: F below M [-1.0, 0.8] 0.0
    """

    eps: Allowed = 0.0
    reference: Hashable = field(default="pairwise", kw_only=True)
    ratio: float = field(default=0.8, kw_only=True)

    name = "four-fifths rule"


@dataclass(repr=False)
class UtilityParity(Parity):
    """A quantity of your own is (nearly) the same on average for every group.

    ``| E[g(X,A,Y,h(X)) | A=a] - E[g(X,A,Y,h(X))] | <= eps`` for every group ``a``.

    Other names: equal expected benefit, equality of outcome.

    Use it where what people get out of a decision is not the decision itself: a limit, a waiting
    time, a price, scaled to [0, 1]. It compares means only: within a group some may get all of it.

    Parameters
    ----------
    eps, reference, ratio, on, groups, min_size, small
        See `Parity`.
    utility : 2 x 2 table, callable or str
        A table ``g[label][prediction]``; a function of (sensitive values, label, prediction) with
        values in [0, 1]; or the name of a utility that differs from person to person, whose
        values under prediction 0 and 1 are passed as ``fit(..., utilities=...)``.
    labels : tuple of 0 and 1, or None, default=None
        Compare people with the same label only, for each of these labels.

    Examples
    --------
    >>> benefit = UtilityParity(0.05, utility=[[0, 1], [0.2, 1]])  # comfort for those with label 1
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> benefit.moments(cells).offset.tolist()  # what everybody gets when nobody is selected
    [0.1, 0.1, 0.1]
    """

    utility: Utility = field(default=SELECTION, kw_only=True)
    labels: tuple[int, ...] | None = field(default=None, kw_only=True)

    name = "utility parity"

    def _labels(self) -> tuple[int | None, ...]:
        if self.labels is None:
            return (None,)
        if not set(self.labels) <= {0, 1}:
            raise ValueError(f"labels is {self.labels!r}; expected None, (0,), (1,) or (0, 1).")
        return tuple(self.labels)

    def _g(self, cells: CellTable) -> Array | str:
        return utility_table(self.utility, cells)


#: fairlearn's names, where they differ.
TruePositiveRateParity = EqualOpportunity
ErrorRateParity = AccuracyEquality

_NOT_LINEAR = (
    "{name} cannot be a constraint here: it looks at people by how they were decided on, so that "
    "the event of the moment would depend on the prediction, and the paper's constraints (and with "
    "them convexity and the certificate) allow that in g only: 'calibration and predictive parity "
    "cannot [be expressed] because to do so would require the event to depend on h' (section 2.1). "
    "Constrain what leads up to it: rates given the label (EqualizedOdds, rate('tpr'), "
    "rate('fpr')) or selection rates, and measure {name} afterwards."
)


def refuse(name: str) -> NoReturn:
    """Raise the error for a request that is not linear in the decisions."""
    raise ValueError(_NOT_LINEAR.format(name=name))


class PredictiveParity:
    """Not available: equal precision P[Y=1 | h(X)=1, A=a] conditions on the prediction.

    >>> PredictiveParity(eps=0.02)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: predictive parity cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("predictive parity")


class Calibration:
    """Not available: equal P[Y=1 | score] conditions on the prediction.

    >>> Calibration()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: calibration cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("calibration")
