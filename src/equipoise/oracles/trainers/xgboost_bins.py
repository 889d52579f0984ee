"""XGBoost with its features put into bins once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone

from equipoise.atomic_files import TemporaryFolder
from equipoise.cells.labels import SoftLabels
from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import (
    BoostingTrainer,
    CachedScores,
    Trained,
    has_fixed_seed,
    is_binnable,
)
from equipoise.rows.parquet import ParquetRows

#: Settings under which the path is known to do what a plain fit does; None is XGBoost's default.
_KNOWN: dict[str, tuple[Any, ...]] = {
    "objective": (None, "binary:logistic"),
    "booster": (None, "gbtree"),
    "tree_method": (None, "auto", "hist"),
    "device": (None, "cpu"),
    "early_stopping_rounds": (None,),
    "callbacks": (None,),
    "feature_types": (None,),
    "feature_weights": (None,),
    "enable_categorical": (None, False),
}


class _BinsTrainer(BoostingTrainer):
    """Put the rows into bins once; then only swap labels and weights.

    Where members share trees, each goes on from those of the classifier without constraints.
    """

    learner = "XGBClassifier"

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train on the bins, with these labels and weights."""
        with self._lock:
            bins = self._prepared(label)
            classifier, local = train_on_bins(self.estimator, bins, label, weight, self._shared())
        return Trained(classifier, local, self.X)

    def fit_soft(self, examples: SoftLabels) -> Trained:
        """Train on the bins, with soft labels."""
        with self._lock:
            bins = self._prepared(examples.labels)
            e, total = self.estimator, examples.saved.sum(axis=0)
            params, rounds = e.get_xgb_params(), e.get_num_boosting_rounds()
            base = self._shared()
            booster = soft_booster(params, rounds, bins, examples.saved, total, base)
            decided = booster.predict(bins).argmax(axis=1)
        classifier = with_trees(clone(e), booster)
        return Trained(classifier, classifier, self.X, decided)

    def _shared(self) -> Any:
        """Return a booster of the trees that members share; None before there are any."""
        number = self._n_shared(self.estimator.get_num_boosting_rounds())
        return self._first.get_booster()[:number] if number else None


class XGBoostTrainer(_BinsTrainer):
    """Bin the features once; then only swap labels and weights.

    XGBoost places its cuts by weight. Here they are placed once, all rows weighing the same, so
    the trees differ from those of a plain fit where weights differ, as they would with another
    ``max_bin``. With equal weights they are the same.
    """

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner is an XGBClassifier of plain settings, on a table of numbers."""
        return is_binnable(X) and has_known_settings(estimator, categories=True)

    def _prepare(self, label: NDArray) -> Any:
        return bins_in_memory(self.estimator, self.X)


def bins_in_memory(estimator: Any, X: Any) -> Any:
    """Return the features of rows in memory in the learner's bins."""
    import xgboost

    return xgboost.QuantileDMatrix(
        X,
        missing=estimator.missing,
        nthread=estimator.n_jobs,
        max_bin=estimator.max_bin,
        enable_categorical=bool(estimator.enable_categorical),
    )


def bins_on_disk(estimator: Any, X: Any) -> Any:
    """Return the features of rows on disk in the learner's bins, which are in a file themselves."""
    import xgboost

    if not hasattr(xgboost, "ExtMemQuantileDMatrix"):
        raise ImportError(
            f"rows on disk need XGBoost 3 or newer; found {xgboost.__version__}. Run: "
            "pip install 'equipoise[disk]'"
        )
    folder = TemporaryFolder("bins")
    bins = xgboost.ExtMemQuantileDMatrix(
        batch_iterator(X.batches, {}, cache_prefix=str(folder.path / "bins")),
        missing=estimator.missing,
        nthread=estimator.n_jobs,
        max_bin=estimator.max_bin,
    )
    vars(bins)["folder"] = folder  # lives as long as the bins, and is removed after them
    return bins


def train_on_bins(
    estimator: Any, bins: Any, label: NDArray, weight: Array, base: Any = None
) -> tuple[Any, CachedScores]:
    """Return a classifier trained on bins, and its scores of the rows that are in these.

    Its first trees are those of the booster ``base``, if there is one.
    """
    import xgboost

    bins.set_label(label)
    bins.set_weight(weight)
    # As xgboost.train does, but that one forgets the scores of the training rows.
    booster = xgboost.Booster(estimator.get_xgb_params(), [bins], model_file=base)
    for turn in range(booster.num_boosted_rounds(), estimator.get_num_boosting_rounds()):
        booster.update(bins, turn)
    probabilities = booster.predict(bins).astype(float)
    local = CachedScores((probabilities > 0.5).astype(np.int64), probabilities=probabilities)
    return with_trees(clone(estimator), booster), local


def soft_booster(
    params: dict[str, Any], rounds: int, bins: Any, saved: Array, total: Array, base: Any = None
) -> Any:
    """Return trees for more than two labels, that each row of some bins has in part.

    The loss is XGBoost's own for ``multi:softprob``. Where its trees start from the shares of the
    labels, as they do from XGBoost 3.1 on, they do here, too.

    Parameters
    ----------
    params, rounds
        Of the learner.
    bins : DMatrix
    saved : array of shape (n, V)
        What each label weighs in each row.
    total : array of shape (V,)
        The same for all rows, also those that other workers hold.
    base : Booster, optional
        Whose trees are the first ones.
    """
    import xgboost

    weight = saved.sum(axis=1, keepdims=True)

    def objective(margins: NDArray, _: Any) -> tuple[NDArray, NDArray]:
        chance = softmax(margins.astype(float), axis=1)
        return weight * chance - saved, np.maximum(2.0 * weight * chance * (1.0 - chance), 1e-16)

    own: dict[str, Any] = {"objective": "multi:softprob", "num_class": len(total)}
    if base is None and tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 1):
        start = np.log(np.maximum(total / total.sum(), 1e-6))
        own["base_score"] = f"[{','.join(map(repr, start.astype(np.float32).tolist()))}]"
    booster = xgboost.Booster(params | own, [bins], model_file=base)
    for turn in range(booster.num_boosted_rounds(), rounds):
        booster.update(bins, turn, objective)
    return booster


def with_trees(classifier: Any, booster: Any) -> Any:
    """Return the classifier fitted, with these trees and none of the data."""
    given = classifier.get_params(deep=False)
    classifier.load_model(booster.save_raw("ubj"))
    for name, value in given.items():  # load_model overwrites some of them
        setattr(classifier, name, value)
    return classifier


def has_known_settings(
    estimator: Any,
    categories: bool = False,
    kind: str = "XGBClassifier",
    objectives: tuple[str | None, ...] = _KNOWN["objective"],
) -> bool:
    """Whether the learner is of a kind, and its settings leave nothing to chance.

    Columns of categories are among them if those are read as XGBoost itself reads them.

    >>> from sklearn.linear_model import LogisticRegression
    >>> has_known_settings(LogisticRegression())
    False
    """
    if type(estimator).__module__ != "xgboost.sklearn":
        return False
    given, allowed = estimator.get_params(), {**_KNOWN, "objective": objectives}
    if categories:
        given.pop("enable_categorical", None)
    return (
        type(estimator).__name__ == kind
        and all(given.get(name) in known for name, known in allowed.items())
        and not callable(given.get("eval_metric"))
        and not getattr(estimator, "kwargs", None)
        and has_fixed_seed(estimator)
    )


class XGBoostDiskTrainer(_BinsTrainer):
    """Bin the rows into a file once, batch by batch; then only swap labels and weights.

    The bins are an ``ExtMemQuantileDMatrix`` in a temporary folder, about a byte for each value,
    and are gone with the trainer. The trees are those that XGBoost grows on the rows in memory.
    """

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the rows are on disk and the learner is an XGBClassifier of plain settings."""
        return isinstance(X, ParquetRows) and has_known_settings(estimator)

    def _prepare(self, label: NDArray) -> Any:
        return bins_on_disk(self.estimator, self.X)


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
