"""Measures what a frontier or a model does to people, as a report shows it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise._validation import read_examples
from equipoise.cells import Array, Cells
from equipoise.certificate import Certificate
from equipoise.constraints import Constraint
from equipoise.decisions import decisions
from equipoise.frontier import Frontier
from equipoise.frontier_point import FrontierPoint, with_eps
from equipoise.metrics import GroupTable, group_table
from equipoise.reductions import FairClassifier
from equipoise.report.contents import (
    GroupContents,
    MeasuredContents,
    PointContents,
    Range,
    RowContents,
)
from equipoise.violations import Measured, Tally, measure

#: The rates that are shown for every group.
RATES = ("base_rate", "selection_rate", "true_positive_rate", "false_positive_rate", "error_rate")
_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


class People(Protocol):
    """Some people: features, labels, groups, and what else a fit takes."""

    @property
    def X(self) -> Any:
        """The features, as the classifiers take them."""

    @property
    def y(self) -> NDArray[Any]:
        """The labels."""

    @property
    def sensitive(self) -> Any:
        """The groups, as `equipoise.metrics.group_table` takes them."""

    @property
    def weight(self) -> Array | None:
        """The weights, if they differ."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``fit`` takes besides X and y, by name."""


class Watched:
    """Some people, and what a pool of classifiers decides about each of them.

    Parameters
    ----------
    people : People
    classifiers : sequence
        Each predicts 0 or 1.
    positive : label
        The favourable one.
    """

    def __init__(self, people: People, classifiers: Sequence[Any], positive: Any) -> None:
        self.people = people
        self.label = (people.y == positive).astype(np.int64)
        metadata = people.metadata
        self.cells: Cells = read_examples(
            people.X,
            people.y,
            metadata["sensitive_features"],
            metadata["control_features"],
            metadata["sample_weight"],
        )[0]
        self.decisions = np.array(list(decisions(classifiers, people.X)), dtype=np.float32)

    def selected(self, weights: Array) -> Array:
        """Return how likely each person is to be selected, by a mixture of the classifiers."""
        return np.asarray(weights @ self.decisions[: len(weights)], dtype=float).clip(0.0, 1.0)

    def table(self, selected: Array, level: float) -> list[GroupContents]:
        """Return the rates of every group."""
        return group_contents(
            group_table(
                self.label,
                selected,
                sensitive_features=self.people.sensitive,
                sample_weight=self.people.weight,
                interval="analytic",
                level=level,
            )
        )


def frontier_points(
    frontier: Frontier, people: Mapping[str, People], *, level: float, file: str
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    watched = _watch(frontier._pool.classifiers, people, frontier.classes_[1])
    kept: dict[float, list[Measured]] = {}
    for entry in frontier.report(level=level):
        if entry.data not in watched:
            kept.setdefault(float(entry.bound), []).append(entry)
    points = []
    for point in [*frontier.points_, frontier.unconstrained_]:
        free = not np.isfinite(point.eps)
        constraint = with_eps(frontier.constraint, 0.0 if free else point.eps)
        measured, groups = _measure(
            watched, point.weights, constraint, frontier, level, 0.0 if free else point.eps
        )
        members = [
            (repr(frontier._pool.classifiers[h]), float(point.weights[h]))
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
        certificate=certificate_contents(point.certificate),
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
    watched = _watch(mixture.members, people, model.classes_[1])
    before = [entry for entry in model.report(level=level) if entry.data not in watched]
    measured, groups = _measure(watched, mixture.weights, model.constraint_, model, level, None)
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
        certificate=certificate_contents(certificate),
        prices=certificate.shadow_prices(),
        binding=[str(row) for row in certificate.binding],
        measured=[*map(measured_contents, before), *measured],
        groups=groups,
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )


def _watch(
    classifiers: Sequence[Any], people: Mapping[str, People], positive: Any
) -> dict[str, Watched]:
    return {data: Watched(some, classifiers, positive) for data, some in people.items()}


def _measure(
    watched: Mapping[str, Watched],
    weights: Array,
    constraint: Constraint,
    model: Any,
    level: float,
    bound: float | None,
) -> tuple[list[MeasuredContents], dict[str, list[GroupContents]]]:
    measured, groups = [], {}
    level_found = getattr(getattr(model, "certificate_", None), "level", None)
    for data, people in watched.items():
        selected = people.selected(weights)
        (entry,) = measure(
            {data: Tally.of_people(people.cells, selected)},
            constraint,
            model.objective,
            level=level,
            lowest_level=0.0 if level_found is None else level_found[1],
            bound=bound,
        )
        measured.append(measured_contents(entry))
        groups[data] = people.table(selected, level)
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
