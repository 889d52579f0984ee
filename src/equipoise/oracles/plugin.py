"""The plug-in oracle: probabilities are learned once, and every best response is a threshold.

What it costs, in expectation, to select a person with features x is linear in the costs of the
cells ::

    sum over cells c of  P(cell = c | x) d_c

so the best response to any multipliers selects those for whom it is negative. The probabilities
are P(Y | X) P(A | X, Y), from a learner with ``predict_proba``, and never change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _num_samples

from equipoise.cells.layered import AnyCells
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.agreement import check_probabilities
from equipoise.oracles.cell_probabilities import CellGroups, CellProbabilities
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.decisions import PluginClassifier, select
from equipoise.oracles.learners import OF_FITTED_MODELS, check_probabilistic
from equipoise.rows.tables import take_rows

#: Rows that are enough to see whether two models give the same probabilities.
_LOOKED_AT = 200


class SharedProbabilities(NamedTuple):
    """The probabilities of cells that all answers of a plug-in oracle cut.

    ``measured`` (n, C) are out of fold, and ``deployed`` is the model whose probabilities count for
    other people.
    """

    cells: Cells
    measured: Array
    deployed: CellProbabilities


class PluginOracle(Oracle):
    """Best responses from probabilities of the cells, at no fit each.

    P(Y | X) and P(A | X, Y) are learned once: without each fold, for the moments, and on all
    examples, for the classifiers that are deployed. A is every combination of sensitive and
    control features that occurs. That is three fits of the learner, times one more than there
    are folds.

    The selected shares are counted on the true labels and groups, for decisions from out-of-fold
    probabilities. What is deployed was trained on everything: a model of the kind that was
    measured. The mean of the fold models would be another classifier, and take a prediction for
    each fold.

    Parameters
    ----------
    estimator : classifier
        Any learner with ``predict_proba``. It sees the labels 0, 1, ...: two for Y, as many as
        there are groups for A. Its probabilities should be calibrated; wrap it in
        `sklearn.calibration.CalibratedClassifierCV` if they are not.
    X : table of n rows
    cells : Cells
        Plain ones: no utilities, no group probabilities, no weights in the error alone.
    cv : int, splitter or iterable of (train, test), default=5
        See `equipoise.oracles.cross_fit.make_folds`.
    aware : bool, default=False
        Whether decisions may look at the group. Then X is a data frame with columns called like
        the sensitive (and control) features, A is read there instead of guessed, and predictions
        need these columns too.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise.cells import Cells
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 500)
    >>> X = rng.normal(size=(500, 2)) + A[:, None]
    >>> y = (X.sum(axis=1) + rng.normal(size=500) > 1).astype(int)
    >>> cells = Cells.from_columns(y, {"A": A})
    >>> oracle = PluginOracle(LogisticRegression(), X, cells)
    >>> costs = np.where(cells.label == 1, -1.0, 1.0)  # those of the error
    >>> classifier, s = oracle.best_response(costs)
    >>> bool(((classifier.probabilities(X) @ costs < 0) == classifier.predict(X)).all())
    True
    """

    exact = False
    out_of_fold = True

    def __init__(
        self, estimator: Any, X: Any, cells: AnyCells, cv: Any = 5, aware: bool = False
    ) -> None:
        check_probabilistic(estimator)
        rows = cells.plain_rows()
        if rows is None:
            raise ValueError(
                "the plug-in oracle got utilities, group probabilities or "
                "constraint_weights=False; it expects known groups and one weight per person. Use "
                "oracle='refit'."
            )
        self.cells = rows
        table = CellGroups(rows)
        if aware:
            table.check_groups(X, rows)
        folds = make_folds(rows, cv)
        self.probabilities = np.empty((rows.n_examples, rows.n_cells))
        models = []
        for train, test in folds:
            models.append(CellProbabilities.learned(estimator, X, rows, table, train, aware))
            self.probabilities[test] = models[-1](take_rows(X, test))
        self.deployed = CellProbabilities.learned(
            estimator, X, rows, table, np.arange(rows.n_examples), aware
        )
        _check_learned(self.deployed, X, estimator)
        self.shared = SharedProbabilities(rows, self.probabilities, self.deployed)
        for model, (_, test) in zip(models, folds, strict=True):  # after all of the training
            check_probabilities(self.probabilities[test], model(take_rows(X, test)), estimator)

    def best_response(self, costs: Array) -> Response:
        """Select those who cost less than nothing."""
        h = select(self.probabilities, costs)
        return Response(PluginClassifier(self.deployed, costs), self.cells.sum(h))


def _check_learned(deployed: CellProbabilities, X: Any, estimator: Any) -> None:
    """Refuse a learner that gives labels and groups the same probabilities: it learns nothing."""
    some = take_rows(X, np.arange(min(_num_samples(X), _LOOKED_AT)))
    label = deployed.label(some)
    given = [probabilities(some) for probabilities in deployed.group]
    if np.ptp(label, axis=0).any() and given and all(np.array_equal(p, label) for p in given):
        raise ValueError(
            f"{type(estimator).__name__} gives the label and the group the same probabilities, so "
            f"it does not use what it is trained with. {OF_FITTED_MODELS}"
        )
