"""What fitted classifiers do to people: the numbers of a report, from decisions by cell."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import group_name
from equipoise.engines import engine_for
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.game.certificate import Certificate
from equipoise.game.mixture import Mixture
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit
from equipoise.metrics.tallies import Tally
from equipoise.metrics.violations import Measured, measure
from equipoise.oracles.decisions import decisions
from equipoise.report.contents import (
    RATES,
    GroupContents,
    MeasuredContents,
    PointContents,
    Range,
    RowContents,
)
from equipoise.rows.people import People

_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


class Evaluation(NamedTuple):
    """Decisions of one mixture on some people, added up by cell.

    ``tally`` is for the inequalities of a constraint, ``audit`` for the rates of groups.
    """

    tally: Tally
    audit: Audit

    def groups(self, level: float) -> list[GroupContents]:
        """Return the rates of every group, with intervals."""
        return group_contents(GroupTable.from_audit(self.audit, level=level))


def evaluate_rows(
    people: People, classifiers: Sequence[Any], mixtures: Iterable[Mixture]
) -> Iterator[Evaluation]:
    """Yield what each mixture does to people in memory, who are read once."""
    cells, _ = people.read_plain()
    decided = np.array(list(decisions(classifiers, people.X)))
    for mixture in mixtures:
        selected = np.clip(mixture.shares(decided), 0.0, 1.0)
        yield Evaluation(Tally.of_people(cells, selected), Audit(cells, selected))


def evaluate_tallies(tallies: Iterable[Tally]) -> Iterator[Evaluation]:
    """Yield what is known of people who are elsewhere, from sums over cells."""
    for tally in tallies:
        yield Evaluation(tally, Audit.of_sums(tally.cells, tally.s, _check_groups(tally)))


def _check_groups(tally: Tally) -> tuple[Array, Array, Array]:
    if tally.squares is None:
        raise ValueError(
            "the groups of these people are probabilities, or people count in more than one way; "
            "a report shows rates of groups. Pass people whose groups are known."
        )
    return tally.squares


def _on_frontier(
    frontier: Frontier, data: str, people: People, mixtures: Sequence[Mixture]
) -> Iterator[Evaluation]:
    pool, engine = frontier.pool_.classifiers, engine_for(people.X)
    if engine.is_local:
        return evaluate_rows(people, pool, mixtures)
    if data in frontier.shares_:  # known from the fit
        cells, shares = frontier.cells_, frontier.shares_[data]
    else:
        opened = engine.open(people)
        cells, shares = opened.cells.table(), opened.shares(pool)
    return evaluate_tallies(Tally.of_shares(cells, mixed.shares(shares)) for mixed in mixtures)


def _on_model(model: FairClassifier, data: str, people: People) -> Iterator[Evaluation]:
    mixed, engine = model.classifier_, engine_for(people.X)
    if engine.is_local:
        mixture = Mixture.of_weights(np.asarray(mixed.weights), np.zeros(0))
        return evaluate_rows(people, mixed.members, [mixture])
    if data in model.tallies_:  # known from the fit
        return evaluate_tallies([model.tallies_[data]])
    return evaluate_tallies([engine.open(people).tally(mixed)])


def frontier_points(
    frontier: Frontier, people: Mapping[str, People], *, level: float, file: str
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    traced = [*frontier.points_, frontier.unconstrained_]
    mixtures = [point.mixture for point in traced]
    evaluated = {
        data: _on_frontier(frontier, data, some, mixtures) for data, some in people.items()
    }
    known = [entry for entry in frontier.report(level=level) if entry.data not in people]
    asked = frontier.constraint, frontier.objective, frontier.cells_
    points = []
    for point, mixture in zip(traced, mixtures, strict=True):
        free = not np.isfinite(point.eps)
        eps = 0.0 if free else float(point.eps)
        found = {data: next(some) for data, some in evaluated.items()}
        shown = PointContents(
            eps=None if free else eps,
            error=float(point.error),
            disparity=float(point.disparity),
            price=None if free else float(point.price),
            members=[
                (repr(frontier.pool_.classifiers[at]), float(weight))
                for at, weight in zip(mixture.indices, mixture.weights, strict=True)
            ],
            certificate=point.certificate.to_dict(),
            prices=[] if free else _prices(point.certificate),
            binding=[] if free else [str(row) for row in point.certificate.binding],
            measured=[measured_contents(e) for e in known if not free and e.bound == point.eps],
            groups={},
            command="" if free else select_command(file, eps),
            python="" if free else f"equipoise.load({file!r}).at(eps={no_looser(eps)})",
        )
        points.append(_measured_on(shown, found, *asked, level, eps))
    return points[:-1], points[-1]


def model_point(
    model: FairClassifier, people: Mapping[str, People], *, level: float, file: str
) -> PointContents:
    """Return a single model, measured on these people."""
    mixed, certificate = model.classifier_, model.certificate_
    eps = model.constraint_.get_params().get("eps")
    point = PointContents(
        eps=float(eps) if isinstance(eps, (int, float)) else None,
        error=float(certificate.error),
        disparity=None,
        price=None,
        members=[
            (repr(member), float(weight))
            for member, weight in zip(mixed.members, mixed.weights, strict=True)
        ],
        certificate=certificate.to_dict(),
        prices=_prices(certificate),
        binding=[str(row) for row in certificate.binding],
        measured=[measured_contents(e) for e in model.report(level=level) if e.data not in people],
        groups={},
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )
    found = {data: next(_on_model(model, data, some)) for data, some in people.items()}
    worst = 0.0 if certificate.worst_rate is None else certificate.worst_rate[1]
    asked = model.constraint_, model.objective, model.tallies_["training"].cells
    return _measured_on(point, found, *asked, level, None, worst)


def _prices(certificate: Certificate) -> list[tuple[str, float]]:
    return [(row.sentence(), price) for row, price in certificate.shadow_prices()]


def _measured_on(
    point: PointContents,
    found: Mapping[str, Evaluation],
    constraint: Constraint,
    objective: Any,
    known: CellTable,
    level: float,
    bound: float | None,
    worst_rate: float = 0.0,
) -> PointContents:
    """Return the point with what was found on each of the data."""
    tallies = {data: some.tally for data, some in found.items()}
    entries = measure(
        tallies,
        constraint,
        objective,
        level=level,
        worst_rate=worst_rate,
        bound=bound,
        known=known,
    )
    return replace(
        point,
        measured=[*point.measured, *map(measured_contents, entries)],
        groups={data: some.groups(level) for data, some in found.items()},
    )


def measured_contents(entry: Measured) -> MeasuredContents:
    """Return a measurement as plain data."""
    return MeasuredContents(
        data=entry.data,
        people=int(entry.people),
        error=span(*entry.error),
        excess=span(*entry.excess),
        disparity=None if entry.bound is None else span(*entry.disparity),
        worst=str(entry.worst or ""),
        rows=[RowContents(str(row), span(*interval)) for row, interval in entry.rows],
    )


def group_contents(table: GroupTable) -> list[GroupContents]:
    """Return a table of groups as plain data."""
    return [
        GroupContents(
            feature=feature,
            group=group_name(group),
            count=int(table["count"][at]),
            rates={
                rate: span(*(table[f"{rate}{end}"][at] for end in ("", "_low", "_high")))
                for rate in RATES
            },
        )
        for at, (group, feature) in enumerate(zip(table.groups, table.features, strict=True))
    ]


def select_command(file: str, eps: float) -> str:
    """Return the command that picks the classifier of a bound.

    >>> select_command("my frontier.equipoise", 0.02)
    "equipoise at 'my frontier.equipoise' --eps 0.02 --output model.equipoise"
    """
    return f"equipoise at {shlex.quote(file)} --eps {no_looser(eps)} --output model.equipoise"


def no_looser(eps: float) -> str:
    """Return a bound in six digits that is never above it.

    >>> no_looser(0.01128838), no_looser(0.02)
    ('0.0112883', '0.02')
    """
    return f"{float(_SIX_DIGITS.create_decimal(repr(float(eps)))):.6g}"


def span(estimate: float, low: float, high: float) -> Range:
    """Return an estimate with its interval; what is not a finite number becomes None."""
    return Range(*map(_number, (estimate, low, high)))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
