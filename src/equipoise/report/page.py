"""The report page: one HTML file that needs no network, no server and, to be read, no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.constraints.rates import of_decision
from equipoise.report.card import card_sections, model_card
from equipoise.report.chart import Axis, Chart, rate_axis
from equipoise.report.contents import RATES, GroupContents, PointContents, ReportContents
from equipoise.report.groups import Counted, largest_groups
from equipoise.report.measurement import MeasuredContents, RowContents
from equipoise.report.regression import RegressionContents, render_regression
from equipoise.report.switches import MovedGroup, SwitchedGroup, moved_groups, switched_groups
from equipoise.report.templates import in_script, page_template
from equipoise.report.text import group_name

#: A page that people can send is no larger.
MOST_BYTES = 2_000_000
#: Groups that tables have: as many as fit.
_MOST_GROUPS = (100, 40, 15, 5, 0)
#: More groups than these make a picture that nobody reads; the table has them.
_MOST_DRAWN = 14
#: The numbers travel with the page, unless they are most of it.
_MOST_DATA = 600_000


def write_report(
    path: str | Path, contents: ReportContents | RegressionContents, *, overwrite: bool = True
) -> None:
    """Write the report page: one HTML file, complete in itself.

    Parameters
    ----------
    path : str or Path
        Where to; the file is there whole or not at all.
    contents : ReportContents
        See `report_of`, or the command line's ``equipoise report``.
    overwrite : bool, default=True
        Whether a file that has this name is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from equipoise.report.contents import DataContents
    >>> data = DataContents("a.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/page.html", ReportContents("audit", "Audit of <y>", data))
    ...     "<title>Audit of &lt;y&gt;</title>" in Path(folder, "page.html").read_text("utf-8")
    True
    """
    with new_file(path, overwrite=overwrite) as partial:
        partial.write_bytes(_rendered(contents))


def _rendered(contents: ReportContents | RegressionContents) -> bytes:
    if isinstance(contents, RegressionContents):
        return render_regression(contents)
    return render(contents)


def render(contents: ReportContents) -> bytes:
    """Return the page; where there are too many groups for its size, the largest groups only."""
    template, numbers = page_template(), _numbers(contents)
    card = {"card": card_sections(contents), "card_text": model_card(contents)}
    for most_groups in _MOST_GROUPS:
        text = template.render(page=Page(contents, numbers, most_groups), **card)
        page = text.encode("utf-8", errors="replace")
        if len(page) < MOST_BYTES:
            break
    return page


def inline(contents: ReportContents | RegressionContents) -> str:
    """Return the page as a frame inside of another one, to whose contents it has no access."""
    page, title = _rendered(contents).decode(), escape(contents.title)
    return (
        f'<iframe title="{title}" srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
        'style="width:100%;height:48em;border:0"></iframe>'
    )


@dataclass(frozen=True)
class GroupRows:
    """Groups to show: each under a classifier and, if that is known, under the unconstrained one.

    ``left_out`` says, in words, how many smaller groups are not shown.
    """

    pairs: list[tuple[GroupContents, GroupContents | None]]
    beside: bool
    left_out: str

    @property
    def drawn(self) -> bool:
        """Whether they are few enough for a picture."""
        return 0 < len(self.pairs) <= _MOST_DRAWN


@dataclass(frozen=True)
class SwitchedRows:
    """Switched decisions to show, group by group; bars are drawn to one scale."""

    groups: list[SwitchedGroup]
    left_out: str

    @property
    def labelled(self) -> bool:
        """Whether the labels of these people are known."""
        return any(group.gained_qualified is not None for group in self.groups)

    def width(self, switched: float, people: int) -> float:
        """Return the length of a bar, in pixels: the longest is 80."""
        shares = [max(g.gained or 0.0, g.lost or 0.0) / g.count for g in self.groups if g.count]
        return round(80 * switched / max(people, 1) / (max(shares, default=0.0) or 1.0), 1)


@dataclass(frozen=True)
class Page:
    """All that the template of the page shows."""

    contents: ReportContents
    numbers: str | None  #: The contents as JSON that is safe inside of a script element.
    most_groups: int  #: How many groups the tables have.
    most_rows: int = 8  #: Inequalities, of thousands perhaps: only the worst are shown.
    most_decisions: int = 12  #: Decisions that have tables of their own.
    most_columns: int = 100  #: Columns of the data that are listed; the rest are counted.

    @property
    def level(self) -> str:
        """The level of all intervals."""
        return f"{self.contents.level:.0%}"

    @property
    def keys(self) -> list[str]:
        """The names of all points in links."""
        return [self.contents.key(point) for point in self.contents.all_points]

    @property
    def chart(self) -> Chart:
        """The picture of the frontier."""
        return Chart(self.contents)

    @property
    def scope(self) -> str:
        """Whom lower values are about: over the whole class, or relative to something."""
        return self.contents.points[0].scope.value

    def compared(self, point: PointContents) -> PointContents | None:
        """Return the unconstrained classifier, None beside itself."""
        free = self.contents.unconstrained
        return None if free is point else free

    def worst(self, entry: MeasuredContents) -> list[RowContents]:
        """Return the inequalities that are closest to their bounds, or furthest above."""

        def above(row: RowContents) -> tuple[float, float]:
            estimate, low, _ = row.excess
            return (estimate or 0.0) if low is None else low, estimate or 0.0

        return sorted(entry.rows, key=above, reverse=True)[: self.most_rows]

    def groups(self, point: PointContents, data: str) -> GroupRows:
        """Return the groups to show of some data."""
        compared = self.compared(point)
        free = [] if compared is None else compared.groups.get(data, [])
        return self._rows(point.groups[data], free)

    @property
    def group_names(self) -> list[str]:
        """The names of everybody and of the groups that tables show."""
        first = self.contents.nearest()
        if first is None:
            return [group_name(group) for group, _ in self.audited.pairs]
        tables = [self.groups(first, data) for data in first.group_data]
        names = [group_name(group) for rows in tables for group, _ in rows.pairs]
        return list(dict.fromkeys(names))

    def axes(self, data: str, rates: Sequence[str]) -> dict[str, Axis]:
        """Return axes of rates that fit all points, so that these can be compared by eye."""
        shown = [
            groups.pairs
            for point in self.contents.all_points
            if data in point.groups
            for groups in [self.groups(point, data)]
        ]
        pairs = [pair for some in shown for pair in some]
        return {rate: rate_axis(pairs, rate) for rate in rates}

    def audited_axes(self, rates: Sequence[str]) -> dict[str, Axis]:
        """Return axes of the rates of an audit."""
        return {rate: rate_axis(self.audited.pairs, rate) for rate in rates}

    def switched(self, point: PointContents, data: str) -> SwitchedRows:
        """Return whom a point decides on differently, of some data."""
        return SwitchedRows(*self._largest(switched_groups(point.switched[data])))

    def moved(self, point: PointContents, data: str) -> tuple[list[MovedGroup], str]:
        """Return who moves between more than two decisions, and which groups are left out."""
        return self._largest(moved_groups(point.switched[data]))

    def _largest(self, groups: Sequence[Counted]) -> tuple[list[Counted], str]:
        """Return the groups that are shown, and which are left out, in words."""
        shown = largest_groups(groups, self.most_groups)
        return shown, _left_out(len(groups) - len(shown))

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions that have tables of their own; none of two."""
        return self.contents.data.decisions[: self.most_decisions]

    @property
    def drawn_rates(self) -> list[str]:
        """The rates that are drawn: of two decisions all, of more how often each is made."""
        each = [of_decision("selection_rate", decision) for decision in self.decisions]
        return [*each, "error_rate"] if each else list(RATES[1:])

    def everybody_moved(self, point: PointContents) -> MovedGroup | None:
        """Return who moves of all people, on the data that count most; None if not known."""
        if point is self.contents.unconstrained:
            return None
        groups = moved_groups(point.switched.get(point.main_data, []))
        return groups[0] if groups and groups[0].count is not None else None

    def everybody_switched(self, point: PointContents) -> SwitchedGroup | None:
        """Return the totals on the data that count most, None if they are not known."""
        if point is self.contents.unconstrained or point.main_data not in point.switched:
            return None
        if self.contents.data.decisions:
            return None
        everybody = self.switched(point, point.main_data).groups[0]
        return None if everybody.count is None else everybody

    @property
    def audited_rates(self) -> list[str]:
        """The rates of an audit: of labels alone, or of decisions too."""
        audit = self.contents.audit
        kept = RATES[:1] if audit is None or audit.decisions == "labels" else RATES
        if not self.decisions:
            return list(kept)
        each = [of_decision(rate, v) for rate in kept[:-1] or kept for v in self.decisions]
        return each if kept == RATES[:1] else [*each, "error_rate"]

    @property
    def audited(self) -> GroupRows:
        """The groups to show of an audit."""
        return self._rows([] if self.contents.audit is None else self.contents.audit.groups, [])

    def _rows(self, groups: list[GroupContents], free: list[GroupContents]) -> GroupRows:
        (shown, words), (others, _) = self._largest(groups), self._largest(free)
        if len(free) != len(groups):
            return GroupRows([(group, None) for group in shown], False, words)
        return GroupRows(list(zip(shown, others, strict=True)), True, words)


def _left_out(groups: int) -> str:
    return f"; the largest groups only, {groups} smaller ones are left out" if groups else ""


def _numbers(contents: ReportContents) -> str | None:
    """Return the contents as data, for other programs: `ReportContents.from_dict` reads them."""
    entries = sum(
        sum(map(len, point.groups.values())) + sum(len(entry.rows) for entry in point.measured)
        for point in contents.points
    )
    if entries * 100 > _MOST_DATA:  # an entry is longer than that, and there is no need to try
        return None
    text = in_script(contents.to_dict())
    return text if len(text) <= _MOST_DATA else None
