"""People who are watched: what mixtures of classifiers do to them, in memory or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.engines import engine_for
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.metrics import GroupTable, group_table
from equipoise.metrics.audit import Audit
from equipoise.metrics.table import tabulate
from equipoise.metrics.tallies import Tally
from equipoise.oracles.decisions import decisions
from equipoise.rows import people as rows


class People(Protocol):
    """Some people: features, labels, groups, and what else a fit takes."""

    @property
    def X(self) -> Any:
        """The features, as the classifiers take them."""

    @property
    def y(self) -> Any:
        """The labels."""

    @property
    def sensitive(self) -> Any:
        """The groups, as `equipoise.metrics.group_table` takes them."""

    @property
    def weight(self) -> Any:
        """The weights, if they differ."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y, by name."""


class Watched(Protocol):
    """Some people, and what several mixtures do to them."""

    def tally(self, number: int) -> Tally:
        """Return how often the mixture of this number selects people, by cell."""

    def table(self, number: int, level: float) -> GroupTable:
        """Return the rates of every group under the mixture of this number."""


def watch_frontier(
    frontier: Frontier, people: Mapping[str, People], mixtures: Sequence[Array]
) -> dict[str, Watched]:
    """Watch what mixtures of a frontier's pool do to people."""
    pool, watched = frontier.pool_.classifiers, dict[str, Watched]()
    for data, some in people.items():
        if engine_for(some.X).is_local:
            watched[data] = WatchedRows(some, pool, mixtures, frontier.classes_[1])
            continue
        if data in frontier.shares_:  # known from the fit
            cells, s = frontier.cells_, frontier.shares_[data]
        else:
            engine = engine_for(some.X).open(rows.People(some.X, some.y, **some.metadata))
            cells, s = engine.cells, engine.shares(pool)
        tallies = [Tally.of_shares(cells, w @ s[: len(w)]) for w in mixtures]
        watched[data] = WatchedCells(tallies)
    return watched


def watch_model(model: FairClassifier, people: Mapping[str, People]) -> dict[str, Watched]:
    """Watch what a single model does to people."""
    mixture, watched = model.classifier_, dict[str, Watched]()
    for data, some in people.items():
        if engine_for(some.X).is_local:
            watched[data] = WatchedRows(some, mixture.members, [mixture.weights], model.classes_[1])
        elif data in model.tallies_:  # known from the fit
            watched[data] = WatchedCells([model.tallies_[data]])
        else:
            engine = engine_for(some.X).open(rows.People(some.X, some.y, **some.metadata))
            watched[data] = WatchedCells([engine.tally(mixture)])
    return watched


class WatchedRows:
    """People in memory, and what a pool of classifiers decides about each of them.

    Parameters
    ----------
    people : People
    classifiers : sequence
        Each predicts 0 or 1.
    mixtures : sequence of arrays
        Weights of the classifiers, or of the first of them.
    positive : label
        The favourable one.
    """

    def __init__(
        self, people: People, classifiers: Sequence[Any], mixtures: Sequence[Array], positive: Any
    ) -> None:
        self.people, self.mixtures = people, mixtures
        self.label: NDArray[np.int64] = (people.y == positive).astype(np.int64)
        self.cells = rows.People(people.X, people.y, **people.metadata).read()[0]
        self.decisions = np.array(list(decisions(classifiers, people.X)), dtype=np.float32)

    def tally(self, number: int) -> Tally:
        """Return how often the mixture of this number selects people, by cell."""
        return Tally.of_people(self.cells, self._selected(number))

    def table(self, number: int, level: float) -> GroupTable:
        """Return the rates of every group under the mixture of this number."""
        return group_table(
            self.label,
            self._selected(number),
            sensitive_features=self.people.sensitive,
            sample_weight=self.people.weight,
            interval="analytic",
            level=level,
        )

    def _selected(self, number: int) -> Array:
        """Return how likely each person is to be selected."""
        weights = self.mixtures[number]
        return np.asarray(weights @ self.decisions[: len(weights)], dtype=float).clip(0.0, 1.0)


class WatchedCells:
    """People who are elsewhere: what is known of them are sums over cells.

    Parameters
    ----------
    tallies : sequence of Tally
        One for each mixture.
    """

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self.tallies = tallies

    def tally(self, number: int) -> Tally:
        """Return how often the mixture of this number selects people, by cell."""
        return self.tallies[number]

    def table(self, number: int, level: float) -> GroupTable:
        """Return the rates of every group under the mixture of this number."""
        tally = self.tallies[number]
        if tally.squares is None:
            raise ValueError("people who count in more than one way have no table of groups.")
        return tabulate(Audit.of_sums(tally.cells, tally.s, tally.squares), level=level)
