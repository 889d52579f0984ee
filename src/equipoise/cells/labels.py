"""Labels of queries: costs as weighted labels, which a learner can be trained on (section 3.1).

With two labels that is one label and one weight for each row. With more, each row has a weight for
every label: what that label saves over its dearest one. The cost of any decisions is a constant
minus the weights of the labels that they agree with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import look_up

Array = NDArray[np.float64]
#: Savings this small, relative to the largest, are rounding.
_ROUNDING = 1e-12


class WeightedLabels(NamedTuple):
    """A weighted classification problem: a label, 0 or 1, and a weight for each cell or row.

    Labels of rows are not to be written to.
    """

    label: NDArray[np.integer]
    weight: Array

    def among(self, rows: NDArray[np.intp]) -> WeightedLabels:
        """Return the labels and weights of some rows."""
        return WeightedLabels(self.label[rows], self.weight[rows])

    def without(self, rows: NDArray[np.intp]) -> WeightedLabels:
        """Return the labels with weights of zero for some rows."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        return WeightedLabels(self.label, weight)


def weighted_labels(costs: Array, mean: float) -> WeightedLabels:
    """Return the weighted classification problem whose weighted error is the cost (section 3.1).

    The label is 1 where predicting 1 costs less than predicting 0, and the weight is the
    difference, divided by ``mean``.

    >>> label, weight = weighted_labels(np.array([1.0, -3.0]), mean=2.0)
    >>> label.tolist(), weight.tolist()
    ([0, 1], [0.5, 1.5])
    """
    weight = np.abs(costs)
    if mean > 0:
        weight /= mean
    return WeightedLabels((costs < 0).astype(np.int64), weight)


def savings(costs: Array, mass: Array | None) -> Array:
    """Return the savings of each decision over the dearest one, in each cell: (C, V).

    Parameters
    ----------
    costs : array of shape (C, V - 1)
        What decisions 1, 2, ... cost more than decision 0.
    mass : array of shape (C,), or None
        Share of each cell. All that can be saved is one for each unit of it, on average, so that
        a learner's regularisation keeps its meaning. None: savings as they are.

    Examples
    --------
    >>> savings(np.array([[1.0, -1.0], [2.0, 2.0]]), np.array([0.5, 0.5])).round(2).tolist()
    [[0.4, 0.0, 0.8], [0.8, 0.0, 0.0]]
    """
    each = np.column_stack([np.zeros(len(costs)), costs])
    saved = each.max(axis=1, keepdims=True) - each
    saved[saved <= _ROUNDING * saved.max(initial=0.0)] = 0.0
    if mass is None:
        return saved
    mean = float(mass @ saved.sum(axis=1))
    return saved / mean if mean > 0 else saved


class SoftLabels(NamedTuple):
    """What a learner of more labels is trained on: what each label saves, row by row.

    A learner of soft labels gives a row the sum of its savings for a weight, and each label its
    part of that sum for a target. Every other learner is trained on `copies`, which is the same
    loss.

    Attributes
    ----------
    saved : array of shape (n, V)
        At least one entry of a row is zero: that of its dearest label.
    """

    saved: Array

    def among(self, rows: NDArray[np.intp]) -> SoftLabels:
        """Return the savings of some rows."""
        return SoftLabels(self.saved[rows])

    def without(self, rows: NDArray[np.intp]) -> SoftLabels:
        """Return the savings, zero for some rows."""
        saved = self.saved.copy()
        saved[rows] = 0.0
        return SoftLabels(saved)

    @property
    def labels(self) -> NDArray[np.intp]:
        """The labels that save something for somebody."""
        return np.flatnonzero((self.saved > 0).any(axis=0))

    def copies(self) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
        """Return each row once for every label that saves something: label, weight and row.

        >>> label, weight, row = SoftLabels(np.array([[0.4, 0.0, 0.8], [0.8, 0.0, 0.0]])).copies()
        >>> label.tolist(), weight.tolist(), row.tolist()
        ([0, 0, 2], [0.4, 0.8, 0.8], [0, 1, 0])
        """
        label, row = np.nonzero(self.saved.T)
        return label, self.saved[row, label], row


def soft_labels(code: NDArray[np.integer], saved: Array, weight: Array | None = None) -> SoftLabels:
    """Return the savings of each label for each row.

    Parameters
    ----------
    code : array of shape (n,)
        The cell of each row.
    saved : array of shape (C, V)
        See `savings`.
    weight : array of shape (n,), or None
        The rows' own weights.
    """
    each = np.empty((len(code), saved.shape[1]))
    for column, table in zip(each.T, saved.T, strict=True):
        column[:] = look_up(code, np.ascontiguousarray(table))
    if weight is not None:
        each *= weight[:, None]
    return SoftLabels(each)


class LabelCache(dict[bytes, NDArray[np.int64]]):
    """The labels of the rows for the last signs of the costs, which seldom change in a fit.

    They are 8 bytes a row that need not be written again, and do not travel to other processes.
    """

    def __reduce__(self) -> tuple[type[LabelCache], tuple[()]]:
        return LabelCache, ()
