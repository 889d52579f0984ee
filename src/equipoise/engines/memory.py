"""Rows in the memory of this process, or on the disk of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import issparse

from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array
from equipoise.cells.threshold_table import LossFunction
from equipoise.engines.numbers import DiskNumbers, LocalNumbers, NumberRows
from equipoise.game.rounds import Oracle
from equipoise.metrics.audit import Tally
from equipoise.oracles.agreement import Agreement, agreement
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.decisions import decisions
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.rows.fingerprint import LocalHashes
from equipoise.rows.hashing import hash_people, hash_uniform, parts_of
from equipoise.rows.people import People, places
from equipoise.rows.tables import batches, describe_columns, take_rows


@dataclass(eq=False)
class MemoryEngine:
    """Rows in the memory of this process: an array, a sparse matrix or a data frame."""

    is_local: ClassVar[bool] = True
    keeps_answers: ClassVar[bool] = False

    X: Any
    cells: AnyCells
    classes: NDArray

    @classmethod
    def open(
        cls, people: People, *, constraint_weights: bool = True, estimator: Any = None
    ) -> Self:
        """Check the arguments of fit; rows stay as they are."""
        return cls(people.X, *people.read(constraint_weights=constraint_weights))

    @staticmethod
    def numbers(
        people: People, loss: LossFunction, estimator: Any = None, at_thresholds: bool = False
    ) -> NumberRows:
        """Return the rows of people with a number each, checked."""
        return LocalNumbers.open(people, loss)

    @staticmethod
    def example(X: Any) -> Any:
        """Return a table with the columns of X: X itself."""
        return X

    @staticmethod
    def between(people: People, low: float, high: float) -> People:
        """Return the people whose places are in [low, high), see `equipoise.rows.people.places`."""
        cells, classes = people.read_plain()
        clusters = people.read_clusters()
        place = places(cells.code, clusters)
        rows = np.flatnonzero((place >= low) & (place < high))
        code = cells.code[rows]
        return People(
            take_rows(people.X, rows),
            classes[cells.label[code]],
            {name: values[code] for name, values in cells.sensitive.items()},
            {name: values[code] for name, values in cells.control.items()} or None,
            None if cells.weight is None else cells.weight[rows],
            positive=people.positive,
            clusters=None if clusters is None else clusters[rows],
        ).by(cells.rules)

    @staticmethod
    def hashed(people: People, classes: NDArray) -> LocalHashes:
        """Return the hashes of the rows with their labels; without classes these are numbers."""
        return LocalHashes(parts_of(hash_people(people.X, people.y, *classes[1:])))

    @staticmethod
    def predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray:
        """Return the decisions of a randomized classifier."""
        return mixture.predict(X, key=key, random_state=random_state)

    @staticmethod
    def score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return its expected accuracy."""
        return mixture.score(X, y, sample_weight)

    @staticmethod
    def answer(function: Callable[[Any], Array], X: Any, columns: int | None = None) -> Array:
        """Return the values of a function of rows, for each row."""
        return np.concatenate([function(rows) for rows in batches(X)])

    @staticmethod
    def fetched(values: Any) -> Any:
        """Return values of rows in memory: as they are."""
        return values

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner for every query, out of fold given ``cv``."""
        if cv is None:
            return RefitOracle(learner, self.X, self.cells, threshold)
        return CrossFittedOracle(learner, self.X, self.cells, threshold, cv)

    def plugin(self, learner: Any, cv: Any = 5, aware: bool = False) -> Oracle:
        """Return the oracle that learns probabilities once."""
        return PluginOracle(learner, self.X, self.cells, cv, aware)

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, of shape (P, C)."""
        decided = decisions(classifiers, self.X, self.cells.n_decisions)
        return np.array([self.cells.sum(h) for h in decided])

    def compare(self, classifiers: Sequence[Any], reference: Any = None) -> Agreement:
        """Return the selected shares of classifiers, and on which share of rows they differ."""
        return agreement(classifiers, self.X, self.cells, reference)

    def tally(self, mixture: Any) -> Tally:
        """Return how often a randomized classifier selects, summed by cell."""
        pmf = mixture.predict_proba(self.X)
        return Tally.of_people(self.cells, pmf[:, 1] if pmf.shape[1] == 2 else pmf)

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        return describe_columns(self.X)

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""
        yield hash_uniform(self.X.tocsr() if issparse(self.X) else self.X).tobytes()
        for array in (self.cells.mass, self.cells.label, *self.cells.row_arrays()):
            yield np.ascontiguousarray(array).tobytes()

    def fits_at_a_time(self, n_jobs: int | None) -> int:
        """Return how many fits run at a time where ``n_jobs`` is asked for."""
        return effective_n_jobs(n_jobs)


class DiskEngine(MemoryEngine):
    """Rows that are read in batches, such as `equipoise.ParquetRows`.

    Labels, groups and weights, a few bytes a row, are in memory. So are all sums over cells; what
    decides on batches is `equipoise.oracles.decisions.decisions`.
    """

    @staticmethod
    def numbers(
        people: People, loss: LossFunction, estimator: Any = None, at_thresholds: bool = False
    ) -> NumberRows:
        """Return the rows of people with a number each, checked."""
        return DiskNumbers.open(people, loss)

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner for every query."""
        if cv is not None:
            _refuse(f"cv={cv!r}")
        return super().refit(learner, threshold)

    def plugin(self, learner: Any, cv: Any = 5, aware: bool = False) -> NoReturn:
        """Raise: probabilities are learned from some of the rows."""
        _refuse("the plug-in oracle")


def _refuse(what: str) -> NoReturn:
    raise TypeError(
        f"{what} takes single rows, but X is rows on disk, which are read in batches and never as "
        "a whole. They go with an XGBClassifier or XGBRegressor, oracle='refit' and no cv; for "
        "anything else load the table into memory."
    )
