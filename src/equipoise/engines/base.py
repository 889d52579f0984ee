"""Engines: what the estimators ask of the place where rows are kept, and which place that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import NDArray

from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import LossFunction
from equipoise.engines.dask.engine import DaskEngine
from equipoise.engines.memory import DiskEngine, MemoryEngine
from equipoise.engines.numbers import NumberRows
from equipoise.game.rounds import Oracle
from equipoise.metrics.audit import Tally
from equipoise.oracles.agreement import Agreement
from equipoise.rows.fingerprint import Hashed
from equipoise.rows.people import People


class Engine(Protocol):
    """A place where rows are kept. The class knows the kind of table; an open one holds rows.

    Tables of the size of the cells go in and out; rows do not cross the seam. The game, the pool,
    the certificate and the checkpoint are the same for every engine.
    """

    #: Whether rows can be looked at one by one in this process.
    is_local: ClassVar[bool]
    #: Whether the answers of oracles are worth keeping on disk, since workers may be lost.
    keeps_answers: ClassVar[bool]
    #: Labels in sorted order, but of two the favourable one is the second.
    classes: NDArray

    @property
    def cells(self) -> CellTable:
        """The cells of the rows."""

    # Of the class: before rows are opened, and for predictions.

    @classmethod
    def open(
        cls, people: People, *, constraint_weights: bool = True, estimator: Any = None
    ) -> Self:
        """Check and read what was passed to fit.

        Sample weights enter the constraints, or the error only without ``constraint_weights``.
        ``estimator`` is the learner to be trained on the rows, so that they are kept in the form
        it takes, or a list of fitted classifiers.
        """

    @staticmethod
    def numbers(
        people: People, loss: LossFunction, estimator: Any = None, at_thresholds: bool = False
    ) -> NumberRows:
        """Check and read what was passed to the fit of a regressor, whose target has numbers.

        ``at_thresholds``: predictions will be compared at thresholds, not losses alone.
        """
        ...

    @staticmethod
    def example(X: Any) -> Any:
        """Return a table with the columns of X, of any rows or none, to check features by."""

    @staticmethod
    def between(people: People, low: float, high: float) -> People:
        """Return the people with a place in [low, high), of 0 to 1, drawn with a fixed seed."""
        ...

    @staticmethod
    def hashed(people: People, classes: NDArray) -> Hashed:
        """Return the hashes of the rows with their labels, for a `Fingerprint` of people.

        Without classes the labels are numbers.
        """

    @staticmethod
    def predict(mixture: Any, X: Any, *, key: Any = None, random_state: Any = None) -> Any:
        """Return the decisions of a `equipoise.RandomizedClassifier`."""

    @staticmethod
    def score(mixture: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return its expected accuracy."""

    @staticmethod
    def answer(function: Callable[[Any], Array], X: Any, columns: int | None = None) -> Any:
        """Return the values of a function of rows in memory, for each row of X.

        ``columns`` is how many numbers it says of one, or None for one number.
        """
        ...

    @staticmethod
    def fetched(values: Any) -> Any:
        """Return values of rows, as ``answer`` returns them or a user passes them, in memory."""
        ...

    # Of an open engine: oracles, and sums over cells.

    def refit(self, learner: Any, threshold: str = "learner", cv: Any = None) -> Oracle:
        """Return the oracle that trains the learner for every query."""

    def plugin(self, learner: Any, cv: Any = 5, aware: bool = False) -> Oracle:
        """Return the oracle that learns probabilities once."""

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, of shape (P, C)."""

    def compare(self, classifiers: Sequence[Any], reference: Any = None) -> Agreement:
        """Return the selected shares of classifiers, and on which share of rows they differ.

        Each classifier is asked once. Rows that switch from the reference to a classifier are
        counted, whatever they weigh.
        """
        ...

    def tally(self, mixture: Any) -> Tally:
        """Return how often a randomized classifier selects, summed by cell."""

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""

    def fits_at_a_time(self, n_jobs: int | None) -> int:
        """Return how many fits run at a time where ``n_jobs`` is asked for."""


#: The package that a table's class is from -> its engine. All other tables are in memory.
ENGINES: dict[str, type[Engine]] = {"dask": DaskEngine, "equipoise": DiskEngine}


def engine_for(X: Any) -> type[Engine]:
    """Return the engine of this kind of table.

    >>> engine_for([[0.0], [1.0]]).__name__
    'MemoryEngine'
    """
    packages = (kind.__module__.partition(".")[0] for kind in type(X).__mro__)
    return next((ENGINES[name] for name in packages if name in ENGINES), MemoryEngine)
