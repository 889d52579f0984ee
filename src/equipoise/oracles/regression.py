"""Best responses that are regressors: plug-in and refit, over tables of thresholds.

The costs of a question are a price of the loss in each cell and a step function D of the
prediction: what it costs to be at or above each threshold. Between two thresholds D is constant, so
the cheapest prediction there is the one nearest to the centre of the loss: as many candidates as
there are intervals, one pass over the people for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from equipoise.cells.table import Array, Cells
from equipoise.cells.threshold_table import LossFunction, ThresholdCells
from equipoise.game.rounds import Response
from equipoise.oracles.cell_probabilities import ClassProbabilities, Rows
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.decisions import Guard
from equipoise.rows.tables import take_rows

#: The least price of a unit of loss: of equally cheap predictions the one of least loss is taken.
_NO_PRICE = 1e-12
#: Points at which an expected loss is tabulated, and residuals that it is the mean over.
_POINTS, _RESIDUALS = 801, 512


def cheapest(
    centre: Array,
    price: Array | float,
    step: Callable[[int], Array | float],
    thresholds: Array,
    expected: LossFunction = np.square,
) -> Array:
    """Return for each row the prediction u of least ``price * expected(u - centre) + step``.

    ``step(k)`` is what it costs each row to be in interval k: at or above k thresholds. The
    expected loss must grow with the distance from the centre on either side.

    >>> D = np.array([0.0, 0.5, -0.5])  # below 1, from 1 on, from 2 on
    >>> cheapest(np.array([0.5, 1.2, 1.9]), 1.0, lambda k: D[k], np.array([1.0, 2.0])).round(6)
    array([0.5, 1. , 2. ])
    """
    low = np.append(-np.inf, thresholds)
    high = np.append(np.nextafter(thresholds, -np.inf), np.inf)
    best, found = np.full(len(centre), np.inf), np.array(centre, dtype=float)
    for k in range(len(low)):
        here = np.clip(centre, low[k], high[k])
        value = price * expected(here - centre) + step(k)
        better = value < best
        best, found = np.where(better, value, best), np.where(better, here, found)
    return found


def steps_of(costs: Array, cells: ThresholdCells) -> tuple[Array, Array]:
    """Return the price of a unit of loss (C,), and the cost of each interval (C, N + 1)."""
    table = cells.by_column(costs)
    price = np.maximum(table[:, 0], _NO_PRICE) / cells.scale
    return price, np.column_stack([np.zeros(len(table)), table[:, 1:].cumsum(axis=1)])


class ExpectedLoss:
    """E loss(t - R) over residuals R, as a function of t: tabulated, and linear beyond the table.

    ``shift`` is where it is least; the function is measured from there.

    >>> H = ExpectedLoss(np.array([0.0, 0.0, 3.0]), np.full(3, 1 / 3), np.abs, reach=5.0)
    >>> round(H.shift, 2), H(np.array([0.0, 3.0])).round(2).tolist()
    (0.0, [1.0, 2.0])
    """

    def __init__(self, residuals: Array, weight: Array, loss: LossFunction, reach: float) -> None:
        order = np.argsort(residuals)
        places = np.cumsum(weight[order]) / weight.sum()
        levels = (np.arange(_RESIDUALS) + 0.5) / _RESIDUALS
        at = np.minimum(np.searchsorted(places, levels), len(order) - 1)
        some = residuals[order][at]
        widest = max(float(np.abs(residuals).max()), reach, 1e-300)
        grid = np.union1d(np.linspace(-1.5, 1.5, _POINTS) * widest, some)
        value = np.array([float(np.mean(loss(t - some))) for t in grid])
        self.shift = float(grid[value.argmin()])
        self.grid, self.value = grid - self.shift, value

    def __call__(self, t: Array) -> Array:
        """Return the expected loss at a distance ``t`` from where it is least."""
        inside = np.interp(t, self.grid, self.value)
        rise, run = (each[[1, -1]] - each[[0, -2]] for each in (self.value, self.grid))
        ends = rise / run
        below, above = np.minimum(t - self.grid[0], 0.0), np.maximum(t - self.grid[-1], 0.0)
        return np.asarray(inside + ends[0] * below + ends[1] * above)


def weight_name(estimator: Any) -> str | None:
    """Return the name under which a regressor's ``fit`` takes weights; None if it takes none."""
    predicts = hasattr(estimator, "predict") or hasattr(type(estimator), "predict")
    if isinstance(estimator, type) or not (predicts and hasattr(estimator, "fit")):
        raise TypeError(
            f"estimator is {estimator!r}; expected a regressor object with fit and predict."
        )
    try:
        classifies = is_classifier(estimator)
    except AttributeError:  # a learner of the user's own need not know scikit-learn's tags
        classifies = False
    if classifies:
        raise TypeError(
            f"estimator is {type(estimator).__name__}, a classifier; expected a regressor. Use "
            "FairClassifier for labels."
        )
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fitted_regressor(estimator: Any, X: Any, target: Array, weight: Array | None) -> Any:
    """Return a copy of a regressor, fitted with weights of mean one; an error if it takes none."""
    given = {}
    if weight is not None:
        if (name := weight_name(estimator)) is None:
            raise TypeError(
                f"{type(estimator).__name__}.fit takes no sample_weight, which is needed here: "
                "there are sample weights, or the loss of some groups is to count more. Use a "
                "regressor that takes them."
            )
        given = {name: weight / weight.mean()}
    model = clone(estimator, safe=False)
    with config_context(enable_metadata_routing=False):
        model.fit(X, target, **given)
    return model


def numbers(model: Any, X: Any, n: int) -> Array:
    """Return what a regressor predicts, checked."""
    found = np.asarray(Guard()(model.predict, X), dtype=float)
    if found.shape == (n, 1):
        found = found[:, 0]
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(
            f"{type(model).__name__}.predict returned an array of shape {found.shape}; expected a "
            f"finite number for each of {n} rows."
        )
    return found


@dataclass(frozen=True, eq=False)
class Guess:
    """What is learned once: the centre of a person's loss, and the probability of each cell."""

    model: Any
    probabilities: ClassProbabilities
    shift: float = 0.0

    def __call__(self, X: Any, n: int) -> tuple[Array, Array]:
        """Return centres (n,) and probabilities (n, C)."""
        return numbers(self.model, X, n) + self.shift, self.probabilities(X)


@dataclass(frozen=True, eq=False)
class PluginRegressor:
    """The cheapest prediction for each person, in expectation, at some prices."""

    guess: Guess
    price: Array
    steps: Array
    thresholds: Array
    expected: LossFunction

    def at(self, centre: Array, probabilities: Array) -> Array:
        """Return the predictions for people with these centres and probabilities."""
        price = probabilities @ self.price
        return cheapest(
            centre,
            price,
            lambda k: probabilities @ self.steps[:, k],
            self.thresholds,
            self.expected,
        )


@dataclass(frozen=True, eq=False)
class ConstantRegressor:
    """The same number for everybody."""

    value: float


class PluginGuesses:
    """Centres and probabilities for the people of the fit, out of fold, and those to deploy.

    Parameters
    ----------
    estimator : regressor
        Learns E[Y | X].
    group_estimator : classifier with predict_proba
        Learns the probabilities of the cells.
    X : table of n rows
    cells : Cells
        Of groups and strata alone.
    target : array of shape (n,)
    loss : callable
    cv : int, splitter or iterable of (train, test)
    """

    def __init__(
        self,
        estimator: Any,
        group_estimator: Any,
        X: Any,
        cells: Cells,
        target: Array,
        loss: LossFunction,
        cv: Any,
    ) -> None:
        self.estimator, self.group_estimator = estimator, group_estimator
        self.X, self.cells, self.target = X, cells, target
        n = cells.n_examples
        centre, self.probabilities = np.empty(n), np.empty((n, cells.n_cells))
        for train, test in make_folds(cells, cv):
            found = self._learned(train)(take_rows(X, test), len(test))
            centre[test], self.probabilities[test] = found
        deployed = self._learned(np.arange(n))
        self.expected: LossFunction = np.square
        if loss is not np.square:
            reach = float(np.ptp(np.concatenate([centre, target])))
            self.expected = ExpectedLoss(target - centre, cells.row_weights(), loss, reach)
        shift = getattr(self.expected, "shift", 0.0)
        self.centre = centre + shift
        self.deployed = Guess(deployed.model, deployed.probabilities, shift)

    def _learned(self, rows: Rows) -> Guess:
        weight = self.cells.weight
        if weight is not None:
            rows = rows[weight[rows] > 0]
        own = None if weight is None else weight[rows]
        model = fitted_regressor(self.estimator, take_rows(self.X, rows), self.target[rows], own)
        code, n_cells = self.cells.code, self.cells.n_cells
        return Guess(
            model,
            ClassProbabilities.learned(self.group_estimator, self.X, rows, code, n_cells, weight),
        )


class PluginRegressionOracle:
    """Best responses from what was learned once, at no fit each."""

    exact, out_of_fold = False, True

    def __init__(self, guesses: PluginGuesses, cells: ThresholdCells) -> None:
        self.guesses, self.cells = guesses, cells

    def best_response(self, costs: Array) -> Response:
        """Give everybody the prediction that costs least in expectation."""
        price, steps = steps_of(costs, self.cells)
        guesses, z = self.guesses, self.cells.thresholds
        rule = PluginRegressor(guesses.deployed, price, steps, z, guesses.expected)
        return Response(rule, self.cells.sum(self.predicted(rule)))

    def predicted(self, rule: Any) -> Array:
        """Return the predictions of an answer, or a constant, for the people of the fit."""
        if isinstance(rule, ConstantRegressor):
            return np.full(len(self.cells.target), rule.value)
        return rule.at(self.guesses.centre, self.guesses.probabilities)

    def start_from(self, classifier: Any) -> None:
        """Do nothing: nothing is trained after the guesses."""


class RefitRegressionOracle:
    """Best responses by training the learner anew, with prices as weights.

    Where costs have steps, each person's target is replaced by the prediction that would be
    cheapest for them (Agarwal, Dudik and Wu, 2019).
    """

    exact, out_of_fold = False, False

    def __init__(self, estimator: Any, X: Any, cells: ThresholdCells) -> None:
        self.estimator, self.X, self.cells = estimator, X, cells

    def best_response(self, costs: Array) -> Response:
        """Train for these costs."""
        cells = self.cells
        price, steps = steps_of(costs, cells)
        target, by_row = cells.target, cells.spread(price)
        if steps.any():
            target = cheapest(
                target, by_row, lambda k: cells.spread(steps[:, k]), cells.thresholds, cells.loss
            )
        # Where no loss has a price, as in the first question of a minimax game, all have the same.
        weight = by_row * (1.0 if cells.weight is None else cells.weight)
        is_even = cells.weight is None and np.ptp(price) == 0
        rows = np.flatnonzero(weight > 0)
        X = self.X if len(rows) == len(weight) else take_rows(self.X, rows)
        own = None if is_even else weight[rows]
        model = fitted_regressor(self.estimator, X, target[rows], own)
        return Response(model, cells.sum(self.predicted(model)))

    def predicted(self, model: Any) -> Array:
        """Return the predictions of an answer, or a constant, for the people of the fit."""
        n = len(self.cells.target)
        if isinstance(model, ConstantRegressor):
            return np.full(n, model.value)
        return numbers(model, self.X, n)

    def start_from(self, classifier: Any) -> None:
        """Do nothing: every answer is trained from the start."""


def best_constant(target: Array, weight: Array, loss: LossFunction) -> float:
    """Return the number of least mean loss: of squares the mean, of absolute values a median.

    Of another loss it is the best of 201 quantiles and the mean.

    >>> best_constant(np.array([0.0, 1.0, 5.0]), np.ones(3), np.abs)
    1.0
    """
    mean = float(np.average(target, weights=weight))
    if loss is np.square:
        return mean
    order = np.argsort(target)
    places = np.cumsum(weight[order]) / weight.sum()
    levels = [0.5] if loss is np.abs else np.linspace(0.0, 1.0, 201)
    at = np.minimum(np.searchsorted(places, levels), len(order) - 1)
    candidates = [*target[order][at].tolist(), *([] if loss is np.abs else [mean])]
    return min(candidates, key=lambda u: float(weight @ loss(u - target)))
