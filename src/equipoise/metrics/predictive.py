"""Predictive values: what a decision tells about the label, with intervals.

Unlike the rates of `equipoise.constraints.rates` they are conditional on the decision, so that no
linear constraint can bound them.
"""

from __future__ import annotations

import numpy as np

from equipoise.cells.table import Array, Mask
from equipoise.metrics.audit import Audit
from equipoise.metrics.intervals import normal_quantile, wilson

#: Name -> what tables call it, and who is counted among whom.
PREDICTIVE = {
    "precision": (
        "Precision",
        "people whose label is the favourable one, among those selected",
    ),
    "false_discovery_rate": (
        "False discoveries",
        "people whose label is the other one, among those selected",
    ),
    "false_omission_rate": (
        "False omissions",
        "people whose label is the favourable one, among those turned down",
    ),
}


def predictive_values(audit: Audit, masks: Mask, level: float) -> dict[str, tuple[Array, ...]]:
    """Return each of `PREDICTIVE` in the masks (G, C), with the ends of its interval.

    Wilson's interval, over Kish's effective number of those who are selected, or turned down. NaN
    where nobody is.

    >>> audit = Audit.read([1, 0, 1, 1], [1, 1, 0, 1], ["F", "F", "M", "M"])
    >>> everybody = np.ones((1, audit.cells.n_cells), dtype=bool)
    >>> found = predictive_values(audit, everybody, 0.95)
    >>> [round(float(found[name][0][0]), 2) for name in PREDICTIVE]
    [0.67, 0.33, 1.0]
    """
    first, second, third = audit.squares
    z, good = normal_quantile(level), (audit.cells.label == 1).astype(float)
    found = {}
    for name, weight, square in (
        ("precision", audit.selected, third),
        ("false_omission_rate", audit.mass - audit.selected, first - 2 * second + third),
    ):
        with np.errstate(invalid="ignore", divide="ignore"):
            total = masks @ weight
            share = np.clip((masks @ (weight * good)) / total, 0.0, 1.0)
            share = np.where(total > 1e-12, share, np.nan)
            found[name] = (share, *wilson(share, total**2 / (masks @ square), z))
    share, low, high = found["precision"]
    return found | {"false_discovery_rate": (1 - share, 1 - high, 1 - low)}
