"""What fitted classifiers do to people: the numbers of a report, from decisions by cell."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from equipoise.cells.table import Array, CellTable
from equipoise.constraints.base import Constraint
from equipoise.constraints.groups import group_name
from equipoise.constraints.moments import MomentsBuilder
from equipoise.constraints.rows import Row
from equipoise.engines import engine_for
from equipoise.estimators.base import absent_groups, overlap_of
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.results import remarks_of
from equipoise.game.certificate import Certificate
from equipoise.game.lagrangian import TOLERANCE
from equipoise.game.switches import Switched
from equipoise.metrics.headline import first_row
from equipoise.metrics.measurement import Measured
from equipoise.metrics.small_groups import SUPPRESS_BELOW
from equipoise.metrics.summaries import FEW
from equipoise.metrics.violations import largest, measure
from equipoise.oracles.trainers.base import is_constant
from equipoise.report.contents import MovedContents, PointContents, SwitchedContents
from equipoise.report.evaluation import Evaluation, on_frontier, on_model
from equipoise.report.groups import (
    NOT_KNOWN,
    group_contents,
    switched_contents,
    unknown_remarks,
    with_predictive,
    without_labels,
)
from equipoise.report.measurement import MeasuredContents, Range, RowContents
from equipoise.report.suppression import RowFacts
from equipoise.rows.fingerprint import Overlap
from equipoise.rows.people import People

_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


def frontier_points(
    frontier: Frontier,
    people: Mapping[str, People],
    *,
    level: float,
    file: str,
    suppress_below: int = SUPPRESS_BELOW,
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    traced = [*frontier.points_, frontier.unconstrained_]
    mixtures = [point.mixture for point in traced]
    evaluated = {data: on_frontier(frontier, data, some, mixtures) for data, some in people.items()}
    known = [entry for entry in frontier.report(level=level) if entry.data not in people]
    view = _View(frontier, frontier.constraint, people, frontier.cells_, level, suppress_below)
    points = []
    for point, mixture in zip(traced, mixtures, strict=True):
        free = not np.isfinite(point.eps)
        eps = 0.0 if free else float(point.eps)
        shown = view.point(
            point.certificate,
            [frontier.pool_.classifiers[at] for at in mixture.indices],
            mixture.weights,
            [entry for entry in known if not free and entry.bound == point.eps],
            eps=None if free else eps,
            command="" if free else select_command(file, eps),
            python="" if free else f"equipoise.load({file!r}).at(eps={no_looser(eps)})",
        )
        shown = replace(
            shown,
            disparity=float(point.disparity),
            price=None if free else float(point.price),
        )
        found = {data: next(some) for data, some in evaluated.items()}
        points.append(view.measured_on(shown, found, bound=eps))
    nothing: dict[str, Any] = {"prices": [], "binding": [], "remarks": [], "switched": {}}
    return points[:-1], replace(points[-1], **nothing)


def model_points(
    model: FairClassifier,
    people: Mapping[str, People],
    *,
    level: float,
    file: str,
    suppress_below: int = SUPPRESS_BELOW,
    min_people: int = FEW,
) -> tuple[PointContents, PointContents | None]:
    """Return a single model and its unconstrained one, if known, measured on these people.

    Rates of fewer than ``min_people`` prove nothing.
    """
    certificate, mixed = model.certificate_, model.classifier_
    cells = model.tallies_["training" if "training" in model.tallies_ else "recertified"].cells
    view = _View(model, model.constraint_, people, cells, level, suppress_below, min_people)
    eps = model.constraint_.get_params().get("eps")
    point = view.point(
        certificate,
        mixed.members,
        mixed.weights,
        [entry for entry in model.report(level=level) if entry.data not in people],
        eps=float(eps) if isinstance(eps, (int, float)) else None,
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )
    found = {data: list(on_model(model, some)) for data, some in people.items()}
    worst = 0.0 if certificate.worst_rate is None else certificate.worst_rate[1]
    proof = getattr(model, "proof_", None)
    if proof is not None:
        promise = proof.to_dict(suppress_below)
        point = replace(point, promise=promise, remarks=[promise["text"], *point.remarks])
    one_bound = point.eps is not None and getattr(model.constraint_, "ratio", None) == 1
    bounds = {"worst_rate": worst, "bound": point.eps if one_bound else None}
    shown = view.measured_on(point, {data: some[0] for data, some in found.items()}, **bounds)
    if model.unconstrained_ is None or not people:
        return shown, None
    free = view.measured_on(
        PointContents(
            eps=None,
            error=np.nan,
            members=[(repr(model.unconstrained_.classifier), 1.0)],
        ),
        {data: some[1] for data, some in found.items()},
        **bounds,
    )
    error = free.measured[0].error.estimate if free.measured else None
    return shown, replace(free, error=np.nan if error is None else error, switched={}, remarks=[])


class _View:
    """What of a model's numbers may be shown, and of whom they are."""

    def __init__(
        self,
        model: Frontier | FairClassifier,
        constraint: Constraint,
        people: Mapping[str, People],
        cells: CellTable,
        level: float,
        least: int,
        min_people: int = FEW,
    ) -> None:
        self.model, self.constraint, self.cells = model, constraint, cells
        self.level, self.least, self.min_people = level, least, min_people
        self.traced = isinstance(model, Frontier)
        tallied = model.shares_ if isinstance(model, Frontier) else model.tallies_
        self.fit = next(iter(tallied))  #: What the data of the fit are called.
        self.overlaps = {
            data: overlap_of(model, some)
            for data, some in people.items()
            if some.y is not None and (data == "test" or engine_for(some.X).is_local)
        }
        self.unlabelled = {data for data, some in people.items() if some.y is None}
        self._facts: dict[int, tuple[CellTable, RowFacts]] = {}

    def facts(self, cells: CellTable) -> RowFacts:
        """Return what is known of the inequalities over these cells; looked up once."""
        if id(cells) not in self._facts:
            self._facts[id(cells)] = (
                cells,
                RowFacts.of(self.constraint, cells, self.cells, self.least),
            )
        return self._facts[id(cells)][1]

    def _described(self, member: Any) -> str:
        """Return what a member is, and of one that decides the same for everybody what."""
        if is_constant(member):
            return f"{self.model.classes_[member.constant]} for everybody"
        return repr(member)

    def point(
        self,
        certificate: Certificate,
        members: Sequence[Any],
        weights: Array,
        known: Sequence[Measured],
        **others: Any,
    ) -> PointContents:
        """Return a classifier with what its certificate says, and what is known from the fit."""
        facts = self.facts(self.cells)
        rows = {row for row in certificate.rows if str(row) in facts.names}
        remarks = remarks_of(certificate, self.cells)
        return PointContents(
            error=float(certificate.error),
            members=[
                (self._described(member), float(weight))
                for member, weight in zip(members, weights, strict=True)
            ],
            certificate=_certificate(certificate, rows, self.least),
            prices=[
                (row.sentence(), price)
                for row, price in certificate.shadow_prices()
                if row not in rows
            ],
            binding=[str(row) for row in certificate.binding if row not in rows],
            measured=[measured_contents(entry, facts, traced=self.traced) for entry in known],
            switched=self._switched({self.fit: certificate.switched}),
            remarks=[text for _, text in remarks],
            **others,
        )

    def _switched(
        self, found: Mapping[str, Switched | None]
    ) -> dict[str, list[SwitchedContents | MovedContents]]:
        return {
            data: [*switched_contents(some, self.least, labelled=data not in self.unlabelled)]
            for data, some in found.items()
            if some is not None
        }

    def measured_on(
        self, point: PointContents, found: Mapping[str, Evaluation], **bounds: Any
    ) -> PointContents:
        """Return the point with what was found on each of the data."""
        entries = measure(
            {data: some.tally for data, some in found.items()},
            self.constraint,
            self.model.objective,
            level=self.level,
            known=self.cells,
            **bounds,
        )
        measured = [
            measured_contents(
                entry,
                self.facts(found[entry.data].tally.cells),
                self.overlaps.get(entry.data),
                self.min_people,
                traced=self.traced,
            )
            for entry in entries
        ]
        measured = [
            replace(entry, error=NOT_KNOWN) if entry.data in self.unlabelled else entry
            for entry in measured
        ]
        absent = [absent_groups(self.cells, some.tally.cells) for some in found.values()]
        tables = {data: with_predictive(some.audit, self.level) for data, some in found.items()}
        groups = {data: group_contents(table, self.least) for data, table in tables.items()}
        for data in self.unlabelled:
            groups[data] = [without_labels(group) for group in groups[data]]
        lines = [*point.remarks, *dict.fromkeys(text for text in absent if text)]
        if found:
            last = list(found)[-1]
            lines += unknown_remarks(tables[last].unknown, groups[last])
        return replace(
            point,
            measured=[*point.measured, *measured],
            groups=groups,
            switched=point.switched
            | self._switched({data: some.switched for data, some in found.items()}),
            remarks=lines,
        )


def _certificate(certificate: Certificate, hidden: Collection[Row], least: int) -> dict[str, Any]:
    """Return a certificate as plain data, without lines about suppressed inequalities."""
    contents = certificate.to_dict()
    names = [str(row) for row in hidden]
    about = [group_name(row.group) for row in hidden if row.group is not None]
    names += [f"; {name} {does}" for name in about for does in ("limits", "is dearest")]
    lines = contents["text"].splitlines()
    shown = [line for line in lines if not any(name in line for name in names)]
    if len(shown) < len(lines):
        left_out = len(lines) - len(shown)
        some, are = ("1 line", "is") if left_out == 1 else (f"{left_out} lines", "are")
        shown.append(
            f"{some} about groups of fewer than {least} people, or that would tell of them, {are} "
            "left out"
        )
    kept = [str(row) for row in certificate.conflict if row not in hidden]
    return {**contents, "text": "\n".join(shown), "conflict": kept}


def measured_contents(
    entry: Measured,
    facts: RowFacts,
    overlap: Overlap | None = None,
    min_people: int = FEW,
    *,
    traced: bool = False,
) -> MeasuredContents:
    """Return a measurement as plain data, over what is not suppressed.

    ``traced`` where it is of a point of a frontier.
    """
    pairs = list(zip(entry.rows, facts.people, facts.hidden, strict=True))
    hidden = [(interval, people) for (_, interval), people, hide in pairs if hide]
    rows = [
        RowContents(str(row), Range.of(*interval), int(min(people, entry.people)))
        for (row, interval), people, hide in pairs
        if not hide
    ]
    excess, worst = largest(pair for pair, _, hide in pairs if not hide)
    at = first_row([pair for pair, _, hide in pairs if not hide], [row.people for row in rows])
    bound = entry.bound
    return MeasuredContents(
        data=entry.data,
        people=int(entry.people),
        error=Range.of(*entry.error),
        excess=Range.of(*excess),
        disparity=None if bound is None else Range.of(*excess).above(bound),
        worst=str(worst or ""),
        rows=rows,
        overlap=overlap,
        hidden=len(hidden),
        hidden_exceeded=sum(bool(each.estimate > TOLERANCE) for each, _ in hidden),
        hidden_certain=sum(bool(each.low > 0 and n >= min_people) for each, n in hidden),
        headline=None if at is None else rows[at],
        bound=bound,
        traced=traced,
    )


def needs_labels(constraint: Constraint, cells: CellTable) -> bool:
    """Return whether the inequalities of a constraint change if all labels are others.

    >>> from equipoise import DemographicParity, EqualizedOdds
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]}).table()
    >>> needs_labels(DemographicParity(), cells), needs_labels(EqualizedOdds(), cells)
    (False, True)
    """
    averaged = []
    for table in (cells, replace(cells, label=(cells.label + 1) % cells.n_decisions)):
        builder = MomentsBuilder(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has warned of what is left out
            constraint.add_rows(builder)
        averaged.append(
            [(event.tobytes(), np.asarray(g).tobytes()) for event, g in builder.averaged]
        )
    return averaged[0] != averaged[1]


def select_command(file: str, eps: float) -> str:
    """Return the command that picks the classifier of a bound.

    >>> select_command("my frontier.equipoise", 0.02)
    "equipoise at 'my frontier.equipoise' --eps 0.02 --output model.equipoise"
    """
    # A file is never overwritten by the model that was taken from it.
    output = "chosen.equipoise" if file == "model.equipoise" else "model.equipoise"
    return f"equipoise at {shlex.quote(file)} --eps {no_looser(eps)} --output {output}"


def no_looser(eps: float) -> str:
    """Return a bound in six digits that is never above it.

    >>> no_looser(0.01128838), no_looser(0.02)
    ('0.0112883', '0.02')
    """
    return f"{float(_SIX_DIGITS.create_decimal(repr(float(eps)))):.6g}"
