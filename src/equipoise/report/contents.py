"""What a report page shows, as plain data: made once, drawn and written by others.

All text in it (names of files, columns, groups, labels) is as it came from users and files.
Whoever writes a page must escape it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import CellTable
from equipoise.game.evidence import Scope, Status
from equipoise.metrics.few import FEW_LIMIT, cells_of_few
from equipoise.metrics.predictive import PREDICTIVE
from equipoise.metrics.unknown import Bounds
from equipoise.report.measurement import MeasuredContents, Range
from equipoise.report.plain_data import in_order, made

#: The rates that are shown for every group; the first is of labels, the others of decisions.
RATES = ("base_rate", "selection_rate", "true_positive_rate", "false_positive_rate", "error_rate")
#: Rates of labels given the decision.
PREDICTIVE_RATES = tuple(rate.column for rate in PREDICTIVE)


@dataclass(frozen=True)
class GroupContents:
    """What happens to one group: its size and its rates, with intervals that hold one by one.

    ``feature`` is the column that makes the group, "a x b" for combinations, "" for everybody.
    ``rates`` has the names `RATES` and, of decisions, `PREDICTIVE_RATES`; of more than two these
    are of each decision against the others, such as "selection_rate[refer]". Where the group of
    some people is unknown, ``worst`` has the ends of what each rate may be whatever their groups
    are, and ``within_odds`` under an odds ratio.
    """

    feature: str
    group: str
    count: int
    rates: dict[str, Range]
    worst: dict[str, Bounds] = field(default_factory=dict)
    within_odds: dict[str, Bounds] = field(default_factory=dict)


@dataclass(frozen=True)
class SwitchedContents:
    """Decisions about people of one group and label that differ from the unconstrained model's.

    ``gained`` and ``lost`` the favourable decision, as many as expected over the draw of a
    randomized classifier. ``label`` is 1 for the favourable label, 0 for the other, and None where
    labels are not known.
    """

    feature: str
    group: str
    label: int | None
    people: int
    gained: float
    lost: float


@dataclass(frozen=True)
class MovedContents:
    """People of one group whom the unconstrained model gives another of more than two decisions.

    It decides ``before``, this one ``after``, about as many as ``switched`` of ``people``, as
    expected over the draw of a randomized classifier. Both are None in the one row of a group that
    nobody moves in.
    """

    feature: str
    group: str
    people: int
    before: str | None
    after: str | None
    switched: float


@dataclass(frozen=True)
class PointContents:
    """One classifier: a point of the frontier, a single model, or the unconstrained one.

    ``eps`` is None for the unconstrained one, and for models without one bound. ``members`` are
    the classifiers that are mixed, in words, and their weights. ``prices`` are inequalities, in
    words, and what loosening each by 0.01 saves in error, at most. ``certificate`` is what
    `Certificate.to_dict` returns. ``groups`` and ``switched``, decisions that differ from the
    unconstrained model's, are by the name of the data that they were measured on.
    ``command`` and ``python`` select this classifier. ``remarks`` are sentences about what is
    easily overlooked. ``promise`` is what `Proof.to_dict` returns, None where nothing was to be
    proven for people who were not seen.
    """

    eps: float | None
    error: float | None
    disparity: float | None = None
    price: float | None = None
    members: list[tuple[str, float]] = field(default_factory=list)
    certificate: dict[str, Any] = field(default_factory=dict)
    prices: list[tuple[str, float]] = field(default_factory=list)
    binding: list[str] = field(default_factory=list)
    measured: list[MeasuredContents] = field(default_factory=list)
    groups: dict[str, list[GroupContents]] = field(default_factory=dict)
    switched: dict[str, list[SwitchedContents | MovedContents]] = field(default_factory=dict)
    command: str = ""
    python: str = ""
    remarks: list[str] = field(default_factory=list)
    promise: dict[str, Any] | None = None

    def in_order(self, order: Mapping[str, Sequence[str]]) -> PointContents:
        """Return the point with its groups in order, see `in_order`."""
        groups = {data: in_order(some, order) for data, some in self.groups.items()}
        switched = {data: in_order(some, order) for data, some in self.switched.items()}
        return replace(self, groups=groups, switched=switched)

    def on(self, data: str) -> MeasuredContents | None:
        """Return the measurements on these data, None if there are none."""
        return next((entry for entry in self.measured if entry.data == data), None)

    @property
    def status(self) -> Status:
        """Whether the bound is met, proven impossible, or not met yet."""
        return Status(self.certificate.get("status", Status.MET.value))

    @property
    def scope(self) -> Scope:
        """Whom what was proven is relative to."""
        return Scope(self.certificate.get("scope", Scope.ORACLE.value))

    @property
    def is_met(self) -> bool:
        """Whether the bound is met on the data of the fit."""
        return self.status is Status.MET

    @property
    def proof(self) -> str:
        """What was proven about this point, in a few words."""
        if not self.is_met:
            return self.status.value
        return "gap closed" if self.certificate.get("gap_closed") else "gap open"

    @property
    def main_data(self) -> str:
        """The data that count most: others than those of the fit, if there are any."""
        names = [entry.data for entry in self.measured] or ["training"]
        return next((name for name in ("test", "out of fold") if name in names), names[0])

    @property
    def group_data(self) -> list[str]:
        """The data that groups were measured on, those that count most first."""
        return sorted(self.groups, key=lambda data: data != self.main_data)

    @property
    def switched_data(self) -> list[str]:
        """The data that switched decisions were counted on, those that count most first."""
        return sorted(self.switched, key=lambda data: data != self.main_data)


@dataclass(frozen=True)
class ColumnContents:
    """How a column of the table was read.

    ``role`` is "label", "group", "control", "weight", "feature", "group, feature" or "left out",
    ``kind`` what its values are taken for, ``missing`` how many there are not. ``values`` counts
    the different values of a category, None where that is not known.
    """

    name: str
    role: str
    kind: str
    missing: int = 0
    values: int | None = None


@dataclass(frozen=True)
class DataContents:
    """The data: where from, how many, and which columns are what.

    ``labels`` are the unfavourable and the favourable label, and ``base_rate`` the share of people
    who have the latter; or they are more than two, in order, and it is the share of each; None
    where nobody is shown. Rows and shares are of the people shown, see `equipoise.metrics.few`.
    ``columns`` tells how each column was read, ``format`` how the file was written.
    ``fingerprint`` is a hash of the table that was learned from.
    """

    source: str
    rows: int
    train_rows: int
    test_rows: int
    label: str
    labels: tuple[str, ...]
    base_rate: float | list[float] | None
    sensitive: list[str]
    control: list[str]
    weight: str | None
    columns: list[ColumnContents] = field(default_factory=list)
    format: str = ""
    fingerprint: str = ""

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions where there are more than two; empty of two, one of which is favourable."""
        return self.labels if len(self.labels) > 2 else ()

    @property
    def label_shares(self) -> list[tuple[str, float]]:
        """More than two labels, and the share of the people who have each."""
        shares = self.base_rate if isinstance(self.base_rate, list) else []
        return list(zip(self.decisions, shares, strict=True))

    def without_few(self, people: Mapping[str, CellTable], limit: int) -> DataContents:
        """Return the data without people in groups of fewer than the limit.

        ``people`` are the cells of some of the data, by name: of those the numbers change.
        """
        inside = {name: ~cells_of_few(cells, limit) for name, cells in people.items()}
        few = {name: int(people[name].count[~mask].sum()) for name, mask in inside.items()}
        if not any(few.values()):
            return self
        rate, rows = self.base_rate, self.rows
        if sum(cells.n_examples for cells in people.values()) == rows:
            rate = _base_rate([cells.part(inside[name]) for name, cells in people.items()])
            rows -= sum(few.values())
        return replace(
            self,
            rows=rows,
            train_rows=self.train_rows - few.get("training", 0),
            test_rows=self.test_rows - few.get("test", 0),
            base_rate=rate,
        )

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [column.name for column in self.columns if "feature" in column.role]

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> DataContents:
        """Return the contents that `dataclasses.asdict` made a dictionary of."""
        return made(cls, given)


def _base_rate(tables: Sequence[CellTable]) -> float | list[float] | None:
    """Return the share of the second of two labels among people in cells; of more, of each.

    None where there is nobody.
    """
    labels = [np.bincount(cells.label, cells.mass, cells.n_decisions) for cells in tables]
    weights = [cells.total_weight for cells in tables]
    if not sum(weights):
        return None
    shares = np.average(labels, axis=0, weights=weights)
    return shares.tolist() if len(shares) > 2 else float(shares[1])


def base_rate(y: NDArray, classes: Iterable[Any], weight: Any = None) -> Any:
    """Return the share of the second of two labels; of more, that of each."""
    shares = [float(np.average(y == label, weights=weight)) for label in classes]
    return shares if len(shares) > 2 else shares[1]


@dataclass(frozen=True)
class ConstraintContents:
    """The constraint: its name, its code, and in words what it asks and what it does not."""

    name: str
    code: str
    asks: str
    formula: str
    explanation: list[str]


@dataclass(frozen=True)
class AuditContents:
    """What was found about labels or predictions of others: rates by group, and disparities.

    ``disparities`` are chosen by the limits of intervals: name, value, words. ``between`` says by
    name which groups each is between, and their sizes; ``by_estimate`` is the one of the largest
    estimate, in words, where that is between others.
    """

    decisions: str
    groups: list[GroupContents]
    disparities: list[tuple[str, Range, str]]
    between: dict[str, str] = field(default_factory=dict)
    by_estimate: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class ReportContents:
    """All that a report page shows; in a notebook, the page itself.

    Attributes
    ----------
    kind : "frontier", "model" or "audit"
    title : str
    data : DataContents
    constraint : ConstraintContents or None
        None for an audit.
    learner : str
    objective : str
        What "error" is on the page; empty for the share of wrong decisions.
    points : list of PointContents
        Tightest bound first; one for a model, none for an audit.
    unconstrained : PointContents or None
    audit : AuditContents or None
    level : float
        Level of all intervals.
    command : str
        The command that made the page.
    file : str
        The name of the model file that commands of points refer to.
    versions : dict from library to version
    date : str
        When the page was made.
    seed : int or None
        Of the split, the learner and the draws.
    suppress_below : int
        People in groups of fewer are left out; 0 for nobody.
    leaves_out : bool
        Whether there are such people.
    notes : list of str
        What the commands warned of.

    Examples
    --------
    >>> data = DataContents("a.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None)
    >>> contents = ReportContents("audit", "Audit of a.csv", data)
    >>> ReportContents.from_dict(contents.to_dict()) == contents
    True
    """

    kind: str
    title: str
    data: DataContents
    constraint: ConstraintContents | None = None
    learner: str = ""
    objective: str = ""
    points: list[PointContents] = field(default_factory=list)
    unconstrained: PointContents | None = None
    audit: AuditContents | None = None
    level: float = 0.95
    command: str = ""
    file: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""
    seed: int | None = None
    suppress_below: int = FEW_LIMIT
    leaves_out: bool = False
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<ReportContents: {self.title}>"

    def _repr_html_(self) -> str:
        from equipoise.report.page import inline

        return inline(self)

    @property
    def all_points(self) -> list[PointContents]:
        """The points, and the unconstrained one last."""
        return [*self.points, *([] if self.unconstrained is None else [self.unconstrained])]

    def in_order(self, order: Mapping[str, Sequence[str]]) -> ReportContents:
        """Return the contents with groups in order, see `in_order`."""
        free = self.unconstrained
        return replace(
            self,
            points=[point.in_order(order) for point in self.points],
            unconstrained=None if free is None else free.in_order(order),
        )

    def key(self, point: PointContents) -> str:
        """Return the name of a point in links: its number, or "free" for the unconstrained one."""
        if point is self.unconstrained:
            return "free"
        return str(next(at for at, other in enumerate(self.points) if other is point))

    def nearest(self, eps: float | None = None) -> PointContents | None:
        """Return the point whose bound is nearest to this one; by default the one in the middle."""
        if not self.points or eps is None:
            return self.points[len(self.points) // 2] if self.points else None
        traced = [point for point in self.points if point.eps is not None]
        return min(traced or self.points, key=lambda point: abs((point.eps or 0.0) - eps))

    def to_dict(self) -> dict[str, Any]:
        """Return the contents in types that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> ReportContents:
        """Return the contents that `to_dict` was called on, after a detour through JSON too."""
        return made(cls, given)
