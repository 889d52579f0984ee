"""The report page and the model card of a regressor: losses and distributions by group."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from equipoise.estimators.base import absent_groups, overlap_of
from equipoise.estimators.regression.base import remarks_on_numbers
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.regressor import FairRegressor
from equipoise.files.manifest import date_made, versions
from equipoise.metrics.few import cells_of_few, left_out
from equipoise.oracles.regression import ConstantRegressor
from equipoise.report.chart import Axis, Plot
from equipoise.report.measurement import finite
from equipoise.report.plain_data import made
from equipoise.report.templates import markdown_template, page_template
from equipoise.report.text import number, who_are
from equipoise.rows.people import People


@dataclass(frozen=True)
class LossesOfGroup:
    """What a regressor does to a group."""

    group: str
    people: int
    loss: float
    mean_prediction: float
    difference: float


@dataclass(frozen=True)
class RegressionPoint:
    """A regressor for one bound.

    ``largest`` is what was measured of the constraint on the data of the fit: with parity the
    largest difference at the thresholds, and ``exact`` the one at any threshold, None where that is
    not known; else the largest loss of a group.
    """

    eps: float | None
    loss: float | None
    largest: float | None
    exact: float | None
    gap: float | None
    status: str
    certificate: str
    members: list[tuple[str, float]]
    groups: dict[str, list[LossesOfGroup]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    free_loss: float | None = None  #: Without the constraint, on the data of the fit.

    def worst(self, data: str) -> float:
        """Return the largest difference of a group on some data."""
        return max(group.difference for group in self.groups[data])


@dataclass(frozen=True, repr=False)
class RegressionContents:
    """What the page and the card of a regressor show; in a notebook, the page itself.

    ``who`` says of the people of each data whether they were learned from; ``fingerprint`` is a
    hash of the table that was.
    """

    kind: str  #: "frontier" or "model".
    title: str
    source: str
    label: str
    rows: dict[str, int]
    constraint: str
    asks: str
    formula: str
    loss: str
    thresholds: int
    learner: str
    constant_loss: float | None
    points: list[RegressionPoint]
    suppress_below: int
    date: str
    versions: dict[str, str]
    file: str = "model.equipoise"
    command: str = ""
    notes: list[str] = field(default_factory=list)
    task: str = "regression"
    who: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    seed: int | None = None
    leaves_out: bool = False  #: Whether people in groups of fewer than ``suppress_below`` are.

    def __repr__(self) -> str:
        return f"<RegressionContents: {self.title}>"

    def _repr_html_(self) -> str:
        from equipoise.report.page import inline

        return inline(self)

    def in_order(self, order: Mapping[str, Sequence[str]]) -> Self:
        """Return the contents: groups are in their order already."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return the contents that `to_dict` has written."""
        return made(cls, given)

    @property
    def is_parity(self) -> bool:
        """Whether groups are compared at thresholds."""
        return self.constraint.startswith("DemographicParity")

    @property
    def draws(self) -> str:
        """Whether predictions are drawn, in a sentence."""
        if all(len(point.members) == 1 for point in self.points):
            return "One model predicts for everybody; nothing is drawn."
        return (
            "Predictions are drawn: each person follows one member, by a hash of the row or of a "
            "key, the same in every batch. Numbers are expected over the draw."
        )

    @property
    def sentences(self) -> list[str]:
        """What the model does to whom, with groups by name; of a frontier, the bound in the middle.

        On the test data where there are some.
        """
        point = self.points[len(self.points) // 2]
        few = [left_out(self.suppress_below)] if self.leaves_out else []
        if not point.groups:
            return few
        data = list(point.groups)[-1]
        everybody, *groups = point.groups[data]
        name = "Loss" if point.eps is None else f"For the bound {number(point.eps)}: loss"
        lines = [f"{name} {number(everybody.loss)} of {self.rows[data]:,} people, {data} data."]
        if point.free_loss is not None:
            lines.append(
                f"Without the constraint the loss is {number(point.free_loss)} on the people of "
                f"the fit, where the model has {number(point.loss)}."
            )
        if groups:
            high = max(groups, key=lambda group: group.loss)
            low = min(groups, key=lambda group: group.loss)
            lines.append(
                f"The mean loss is largest for {high.group} ({number(high.loss)}, "
                f"{high.people:,} people), least for {low.group} ({number(low.loss)}, "
                f"{low.people:,} people)."
            )
            far = max(groups, key=lambda group: group.difference)
            lines.append(
                f"The share of predictions at or above some threshold differs most from "
                f"everybody's for {far.group}: by {number(far.difference)}, of {far.people:,} "
                "people. Chance is not counted in."
            )
        return [" ".join(lines), *few]

    @property
    def chart(self) -> LossChart | None:
        """The picture of a frontier of parity; None for one model."""
        found = LossChart(self)
        return found if self.is_parity and len(self.points) > 1 and found.lines else None


class LossChart(Plot):
    """Loss against the largest difference of a group, for every bound and on all data."""

    measured, measure = "largest difference, at any threshold", "loss"

    def __init__(self, contents: RegressionContents) -> None:
        self.title = f"{contents.title}: loss against the largest difference of a group"
        self.marks = {
            data: [(point.worst(data), point.groups[data][0].loss) for point in contents.points]
            for data in contents.points[0].groups
        }
        every = [mark for marks in self.marks.values() for mark in marks] or [(0.0, 0.0)]
        self.across = Axis.over([x for x, _ in every], self.left, self.right, ratios=True)
        self.up = Axis.over([y for _, y in every], self.bottom, self.top)

    @property
    def lines(self) -> list[tuple[str, str, list[tuple[float, float]]]]:
        """Data, class of their marks, and places."""
        kinds = {"training": "train", "test": "test"}
        return [
            (
                data,
                kinds.get(data, "fold"),
                [(self.across.place(x), self.up.place(y)) for x, y in m],
            )
            for data, m in self.marks.items()
        ]


def regression_contents(
    model: FairRegressor | RegressionFrontier,
    people: Mapping[str, People],
    *,
    source: str,
    label: str,
    file: str,
    suppress_below: int,
    seed: int | None,
) -> RegressionContents:
    """Return what a page shows about a fitted regressor, or frontier, measured on these people."""
    traced = isinstance(model, RegressionFrontier)
    models = [model.at(point.eps) for point in model.points_] if traced else [model]
    first = models[0]
    constraint = model.constraint if traced else first.constraint_
    shown = {data: people_without_few(first, some, suppress_below) for data, some in people.items()}
    parts = {data: some for data, some in shown.items() if some is not None}
    in_fit = bool(cells_of_few(first.cells_, suppress_below).any())
    return RegressionContents(
        kind="frontier" if traced else "model",
        title=f"{first.constraint_.name.replace('error', 'loss')} of {label} in {source}",
        source=source,
        label=label,
        rows={data: len(some.y) for data, some in parts.items()},
        constraint=repr(constraint),
        asks=first.constraint_.asks,
        formula=first.constraint_.formula,
        loss=model.loss if isinstance(model.loss, str) else "a function of one's own",
        thresholds=len(first.thresholds_),
        learner=repr(model.estimator),
        constant_loss=None if in_fit else float(first.constant_loss_),
        points=[_point(each, parts, suppress_below) for each in models],
        suppress_below=suppress_below,
        date=date_made(),
        versions=versions(),
        file=file,
        who={
            data: who_are(data, None if data == "training" else overlap_of(model, some))
            for data, some in parts.items()
        },
        fingerprint="" if model.people_ is None else model.people_.digest,
        seed=seed,
        leaves_out=in_fit or any(parts.get(data) is not some for data, some in people.items()),
    )


def people_without_few(model: FairRegressor, people: People, limit: int) -> People | None:
    """Return the people who are in no group of fewer than the limit; None where nobody is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells, _ = people.by(model.cells_.rules).read_numbers()
    few = cells_of_few(cells.table(), limit)
    if not few.any():
        return people
    rows = np.flatnonzero(~few[cells.code])
    return people.take(rows) if len(rows) > 1 else None


def _point(model: FairRegressor, people: Mapping[str, People], limit: int) -> RegressionPoint:
    certificate = model.certificate_
    params = model.constraint_.get_params()
    bound = params.get("eps", params.get("bound"))
    groups = {data: _groups(model, some) for data, some in people.items()}
    mixed, evidence = model.regressor_, certificate.evidence
    game = None if evidence is None else evidence.lagrangian
    constant = all(isinstance(member, ConstantRegressor) for member in mixed.members)
    remarks = [remark for _, remark in remarks_on_numbers(game, model.cells_, constant)]
    remarks += filter(None, (_absent(model, some) for some in people.values()))
    few = cells_of_few(model.cells_, limit)
    loss, exact = float(certificate.error), finite(model.exact_difference_)
    largest = float(certificate.gamma.max()) if len(certificate.gamma) else None
    if few.any():  # what the certificate counts is of everybody
        fit = groups.get("training")
        loss = np.nan if fit is None else fit[0].loss
        largest, exact = None, None
        nothing = np.zeros(len(certificate.rows), dtype=bool)
        share = float(model.cells_.mass[~few].sum())
        certificate = certificate.without_few(
            limit, rows=nothing, error=loss, share=share, switched=None
        )
    return RegressionPoint(
        eps=float(bound) if isinstance(bound, (int, float)) else None,
        loss=finite(loss),
        largest=largest,
        exact=exact,
        gap=finite(certificate.gap),
        status=certificate.verdict,
        certificate=str(certificate),
        members=[(repr(m), float(w)) for m, w in zip(mixed.members, mixed.weights, strict=True)],
        groups=groups,
        remarks=remarks,
        free_loss=finite(certificate.free_error),
    )


def _absent(model: FairRegressor, people: People) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return absent_groups(model.cells_, people.by(model.cells_.rules).read_numbers()[0])


def _groups(model: FairRegressor, people: People) -> list[LossesOfGroup]:
    """Return the groups of some people; with control features these are over all strata."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `measure` warns of absent groups
        groups = model.by_group(
            people.X,
            people.y,
            sensitive_features=people.sensitive_features,
            control_features=people.control_features,
            sample_weight=people.sample_weight,
        )
    return [LossesOfGroup(*group) for group in groups]


def render_regression(contents: RegressionContents) -> bytes:
    """Return the page: one HTML file that needs no network and, to be read, no script."""
    text = page_template("regression.html.j2").render(contents=contents)
    return text.encode("utf-8", errors="replace")


def regression_card(contents: RegressionContents) -> str:
    """Return the model card as Markdown."""
    return markdown_template("regression_card.md.j2").render(
        contents=contents, number=number, left_out=left_out
    )
