"""The pool: classifiers that an oracle has found, each known by its selected shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from equipoise.cells.table import Array


class Response(NamedTuple):
    """The answer of an oracle: a classifier, and its selected share of each cell."""

    classifier: Any
    s: Array


class Oracle(Protocol):
    """Best_h: from the signed cost of predicting 1 in each cell to a classifier of least cost."""

    #: Whether the answer is a true minimiser over the class H (else the learner's best effort).
    exact: bool
    #: Whether shares are measured on rows that the classifier was not trained on.
    out_of_fold: bool

    def best_response(self, costs: Array) -> Response:
        """Return a classifier that makes the costs of those it selects as low as it can."""
        ...

    def start_from(self, classifier: Any) -> None:
        """Train the next classifier from this one, where the learner can."""
        ...


Respond = Callable[[Oracle, list[Array]], Iterable[Response]]


def one_by_one(oracle: Oracle, costs: list[Array]) -> Iterator[Response]:
    """Put costs to an oracle one after the other."""
    return (oracle.best_response(c) for c in costs)


def key_of(costs: Array) -> bytes:
    """Return a key that is the same for costs that are the same to a learner."""
    # Only the ratios of the costs matter to a learner; adding 0.0 makes -0.0 the same as 0.0.
    return (np.round(costs / max(np.abs(costs).max(), 1e-300), 12) + 0.0).tobytes()


class Pool:
    """The classifiers found so far, each known by its selected shares s(h).

    A pool knows no bound and no constraint: the same one serves them all.

    Parameters
    ----------
    respond : callable, optional
        Puts a list of costs to an oracle and yields its responses in order; by default one after
        the other.
    """

    def __init__(self, respond: Respond | None = None) -> None:
        self._respond = respond or one_by_one
        self.classifiers: list[Any] = []
        self.n_calls = 0
        self._shares: list[Array] = []
        self._asked: dict[bytes, int] = {}
        self._kept: dict[bytes, Any] = {}

    @classmethod
    def of(cls, classifiers: Iterable[Any], s: Array) -> Pool:
        """Return a pool of these classifiers, all of them, with these shares (P, C)."""
        pool = cls()
        pool.classifiers, pool._shares = list(classifiers), list(s)
        return pool

    @property
    def s(self) -> Array:
        """Selected shares of all classifiers, shape (P, C)."""
        return np.array(self._shares)

    def __len__(self) -> int:
        return len(self.classifiers)

    def ask(self, oracle: Oracle, *costs: Array) -> list[int]:
        """Return the numbers of the oracle's classifiers for these costs, asking only once each."""
        keys = [key_of(c) for c in costs]
        new = {key: c for key, c in zip(keys, costs, strict=True) if key not in self._asked}
        if new and self._asked:
            oracle.start_from(self._nearest(next(iter(new))))
        for key, response in zip(new, self._respond(oracle, list(new.values())), strict=True):
            self.n_calls += 1
            self._asked[key] = self.add(*response)
            if key in self._kept:
                self._kept[key] = response.classifier
        return [self._asked[key] for key in keys]

    def _nearest(self, key: bytes) -> Any:
        """Return the answer to the most similar costs, from which a learner may start."""
        known = np.array([np.frombuffer(known) for known in self._asked])
        distance = np.abs(known - np.frombuffer(key)).sum(axis=1)
        return self.classifiers[list(self._asked.values())[int(distance.argmin())]]

    def detached(self) -> Pool:
        """Return the pool without its means to ask in parallel or to write files."""
        pool = Pool.of(self.classifiers, self.s)
        pool.n_calls, pool._asked = self.n_calls, dict(self._asked)
        return pool

    def keep(self, costs: Array) -> None:
        """Keep the oracle's answer to these costs as it came, see `answer_to`."""
        self._kept[key_of(costs)] = None

    def answer_to(self, costs: Array) -> Any:
        """Return the oracle's own classifier for costs to be kept; None if it was not asked.

        The pool itself may have another one that selects the same shares in its place.
        """
        return self._kept[key_of(costs)]

    def knows(self, costs: Array) -> bool:
        """Whether the oracle was asked for these costs already."""
        return key_of(costs) in self._asked

    def add(self, classifier: Any, s: Array) -> int:
        """Add a classifier unless one with the same shares is there; return its number."""
        if self._shares:
            distance = np.abs(self.s - s).max(axis=1)
            if distance.min() <= 1e-13:
                return int(distance.argmin())
        self.classifiers.append(classifier)
        self._shares.append(s)
        return len(self) - 1
