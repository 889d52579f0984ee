"""Data: the people of a fit, wherever their rows are kept, and what an estimator asks of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from equipoise.cells.rows import Array, Cells
from equipoise.engines.dask import Shards, is_collection, open_rows
from equipoise.metrics.tallies import Tally
from equipoise.oracles.decisions import decisions
from equipoise.rows.hashing import hash_uniform
from equipoise.rows.validation import read_examples


class RowsInMemory:
    """Data of this process: a table, or a description of one on disk.

    Parameters
    ----------
    X : table of n rows
    cells : Cells
    classes : array of two labels
    """

    def __init__(self, X: Any, cells: Cells, classes: NDArray) -> None:
        self.X, self.cells, self.classes = X, cells, classes

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, shape (P, C)."""
        return np.array([self.cells.sum(h) for h in decisions(classifiers, self.X)])

    def tally(self, mixture: Any) -> Tally:
        """Add up by cell how often a randomized classifier selects people."""
        return Tally.of_people(self.cells, mixture.predict_pmf(self.X)[:, 1])

    def identity(self) -> Iterator[bytes]:
        """Yield all that tells these data from others."""
        yield hash_uniform(self.X.tocsr() if issparse(self.X) else self.X).tobytes()
        for array in (self.cells.code, self.cells.mass, self.cells.label, self.cells.weight):
            if array is not None:
                yield np.ascontiguousarray(array).tobytes()


#: What holds the people of a fit. All have cells, classes, shares, tally and identity.
AnyData = RowsInMemory | Shards


def read_data(
    X: Any,
    y: Any,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: Any,
    utilities: Any = None,
    weights: str = "both",
    estimator: Any = None,
) -> AnyData:
    """Check what was passed to fit, and return the data; ``estimator`` will be trained on them."""
    given = (X, y, sensitive_features, control_features, sample_weight, utilities, weights)
    if is_collection(X):
        return open_rows(*given, estimator=estimator)
    return RowsInMemory(X, *read_examples(*given))
