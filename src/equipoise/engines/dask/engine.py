"""The engine of Dask collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, CellTable
from equipoise.engines.dask import lazy
from equipoise.engines.dask.collections import example_of
from equipoise.engines.dask.hashes import DaskHashes
from equipoise.engines.dask.oracles import ShardOracle, ShardPluginOracle
from equipoise.engines.dask.pipelines import (
    TransformedOracle,
    after_transform,
    is_frozen_pipeline,
    transformed,
)
from equipoise.engines.dask.shard import (
    digest_of,
    disagreement_of,
    divided_of,
    expected_of,
    selected_by,
    tally_of,
)
from equipoise.engines.dask.shards import Shards
from equipoise.engines.dask.trainers import trainer_kind
from equipoise.game.pool import Oracle
from equipoise.metrics.tallies import Tally
from equipoise.oracles.candidates import candidate_oracle
from equipoise.rows.columns import describe_columns
from equipoise.rows.people import People
from equipoise.rows.validation import read_integer


class DaskEngine:
    """Rows on the workers of a Dask cluster.

    Parameters
    ----------
    shards : Shards
        See `open`, which reads Dask collections into shards.
    transformer : object with ``transform``, optional
        What the rows of the shards have gone through. Classifiers that come and go take rows from
        before it.
    columns : list of str
        What `columns` returns.
    """

    is_local: ClassVar[bool] = False
    keeps_answers: ClassVar[bool] = True

    def __init__(
        self, shards: Shards, transformer: Any = None, columns: Sequence[str] = ()
    ) -> None:
        self.shards, self.classes, self.transformer = shards, shards.classes, transformer
        self._columns = list(columns)

    @property
    def cells(self) -> CellTable:
        """The cells of the rows."""
        return self.shards.cells

    @classmethod
    def open(
        cls, people: People, *, constraint_weights: bool = True, estimator: Any = None
    ) -> Self:
        """Check what was passed to fit, and read it into the memory of the workers."""
        if people.y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        people.check_groups()
        dtype, columns = None, describe_columns(example_of(people.X))
        if is_frozen_pipeline(estimator):
            before, learner = estimator[:-1], estimator[-1]
            rows = replace(people, X=transformed(people.X, before))
            dtype = trainer_kind(learner).dtype
            shards = Shards(rows, dtype=dtype, constraint_weights=constraint_weights)
            return cls(shards, before, columns)
        if estimator is not None and not isinstance(estimator, (list, tuple)):
            dtype = trainer_kind(estimator).dtype
            _check_numbers(example_of(people.X))
        shards = Shards(people, dtype=dtype, constraint_weights=constraint_weights)
        return cls(shards, None, columns)

    @staticmethod
    def example(X: Any) -> Any:
        """Return a table with the columns of X and no rows."""
        return example_of(X)

    @staticmethod
    def hashed(people: People, classes: NDArray) -> DaskHashes:
        """Return the hashes of the rows with their labels, kept by the workers."""
        return DaskHashes(people, classes)

    @staticmethod
    def predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> Any:
        """Return the decisions of a randomized classifier, not computed yet."""
        return lazy.predict(mixture, X, key=key, random_state=random_state)

    @staticmethod
    def predict_pmf(mixture: Any, X: Any) -> Any:
        """Return the probabilities of its decisions, not computed yet."""
        return lazy.predict_pmf(mixture, X)

    @staticmethod
    def score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return its expected accuracy."""
        return lazy.score(mixture, X, y, sample_weight)

    @staticmethod
    def decide(classifier: Any, X: Any, classes: NDArray) -> Any:
        """Return the decisions of one classifier, as labels, not computed yet."""
        return lazy.decide(classifier, X, classes)

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner where the rows are."""
        folds = 1 if cv is None else _read_folds(cv)
        return self._before(ShardOracle(self._last(learner), self.shards, threshold, folds))

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
        return self._before(ShardPluginOracle(self._last(learner), self.shards, _read_folds(cv)))

    def candidates(self, classifiers: Sequence[Any]) -> Oracle:
        """Return the exact oracle over fitted classifiers."""
        return candidate_oracle(classifiers, self.shares, self.classes)

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, of shape (P, C)."""
        return self._total(selected_by, classifiers)

    def disagreement(self, classifiers: Sequence[Any]) -> Array:
        """Return the share of the rows on which each two decide differently, of shape (P, P)."""
        return self._total(disagreement_of, classifiers)

    def divided(self, classifiers: Sequence[Any], mixtures: Sequence[NDArray]) -> Array:
        """Return for each mixture, numbers of classifiers, the share that its members divide on."""
        return self._total(divided_of, classifiers, mixtures)

    def _total(self, function: Any, classifiers: Sequence[Any], *args: Any) -> Array:
        """Return the sum over the shards of what classifiers do there, as a share of all."""
        after = list(classifiers)
        if self.transformer is not None:
            after = [after_transform(classifier) for classifier in classifiers]
        return self.shards.total(function, after, *args) / self.cells.total_weight

    def tally(self, mixture: Any) -> Tally:
        """Return how often a randomized classifier selects, summed by cell."""
        total = self.cells.total_weight
        if self.transformer is not None:
            members = [after_transform(member) for member in mixture.members]
            mixture = type(mixture)(members, mixture.weights, mixture.classes_)
        if not self.cells.is_plain:
            return Tally(self.cells, self.shards.total(expected_of, mixture) / total, None)
        s, w2h, w2hh = self.shards.total(tally_of, mixture)
        squares = self.cells.square, w2h / total**2, w2hh / total**2
        return Tally(self.cells, s / total, squares)

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        return self._columns

    def identity(self) -> Iterator[bytes]:
        """Yield what distinguishes these data from others, in order."""
        yield from self.shards.map(digest_of)

    def fits_at_a_time(self, n_jobs: int | None) -> int:
        """Return one: a fit is spread over all workers."""
        return 1

    def _last(self, learner: Any) -> Any:
        """Return what is trained on the rows of the shards."""
        return learner if self.transformer is None else learner[-1]

    def _before(self, oracle: Oracle) -> Oracle:
        """Return an oracle whose classifiers take rows from before the transformer."""
        return oracle if self.transformer is None else TransformedOracle(oracle, self.transformer)


def _read_folds(cv: Any) -> int:
    if not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"cv is {cv!r}; with Dask collections expected a number of folds, or None."
        )
    return read_integer(cv, "cv", least=2)


def _check_numbers(example: Any) -> None:
    """Raise if features are not numbers, before any work."""
    dtypes = getattr(example, "dtypes", None)
    kinds = {"X": example.dtype} if dtypes is None else dict(dtypes)
    for name, dtype in kinds.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} of X is of type {dtype}; expected numbers or booleans. Encode "
                "it with Dask first, for example with dask.dataframe.get_dummies."
            )
