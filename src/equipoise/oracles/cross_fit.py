"""Cross-fitting: moments measured on people that a classifier has not seen.

A learner that overfits meets a bound on its training data and misses it on everybody else. Here
the selected shares s(h) come from out-of-fold predictions instead: the people are dealt into
folds, and each person is decided on by a model that was trained without that person's fold.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array
from equipoise.game.pool import Response
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.thresholds import ThresholdedClassifier, binary_predictions, is_tuned, tuned
from equipoise.oracles.trainers.plain import KeepingTrainer
from equipoise.rows.take import take_rows
from equipoise.rows.validation import read_integer

Rows = NDArray[np.intp]


def make_folds(cells: AnyCells, cv: Any = 5) -> list[tuple[Rows, Rows]]:
    """Deal the examples into folds; return the training and the held-out rows of each.

    Parameters
    ----------
    cells : Cells
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds deals every cell evenly over them, shuffled with a fixed seed. Splitters
        of scikit-learn are given the cells as classes. Every example must be held out once.

    Examples
    --------
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns([0, 0, 1, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for train, test in make_folds(cells, 2):
    ...     print(cells.code[train].tolist(), cells.code[test].tolist())
    [0, 1] [0, 1]
    [0, 1] [0, 1]
    """
    n = cells.n_examples
    code = np.zeros(n, dtype=np.uint8) if cells.code is None else cells.code
    if isinstance(cv, (int, np.integer)):
        cv = _shuffled(cells, read_integer(cv, "cv", least=2))
    else:
        cv = check_cv(cv, code, classifier=True)
    with warnings.catch_warnings():
        # Cells with fewer people than there are folds are dealt as evenly as can be.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        folds = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros((n, 1)), code)]
    held_out = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
    if len(held_out) != n or (held_out != 1).any():
        raise ValueError(
            f"cv holds {int((held_out == 0).sum())} of {n} examples out never and "
            f"{int((held_out > 1).sum())} more than once; expected each exactly once. Use a "
            "number of folds, or a splitter such as KFold."
        )
    return folds


def _shuffled(cells: AnyCells, k: int) -> KFold | StratifiedKFold:
    if k > cells.n_examples:
        raise ValueError(f"cv is {k}, but there are {cells.n_examples} examples; use fewer folds.")
    if cells.code is not None and cells.count.max() >= k:
        return StratifiedKFold(k, shuffle=True, random_state=0)
    return KFold(k, shuffle=True, random_state=0)


class CrossFittedOracle(RefitOracle):
    """The paper's oracle, with moments measured out of fold.

    A query trains the learner once on all examples, which gives the classifier that is deployed,
    and once without each fold, which gives the decisions on that fold. Thresholds are tuned on
    what each model was trained on. The selected shares are those of the out-of-fold decisions, so
    errors, violations and certificates that follow from them speak of people whom the models had
    not seen: of the learning procedure, trained on a little less data, more than of the one
    classifier that is deployed.

    Parameters
    ----------
    estimator, X, cells, threshold
        As for `RefitOracle`.
    cv : int, splitter or iterable of (train, test), default=5
        See `make_folds`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y, A = rng.normal(size=(400, 2)), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    >>> from equipoise import Cells
    >>> cells = Cells.from_columns(y, {"A": A})
    >>> costs = np.where(cells.label == 1, -1.0, 1.0)  # those of the error
    >>> seen = RefitOracle(DecisionTreeClassifier(random_state=0), X, cells)
    >>> unseen = CrossFittedOracle(DecisionTreeClassifier(random_state=0), X, cells)
    >>> [round(float((y == 1).mean() + oracle.best_response(costs).s @ costs), 1)
    ...  for oracle in (seen, unseen)]  # the label is noise, which a tree learns by heart
    [0.0, 0.5]
    """

    out_of_fold = True

    def __init__(
        self, estimator: Any, X: Any, cells: AnyCells, threshold: str = "learner", cv: Any = 5
    ) -> None:
        super().__init__(estimator, X, cells, threshold)
        self.folds = make_folds(cells, cv)
        self._learners: list[RefitOracle | None] = [None] * len(self.folds)

    def best_response(self, costs: Array) -> Response:
        """Train for these costs: on all examples, and without each fold."""
        label, weight = self.cells.relabel_rows(costs, self._labels)
        h = np.zeros(len(label), dtype=bool)
        for fold, (train, test) in enumerate(self.folds):
            classifier = _cut(self._learner(fold), label[train], weight[train])
            h[test] = binary_predictions(classifier, take_rows(self.X, test))
        return Response(_cut(self, label, weight), self.cells.sum(h))

    def _learner(self, fold: int) -> RefitOracle:
        """Return what trains without this fold.

        It is kept, with its rows, if its trainer has something to keep: bins are made once a fold.
        """
        learner = self._learners[fold]
        if learner is None:
            rows = take_rows(self.X, self.folds[fold][0])
            learner = RefitOracle(self.estimator, rows, self.cells, self.threshold)
            if isinstance(learner._trainer, KeepingTrainer):
                self._learners[fold] = learner
        return learner


def _cut(learner: RefitOracle, label: NDArray[np.int64], weight: Array) -> Any:
    """Train, and cut the scores where the costs are least if that is asked for."""
    trained = learner._trained(label, weight)
    if is_tuned(learner.threshold, trained.local):
        cut, _ = tuned(trained.local, trained.rows, label, weight)
        return ThresholdedClassifier(trained.classifier, cut.threshold)
    return trained.classifier
