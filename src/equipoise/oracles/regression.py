"""Best responses that are regressors: plug-in and refit, over tables of thresholds.

The costs of a question are a price of the loss in each cell and a step function D of the
prediction: what it costs to be at or above each threshold. Between two thresholds D is constant, so
the cheapest prediction there is the one nearest to the centre of the loss: as many candidates as
there are intervals, looked at block by block of the people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.cells.threshold_table import LossFunction, ThresholdCells, ThresholdTable
from equipoise.game.rounds import Oracle, Response
from equipoise.oracles.agreement import check_numbers, check_probabilities
from equipoise.oracles.cell_probabilities import ClassProbabilities, Rows
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.trainers.regression import RegressionTrainer, fitted_regressor, numbers
from equipoise.rows.tables import take_rows

#: From a name, and what trains a model, to that model, trained now or kept from before.
Keep = Callable[[str, Callable[[], Any]], Any]
#: The least price of a unit of loss: of equally cheap predictions the one of least loss is taken.
_NO_PRICE = 1e-12
#: Points at which an expected loss is tabulated, and residuals that it is the mean over.
_POINTS, _RESIDUALS = 801, 512
#: Rows whose costs of all intervals are looked at together: their table stays in the cache.
_BLOCK = 2048


def cheapest(
    centre: Array,
    price: Array,
    steps: Callable[[slice], Array],
    thresholds: Array,
    expected: LossFunction = np.square,
) -> Array:
    """Return for each row the prediction u of least ``price * expected(u - centre) + steps``.

    ``steps(rows)`` is what it costs some rows to be in each of the N + 1 intervals: at or above so
    many thresholds. The expected loss must grow with the distance from the centre on either side.

    >>> D = np.array([[0.0, 0.5, -0.5]])  # below 1, from 1 on, from 2 on
    >>> centre, price = np.array([0.5, 1.2, 1.9]), np.ones(3)
    >>> cheapest(centre, price, lambda rows: D, np.array([1.0, 2.0])).round(6)
    array([0.5, 1. , 2. ])
    """
    low = np.append(-np.inf, thresholds)
    high = np.append(np.nextafter(thresholds, -np.inf), np.inf)
    found = np.empty(len(centre))
    for start in range(0, len(centre), _BLOCK):
        rows = slice(start, start + _BLOCK)
        there = centre[rows, None]
        here = np.clip(there, low, high)
        value = price[rows, None] * expected(here - there) + steps(rows)
        found[rows] = np.take_along_axis(here, value.argmin(axis=1)[:, None], axis=1)[:, 0]
    return found


def steps_of(costs: Array, cells: ThresholdTable) -> tuple[Array, Array]:
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
    expected: ExpectedLoss | None  #: None for squares.

    def __repr__(self) -> str:
        return f"<{type(self.guess.model).__name__} moved at {len(self.thresholds)} thresholds>"

    def predict(self, X: Any) -> Array:
        """Return the prediction for each row."""
        return self.at(*self.guess(X, _num_samples(X)))

    def at(self, centre: Array, probabilities: Array) -> Array:
        """Return the predictions for people with these centres and probabilities."""
        return cheapest(
            centre,
            probabilities @ self.price,
            lambda rows: probabilities[rows] @ self.steps,
            self.thresholds,
            self.expected or np.square,
        )


@dataclass(frozen=True, eq=False)
class ConstantRegressor:
    """The same number for everybody."""

    value: float

    def predict(self, X: Any) -> Array:
        """Return the number for each row."""
        return np.full(_num_samples(X), self.value)


class PluginGuesses:
    """Centres and probabilities for the people learned from, out of fold, and those to deploy.

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
    keep : callable
        Trains what has a name, unless that is kept from before.
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
        keep: Keep,
    ) -> None:
        self.estimator, self.group_estimator = estimator, group_estimator
        self.X, self.cells, self.target = X, cells, target
        n = cells.n_examples
        centre, self.probabilities = np.empty(n), np.empty((n, cells.n_cells))
        folds, models = make_folds(cells, cv), []
        for number, (train, test) in enumerate(folds):
            models.append(keep(f"fold {number}", partial(self._learned, train)))
            centre[test], self.probabilities[test] = models[-1](take_rows(X, test), len(test))
        deployed = keep("all", partial(self._learned, np.arange(n)))
        for guess, (_, test) in zip(models, folds, strict=True):  # after all of the training
            again = guess(take_rows(X, test), len(test))
            check_numbers(centre[test], again[0], estimator)
            check_probabilities(self.probabilities[test], again[1], group_estimator)
        self.expected: ExpectedLoss | None = None
        if loss is not np.square:
            reach = float(np.ptp(np.concatenate([centre, target])))
            self.expected = ExpectedLoss(target - centre, cells.row_weights(), loss, reach)
        shift = 0.0 if self.expected is None else self.expected.shift
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


class _LocalOracle(Oracle):
    """What oracles have in common whose rows, or predictions for them, are in this process."""

    X: Any
    cells: ThresholdCells

    def predicted(self, model: Any) -> Array:
        """Return the predictions that are measured, of an answer or a constant."""
        raise NotImplementedError

    def rows_at_thresholds(self) -> ThresholdCells:
        """Return the rows of these predictions."""
        return self.cells

    def shares(self, model: Any) -> Array:
        """Return s(f) of an answer, or of a constant."""
        return self.cells.sum(self.predicted(model))

    def is_constant(self, models: Iterable[Any]) -> bool:
        """Whether these models predict one number for all people learned from."""
        first: float | None = None
        for model in models:
            each = numbers(model, self.X, len(self.cells.target))
            first = each[0] if first is None else first
            if (each != first).any():
                return False
        return True


class PluginRegressionOracle(_LocalOracle):
    """Best responses from what was learned once, at no fit each."""

    exact, out_of_fold = False, True

    def __init__(self, guesses: PluginGuesses, cells: ThresholdCells) -> None:
        self.guesses, self.X, self.cells = guesses, guesses.X, cells

    def best_response(self, costs: Array) -> Response:
        """Give everybody the prediction that costs least in expectation."""
        price, steps = steps_of(costs, self.cells)
        guesses, z = self.guesses, self.cells.thresholds
        rule = PluginRegressor(guesses.deployed, price, steps, z, guesses.expected)
        return Response(rule, self.shares(rule))

    def predicted(self, model: Any) -> Array:
        """Return the predictions out of fold."""
        if isinstance(model, ConstantRegressor):
            return np.full(len(self.cells.target), model.value)
        return model.at(self.guesses.centre, self.guesses.probabilities)

    def verify(self, members: Sequence[Any], s: Array) -> None:
        """Raise unless the model to deploy predicts the same when it is asked twice."""
        n, guess, X = len(self.cells.target), self.guesses.deployed, self.guesses.X
        (centre, chances), (again, others) = guess(X, n), guess(X, n)
        check_numbers(centre, again, self.guesses.estimator)
        check_probabilities(chances, others, self.guesses.group_estimator)


class RefitRegressionOracle(_LocalOracle):
    """Best responses by training the learner anew, with prices as weights.

    Where costs have steps, each person's target is replaced by the prediction that would be
    cheapest for them (Agarwal, Dudik and Wu, 2019).
    """

    exact, out_of_fold = False, False

    def __init__(self, trainer: RegressionTrainer, cells: ThresholdCells) -> None:
        self.cells, self.X = cells, trainer.X
        self._trainer = trainer

    def best_response(self, costs: Array) -> Response:
        """Train for these costs."""
        cells = self.cells
        price, steps = steps_of(costs, cells)
        target, by_row = cells.target, cells.spread(price)
        if steps.any():
            target = cheapest(
                target, by_row, lambda rows: steps[cells.code[rows]], cells.thresholds, cells.loss
            )
        # Where no loss has a price, as in the first question of a minimax game, all have the same.
        is_even = cells.weight is None and np.ptp(price) == 0
        weight = by_row * (1.0 if cells.weight is None else cells.weight)
        model = self._trainer.fit(target, None if is_even else weight)
        return Response(model, self.shares(model))

    def predicted(self, model: Any) -> Array:
        """Return the predictions for the people learned from."""
        return numbers(model, self.X, len(self.cells.target))

    def verify(self, members: Sequence[Any], s: Array) -> None:
        """Raise unless members lose and predict, asked once more, what was recorded of them."""
        trained = [at for at, each in enumerate(members) if not isinstance(each, ConstantRegressor)]
        for at in trained:
            check_numbers(s[at], self.shares(members[at]), members[at])


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
