"""What fitted classifiers do to people: the numbers of a report, from decisions by cell."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.base import Constraint
from equipoise.constraints.moments import MomentsBuilder
from equipoise.engines import engine_for
from equipoise.estimators.base import absent_groups, overlap_of
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.results import remarks_of
from equipoise.game.certificate import Certificate
from equipoise.game.switches import Switched
from equipoise.metrics.audit import Tally
from equipoise.metrics.few import FEW_LIMIT, cells_of_few
from equipoise.metrics.measurement import Measured
from equipoise.metrics.verdict import verdict_on, worst_verdict
from equipoise.metrics.violations import Meter
from equipoise.oracles.trainers.base import is_constant
from equipoise.report.contents import MovedContents, PointContents, SwitchedContents
from equipoise.report.evaluation import Evaluation, on_frontier, on_model, switched_part
from equipoise.report.groups import (
    NOT_KNOWN,
    group_contents,
    switched_contents,
    unknown_remarks,
    with_predictive,
    without_labels,
)
from equipoise.report.measurement import MeasuredContents, Range, RowContents
from equipoise.rows.fingerprint import Overlap
from equipoise.rows.people import People

_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)

#: What is shown of a classifier, and of the unconstrained one, if that is known.
Shown = tuple[PointContents, PointContents | None]


def frontier_points(
    frontier: Frontier,
    people: Mapping[str, People],
    *,
    level: float,
    file: str,
    suppress_below: int = FEW_LIMIT,
) -> tuple[list[PointContents], PointContents]:
    """Return the points of a frontier and the unconstrained one, measured on these people."""
    return points_for_readers(frontier, people, level, file, [suppress_below])[0][0]


def points_for_readers(
    frontier: Frontier,
    people: Mapping[str, People],
    level: float,
    file: str,
    limits: Sequence[int],
) -> tuple[list[tuple[list[PointContents], PointContents]], dict[str, CellTable]]:
    """Return `frontier_points` for several limits of few people, and the cells of the people.

    Each person is asked about once.
    """
    traced = [*frontier.points_, frontier.unconstrained_]
    mixtures = [point.mixture for point in traced]
    evaluated = {data: on_frontier(frontier, data, some, mixtures) for data, some in people.items()}
    views = _views(frontier, frontier.constraint, people, frontier.cells_, level, limits)
    points: list[list[PointContents]] = [[] for _ in views]
    tables: dict[str, CellTable] = {}
    for point, mixture in zip(traced, mixtures, strict=True):
        free = not np.isfinite(point.eps)
        eps = 0.0 if free else float(point.eps)
        fit = {
            data: Tally.of_shares(frontier.cells_, mixture.shares(s))
            for data, s in frontier.shares_.items()
        }
        found = {data: next(some) for data, some in evaluated.items()}
        tables = {data: some.tally.cells for data, some in found.items()}
        for view, shown in zip(views, points, strict=True):
            if view is not views[0] and view.shows_as(views[0], tables.values()):
                shown.append(points[0][-1])
                continue
            contents = view.point(
                point.certificate,
                [frontier.pool_.classifiers[at] for at in mixture.indices],
                mixture.weights,
                fit,
                known=() if free else [data for data in fit if data not in people],
                bounds={"bound": eps},
                eps=None if free else eps,
                command="" if free else select_command(file, eps),
                python="" if free else f"equipoise.load({file!r}).at(eps={no_looser(eps)})",
            )
            contents = replace(contents, price=None if free else float(point.price))
            if not view.hides_in_fit:
                contents = replace(contents, disparity=float(point.disparity))
            shown.append(view.measured_on(contents, found, bound=eps))
    nothing: dict[str, Any] = {"prices": [], "binding": [], "remarks": [], "switched": {}}
    return [(shown[:-1], replace(shown[-1], **nothing)) for shown in points], tables


def model_points(
    model: FairClassifier,
    people: Mapping[str, People],
    *,
    level: float,
    file: str,
    suppress_below: int = FEW_LIMIT,
) -> Shown:
    """Return a single model and its unconstrained one, if known, measured on these people."""
    return model_for_readers(model, people, level, file, [suppress_below])[0][0]


def model_for_readers(
    model: FairClassifier,
    people: Mapping[str, People],
    level: float,
    file: str,
    limits: Sequence[int],
) -> tuple[list[Shown], dict[str, CellTable]]:
    """Return `model_points` for several limits of few people, and the cells of the people.

    Each person is asked about once.
    """
    cells = fitted_cells(model)
    views = _views(model, model.constraint_, people, cells, level, limits)
    found = {data: list(on_model(model, some)) for data, some in people.items()}
    tables = {data: some[0].tally.cells for data, some in found.items()}
    shown = [_of_model(model, views[0], found, file)]
    for view in views[1:]:
        alike = view.shows_as(views[0], tables.values())
        shown.append(shown[0] if alike else _of_model(model, view, found, file))
    return shown, tables


def _of_model(
    model: FairClassifier, view: _View, found: Mapping[str, Sequence[Evaluation]], file: str
) -> Shown:
    """Return what one view shows of a model and of its unconstrained one."""
    certificate, mixed = model.certificate_, model.classifier_
    worst = 0.0 if certificate.worst_rate is None else certificate.worst_rate[1]
    eps = model.constraint_.get_params().get("eps")
    point = view.point(
        certificate,
        mixed.members,
        mixed.weights,
        model.tallies_,
        known=[data for data in model.tallies_ if data not in found],
        bounds={"worst_rate": worst},
        eps=float(eps) if isinstance(eps, (int, float)) else None,
        command=f"equipoise predict {shlex.quote(file)} DATA",
        python=f"equipoise.load({file!r})",
    )
    proof = getattr(model, "proof_", None)
    if proof is not None:
        promise = proof.to_dict(view.limit)
        point = replace(point, promise=promise, remarks=[promise["text"], *point.remarks])
    one_bound = point.eps is not None and getattr(model.constraint_, "ratio", None) == 1
    bounds = {"worst_rate": worst, "bound": point.eps if one_bound else None}
    shown = view.measured_on(point, {data: some[0] for data, some in found.items()}, **bounds)
    if model.unconstrained_ is None or not found:
        return shown, None
    free = view.measured_on(
        PointContents(
            eps=None,
            error=None,
            members=[(repr(model.unconstrained_.classifier), 1.0)],
        ),
        {data: some[1] for data, some in found.items()},
        **bounds,
    )
    error = free.measured[0].error.estimate if free.measured else None
    return shown, replace(free, error=error, switched={}, remarks=[])


def _views(
    model: Frontier | FairClassifier,
    constraint: Constraint,
    people: Mapping[str, People],
    cells: CellTable,
    level: float,
    limits: Sequence[int],
) -> list[_View]:
    """Return a view for each limit; people are compared with those learned from once."""
    overlaps = {
        data: overlap_of(model, some)
        for data, some in people.items()
        if some.y is not None and (data == "test" or engine_for(some.X).is_local)
    }
    unlabelled = {data for data, some in people.items() if some.y is None}
    meters: dict[int, Meter] = {}
    about = (model, constraint, cells, level, overlaps, unlabelled, meters)
    return [_View(*about, limit) for limit in limits]


class _View:
    """What of a model's numbers is shown to a reader, and of whom they are.

    People in groups of fewer than ``limit`` are left out, 0 for nobody.
    """

    def __init__(
        self,
        model: Frontier | FairClassifier,
        constraint: Constraint,
        cells: CellTable,
        level: float,
        overlaps: Mapping[str, Overlap | None],
        unlabelled: set[str],
        meters: dict[int, Meter],
        limit: int,
    ) -> None:
        self.model, self.constraint, self.cells = model, constraint, cells
        self.level, self.limit = level, limit
        self.traced = isinstance(model, Frontier)
        self.overlaps, self.unlabelled = overlaps, unlabelled
        tallied = model.shares_ if isinstance(model, Frontier) else model.tallies_
        self.fit = next(iter(tallied))  #: What the data of the fit are called.
        self._parts: dict[int, tuple[CellTable, Mask, CellTable | None]] = {}
        self._meters = meters

    @property
    def hides_in_fit(self) -> bool:
        """Whether people learned from are left out."""
        return not self.part(self.cells)[0].all()

    def part(self, cells: CellTable) -> tuple[Mask, CellTable | None]:
        """Return the cells that are shown and their table; None if that is nobody's."""
        if id(cells) not in self._parts:
            inside = ~cells_of_few(cells, self.limit)
            table: CellTable | None = cells
            if not inside.all():
                table = cells.part(inside) if inside.any() and cells.is_plain else None
            self._parts[id(cells)] = cells, inside, table
        return self._parts[id(cells)][1:]

    def shows_as(self, other: _View, tables: Iterable[CellTable]) -> bool:
        """Whether people of these cells are left out as in another view, as a rule nobody."""
        return all(
            bool((self.part(cells)[0] == other.part(cells)[0]).all())
            for cells in (self.cells, *tables)
        )

    def meter(self, cells: CellTable, *, quiet: bool = False) -> Meter:
        """Return the meter of a table of cells, compiled once."""
        if id(cells) not in self._meters:
            with warnings.catch_warnings():
                if quiet:  # the table with everybody has warned of what is left out
                    warnings.simplefilter("ignore")
                objective = self.model.objective
                self._meters[id(cells)] = Meter(cells, self.constraint, objective, self.cells)
        return self._meters[id(cells)]

    def measured(self, data: str, tally: Tally, **bounds: Any) -> MeasuredContents | None:
        """Return what was measured on some data; None where nobody of them is shown."""
        inside, table = self.part(tally.cells)
        if table is None:
            return None
        meter = self.meter(tally.cells, quiet=tally.cells is self.cells)
        everybody = meter.measure(data, tally, level=self.level, **bounds)
        shown, people = everybody, meter.moments.people
        overlap = self.overlaps.get(data)
        if table is not tally.cells:
            meter = self.meter(table, quiet=True)
            shown = meter.measure(data, tally.part(inside, table), level=self.level, **bounds)
            overlap = None if overlap is None else overlap.without(everybody.people - shown.people)
        contents = measured_contents(
            shown,
            meter.moments.people,
            everybody,
            people,
            self.limit,
            overlap,
            traced=self.traced,
        )
        return replace(contents, error=NOT_KNOWN) if data in self.unlabelled else contents

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
        fit: Mapping[str, Tally],
        *,
        known: Sequence[str],
        bounds: Mapping[str, Any],
        **others: Any,
    ) -> PointContents:
        """Return a classifier with what its certificate says, and what is known from the fit.

        ``fit`` are the tallies of the fit, of which those called ``known`` are shown.
        """
        remarks = remarks_of(certificate, self.cells)
        binding = {str(row) for row in certificate.binding}
        disparity = None
        if self.hides_in_fit:
            data, tally = list(fit.items())[-1]
            found = self.measured(data, tally, **bounds)
            certificate = self._for_others(certificate, found)
            if found is not None and found.disparity is not None:
                disparity = found.disparity.estimate
        return PointContents(
            error=None if np.isnan(certificate.error) else float(certificate.error),
            disparity=disparity,
            members=[
                (self._described(member), float(weight))
                for member, weight in zip(members, weights, strict=True)
            ],
            certificate=certificate.to_dict(),
            prices=[(row.sentence(), price) for row, price in certificate.shadow_prices()],
            binding=[str(row) for row in certificate.rows if str(row) in binding],
            measured=[
                entry for data in known if (entry := self.measured(data, fit[data], **bounds))
            ],
            switched=self._switched({self.fit: certificate.switched}),
            remarks=[text for _, text in remarks],
            **others,
        )

    def _for_others(self, certificate: Certificate, found: MeasuredContents | None) -> Certificate:
        """Return a certificate that counts nobody in a group of few; ``found`` is of the fit."""
        inside, table = self.part(self.cells)
        switched, texts = None, set[str]()
        if certificate.switched is not None and table is not None:
            switched = switched_part(certificate.switched, inside, table)
        if table is not None:
            texts = {str(row) for row in self.meter(table, quiet=True).moments.rows}
        error = None if found is None else found.error.estimate
        return certificate.without_few(
            self.limit,
            rows=np.array([str(row) in texts for row in certificate.rows], dtype=bool),
            error=np.nan if error is None else error,
            share=float(self.cells.mass[inside].sum()),
            switched=switched,
        )

    def _switched(
        self, found: Mapping[str, Switched | None]
    ) -> dict[str, list[SwitchedContents | MovedContents]]:
        return {
            data: [*switched_contents(some, labelled=data not in self.unlabelled)]
            for data, some in found.items()
            if some is not None
        }

    def measured_on(
        self, point: PointContents, found: Mapping[str, Evaluation], **bounds: Any
    ) -> PointContents:
        """Return the point with what was found on each of the data."""
        measured = [self.measured(data, some.tally, **bounds) for data, some in found.items()]
        parts = {}
        for data, some in found.items():
            inside, table = self.part(some.tally.cells)
            if table is not None:
                parts[data] = some if table is some.tally.cells else some.part(inside, table)
        absent = [self._absent(some.tally.cells) for some in found.values()]
        tables = {data: with_predictive(some.audit, self.level) for data, some in parts.items()}
        groups = {data: group_contents(table) for data, table in tables.items()}
        for data in self.unlabelled & set(groups):
            groups[data] = [without_labels(group) for group in groups[data]]
        lines = [*point.remarks, *dict.fromkeys(text for text in absent if text)]
        if tables:
            lines += unknown_remarks(tables[list(tables)[-1]].unknown)
        return replace(
            point,
            measured=[*point.measured, *(entry for entry in measured if entry is not None)],
            groups=groups,
            switched=point.switched
            | self._switched({data: some.switched for data, some in parts.items()}),
            remarks=lines,
        )

    def _absent(self, cells: CellTable) -> str:
        """Return a sentence about groups of the fit that are absent, groups of few not named."""
        _, fit = self.part(self.cells)
        return "" if fit is None else absent_groups(fit, cells)


def measured_contents(
    shown: Measured,
    people: Array,
    everybody: Measured,
    people_of_all: Array,
    limit: int,
    overlap: Overlap | None = None,
    *,
    traced: bool = False,
) -> MeasuredContents:
    """Return a measurement as plain data; verdicts and the choice of the headline are of everybody.

    ``people`` and ``people_of_all`` are how many the rarest rate of each inequality is of.
    ``traced`` where it is of a point of a frontier.
    """
    judged = {
        str(row): verdict_on(interval, min(count, everybody.people))
        for (row, interval), count in zip(everybody.rows, people_of_all, strict=True)
    }
    rows = []
    for (row, interval), count in zip(shown.rows, people, strict=True):
        number = int(min(count, shown.people))
        verdict = judged.get(str(row)) or verdict_on(interval, number)
        rows.append(RowContents(str(row), Range.of(*interval), number, str(verdict)))
    names = [row.text for row in rows]
    worst = worst_verdict(judged.values())
    told = worst_verdict(judged[name] for name in names if name in judged)
    headlines = [found.headline for found in (everybody, shown) if found.headline is not None]
    texts = [text for found in headlines if (text := str(found.row)) in names]
    stated = everybody.largest if traced else everybody.headline
    excess = Range.of(*shown.excess)
    return MeasuredContents(
        data=shown.data,
        people=int(shown.people),
        error=Range.of(*shown.error),
        excess=excess,
        disparity=None if shown.bound is None else excess.above(shown.bound),
        worst=str(shown.worst or ""),
        rows=rows,
        overlap=overlap,
        hidden=len(set(judged) - set(names)),
        headline=rows[names.index(texts[0])] if texts else None,
        bound=shown.bound,
        verdict=str(told) if told.answer is worst.answer else worst.in_words(limit),
        traced=traced,
        larger_for_few=stated is not None and str(stated.row) not in names,
    )


def fitted_cells(model: Any) -> CellTable:
    """Return the cells of the people learned from."""
    if not hasattr(model, "tallies_"):
        return model.cells_
    return model.tallies_["training" if "training" in model.tallies_ else "recertified"].cells


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
