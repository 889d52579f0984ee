"""Decisions of fitted mixtures on some people, added up by cell, wherever the people are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from equipoise.cells.codes import add_up
from equipoise.cells.table import Array, CellTable, Mask
from equipoise.engines import engine_for
from equipoise.estimators.decisions.switches import switched_of
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.reductions import FairClassifier
from equipoise.game.mixture import Mixture
from equipoise.game.switches import Switched, pairs
from equipoise.metrics.audit import Audit, Tally
from equipoise.metrics.decisions import Decisions
from equipoise.oracles.decisions import decisions
from equipoise.rows.people import People


class Evaluation(NamedTuple):
    """Decisions of one mixture on some people, added up by cell.

    ``tally`` is for the inequalities of a constraint, ``audit`` for the rates of groups.
    ``switched`` is None where no unconstrained model is known.
    """

    tally: Tally
    audit: Audit | Decisions
    switched: Switched | None

    @classmethod
    def of_tally(cls, tally: Tally, switched: Switched | None) -> Evaluation:
        """Return the evaluation of rows that workers hold, from sums over cells."""
        if tally.squares is None:
            raise ValueError(
                "the groups of these people are probabilities, or people count in more than one "
                "way; a report shows rates of groups. Pass people whose groups are known."
            )
        if tally.cells.n_decisions > 2:
            audit = Decisions(tally.cells, np.empty(0), (tally.s, tally.squares))
            return cls(tally, audit, switched)
        return cls(tally, Audit.of_sums(tally.cells, tally.s, tally.squares), switched)

    def part(self, inside: Mask, cells: CellTable) -> Evaluation:
        """Return the evaluation of the people of some cells alone, whose table is ``cells``."""
        switched = None if self.switched is None else switched_part(self.switched, inside, cells)
        return Evaluation.of_tally(self.tally.part(inside, cells), switched)


def switched_part(switched: Switched, inside: Mask, cells: CellTable) -> Switched:
    """Return switched decisions of the people of some cells alone, whose table is ``cells``."""
    return Switched(cells, switched.moved[:, inside], switched.classes)


def on_frontier(
    frontier: Frontier, data: str, people: People, mixtures: Sequence[Mixture]
) -> Iterator[Evaluation]:
    """Yield the evaluation of each mixture of a frontier's pool."""
    pool, engine, classes = frontier.pool_.classifiers, engine_for(people.X), frontier.classes_
    people = people.by(frontier.cells_.rules)
    free = frontier.unconstrained_model_.classifier
    if engine.is_local:
        yield from _on_rows(people, [*pool, free], mixtures, classes, len(pool))
        return
    if data in frontier.shares_:  # known from the fit
        cells, shares, switches = frontier.cells_, frontier.shares_[data], frontier.switches_
    else:
        opened = engine.open(_with_labels(people, classes))
        cells = opened.cells.table()
        shares, _, _, switches = opened.compare(pool, free)
    for mixture in mixtures:
        tally = Tally.of_shares(cells, mixture.shares(shares))
        assert switches is not None  # they were compared with the unconstrained one
        switched = Switched.of_mixture(cells, switches, mixture, classes)
        yield Evaluation.of_tally(tally, switched)


def on_model(model: FairClassifier, people: People) -> Iterator[Evaluation]:
    """Yield the evaluation of a model, and then that of its unconstrained model, if known."""
    mixed, free, engine = model.classifier_, model.unconstrained_, engine_for(people.X)
    people = people.by(next(iter(model.tallies_.values())).cells.rules)
    alone = [] if free is None else [RandomizedClassifier([free.classifier], [1.0], free.classes_)]
    if engine.is_local:
        classifiers = [*mixed.members, *(one.members[0] for one in alone)]
        weights = [np.append(mixed.weights, np.zeros(len(alone)))]
        weights += [np.append(np.zeros(len(mixed.members)), 1.0) for _ in alone]
        mixtures = [Mixture.of_weights(each, np.zeros(0)) for each in weights]
        yield from _on_rows(people, classifiers, mixtures, model.classes_, -1 if alone else None)
        return
    opened = engine.open(_with_labels(people, model.classes_))
    for one in (mixed, *alone):
        yield Evaluation.of_tally(opened.tally(one), switched_of(opened, one, free))


def _with_labels(people: People, classes: NDArray) -> People:
    """Return people whose favourable label is that of a fit."""
    return replace(people, positive=classes[1] if len(classes) == 2 else None)


def _on_rows(
    people: People,
    classifiers: Sequence[Any],
    mixtures: Iterable[Mixture],
    classes: NDArray,
    free: int | None,
) -> Iterator[Evaluation]:
    """Yield the evaluation of each mixture on people in memory, who are read once.

    ``free`` is the number of the unconstrained classifier.
    """
    if people.y is None:  # nothing that depends on the label is shown, see `_View.measured_on`
        people = replace(people, y=np.full(_num_samples(people.X), classes[0]))
    cells, _ = people.read_plain(classes)
    V, table = len(classes), cells.table()
    decided = np.array(list(decisions(classifiers, people.X, V)))
    before = None if free is None else decided[free]
    for mixture in mixtures:
        found: tuple[Tally, Audit | Decisions]
        moves: Iterable[Array] = ()
        if V > 2:
            parts = zip(mixture.weights, mixture.indices, strict=True)
            pmf = np.sum([weight * np.eye(V)[decided[h]] for weight, h in parts], axis=0)
            if before is not None:
                moves = ((before == u) * pmf[:, v] for u, v in pairs(V))
            found = Tally.of_people(cells, pmf), Decisions(cells, pmf)
        else:
            selected = np.clip(mixture.shares(decided), 0.0, 1.0)
            if before is not None:
                moves = np.where(before, 0.0, selected), np.where(before, 1.0 - selected, 0.0)
            found = Tally.of_people(cells, selected), Audit(cells, selected)
        moved = [add_up(cells.code, cells.n_cells, values) for values in moves]
        switched = None if before is None else Switched(table, np.array(moved), classes)
        yield Evaluation(found[0], found[1], switched)
