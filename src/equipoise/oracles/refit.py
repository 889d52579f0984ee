"""The paper's oracle: the learner, fitted anew for every query (section 3.1).

An oracle holds the rows. The game sends it one signed cost per cell and gets back a classifier
and its selected share of each cell; nothing of size n goes either way.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn import config_context

from equipoise.cells.labels import SoftLabels, WeightedLabels
from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.decisions import ThresholdedClassifier, predictions
from equipoise.oracles.thresholds import is_tuned, tuned
from equipoise.oracles.trainers import Trained, choose_trainer, constant_classifier


class RefitOracle(Oracle):
    """The paper's oracle: fit a clone of the learner to relabelled, reweighted examples.

    With d_i the signed cost of the cell of example i, the label is 1 where d_i < 0 and the weight
    is |d_i| times the example's own, scaled so that all weights sum to as much as the examples' own
    and the learner's regularisation keeps its meaning. With more than two labels the learner gets
    soft labels, or copies of each example, see `equipoise.cells.labels`, and decides by its own
    ``predict``.

    Parameters
    ----------
    estimator : classifier
        Takes ``fit(X, y, sample_weight)`` with labels 0 and 1; see
        `equipoise.oracles.trainers.weight_parameter`.
    X : table of n rows
        Handed to the learner as it is, read-only.
    cells : Cells
    threshold : "auto", "tuned" or "learner", default="learner"
        "tuned" moves the threshold on the learner's scores to where the costs are least, and
        "auto" does so for linear classifiers, see `equipoise.oracles.thresholds.is_linear`. The
        learner minimises a loss of its own; this lets it answer for the one that counts, at the
        price of a sort. Learners without scores are left as they are.
    """

    exact = False
    out_of_fold = False
    shared_trees = 0.0

    def __init__(self, estimator: Any, X: Any, cells: AnyCells, threshold: str = "learner") -> None:
        self.cells = cells
        self._learner = Refitter(estimator, X, cells.n_decisions, threshold)

    def best_response(self, costs: Array) -> Response:
        """Fit the learner for these costs."""
        examples = self.cells.relabel_rows(costs)
        trained = self._learner.train(examples)
        del examples  # 16 bytes a row or more, before the predictions take theirs
        h = trained.selected
        if h is None:
            h = predictions(trained.local, trained.rows, self.cells.n_decisions)
        return Response(trained.classifier, self.cells.sum(h))

    def start_from(self, classifier: Any) -> None:
        """Let learners that can start from a solution start from this one, an earlier answer."""
        self._learner.start_from(classifier)

    def share_trees(self, share: float) -> None:
        """Let members share this part of their trees; a TypeError if the learner cannot."""
        self.shared_trees = share
        self._learner.share_trees(share)

    def grow_from(self, classifier: Any) -> None:
        """Let members share the first trees of this one, the answer without constraints."""
        self._learner.grow_from(classifier)


class Refitter:
    """A learner on fixed rows, trained for other labels and weights each time.

    Parameters
    ----------
    estimator, X, threshold
        As for `RefitOracle`.
    n_decisions : int
    """

    def __init__(
        self, estimator: Any, X: Any, n_decisions: int = 2, threshold: str = "learner"
    ) -> None:
        self.X, self.n_decisions, self.threshold = X, n_decisions, threshold
        self._trainer = choose_trainer(estimator, X)

    @property
    def caches(self) -> bool:
        """Whether it is worth keeping: later fits use what earlier ones made."""
        return self._trainer.caches

    @property
    def skips_weightless(self) -> bool:
        """Whether rows of weight zero change nothing."""
        return self._trainer.skips_weightless

    def train(self, examples: WeightedLabels | SoftLabels) -> Trained:
        """Return the learner trained, its scores cut where the costs are least if asked for."""
        if isinstance(examples, SoftLabels):
            labels = set(examples.labels.tolist())
        else:
            labels = _labels_in_use(*examples)
        if len(labels) < 2:
            constant = constant_classifier(max(labels, default=0), self.n_decisions)
            return Trained(constant, constant, self.X)
        with config_context(enable_metadata_routing=False):
            if isinstance(examples, SoftLabels):
                return self._trainer.fit_soft(examples)
            trained = self._trainer.fit(*examples)
        if not is_tuned(self.threshold, trained.local):
            return trained
        with config_context(assume_finite=True):  # it has seen these rows before
            cut, h = tuned(trained.local, trained.rows, *examples)
        classifier = ThresholdedClassifier(trained.classifier, cut.threshold)
        return Trained(classifier, trained.local, trained.rows, selected=h)

    def start_from(self, classifier: Any) -> None:
        """Let later fits start from this solution, where the learner can."""
        self._trainer.start_from(_without_threshold(classifier))

    def share_trees(self, share: float) -> None:
        """Let later fits share this part of their trees."""
        self._trainer.share_trees(share)

    def grow_from(self, classifier: Any) -> None:
        """Let later fits share the first trees of this classifier."""
        self._trainer.grow_from(_without_threshold(classifier))


def _without_threshold(classifier: Any) -> Any:
    """Return the learner behind a threshold of the costs."""
    if isinstance(classifier, ThresholdedClassifier):
        return classifier.classifier
    return classifier


def _labels_in_use(label: NDArray, weight: Array, block: int = 4096) -> set[int]:
    """Return labels of examples with positive weight, two if there are; often the first block's."""
    labels: set[int] = set()
    for start in range(0, len(label), block):
        rows = slice(start, start + block)
        counted = label[rows][weight[rows] > 0]
        if counted.size:
            labels.update((int(counted.min()), int(counted.max())))
        if len(labels) >= 2:
            break
    return labels
