"""The randomized classifier Q (appendix A), and how its dice are made reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from equipoise.cells import Array, factorize
from equipoise.oracles import binary_predictions, take_rows


class RandomizedClassifier:
    """A distribution Q over classifiers: each decision draws one of them and follows it.

    The draw is a hash of the person's row (or of a key such as a customer number), salted with
    ``random_state``: the same person gets the same decision in every batch, order and process.

    Parameters
    ----------
    members : sequence of classifiers
        Each predicts 0 or 1.
    weights : array-like
        Probability of each member; members of weight zero are dropped.
    classes : array-like of two labels, default=(0, 1)
        What the predictions 0 and 1 stand for.
    random_state : int, default=0
        The salt. Another salt is another, equally valid, set of draws.

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
        self, X: Any, *, key: Any = None, random_state: int | np.random.Generator | None = None
    ) -> NDArray:
        """Decide for each row, following one member drawn from Q.

        Parameters
        ----------
        X : table of n rows
        key : array-like of shape (n,) or table of n rows, optional
            What to hash instead of the row: whatever identifies the person.
        random_state : int or Generator, optional
            Draw afresh from this source instead of hashing.
        """
        n = _num_samples(X)
        if random_state is not None:
            uniform = _fresh(random_state, n)
        else:
            uniform = hash_uniform(X if key is None else key, salt=self.random_state)
        if len(uniform) != n:
            raise ValueError(f"key has {len(uniform)} entries but X has {n} rows.")
        drawn = np.searchsorted(np.cumsum(self.weights)[:-1], uniform, side="right")
        decisions = np.zeros(n, dtype=np.intp)
        for number, member in enumerate(self.members):
            rows = np.flatnonzero(drawn == number)
            if len(rows) == n:
                decisions[:] = binary_predictions(member, X)
            elif len(rows):
                decisions[rows] = binary_predictions(member, take_rows(X, rows))
        return self.classes_[decisions]

    def predict_pmf(self, X: Any) -> Array:
        """Return the probability of deciding either way, over the draw of a member: shape (n, 2).

        Not ``predict_proba``: it says how often Q selects this person, not how likely the label is.
        """
        selected = np.zeros(_num_samples(X))
        for member, weight in zip(self.members, self.weights, strict=True):
            selected += weight * binary_predictions(member, X)
        selected = np.clip(selected, 0.0, 1.0)
        return np.column_stack([1.0 - selected, selected])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        y = np.asarray(y)
        return float(
            sum(
                weight
                * accuracy_score(
                    y,
                    self.classes_[binary_predictions(m, X).astype(int)],
                    sample_weight=sample_weight,
                )
                for m, weight in zip(self.members, self.weights, strict=True)
            )
        )


def hash_uniform(rows: Any, salt: int = 0) -> Array:
    """Hash each row to a number in [0, 1) that looks uniform and depends on its values only.

    Equal values hash equally whether they come in an array, a sparse matrix or a data frame,
    as integers or floats.

    >>> import scipy.sparse
    >>> X = np.array([[0, 1.5], [2, 0]])
    >>> bool((hash_uniform(X) == hash_uniform(scipy.sparse.csr_array(X))).all())
    True
    >>> bool((hash_uniform(X) == hash_uniform(X, salt=1)).any())
    False
    """
    total = np.zeros(_num_samples(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        if issparse(rows):
            entries = rows.tocoo()
            entries.sum_duplicates()
            np.add.at(total, entries.row, _mix(_bits(entries.data) + _position(entries.col)))
        else:
            for number, column in enumerate(_columns(rows)):
                bits = _bits(column)
                total += np.where(bits == 0, np.uint64(0), _mix(bits + _position(np.array(number))))
        mixed = _mix(total + _position(np.array(_number(salt))))
    return np.ldexp((mixed >> np.uint64(11)).astype(float), -53)


def _columns(rows: Any) -> Any:
    native = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return (column.to_numpy() for column in native.iter_columns())
    if isinstance(native, nw.Series):
        return (native.to_numpy(),)
    rows = np.asarray(rows)
    return (rows,) if rows.ndim == 1 else rows.reshape(len(rows), -1).T


def _bits(values: NDArray) -> NDArray[np.uint64]:
    """64 bits that stand for a value; zero stands for 0, as absent from a sparse matrix."""
    if values.dtype.kind in "biuf":
        number = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        bits = np.where(np.isnan(number), np.float64("nan"), number).view(np.uint64)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:  # beyond a double's precision
            bits = np.where(np.abs(number) < 2.0**53, bits, values.astype(np.uint64))
        return bits
    if values.dtype.kind in "mM":
        return values.astype(np.int64).view(np.uint64)
    codes, distinct = factorize(values)
    return np.array([_number(value) for value in distinct], dtype=np.uint64)[codes]


def _number(value: Any) -> int:
    if value is None or value != value:
        value = float("nan")
    if isinstance(value, (bool, int, float, np.number)):
        return int(_bits(np.atleast_1d(np.asarray(value)))[0])
    return int.from_bytes(blake2b(str(value).encode(), digest_size=8).digest(), "little")


def _position(number: NDArray) -> NDArray[np.uint64]:
    return _mix(number.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of splitmix64: Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _fresh(random_state: int | np.random.Generator, n: int) -> Array:
    if isinstance(random_state, np.random.Generator):
        return random_state.random(n)
    return check_random_state(random_state).random_sample(n)
