"""Disparities: how far the rates of groups are apart, in one number."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from equipoise.cells.table import Array, Mask
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import FPR, SELECTION, TPR, Rate
from equipoise.exceptions import EmptyCellWarning
from equipoise.metrics.audit import Audit, Draws
from equipoise.metrics.decisions import Decisions, read_audit
from equipoise.metrics.rates import Metric, named

Method = Literal["between_groups", "to_overall"]
Agg = Literal["worst_case", "mean"]


class Disparity(NamedTuple):
    """The largest difference, or the smallest ratio, of some rates between groups."""

    rates: tuple[Rate, ...]
    ratio: bool = False
    method: Method = "between_groups"

    def of(self, audit: Audit | Decisions, method: Method, agg: Agg) -> float:
        """Return the disparity of the data."""
        values = [block.disparity(self.ratio) for block in self.compared(audit, method)]
        return combine(values, agg, self.ratio)

    def compared(self, audit: Audit | Decisions, method: Method | None) -> list[Comparison]:
        """Return what is compared: each rate, of several decisions that of each."""
        method = method or self.method
        if isinstance(audit, Audit):
            return list(compare(audit, self.rates, method))
        return [
            replace(each, called=called)
            for one, rate, called in audit.compared(self.rates)
            for each in compare(one, (rate,), method)
        ]


def combine(values: list[float], agg: Agg, ratio: bool) -> float:
    """Aggregate over events: the worst of them, or their mean."""
    if agg not in ("worst_case", "mean"):
        raise ValueError(f"agg is {agg!r}; expected 'worst_case' or 'mean'.")
    if not values:
        return float("nan")
    worst = min if ratio else max
    return float(worst(values) if agg == "worst_case" else np.mean(values))


@dataclass(frozen=True, eq=False)
class Comparison:
    """The groups of one event, and which of them are compared with which."""

    audit: Audit
    rate: Rate
    #: The groups that have people in the event; for a comparison with everybody, also everybody.
    masks: Mask
    #: The pairs, as numbers of masks.
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    groups: tuple[Hashable, ...] = ()  #: Their names, "overall" of everybody.
    stratum: Hashable = None
    called: str = ""  #: What the rate is called, where it is of one of several decisions.

    @property
    def column(self) -> str:
        """What the rate is called."""
        return self.called or self.rate.column

    def rates(self, draws: Draws | None = None) -> Array:
        """Return the rate in each mask: (R,), or (n_draws, R) for draws of a bootstrap."""
        return self.audit.rate(self.rate, self.masks, draws)

    @property
    def contrasts(self) -> csr_array:
        """The difference of each pair, as a sparse array of shape (pairs, R)."""
        pair = np.arange(len(self.left))
        signs = np.repeat([1.0, -1.0], len(pair))
        at = (np.r_[pair, pair], np.r_[self.left, self.right])
        return csr_array((signs, at), shape=(len(pair), len(self.masks)))

    def disparity(self, ratio: bool) -> float:
        """Return the largest difference of a pair, or the smallest ratio."""
        rates = self.rates()
        left, right = rates[self.left], rates[self.right]
        if ratio:
            return float(ratios(left, right).min(initial=1.0))
        return float(np.abs(left - right).max(initial=0.0))


def ratios(left: Array, right: Array) -> Array:
    """Return the smaller rate of each pair over the larger; one where both are zero."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    return np.divide(low, high, out=np.ones_like(low), where=high != 0)


def compare(audit: Audit, rates: tuple[Rate, ...], method: Method) -> Iterator[Comparison]:
    """Yield the comparisons for each rate, within each stratum of the control features."""
    if method not in ("between_groups", "to_overall"):
        raise ValueError(f"method is {method!r}; expected 'between_groups' or 'to_overall'.")
    if not audit.cells.sensitive:
        raise ValueError(
            "sensitive_features is missing: there are no groups to compare. Pass "
            "sensitive_features=A, one value or row for each example."
        )
    groups, known = audit.cells.groups(), ~audit.cells.unknown
    for stratum, inside in audit.cells.strata().items():
        for rate in rates:
            event = inside & rate.event(audit.cells)
            masks, names = [], []
            for group, mask in groups.items():
                if audit.mass[mask & event].sum() > 0:
                    masks.append(mask & inside)
                    names.append(group)
                else:
                    label = None if rate.given is None else audit.cells.decisions[rate.given]
                    _warn_empty(rate, group, stratum, label)
            if not masks:
                continue
            left, right = np.triu_indices(len(masks), k=1)
            if method == "to_overall":
                left = np.arange(len(masks))
                right = np.full_like(left, len(masks))
                masks.append(inside & known)
                names.append("overall")
            yield Comparison(audit, rate, np.array(masks), left, right, tuple(names), stratum)


def _warn_empty(rate: Rate, group: Any, stratum: Any, label: Any) -> None:
    where = "" if stratum is None else f" within {stratum!r}"
    having = "" if label is None else f" with label {label}"
    warnings.warn(
        f"nobody in the data belongs to {group_name(group)}{where}{having}: its {rate.column} "
        "cannot be measured, so it is left out of the comparison.",
        EmptyCellWarning,
        stacklevel=4,
    )


#: The disparity that each function measures, and how it compares unless told otherwise.
DISPARITY_OF: dict[Metric, Disparity] = {}

_DOC = """{what}

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`. With more than two labels, without ``pos_label``, rates of every
        decision are compared; predictions are labels, or a column of probabilities for each.
    sensitive_features : array-like or data frame of n rows
        The groups; of several columns, every combination that occurs.
    control_features : array-like or data frame of n rows, optional
        Compare within each of their values.{choices}

    Examples
    --------
    >>> y_true, y_pred = [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0, 1, 0]
    >>> {name}(y_true, y_pred, sensitive_features=list("aaaabbbb"))
    {example}
    """
_CHOICES = """
    method : "between_groups" or "to_overall", default="between_groups"
        Compare the groups with each other, or each with everybody as the paper does.
    agg : "worst_case" or "mean", default="worst_case"
        The worst over the rates and the values of control features, or the mean."""


def _violation(name: str, rates: tuple[Rate, ...], what: str, example: float) -> Metric:
    """Make the function that measures a violation as the paper defines it."""
    disparity = Disparity(rates, method="to_overall")

    def metric(
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float:
        groups = (sensitive_features, control_features)
        audit = read_audit(y_true, y_pred, *groups, sample_weight, pos_label)
        return disparity.of(audit, "to_overall", "worst_case")

    DISPARITY_OF[metric] = disparity
    doc = _DOC.format(what=what, name=name, example=example, choices="")
    return named(metric, name, doc)


def _disparity(name: str, disparity: Disparity, what: str, example: float) -> Metric:
    """Make the function that measures a difference or a ratio."""

    def metric(
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any,
        method: Method = "between_groups",
        agg: Agg = "worst_case",
        control_features: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float:
        groups = (sensitive_features, control_features)
        audit = read_audit(y_true, y_pred, *groups, sample_weight, pos_label)
        return disparity.of(audit, method, agg)

    DISPARITY_OF[metric] = disparity
    doc = _DOC.format(what=what, name=name, example=example, choices=_CHOICES)
    return named(metric, name, doc)


_BOTH = (TPR, FPR)

demographic_parity_violation = _violation(
    "demographic_parity_violation",
    (SELECTION,),
    r"""The paper's violation of demographic parity: max_a \|E[h | A=a] - E[h]\|.

    What ``DemographicParity(eps)`` bounds by ``eps``. The same as `demographic_parity_difference`
    with ``method="to_overall"``.""",
    0.125,
)
equalized_odds_violation = _violation(
    "equalized_odds_violation",
    _BOTH,
    r"""The paper's violation of equalized odds: max_{a,y} \|E[h | A=a, Y=y] - E[h | Y=y]\|.

    What ``EqualizedOdds(eps)`` bounds by ``eps``.""",
    0.25,
)
demographic_parity_difference = _disparity(
    "demographic_parity_difference",
    Disparity((SELECTION,)),
    "Largest difference of selection rates.",
    0.25,
)
demographic_parity_ratio = _disparity(
    "demographic_parity_ratio",
    Disparity((SELECTION,), ratio=True),
    "Smallest ratio of selection rates; one where nobody is selected.\n\n"
    "    The four-fifths rule asks for 0.8 between groups.",
    0.5,
)
equalized_odds_difference = _disparity(
    "equalized_odds_difference",
    Disparity(_BOTH),
    "Largest difference of true-positive rates or of false-positive rates.",
    0.5,
)
equalized_odds_ratio = _disparity(
    "equalized_odds_ratio",
    Disparity(_BOTH, ratio=True),
    "Smallest ratio of true-positive rates or of false-positive rates.",
    0.5,
)
equal_opportunity_difference = _disparity(
    "equal_opportunity_difference",
    Disparity((TPR,)),
    "Largest difference of true-positive rates.",
    0.5,
)
equal_opportunity_ratio = _disparity(
    "equal_opportunity_ratio",
    Disparity((TPR,), ratio=True),
    "Smallest ratio of true-positive rates.",
    0.5,
)


def distribution_parity_violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""The largest difference, over thresholds t, of the shares above t of those selected and all.

    What ``DistributionParity(feature, eps)`` bounds by ``eps``: max_t \|P[A>=t \| h=1] - P[A>=t]\|,
    the Kolmogorov distance of two distributions. NaN where nobody is selected.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`.
    sensitive_features : array-like of n rows
        One column of numbers, dates or an ordered category.
    control_features : array-like or data frame of n rows, optional
        The distance is taken within each of their values; the largest counts.

    Examples
    --------
    >>> y_true, y_pred, age = [0, 1, 0, 1], [0, 0, 1, 1], [20, 30, 40, 50]
    >>> distribution_parity_violation(y_true, y_pred, sensitive_features=age)
    0.5
    """
    audit = Audit.read(
        y_true, y_pred, sensitive_features, control_features, sample_weight, pos_label
    )
    if len(audit.cells.sensitive) != 1:
        raise ValueError(
            f"sensitive_features has {len(audit.cells.sensitive)} columns; expected one, over "
            "whose values distributions are compared."
        )
    values, distances = np.array(list(audit.cells.groups().values())), []
    for stratum in audit.cells.strata().values():
        inside = (values & stratum).astype(float)
        if not (inside @ audit.selected).sum() > 0:
            continue
        # Shares up to each value: one less these are the shares above it.
        shares = (np.cumsum(inside @ mass) for mass in (audit.mass, audit.selected))
        everybody, selected = (share / share[-1] for share in shares)
        distances.append(float(np.abs(everybody - selected).max()))
    return max(distances, default=float("nan"))
