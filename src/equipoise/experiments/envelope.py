"""Envelopes: which points of a trade-off are worth having, and what mixing them can reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pareto(violation: ArrayLike, error: ArrayLike) -> NDArray[np.intp]:
    """Return the points that no other beats in both, by growing violation.

    >>> pareto([0.1, 0.0, 0.2], [0.2, 0.3, 0.25]).tolist()
    [1, 0]
    """
    violation, error = np.asarray(violation, dtype=float), np.asarray(error, dtype=float)
    chosen: list[int] = []
    for at in np.lexsort((error, violation)):
        if not chosen or error[at] < error[chosen[-1]]:
            chosen.append(int(at))
    return np.array(chosen, dtype=np.intp)


def convex_envelope(violation: ArrayLike, error: ArrayLike) -> NDArray[np.intp]:
    """Return the corners of the lower convex envelope, by growing violation and falling error.

    >>> convex_envelope([0.0, 0.1, 0.2], [0.3, 0.29, 0.2]).tolist()
    [0, 2]
    """
    violation, error = np.asarray(violation, dtype=float), np.asarray(error, dtype=float)
    corners: list[int] = []
    for at in pareto(violation, error):
        while len(corners) > 1:
            first, middle = corners[-2:]
            slope = (error[at] - error[first]) / (violation[at] - violation[first])
            if error[middle] < error[first] + slope * (violation[middle] - violation[first]):
                break
            corners.pop()
        corners.append(int(at))
    return np.array(corners, dtype=np.intp)
