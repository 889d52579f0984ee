"""The randomized classifier Q (appendix A): draw a member, follow its decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from equipoise.cells.table import Array
from equipoise.oracles.decisions import binary_predictions, decisions
from equipoise.rows.batches import batches
from equipoise.rows.hashing import draw_uniform
from equipoise.rows.take import take_rows
from equipoise.rows.validation import read_weights, to_array


class RandomizedClassifier:
    """A distribution Q over classifiers: each decision draws one of them and follows it.

    The draw is a hash of the person's row (or of a key such as a customer number), salted with
    ``random_state``: the same person gets the same decision in every batch, order and process.
    People whose rows are equal in every value share a draw; a key tells them apart.

    Parameters
    ----------
    members : sequence of classifiers
        Each predicts 0 or 1.
    weights : array-like
        Probability of each member; members of weight zero are dropped.
    classes : array-like of two labels, default=(0, 1)
        What the predictions 0 and 1 stand for.
    random_state : int, default=0
        The salt. Another salt is another, equally valid, set of draws. Models that decide on the
        same people with the same salt share their luck; fitted ones have salts of their own.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> coin = RandomizedClassifier([yes, no], [0.75, 0.25], classes=["no", "yes"])
    >>> X = np.arange(1000.0).reshape(-1, 1)
    >>> coin.predict_pmf(X)[0].tolist()
    [0.25, 0.75]
    >>> bool((coin.predict(X)[::-1] == coin.predict(X[::-1])).all())
    True
    >>> round(float((coin.predict(X) == "yes").mean()), 2)
    0.76
    """

    def __init__(
        self,
        members: Sequence[Any],
        weights: ArrayLike,
        classes: ArrayLike = (0, 1),
        random_state: int = 0,
    ) -> None:
        weights = np.asarray(weights, dtype=float)
        if len(members) != len(weights) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"got {len(members)} members and weights {weights}; expected one weight >= 0 for "
                "each member, not all zero."
            )
        self.members = [m for m, weight in zip(members, weights, strict=True) if weight > 0]
        self.weights = weights[weights > 0] / weights.sum()
        self.classes_ = np.asarray(classes)
        self.random_state = random_state

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(member).__name__ for member in self.members))
        return f"<RandomizedClassifier: {len(self.members)} members ({kinds})>"

    def predict(
        self,
        X: Any,
        *,
        key: Any = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> NDArray:
        """Decide for each row, following one member drawn from Q.

        Parameters
        ----------
        X : table of n rows
        key : array-like of shape (n,) or table of n rows, optional
            What to hash instead of the row: whatever identifies the person.
        random_state : int, Generator or RandomState, optional
            Draw afresh from this source instead of hashing.
        """
        drawn = self.draw(X, key=key, random_state=random_state)
        decided, start = np.zeros(len(drawn), dtype=np.intp), 0
        for batch in batches(X):
            some = slice(start, start + _num_samples(batch))
            decided[some] = self._follow(batch, drawn[some])
            start = some.stop
        return self.classes_[decided]

    def draw(self, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray[np.intp]:
        """Return the number of the member drawn for each row, as `predict` does."""
        if key is None and len(self.members) == 1:  # nothing to draw
            return np.zeros(_num_samples(X), dtype=np.intp)
        uniform = draw_uniform(X, salt=self.random_state, key=key, random_state=random_state)
        return np.searchsorted(np.cumsum(self.weights)[:-1], uniform, side="right")

    def _follow(self, X: Any, drawn: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the decision of the member drawn, 0 or 1, for each row."""
        n = len(drawn)
        decided = np.zeros(n, dtype=np.intp)
        for number, member in enumerate(self.members):
            rows = np.flatnonzero(drawn == number)
            if len(rows) == n:
                decided[:] = binary_predictions(member, X)
            elif len(rows):
                decided[rows] = binary_predictions(member, take_rows(X, rows))
        return decided

    def predict_pmf(self, X: Any) -> Array:
        """Return the probability of deciding either way, over the draw of a member: shape (n, 2).

        Not ``predict_proba``: it says how often Q selects this person, not how likely the label is.
        """
        selected = np.zeros(_num_samples(X))
        for weight, decided in zip(self.weights, decisions(self.members, X), strict=True):
            selected += weight * decided
        selected = np.clip(selected, 0.0, 1.0)
        return np.column_stack([1.0 - selected, selected])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        pmf, y = self.predict_pmf(X), to_array(y, "y")
        if y.shape != (len(pmf),):
            raise ValueError(
                f"y has shape {y.shape}; expected one label for each of {len(pmf)} rows."
            )
        right = np.where(y == self.classes_[0], pmf[:, 0], 0.0)
        right = np.where(y == self.classes_[1], pmf[:, 1], right)
        return float(np.average(right, weights=read_weights(sample_weight, len(y))))
