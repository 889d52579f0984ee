"""The randomized regressor: a distribution over regressors, of which each prediction draws one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from equipoise.cells.table import Array
from equipoise.estimators.base import NUMBERS
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.oracles.regression import ConstantRegressor, PluginRegressor, numbers
from equipoise.rows.tables import batches, take_rows


class RandomizedRegressor:
    """A distribution over regressors: each prediction draws one of them and follows it.

    The draw is a hash of the person's row or key, as by `RandomizedClassifier`: the same person
    gets the same prediction in every batch, order and process.

    Parameters
    ----------
    members : sequence of regressors
    weights : array-like
        Probability of each member; members of weight zero are dropped.
    random_state : int, default=0
        The salt of the draws.

    Examples
    --------
    >>> low, high = ConstantRegressor(1.0), ConstantRegressor(3.0)
    >>> coin = RandomizedRegressor([low, high], [0.5, 0.5])
    >>> X = np.arange(1000.0).reshape(-1, 1)
    >>> coin.predict_mean(X[:2]).tolist(), sorted(set(coin.predict(X).tolist()))
    ([2.0, 2.0], [1.0, 3.0])
    """

    #: Of labels; there are none.
    classes_ = NUMBERS

    def __init__(self, members: Sequence[Any], weights: ArrayLike, random_state: int = 0) -> None:
        self._lottery = RandomizedClassifier(members, weights, random_state=random_state)

    @property
    def members(self) -> Sequence[Any]:
        """The regressors that are mixed."""
        return self._lottery.members

    @property
    def weights(self) -> Array:
        """The probability of each member."""
        return self._lottery.weights

    @property
    def random_state(self) -> int:
        """The salt of the draws."""
        return self._lottery.random_state

    def __repr__(self) -> str:
        return f"<RandomizedRegressor: {len(self.members)} members>"

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> Array:
        """Predict for each row, following one member drawn; see `RandomizedClassifier.predict`."""
        drawn = self._lottery.draw(X, key=key, random_state=random_state)
        found, start = np.zeros(len(drawn)), 0
        for rows in batches(X):
            some = slice(start, start + _num_samples(rows))
            for number, predicted in enumerate(self._each(rows)):
                found[some] = np.where(drawn[some] == number, predicted, found[some])
            start = some.stop
        return found

    def predict_members(self, X: Any) -> Array:
        """Return the predictions of all members, of shape (n, members); see ``weights``."""
        return np.column_stack(list(self._each(X)))

    def predict_mean(self, X: Any) -> Array:
        """Return the mean prediction over the draw.

        It is another predictor than the one that is drawn from: for a convex loss its loss is no
        larger, but groups may differ more, and no certificate speaks of it.
        """
        found = np.zeros(_num_samples(X))
        for weight, predicted in zip(self.weights, self._each(X), strict=True):
            found += weight * predicted
        return found

    def _each(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of each member; what members share is computed once."""
        n, known = _num_samples(X), dict[int, tuple[Array, Array]]()
        if not isinstance(X, np.ndarray) and isinstance(X, (list, tuple)):
            X = take_rows(X, np.arange(n))
        for member in self.members:
            if isinstance(member, ConstantRegressor):
                yield np.full(n, member.value)
            elif isinstance(member, PluginRegressor):
                key = id(member.guess)
                if key not in known:
                    known[key] = member.guess(X, n)
                yield member.at(*known[key])
            else:
                yield numbers(member, X, n)
