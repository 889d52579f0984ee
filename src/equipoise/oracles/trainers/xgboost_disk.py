"""XGBoost on rows that stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import CachingTrainer, Trained
from equipoise.oracles.trainers.xgboost_bins import has_known_settings, train_on_bins
from equipoise.rows.parquet import ParquetRows


class XGBoostDiskTrainer(CachingTrainer):
    """Bin the rows into a file once, batch by batch; then only swap labels and weights.

    The bins are an ``ExtMemQuantileDMatrix`` in a temporary folder, about a byte for each value,
    and are gone with the trainer. The trees are those that XGBoost grows on the rows in memory.
    """

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the rows are on disk and the learner is an XGBClassifier of plain settings."""
        return isinstance(X, ParquetRows) and has_known_settings(estimator)

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train on the bins, with these labels and weights."""
        with self._lock:
            classifier, local = train_on_bins(self.estimator, self._prepared(label), label, weight)
        return Trained(classifier, local, self.X)

    def _prepare(self, label: NDArray) -> Any:
        import xgboost

        if not hasattr(xgboost, "ExtMemQuantileDMatrix"):
            raise ImportError(
                f"rows on disk need XGBoost 3 or newer; found {xgboost.__version__}. Run: "
                "pip install 'equipoise[disk]'"
            )
        folder = TemporaryDirectory(prefix="equipoise-bins-")
        e = self.estimator
        bins = xgboost.ExtMemQuantileDMatrix(
            batch_iterator(self.X.batches, {}, cache_prefix=str(Path(folder.name) / "bins")),
            missing=e.missing,
            nthread=e.n_jobs,
            max_bin=e.max_bin,
        )
        vars(bins)["folder"] = folder  # lives as long as the bins, and is removed after them
        return bins


def batch_iterator(
    batches: Callable[[], Iterator[NDArray]], names: dict[str, Any], **options: Any
) -> Any:
    """Return batches in the form in which XGBoost asks for them; ``names`` go with each."""
    import xgboost

    class Batches(xgboost.DataIter):
        """Hands over a batch each time it is asked, from the start after a reset."""

        def __init__(self) -> None:
            self.left = batches()
            super().__init__(**options)

        def next(self, input_data: Any) -> bool:
            batch = next(self.left, None)
            if batch is None:
                return False
            input_data(data=np.asarray(batch, dtype=np.float32), **names)
            return True

        def reset(self) -> None:
            self.left = batches()

    return Batches()
