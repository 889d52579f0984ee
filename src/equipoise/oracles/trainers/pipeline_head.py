"""Pipelines whose transformers do not look at labels: transform once, train the last step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from equipoise.cells.labels import SoftLabels
from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import CachingTrainer, Trained, Trainer

#: Where scikit-learn keeps transformers that ignore y, but for those whose tags say otherwise.
#: The tags alone do not do: those of SelectKBest and of PLSRegression do not ask for y.
_UNSUPERVISED = (
    "sklearn.compose.",
    "sklearn.decomposition.",
    "sklearn.feature_extraction.",
    "sklearn.feature_selection._variance_threshold",
    "sklearn.impute.",
    "sklearn.kernel_approximation",
    "sklearn.pipeline",
    "sklearn.preprocessing.",
    "sklearn.random_projection",
)


class PipelineTrainer(CachingTrainer):
    """Fit the transformers once and train only the last step, with a trainer of its own.

    The members are pipelines that share the fitted transformers.
    """

    learner = "Pipeline"

    def __init__(self, estimator: Any, X: Any) -> None:
        super().__init__(estimator, X)
        self._start: Any = None
        self._first: Any = None
        self._share = 0.0

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether every transformer, nested ones included, is known not to look at labels."""
        return (
            type(estimator) is Pipeline
            and len(estimator.steps) > 1
            and estimator.memory is None
            and getattr(estimator, "transform_input", None) is None
            and all(_ignores_labels(step) for _, step in estimator.steps[:-1])
        )

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train the last step on the rows as transformed."""
        return self._behind_head(label, lambda trainer: trainer.fit(label, weight))

    def fit_soft(self, examples: SoftLabels) -> Trained:
        """Train the last step for more than two labels, on the rows as transformed."""
        no_label = np.zeros(
            len(examples.saved), dtype=np.int64
        )  # which transformers do not look at
        return self._behind_head(no_label, lambda trainer: trainer.fit_soft(examples))

    def _behind_head(self, label: NDArray, fit: Callable[[Trainer], Trained]) -> Trained:
        with self._lock:
            head, trainer, seen = self._prepared(label)
        if self._start is not None:
            trainer.start_from(self._start)
        if self._share > 0:
            trainer.share_trees(self._share)
            trainer.grow_from(self._first)
        last = fit(trainer)
        steps = [*head.steps, (self.estimator.steps[-1][0], last.classifier)]
        member = Pipeline(steps, verbose=self.estimator.verbose)
        if seen is None:
            return Trained(member, last.local, last.rows, last.selected)
        return Trained(member, last.classifier, seen)

    def start_from(self, classifier: Any) -> None:
        """Let the last step start from that of this pipeline, in other processes, too."""
        if isinstance(classifier, Pipeline):
            self._start = classifier[-1]

    def share_trees(self, share: float) -> None:
        """Let the last step share trees, if it can: that is known once there are rows for it."""
        self._share = share

    def grow_from(self, classifier: Any) -> None:
        """Let the last step grow from that of this pipeline, in other processes, too."""
        if isinstance(classifier, Pipeline):
            self._first = classifier[-1]

    def _prepare(self, label: NDArray) -> tuple[Pipeline, Trainer, Any]:
        """Return the fitted head, the trainer of the last step and, if different, transform(X)."""
        from equipoise.oracles.trainers import choose_trainer  # which chooses this one, too

        def transform(X: Any, label: NDArray) -> tuple[Pipeline, Any]:
            steps = [(step, clone(part, safe=False)) for step, part in self.estimator.steps[:-1]]
            head = Pipeline(steps, verbose=self.estimator.verbose)
            return head, head.fit_transform(X, label)

        head, learned = self._guard(transform, self.X, label)
        # A pipeline trains on what fit_transform gives and predicts from what transform gives.
        # The two are not always the same: NMF and PCA are examples.
        seen = self._guard(head.transform, self.X)
        trainer = choose_trainer(self.estimator.steps[-1][1], learned)
        return head, trainer, None if _same(learned, seen) else seen


def _ignores_labels(transformer: Any) -> bool:
    """Whether a step and all that is nested in it is scikit-learn's own and unsupervised."""
    if transformer is None or isinstance(transformer, str):  # "passthrough", "drop"
        return True
    inner = [v for v in transformer.get_params(deep=True).values() if hasattr(v, "fit")]
    return all(
        type(part).__module__.startswith(_UNSUPERVISED) and not get_tags(part).target_tags.required
        for part in (transformer, *inner)
    )


def _same(a: Any, b: Any) -> bool:
    if issparse(a) and issparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return hasattr(a, "equals") and bool(a.equals(b))
