"""XGBoost on rows that stay on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.oracles.trainers.xgboost_bins import XGBoostTrainer, has_known_settings
from equipoise.rows.parquet import ParquetRows


class XGBoostDiskTrainer(XGBoostTrainer):
    """Bin the rows into a file once, batch by batch; then only swap labels and weights.

    The bins are an ``ExtMemQuantileDMatrix`` in a temporary folder, about a byte for each value,
    and are gone with the trainer. The trees are those of `XGBoostTrainer` on the rows in memory.
    """

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the rows are on disk and the learner is an XGBClassifier of plain settings."""
        return isinstance(X, ParquetRows) and has_known_settings(estimator)

    @classmethod
    def check(cls, estimator: Any, X: ParquetRows) -> None:
        """Refuse what cannot be trained from disk."""
        if not cls.suits(estimator, X):
            raise TypeError(
                f"estimator is {type(estimator).__name__} but X is rows on disk (ParquetRows). "
                "Only an XGBClassifier is trained from these, one with the default objective, "
                "booster and tree method and without callbacks, early stopping or categories. "
                "Use one, or load the table into memory."
            )

    def _bin(self) -> Any:
        import xgboost

        if not hasattr(xgboost, "ExtMemQuantileDMatrix"):
            raise ImportError(
                f"rows on disk need XGBoost 3 or newer; found {xgboost.__version__}. Run: "
                "pip install 'equipoise[disk]'"
            )
        folder = TemporaryDirectory(prefix="equipoise-bins-")
        e = self.estimator
        bins = xgboost.ExtMemQuantileDMatrix(
            _batch_iterator(self.X, Path(folder.name) / "bins"),
            missing=e.missing,
            nthread=e.n_jobs,
            max_bin=e.max_bin,
        )
        vars(bins)["folder"] = folder  # lives as long as the bins, and is removed after them
        return bins


def _batch_iterator(rows: ParquetRows, cache: Path) -> Any:
    """Return the batches in the form in which XGBoost asks for them."""
    import xgboost

    class Batches(xgboost.DataIter):
        """Hands over a batch each time it is asked, from the start after a reset."""

        def __init__(self) -> None:
            self.left: Iterator[NDArray] = rows.batches()
            super().__init__(cache_prefix=str(cache))

        def next(self, input_data: Any) -> bool:
            batch = next(self.left, None)
            if batch is None:
                return False
            input_data(data=np.asarray(batch, dtype=np.float32))
            return True

        def reset(self) -> None:
            self.left = rows.batches()

    return Batches()
