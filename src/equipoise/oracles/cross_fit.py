"""Cross-fitting: moments measured on people that a classifier has not seen.

A learner that overfits meets a bound on its training data and misses it on everybody else. Here
each person is decided on by a model that was trained without that person's fold.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from equipoise.cells.labels import SoftLabels, WeightedLabels
from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.agreement import check_shares
from equipoise.oracles.cell_probabilities import Rows
from equipoise.oracles.decisions import predictions
from equipoise.oracles.refit import Refitter
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import read_integer


class CrossFittedOracle(Oracle):
    """The paper's oracle, with moments measured out of fold.

    A query trains the learner once on all examples, which gives the classifier that is deployed,
    and once without each fold, which gives the decisions on that fold. Thresholds are tuned on
    what each model was trained on. Certificates then speak of the learning procedure, trained on
    a little less data, more than of the one classifier that is deployed.

    Parameters
    ----------
    estimator, X, cells, threshold
        As for `equipoise.oracles.refit.RefitOracle`.
    cv : int, splitter or iterable of (train, test), default=5
        See `equipoise.oracles.cross_fit.make_folds`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from equipoise.oracles.refit import RefitOracle
    >>> rng = np.random.default_rng(0)
    >>> X, y, A = rng.normal(size=(400, 2)), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns(y, {"A": A})
    >>> costs = np.where(cells.label == 1, -1.0, 1.0)  # those of the error
    >>> seen = RefitOracle(DecisionTreeClassifier(random_state=0), X, cells)
    >>> unseen = CrossFittedOracle(DecisionTreeClassifier(random_state=0), X, cells)
    >>> [round(float((y == 1).mean() + oracle.best_response(costs).s @ costs), 1)
    ...  for oracle in (seen, unseen)]  # the label is noise, which a tree learns by heart
    [0.0, 0.5]
    """

    exact = False
    out_of_fold = True

    def __init__(
        self, estimator: Any, X: Any, cells: AnyCells, threshold: str = "learner", cv: Any = 5
    ) -> None:
        self.estimator, self.X, self.cells, self.threshold = estimator, X, cells, threshold
        self.folds = make_folds(cells, cv)
        self._deployed = Refitter(estimator, X, cells.n_decisions, threshold)
        self._without: dict[int, Refitter] = {}
        self._start: Any = None

    def best_response(self, costs: Array) -> Response:
        """Train for these costs: on all examples, and without each fold."""
        examples = self.cells.relabel_rows(costs)
        # Folds start from zero: an earlier answer has seen the people who are held out.
        self._deployed.start_from(None)
        models = [self._trained_without(fold, examples) for fold in range(len(self.folds))]
        s = self._measure(models)
        self._deployed.start_from(self._start)
        deployed = self._deployed.train(examples).classifier
        check_shares([s], [self._measure(models)], models[:1])
        return Response(deployed, s)

    def _measure(self, models: list[Any]) -> Array:
        """Return the shares of decisions that models make on the folds they have not seen."""
        V = self.cells.n_decisions
        h = np.zeros(self.cells.n_examples, dtype=bool if V == 2 else np.intp)
        for model, (_, test) in zip(models, self.folds, strict=True):
            decided = predictions(model, take_rows(self.X, test), V)
            if len(decided) != len(test):  # a single one would be given to everybody
                raise ValueError(
                    f"{type(model).__name__}.predict returned {len(decided)} predictions for "
                    f"{len(test)} rows; expected one for each row."
                )
            h[test] = decided
        return self.cells.sum(h)

    def start_from(self, classifier: Any) -> None:
        """Let the learner on all examples start from this classifier, an earlier answer."""
        self._start = classifier

    def _trained_without(self, fold: int, examples: WeightedLabels | SoftLabels) -> Any:
        """Return the learner trained on the rows outside of a fold."""
        train, test = self.folds[fold]
        if self._deployed.skips_weightless:
            return self._deployed.train(examples.without(test)).classifier
        return self._learner_without(fold).train(examples.among(train)).classifier

    def _learner_without(self, fold: int) -> Refitter:
        """Return the learner on the rows outside of a fold.

        It is kept, with its rows, if that saves later fits anything: bins are made once a fold.
        """
        if fold in self._without:
            return self._without[fold]
        rows = take_rows(self.X, self.folds[fold][0])
        learner = Refitter(self.estimator, rows, self.cells.n_decisions, self.threshold)
        if learner.caches:
            self._without[fold] = learner
        return learner


def make_folds(cells: AnyCells, cv: Any = 5) -> list[tuple[Rows, Rows]]:
    """Return the training rows and the held-out rows of each fold.

    Parameters
    ----------
    cells : Cells
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds deals every cell evenly over them, shuffled with a fixed seed. Splitters
        of scikit-learn are given the cells as classes. Every example must be held out once.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 0, 1, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for train, test in make_folds(cells, 2):
    ...     print(cells.code[train].tolist(), cells.code[test].tolist())
    [0, 1] [0, 1]
    [0, 1] [0, 1]
    """
    n = cells.n_examples
    # There are no codes when groups are known by probability only.
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
            f"cv holds {int((held_out == 0).sum())} of {n} people out never and "
            f"{int((held_out > 1).sum())} more than once; expected each exactly once. Use a "
            "number of folds, or a splitter such as KFold."
        )
    return folds


def _shuffled(cells: AnyCells, k: int) -> KFold | StratifiedKFold:
    if k > cells.n_examples:
        raise ValueError(f"cv is {k}, but there are {cells.n_examples} people; use fewer folds.")
    if cells.code is not None and cells.count.max() >= k:
        return StratifiedKFold(k, shuffle=True, random_state=0)
    return KFold(k, shuffle=True, random_state=0)
