"""Comparisons: which groups are compared with which, in which events, by which rate."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from equipoise.cells.table import Array, Mask
from equipoise.constraints.rates import FPR, SELECTION, TPR, Rate
from equipoise.exceptions import EmptyCellWarning
from equipoise.metrics.audit import Audit, Draws

Method = Literal["between_groups", "to_overall"]
Agg = Literal["worst_case", "mean"]


class Disparity(NamedTuple):
    """The largest difference, or the smallest ratio, of some rates between groups."""

    rates: tuple[Rate, ...]
    ratio: bool = False

    def of(self, audit: Audit, method: Method, agg: Agg) -> float:
        """Return the disparity of the data."""
        values = [block.disparity(self.ratio) for block in compare(audit, self.rates, method)]
        return combine(values, agg, self.ratio)


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
    """The groups of one event, and which of them are compared with which.

    Attributes
    ----------
    audit, rate
        What is measured, where.
    masks : array of shape (R, C)
        The groups that have people in the event; for a comparison with everybody, also everybody.
    left, right : arrays of numbers of masks
        The pairs.
    """

    audit: Audit
    rate: Rate
    masks: Mask
    left: NDArray[np.intp]
    right: NDArray[np.intp]

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
        if not ratio:
            return float(np.abs(left - right).max(initial=0.0))
        low, high = np.minimum(left, right), np.maximum(left, right)
        return float(np.divide(low, high, out=np.ones_like(low), where=high > 0).min(initial=1.0))


def compare(audit: Audit, rates: tuple[Rate, ...], method: Method) -> Iterator[Comparison]:
    """Yield the comparisons for each rate, within each stratum of the control features."""
    if method not in ("between_groups", "to_overall"):
        raise ValueError(f"method is {method!r}; expected 'between_groups' or 'to_overall'.")
    if not audit.cells.sensitive:
        raise ValueError(
            "sensitive_features is missing: there are no groups to compare. Pass "
            "sensitive_features=A, one value or row for each example."
        )
    groups = audit.groups()
    for stratum, inside in audit.cells.strata().items():
        for rate in rates:
            event = inside & rate.event(audit.cells)
            masks = []
            for group, mask in groups.items():
                if audit.mass[mask & event].sum() > 0:
                    masks.append(mask & inside)
                else:
                    _warn_empty(rate, group, stratum)
            if not masks:
                continue
            if method == "to_overall":
                left = np.arange(len(masks))
                yield Comparison(
                    audit, rate, np.array([*masks, inside]), left, np.full_like(left, len(masks))
                )
            else:
                left, right = np.triu_indices(len(masks), k=1)
                yield Comparison(audit, rate, np.array(masks), left, right)


def _warn_empty(rate: Rate, group: Any, stratum: Any) -> None:
    where = "" if stratum is None else f" within {stratum!r}"
    label = "" if rate.given is None else f" with label {rate.given}"
    warnings.warn(
        f"nobody in the data belongs to {group!r}{where}{label}: its {rate.column} cannot be "
        "measured, so it is left out of the comparison.",
        EmptyCellWarning,
        stacklevel=4,
    )


DEMOGRAPHIC_PARITY = (SELECTION,)
EQUALIZED_ODDS = (TPR, FPR)
EQUAL_OPPORTUNITY = (TPR,)
