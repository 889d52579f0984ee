"""What fitted classifiers do to people: the numbers of a report, from decisions by cell."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.rows import Array
from equipoise.constraints.base import Constraint
from equipoise.engines.dask import Shards, is_collection
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint, with_eps
from equipoise.estimators.reductions import FairClassifier
from equipoise.game.certificate import Certificate
from equipoise.metrics import GroupTable
from equipoise.metrics.audit import Audit
from equipoise.metrics.table import tabulate
from equipoise.metrics.violations import Measured, Tally, measure
from equipoise.oracles.decisions import decisions
from equipoise.report.contents import (
    RATES,
    GroupContents,
    MeasuredContents,
    PointContents,
    Range,
    RowContents,
)
from equipoise.rows.validation import read_examples

_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


class People(Protocol):
    """Some people: features, labels, and what else ``fit`` takes."""

    @property
    def X(self) -> Any:
        """The features, as the classifiers take them."""

    @property
    def y(self) -> Any:
        """The labels."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y, by name."""


class Mixture(NamedTuple):
    """Which classifiers of a pool are mixed, and with which weights."""

    indices: NDArray[np.intp]
    weights: Array

    @classmethod
    def of_point(cls, point: FrontierPoint) -> Mixture:
        """Return the mixture of a point of a frontier."""
        indices = np.flatnonzero(point.weights)
        return cls(indices, point.weights[indices])


class Evaluation(NamedTuple):
    """Decisions of one mixture on some people, added up by cell.

    ``tally`` is for the inequalities of a constraint, ``audit`` for the rates of groups.
    """

    tally: Tally
    audit: Audit

    def groups(self, level: float) -> list[GroupContents]:
        """Return the rates of every group, with intervals."""
        return group_contents(tabulate(self.audit, level=level))


def evaluate_rows(
    people: People, classifiers: Sequence[Any], mixtures: Iterable[Mixture]
) -> Iterator[Evaluation]:
    """Yield what each mixture does to people in memory, who are read once."""
    cells, _ = read_examples(people.X, people.y, **people.metadata)
    decided = np.array(list(decisions(classifiers, people.X)), dtype=np.float32)
    for indices, weights in mixtures:
        selected = np.asarray(weights @ decided[indices], dtype=float).clip(0.0, 1.0)
        tally = Tally.of_people(cells, selected)
        _check_groups(tally)
        yield Evaluation(tally, Audit(cells, selected))


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
    pool = frontier.pool_.classifiers
    if not is_collection(people.X):
        return evaluate_rows(people, pool, mixtures)
    if data in frontier.shares_:  # known from the fit
        cells, s, squares = frontier.cells_, frontier.shares_[data], frontier.weight_squares_
    else:
        shards = Shards(people.X, people.y, **people.metadata)
        cells, s, squares = shards.cells, shards.shares(pool), shards.cells.square
    return evaluate_tallies(
        Tally.of_shares(cells, weights @ s[indices], squares) for indices, weights in mixtures
    )


def _on_model(model: FairClassifier, data: str, people: People) -> Iterator[Evaluation]:
    mixed = model.classifier_
    if not is_collection(people.X):
        every = Mixture(np.arange(len(mixed.members)), np.asarray(mixed.weights))
        return evaluate_rows(people, mixed.members, [every])
    if data in model.tallies_:  # known from the fit
        return evaluate_tallies([model.tallies_[data]])
    return evaluate_tallies([Shards(people.X, people.y, **people.metadata).tally(mixed)])


def frontier_points(
    frontier: Frontier, people: Mapping[str, People], *, level: float, file: str
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    traced = [*frontier.points_, frontier.unconstrained_]
    mixtures = [Mixture.of_point(point) for point in traced]
    evaluated = {
        data: _on_frontier(frontier, data, some, mixtures) for data, some in people.items()
    }
    known = [entry for entry in frontier.report(level=level) if entry.data not in people]
    points = []
    for point, mixture in zip(traced, mixtures, strict=True):
        free = not np.isfinite(point.eps)
        eps = 0.0 if free else float(point.eps)
        constraint = with_eps(frontier.constraint, eps)
        found = {data: next(some) for data, some in evaluated.items()}
        shown = PointContents(
            eps=None if free else eps,
            error=float(point.error),
            disparity=float(point.disparity),
            price=None if free else float(point.price),
            members=[
                (repr(frontier.pool_.classifiers[at]), float(weight))
                for at, weight in zip(*mixture, strict=True)
            ],
            certificate=certificate_contents(point.certificate),
            prices=[] if free else point.certificate.shadow_prices(),
            binding=[] if free else [str(row) for row in point.certificate.binding],
            measured=[measured_contents(e) for e in known if not free and e.bound == point.eps],
            groups={},
            command="" if free else select_command(file, eps),
            python="" if free else f"equipoise.load({file!r}).at(eps={no_looser(eps)})",
        )
        points.append(_measured_on(shown, found, constraint, frontier.objective, level, eps))
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
        certificate=certificate_contents(certificate),
        prices=certificate.shadow_prices(),
        binding=[str(row) for row in certificate.binding],
        measured=[measured_contents(e) for e in model.report(level=level) if e.data not in people],
        groups={},
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )
    found = {data: next(_on_model(model, data, some)) for data, some in people.items()}
    lowest = 0.0 if certificate.level is None else certificate.level[1]
    return _measured_on(point, found, model.constraint_, model.objective, level, None, lowest)


def _measured_on(
    point: PointContents,
    found: Mapping[str, Evaluation],
    constraint: Constraint,
    objective: Any,
    level: float,
    bound: float | None,
    lowest_level: float = 0.0,
) -> PointContents:
    """Return the point with what was found on each of the data."""
    tallies = {data: some.tally for data, some in found.items()}
    entries = measure(
        tallies, constraint, objective, level=level, lowest_level=lowest_level, bound=bound
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


def certificate_contents(certificate: Certificate) -> dict[str, Any]:
    """Return what a certificate says, as plain data."""
    names = ("error", "violation", "lower", "upper", "gap", "nu", "least_slack", "free_error")
    return {
        **{name: _number(getattr(certificate, name)) for name in names},
        "feasible": bool(certificate.feasible),
        "exact": bool(certificate.exact),
        "certified": bool(certificate.is_optimal()),
        "conflict": [str(row) for row in certificate.conflict],
        "calls": int(certificate.n_calls),
        "text": str(certificate),
    }


def group_contents(table: GroupTable) -> list[GroupContents]:
    """Return a table of groups as plain data."""
    return [
        GroupContents(
            feature=feature,
            group=" & ".join(map(str, group)) if isinstance(group, tuple) else str(group),
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
