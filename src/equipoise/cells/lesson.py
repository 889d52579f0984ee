"""Lessons: costs of decisions as weighted labels, which a learner can be trained on (section 3.1).

With two labels that is one label and one weight for each row. With more, a row stands once for
each label that costs less than its dearest one, weighted by what that label saves: the cost of any
decisions is a constant minus the weights of the labels that they agree with.
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
    """A weighted classification problem: a label, 0 or 1, and a weight for each cell or row."""

    label: NDArray[np.int64]
    weight: Array


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


def savings(costs: Array, mass: Array) -> Array:
    """Return what each decision saves over the dearest one, in each cell: (C, V).

    Parameters
    ----------
    costs : array of shape (C, V - 1)
        What decisions 1, 2, ... cost more than decision 0.
    mass : array of shape (C,)
        Share of each cell. All that can be saved is one for each unit of it, on average, so that
        a learner's regularisation keeps its meaning.

    Examples
    --------
    >>> savings(np.array([[1.0, -1.0], [2.0, 2.0]]), np.array([0.5, 0.5])).round(2).tolist()
    [[0.4, 0.0, 0.8], [0.8, 0.0, 0.0]]
    """
    each = np.column_stack([np.zeros(len(costs)), costs])
    saved = each.max(axis=1, keepdims=True) - each
    saved[saved <= _ROUNDING * saved.max(initial=0.0)] = 0.0
    mean = float(mass @ saved.sum(axis=1))
    return saved / mean if mean > 0 else saved


class Lesson(NamedTuple):
    """What a learner is trained on: labels and weights of rows.

    Attributes
    ----------
    label : array of shape (m,)
        Of two labels, not to be written to.
    weight : array of shape (m,)
    rows : array of shape (m,), or None
        The number of the row that each of them is for; None: each row once, in order.
    """

    label: NDArray[np.integer]
    weight: Array
    rows: NDArray[np.intp] | None = None

    def among(self, rows: NDArray[np.intp], n: int) -> Lesson:
        """Return the lesson about some of ``n`` rows, which are numbered anew.

        >>> lesson = Lesson(np.array([2, 0, 1]), np.array([0.5, 1.0, 1.5]), np.array([0, 1, 3]))
        >>> lesson.among(np.array([1, 3]), 4).rows.tolist()
        [0, 1]
        """
        if self.rows is None:
            return Lesson(self.label[rows], self.weight[rows])
        number = np.full(n, -1, dtype=np.intp)
        number[rows] = np.arange(len(rows))
        found = number[self.rows]
        kept = found >= 0
        return Lesson(self.label[kept], self.weight[kept], found[kept])


def copies(code: NDArray[np.integer], saved: Array, weight: Array | None) -> Lesson:
    """Return each row once for every label that saves something, weighted by what it saves.

    Parameters
    ----------
    code : array of shape (n,)
        The cell of each row.
    saved : array of shape (C, V)
        See `savings`.
    weight : array of shape (n,), or None
        The rows' own weights.
    """
    each = [look_up(code, np.ascontiguousarray(column)) for column in saved.T]
    found = [np.flatnonzero(column) for column in each]
    weights = np.concatenate([column[some] for column, some in zip(each, found, strict=True)])
    rows = np.concatenate(found)
    if weight is not None:
        weights *= weight[rows]
    labels = np.repeat(np.arange(len(each)), [len(some) for some in found])
    return Lesson(labels, weights, rows)


class LabelCache(dict[bytes, NDArray[np.int64]]):
    """The labels of the rows for the last signs of the costs, which seldom change in a fit.

    They are 8 bytes a row that need not be written again, and do not travel to other processes.
    """

    def __reduce__(self) -> tuple[type[LabelCache], tuple[()]]:
        return LabelCache, ()
