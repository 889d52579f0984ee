"""Measures what a frontier or a model does to people, as a report shows it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from equipoise.constraints import Constraint
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import GROUP_RATES
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint, with_eps
from equipoise.estimators.reductions import FairClassifier
from equipoise.metrics import GroupTable
from equipoise.metrics.violations import Measured, measure
from equipoise.report.contents import (
    GroupContents,
    MeasuredContents,
    PointContents,
    Range,
    RowContents,
)
from equipoise.report.watched import People, Watched, watch_frontier, watch_model

_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


def frontier_points(
    frontier: Frontier, people: Mapping[str, People], *, level: float, file: str
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    traced = [*frontier.points_, frontier.unconstrained_]
    watched = watch_frontier(frontier, people, [point.weights for point in traced])
    kept: dict[float, list[Measured]] = {}
    for entry in frontier.report(level=level):
        if entry.data not in watched:
            kept.setdefault(float(entry.bound), []).append(entry)
    points = []
    for number, point in enumerate(traced):
        free = not np.isfinite(point.eps)
        constraint = with_eps(frontier.constraint, 0.0 if free else point.eps)
        measured, groups = _measure(
            watched, number, constraint, frontier, level, 0.0 if free else point.eps
        )
        members = [
            (repr(frontier.pool_.classifiers[h]), float(point.weights[h]))
            for h in np.flatnonzero(point.weights)
        ]
        points.append(_frontier_point(point, kept, measured, groups, members, file))
    return points[:-1], points[-1]


def _frontier_point(
    point: FrontierPoint,
    kept: dict[float, list[Measured]],
    measured: list[MeasuredContents],
    groups: dict[str, list[GroupContents]],
    members: list[tuple[str, float]],
    file: str,
) -> PointContents:
    free = not np.isfinite(point.eps)
    eps = None if free else float(point.eps)
    before = [] if free else [measured_contents(entry) for entry in kept.get(point.eps, [])]
    return PointContents(
        eps=eps,
        error=float(point.error),
        disparity=float(point.disparity),
        price=None if free else float(point.price),
        members=members,
        certificate=point.certificate.to_dict(),
        prices=[] if free else point.certificate.shadow_prices(),
        binding=[] if free else [str(row) for row in point.certificate.binding],
        measured=[*before, *measured],
        groups=groups,
        command="" if free else select_command(file, point.eps),
        python="" if free else f"equipoise.load({file!r}).at(eps={no_looser(point.eps)})",
    )


def model_point(
    model: FairClassifier, people: Mapping[str, People], *, level: float, file: str
) -> PointContents:
    """Return a single model, measured on these people."""
    mixture, certificate = model.classifier_, model.certificate_
    watched = watch_model(model, people)
    before = [entry for entry in model.report(level=level) if entry.data not in watched]
    measured, groups = _measure(watched, 0, model.constraint_, model, level, None)
    eps = model.constraint_.get_params().get("eps")
    return PointContents(
        eps=float(eps) if isinstance(eps, (int, float)) else None,
        error=float(certificate.error),
        disparity=None,
        price=None,
        members=[
            (repr(member), float(weight))
            for member, weight in zip(mixture.members, mixture.weights, strict=True)
        ],
        certificate=certificate.to_dict(),
        prices=certificate.shadow_prices(),
        binding=[str(row) for row in certificate.binding],
        measured=[*map(measured_contents, before), *measured],
        groups=groups,
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )


def _measure(
    watched: Mapping[str, Watched],
    number: int,
    constraint: Constraint,
    model: Any,
    level: float,
    bound: float | None,
) -> tuple[list[MeasuredContents], dict[str, list[GroupContents]]]:
    measured, groups = [], {}
    level_found = getattr(getattr(model, "certificate_", None), "level", None)
    for data, people in watched.items():
        (entry,) = measure(
            {data: people.tally(number)},
            constraint,
            model.objective,
            level=level,
            worst_rate=0.0 if level_found is None else level_found[1],
            bound=bound,
        )
        measured.append(measured_contents(entry))
        groups[data] = group_contents(people.table(number, level))
    return measured, groups


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
                rate.column: span(
                    *(table[f"{rate.column}{end}"][at] for end in ("", "_low", "_high"))
                )
                for rate in GROUP_RATES
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
