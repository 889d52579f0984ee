"""Small groups in a model file: their numbers are kept for all of them together.

The cells of suppressed groups (`equipoise.metrics.small_groups`) share what they have equally,
label by label. Sums over everybody and over the groups that are kept stay exact; of the others
their names are told, and what they are together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from equipoise.cells.table import Array, CellTable, Kind, Mask
from equipoise.constraints.base import Constraint
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import with_eps
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.randomized import RandomizedReduction
from equipoise.estimators.regression.base import RegressionReduction
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.regressor import FairRegressor
from equipoise.exceptions import EquipoiseWarning, ModelFileError
from equipoise.game.certificate import Certificate
from equipoise.game.rounds import Pool
from equipoise.game.switches import Switched
from equipoise.metrics.audit import Tally
from equipoise.metrics.small_groups import small_cells
from equipoise.metrics.violations import Meter


def without_small_groups(model: Any, below: int) -> tuple[Any, str]:
    """Return a model as its file is to hold it, and a sentence on what is left out, if anything is.

    Groups of fewer people than ``below``, and those that would give them away, are not told apart.
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner, said = without_small_groups(last, below)
        kept = copy(model)
        kept.steps = [*model.steps[:-1], (name, inner)]
        return (kept, said) if said else (model, "")
    if isinstance(model, (Frontier, RegressionReduction)):
        cells = model.cells_
    elif isinstance(model, RandomizedReduction):
        cells = next(iter(model.tallies_.values())).cells
    elif isinstance(model, GridSearch):
        cells = model.candidates_[0].tally.cells
    else:
        return model, ""
    hidden = small_cells(cells, below)
    known = np.zeros(cells.n_cells, dtype=bool) if cells.together is None else cells.together
    if not (hidden | known).any():
        return model, ""
    merger = _Merger(cells, hidden | known)
    if (hidden & ~known).any():
        model = merger.model(model)
        if (proof := getattr(model, "proof_", None)) is not None:
            model.proof_ = proof.without_few(below)
    return model, (
        f"{merger.n_groups} groups (combinations of sensitive and control features) have fewer "
        f"than {below} people, or would tell of those that have: the file has the numbers of all "
        "of them together, not of each, and no inequalities about them."
    )


class _Merger:
    """Adds up the cells of hidden groups by label, and gives each of the groups an equal part."""

    def __init__(self, cells: CellTable, hidden: Mask) -> None:
        self.cells, self._hidden = cells, hidden
        self._tables: dict[int, tuple[CellTable, Any]] = {}
        columns = [*cells.sensitive.values(), *cells.control.values()]
        at_of = {tuple(column[at] for column in columns): at for at in np.flatnonzero(hidden)}
        labels = sorted(set(cells.label[hidden].tolist()))
        self.n_groups, size = len(at_of), int((~hidden).sum())
        # One group may have had people of one label only, so all get cells of the same labels.
        new = [(at, label) for at in at_of.values() for label in labels]
        self._source = np.array([*np.flatnonzero(~hidden), *(at for at, _ in new)], dtype=int)
        self._label = np.array([*cells.label[~hidden], *(label for _, label in new)], dtype=np.int8)
        self._together = np.arange(len(self._source)) >= size
        self._parts = np.zeros((cells.n_cells, len(self._source)))
        self._parts[np.flatnonzero(~hidden), np.arange(size)] = 1.0
        for label in labels:
            inside = np.ix_(
                hidden & (cells.label == label), self._together & (self._label == label)
            )
            self._parts[inside] = 1.0 / self.n_groups

    def shares(self, s: Array) -> Array:
        """Return shares of decisions, (..., layers x C x (V - 1)), over the cells merged."""
        return self._added(s, self.cells.n_decisions - 1)

    def _added(self, table: Array, columns: int = 1) -> Array:
        """Return numbers of cells, of which each has some ``columns``, over the cells merged."""
        before, size = table.shape[:-1], len(self._parts)
        each = np.swapaxes(table.reshape(*before, -1, size, columns), -1, -2) @ self._parts
        return np.swapaxes(each, -1, -2).reshape(*before, -1)

    def table(self, cells: Kind) -> Kind:
        """Return a table with the cells of the fit, merged; the same for the same table."""
        if id(cells) in self._tables:
            found: Kind = self._tables[id(cells)][1]
            return found
        added = cells.summed(self._added, self.shares) | {
            name: {key: values[self._source] for key, values in getattr(cells, name).items()}
            for name in ("sensitive", "control")
        }
        merged = replace(cells, label=self._label, together=self._together, **added)
        self._tables[id(cells)] = cells, merged
        return merged

    def tally(self, tally: Tally) -> Tally:
        """Return a tally over the cells merged."""
        squares = None
        if tally.squares is not None:
            first, *others = tally.squares
            second, third = map(self.shares, others)
            squares = (self._added(first), second, third)
        return Tally(self.table(tally.cells), self.shares(tally.s), squares)

    def meter(self, constraint: Constraint) -> Meter | None:
        """Return a meter for what does not tell the groups apart; None if functions are missing."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquipoiseWarning)  # the fit has warned
            try:
                return Meter(self.table(self.cells), constraint, None)
            except RuntimeError:  # a function of the user's that an earlier file has not kept
                return None
            except ValueError as error:
                raise ModelFileError(
                    "small groups cannot be kept out of the file: which of them have people of "
                    f"which label follows from the bounds of {type(constraint).__name__}. Give "
                    "these by group or event, or save with suppress_below=0."
                ) from error

    def switched(self, switched: Switched | None) -> Switched | None:
        """Return switched decisions over the cells merged."""
        if switched is None:
            return None
        moved = self._added(switched.moved)
        return Switched(self.table(switched.cells), moved, switched.classes)

    def certificate(self, certificate: Certificate, meter: Meter | None) -> Certificate:
        """Return a certificate with what a meter compares alone, and without its evidence."""
        compared = set() if meter is None else meter.compared
        return self._telling(certificate, np.array([str(r) in compared for r in certificate.rows]))

    def _telling(self, certificate: Certificate, shown: Mask) -> Certificate:
        """Return a certificate with some of its rows alone, and without its evidence."""
        shown = shown.astype(bool)
        compared = {str(row) for row, kept in zip(certificate.rows, shown, strict=True) if kept}
        rows, slacks, conflict = certificate.rows, certificate.slacks, certificate.conflict
        arrays = ("gamma", "bound", "multipliers")
        return replace(
            certificate,
            **{name: getattr(certificate, name)[shown] for name in arrays},
            rows=tuple(row for row, kept in zip(rows, shown, strict=True) if kept),
            slacks=slacks[shown] if isinstance(slacks, np.ndarray) else slacks,
            conflict=type(conflict)(row for row in conflict if str(row) in compared),
            switched=self.switched(certificate.switched),
            suppressed=True,
            evidence=None,
            exact_difference=np.nan,
        )

    def model(self, model: Any) -> Any:
        """Return a model that does not tell the groups apart."""
        each: dict[Any, Callable[[Any], Any]] = {
            Frontier: self.frontier,
            FairRegressor: self.regressor,
            RegressionFrontier: self.regression_frontier,
            RandomizedReduction: self.fitted,
            GridSearch: self.grid,
        }
        return next(keep for kind, keep in each.items() if isinstance(model, kind))(model)

    def grid(self, model: GridSearch) -> GridSearch:
        """Return a grid search that does not tell the groups apart."""
        kept = copy(model)
        kept.candidates_ = type(model.candidates_)(
            replace(each, tally=self.tally(each.tally), switched=self.switched(each.switched))
            for each in model.candidates_
        )
        return kept

    def fitted(self, model: RandomizedReduction) -> RandomizedReduction:
        """Return a classifier that does not tell the groups apart."""
        kept = copy(model)
        kept.tallies_ = {data: self.tally(tally) for data, tally in model.tallies_.items()}
        kept.certificate_ = self.certificate(model.certificate_, self.meter(model.constraint_))
        return kept

    def frontier(self, frontier: Frontier) -> Frontier:
        """Return a frontier that does not tell the groups apart; it keeps the bounds traced."""
        kept, meter = frontier.without_search(), self.meter(with_eps(frontier.constraint, 0.0))
        kept.cells_ = self.table(frontier.cells_)
        kept.shares_ = {data: self.shares(s) for data, s in frontier.shares_.items()}
        kept.pool_ = Pool.of(frontier.pool_.classifiers, self.shares(frontier.pool_.s))
        kept.pool_.n_calls = frontier.pool_.n_calls
        assert frontier.switches_ is not None
        kept.switches_ = self._added(frontier.switches_)
        certified = list(kept.shares_.values())[-1]
        points = [
            replace(
                point,
                certificate=self.certificate(point.certificate, meter),
                disparity=_largest(meter, point.mixture.shares(certified)),
            )
            for point in (*frontier.points_, frontier.unconstrained_)
        ]
        kept.points_, kept.unconstrained_ = type(frontier.points_)(points[:-1]), points[-1]
        return kept

    def regressor(self, model: FairRegressor) -> FairRegressor:
        """Return a regressor that does not tell the groups apart."""
        kept = copy(model)
        kept.cells_ = self.table(model.cells_)
        kept.certificate_ = self.of_numbers(kept.certificate_)
        kept.exact_difference_ = kept.exact_violation_ = np.nan
        return kept

    def regression_frontier(self, frontier: RegressionFrontier) -> RegressionFrontier:
        """Return a regressor's frontier that does not tell the groups apart."""
        kept = frontier.without_search()
        kept.cells_ = self.table(frontier.cells_)
        kept.pool_ = Pool.of(kept.pool_.classifiers, np.zeros((len(kept.pool_), 0)))
        kept.exact_differences_ = np.full(len(kept.points_), np.nan)
        points = []
        for point in (*kept.points_, kept.unconstrained_):
            certificate = self.of_numbers(point.certificate)
            largest = float(certificate.gamma.max()) if len(certificate.gamma) else np.nan
            points.append(replace(point, certificate=certificate, disparity=largest))
        kept.points_, kept.unconstrained_ = type(kept.points_)(points[:-1]), points[-1]
        return kept

    def of_numbers(self, certificate: Certificate) -> Certificate:
        """Return the certificate of a regressor without rows that tell the groups apart."""
        kept = np.zeros(len(certificate.rows), dtype=bool)
        if certificate.evidence is not None and len(kept):
            slopes = certificate.evidence.lagrangian.gamma_slope
            by_cell = np.reshape(slopes, (len(kept), self.cells.n_cells, -1)).sum(axis=2)
            kept = np.ptp(by_cell[:, self._hidden], axis=1) == 0
        return self._telling(certificate, kept)


def _largest(meter: Meter | None, s: Array) -> float:
    """Return the largest difference that a meter compares."""
    return np.nan if meter is None else float(meter.excess(s).max(initial=0.0))
