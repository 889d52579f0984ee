"""The engine of Dask collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import LossFunction
from equipoise.engines.dask.collections import (
    NAMES,
    between,
    check_number_columns,
    computed,
    example_of,
    lazily,
    split,
)
from equipoise.engines.dask.numbers import DaskNumbers
from equipoise.engines.dask.oracles import ShardOracle, ShardPluginOracle, TransformedOracle
from equipoise.engines.dask.shard import (
    compared_by,
    digest_of,
    expected_of,
    selected_by,
    tally_of,
)
from equipoise.engines.dask.shards import DaskHashes, Shards
from equipoise.engines.dask.trainers import trainer_kind
from equipoise.game.rounds import Oracle
from equipoise.metrics.audit import Tally
from equipoise.oracles.agreement import Agreement
from equipoise.oracles.decisions import Guard
from equipoise.rows.people import People
from equipoise.rows.tables import describe_columns
from equipoise.rows.validation import read_integer


class DaskEngine:
    """Rows on the workers of a Dask cluster.

    Frozen transformers before a learner are applied as rows are read: the shards hold what comes
    out. Classifiers that come and go take rows from before them, so that what is deployed is also
    checked on those; they are read once more for it.
    """

    is_local: ClassVar[bool] = False
    keeps_answers: ClassVar[bool] = True

    def __init__(self, people: People, transformer: Any = None, **options: Any) -> None:
        self._columns = describe_columns(example_of(people.X))
        self.transformer, self._before = transformer, None
        if transformer is not None:
            self._before = [X for (X,) in split(people.X)]
            people = replace(people, X=_transformed(people.X, transformer))
        self.shards = Shards(people, **options)
        self.classes = self.shards.classes

    @property
    def cells(self) -> CellTable:
        """The cells of the rows."""
        return self.shards.cells

    @classmethod
    def open(
        cls, people: People, *, constraint_weights: bool = True, estimator: Any = None
    ) -> Self:
        """Check the arguments of fit, and read rows into the memory of the workers."""
        people.check()
        dtype = transformer = None
        if is_frozen_pipeline(estimator):
            transformer, dtype = estimator[:-1], trainer_kind(estimator[-1]).dtype
        elif estimator is not None and not isinstance(estimator, (list, tuple)):
            dtype = trainer_kind(estimator).dtype
            check_number_columns(example_of(people.X))
        return cls(people, transformer, dtype=dtype, constraint_weights=constraint_weights)

    @staticmethod
    def numbers(
        people: People, loss: LossFunction, estimator: Any = None, at_thresholds: bool = False
    ) -> DaskNumbers:
        """Check the arguments of fit, and read rows into the memory of the workers."""
        return DaskNumbers(people, loss, estimator, at_thresholds)

    @staticmethod
    def example(X: Any) -> Any:
        """Return a table with the columns of X and no rows."""
        return example_of(X)

    @staticmethod
    def between(people: People, low: float, high: float) -> People:
        """Return the people with a place in [low, high), drawn within each partition."""
        people.check()
        given = {name: getattr(people, name) for name in NAMES}
        given = {name: rows for name, rows in given.items() if rows is not None}
        part = between(*given.values(), low=low, high=high, names=tuple(given))
        return replace(people, **dict(zip(given, part, strict=True)))

    @staticmethod
    def hashed(people: People, classes: NDArray) -> DaskHashes:
        """Return the hashes of the rows with their labels, kept by the workers."""
        return DaskHashes(people, classes)

    @staticmethod
    def predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> Any:
        """Return the decisions of a randomized classifier, not computed yet."""
        if random_state is not None and not isinstance(random_state, (int, np.integer)):
            raise ValueError(
                f"random_state is {random_state!r}; on Dask collections expected an integer, from "
                "which every partition draws on its own."
            )

        def drawn(number: int, X: Any, key: Any) -> Any:
            seed = None
            if random_state is not None:
                seed = np.random.default_rng([int(random_state), number])
            return mixture.predict(X, key=key, random_state=seed)

        return lazily(drawn, X, key, names=("key",), dtype=mixture.classes_.dtype)

    @staticmethod
    def score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return its expected accuracy."""

        def part(X: Any, y: Any, weight: Any) -> tuple[float, float]:
            total = float(len(y) if weight is None else np.sum(weight))
            # A part without anybody, or without weight, counts for nothing.
            return (mixture.score(X, y, weight) * total if total > 0 else 0.0), total

        parts = computed(part, X, y, sample_weight, names=("y", "sample_weight"))
        return sum(right for right, _ in parts) / sum(total for _, total in parts)

    @staticmethod
    def answer(function: Callable[[Any], Array], X: Any, columns: int | None = None) -> Any:
        """Return the values of a function of rows, for each row, not computed yet."""
        return lazily(lambda number, rows: function(rows), X, columns=columns)

    @staticmethod
    def fetched(values: Any) -> Any:
        """Return the values of a collection, computed."""
        return values.compute()

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner where the rows are."""
        folds = 1 if cv is None else _read_folds(cv)
        return self._behind(ShardOracle(self._last(learner), self.shards, threshold, folds))

    def plugin(self, learner: Any, cv: Any = 5, aware: bool = False) -> Oracle:
        """Return the oracle that learns probabilities once."""
        if aware:
            raise ValueError(
                "aware=True reads groups from rows in memory; X is a Dask collection. Use "
                "aware=False."
            )
        if not self.cells.is_plain:
            raise ValueError(
                "the plug-in oracle got utilities or constraint_weights=False; it expects one "
                "weight per person. Use oracle='refit'."
            )
        return self._behind(ShardPluginOracle(self._last(learner), self.shards, _read_folds(cv)))

    def _last(self, learner: Any) -> Any:
        """Return the learner to be trained on the rows of the shards."""
        return learner if self.transformer is None else learner[-1]

    def _behind(self, oracle: Oracle) -> Oracle:
        """Return an oracle whose classifiers take rows from before the transformer."""
        return oracle if self.transformer is None else TransformedOracle(oracle, self.transformer)

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, of shape (P, C)."""
        return self._total(selected_by, list(classifiers)) / self.cells.total_weight

    def compare(self, classifiers: Sequence[Any], reference: Any = None) -> Agreement:
        """Return the selected shares of classifiers, and on which share of rows they differ."""
        P, C, V = len(classifiers), self.cells.n_cells, self.cells.n_decisions
        found = self._total(compared_by, (list(classifiers), reference))
        weights, rows = np.hsplit(found, [found.shape[1] - V * (V - 1) * C])
        weights = weights / self.cells.total_weight
        shares, disagreement, divided = np.hsplit(weights, [-P - 1, -1])
        switches = None if reference is None else rows.reshape(P, -1, C)
        return Agreement(shares, disagreement, float(divided[0, 0]), switches)

    def tally(self, mixture: Any) -> Tally:
        """Return how often a randomized classifier selects, summed by cell."""
        total = self.cells.total_weight
        if not self.cells.is_plain or self.cells.n_decisions > 2:
            return Tally.of_shares(self.cells, self._total(expected_of, mixture) / total)
        s, w2h, w2hh = self._total(tally_of, mixture)
        squares = self.cells.square, w2h / total**2, w2hh / total**2
        return Tally(self.cells, s / total, squares)

    def _total(self, function: Any, model: Any) -> Any:
        """Return the sum over all rows, as they were passed: so does a user call the model."""
        if self._before is None:
            return self.shards.total(function, model)
        return self.shards.total_of_rows(self._before, function, model)

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        return self._columns

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""
        yield from self.shards.map(digest_of)

    def fits_at_a_time(self, n_jobs: int | None) -> int:
        """Return one: a fit is spread over all workers."""
        return 1


def is_frozen_pipeline(estimator: Any) -> bool:
    """Whether all steps before the learner are frozen transformers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [1.0]])
    >>> is_frozen_pipeline(Pipeline([("s", FrozenEstimator(scaler)), ("l", LogisticRegression())]))
    True
    >>> is_frozen_pipeline(Pipeline([("s", scaler), ("l", LogisticRegression())]))
    False
    """
    return isinstance(estimator, Pipeline) and all(
        isinstance(step, FrozenEstimator) for _, step in estimator.steps[:-1]
    )


def _transformed(X: Any, transformer: Any) -> Any:
    """Return a Dask collection after a fitted transformer, not computed yet."""
    width = len(transformer.get_feature_names_out())
    return lazily(lambda number, X: Guard()(transformer.transform, X), X, columns=width)


def _read_folds(cv: Any) -> int:
    if not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"cv is {cv!r}; with Dask collections expected a number of folds, or None."
        )
    return read_integer(cv, "cv", least=2)
