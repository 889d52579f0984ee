"""Rows with a number each as their target: what regressors ask of the place where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
from scipy.sparse import issparse

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable
from equipoise.cells.threshold_table import LossFunction, ThresholdCells, ThresholdTable
from equipoise.game.rounds import Oracle
from equipoise.oracles.regression import (
    Keep,
    PluginGuesses,
    PluginRegressionOracle,
    RefitRegressionOracle,
    best_constant,
)
from equipoise.oracles.trainers.regression import choose_regression_trainer, numbers
from equipoise.rows.hashing import hash_uniform
from equipoise.rows.people import People
from equipoise.rows.tables import describe_columns

#: How many thresholds, or which ones; None where nothing is compared at thresholds.
Wanted = int | Array | None


class RegressionOracle(Oracle, Protocol):
    """Best responses that are regressors, and what is asked of these afterwards."""

    @property
    def cells(self) -> ThresholdTable:
        """In which losses, and shares at thresholds, are counted."""
        ...

    def shares(self, model: Any) -> Array:
        """Return s(f) of an answer, or of a constant."""
        ...

    def is_constant(self, models: Iterable[Any]) -> bool:
        """Whether these models predict one number for all people learned from."""
        ...

    def verify(self, members: Sequence[Any], s: Array) -> None:
        """Raise unless members lose and predict, asked once more, what was recorded of them."""

    def predicted(self, model: Any) -> Array:
        """Return the predictions that are measured, where groups are compared at thresholds."""
        ...

    def rows_at_thresholds(self) -> ThresholdCells:
        """Return the rows of these predictions."""
        ...


class NumberRows(Protocol):
    """Rows with a target that is a number, where an engine keeps them."""

    #: Whether answers are worth keeping on disk, since workers may be lost.
    keeps_answers: ClassVar[bool]

    @property
    def groups(self) -> CellTable:
        """The cells, which are groups and strata."""

    def target_sums(self) -> Array:
        """Return the exact sums of the target and of its square, whatever the order of rows."""
        ...

    def best_constant(self) -> tuple[float, float]:
        """Return the number of least mean loss, and that loss."""
        ...

    def refit(self, estimator: Any, wanted: Wanted, scale: float, keep: Keep) -> RegressionOracle:
        """Return the oracle that trains the learner for every query."""
        ...

    def plugin(
        self, estimator: Any, learner: Any, cv: Any, wanted: Wanted, scale: float, keep: Keep
    ) -> RegressionOracle:
        """Return the oracle that learns centres, and by ``learner`` groups' probabilities, once."""
        ...

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        ...

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""
        ...


@dataclass(eq=False)
class LocalNumbers:
    """Rows in the memory of this process."""

    keeps_answers: ClassVar[bool] = False

    X: Any
    groups: Cells
    y: Array
    loss: LossFunction

    @classmethod
    def open(cls, people: People, loss: LossFunction) -> LocalNumbers:
        """Check the arguments of fit; rows stay as they are."""
        return cls(people.X, *people.read_numbers(), loss)

    def target_sums(self) -> Array:
        """Return the exact sums of the target and of its square."""
        return np.array([fsum(self.y), fsum(np.square(self.y))])

    def best_constant(self) -> tuple[float, float]:
        """Return the number of least mean loss, and that loss."""
        weight = self.groups.row_weights()
        constant = best_constant(self.y, weight, self.loss)
        return constant, float(weight @ self.loss(constant - self.y))

    def refit(self, estimator: Any, wanted: Wanted, scale: float, keep: Keep) -> RegressionOracle:
        """Return the oracle that trains the learner for every query."""
        trainer = choose_regression_trainer(estimator, self.X)

        def plain() -> Array:
            model = keep("plain", lambda: trainer.fit(self.y, self.groups.weight))
            return numbers(model, self.X, len(self.y))

        return RefitRegressionOracle(trainer, self._cells(wanted, plain, scale))

    def plugin(
        self, estimator: Any, learner: Any, cv: Any, wanted: Wanted, scale: float, keep: Keep
    ) -> RegressionOracle:
        """Return the oracle that learns centres and probabilities of groups once."""
        rows = self.X, self.groups, self.y, self.loss
        guesses = PluginGuesses(estimator, learner, *rows, cv, keep)
        cells = self._cells(wanted, lambda: guesses.centre, scale)
        return PluginRegressionOracle(guesses, cells)

    def columns(self) -> list[str]:
        """Return the kind of table, and the names and types of its columns."""
        return describe_columns(self.X)

    def identity(self) -> Iterator[bytes]:
        """Yield digests that distinguish these data from others, in order."""
        yield hash_uniform(self.X.tocsr() if issparse(self.X) else self.X).tobytes()
        for array in (self.groups.mass, *self.groups.row_arrays(), self.y):
            yield np.ascontiguousarray(array).tobytes()

    def _cells(self, wanted: Wanted, plain: Callable[[], Array], scale: float) -> ThresholdCells:
        """Return the cells; a number of thresholds are quantiles of plain predictions."""
        z = np.array([]) if wanted is None else wanted
        if isinstance(z, int):
            z = np.unique(np.quantile(plain(), np.arange(1, z + 1) / (z + 1)))
        given = {"target": self.y, "thresholds": z, "loss": self.loss, "scale": scale}
        return self.groups.as_kind(ThresholdCells, **given)


class DiskNumbers(LocalNumbers):
    """Rows that are read in batches; a number, a group and a weight of each are in memory."""

    def plugin(self, *args: Any) -> NoReturn:
        """Raise: models of folds are learned from some of the rows."""
        raise TypeError(
            "the plug-in oracle learns from some of the rows at a time, but X is rows on disk, "
            "which are read in batches and never as a whole. Use oracle='refit' with an "
            "XGBRegressor, or load the table, or a sample of it, into memory."
        )
