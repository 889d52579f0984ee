"""The report page: one HTML file that needs no network and no server.

The numbers of all points are in it once, as JSON, and a script draws the point that the reader
chooses. One point is drawn beforehand: it is there without a script, and on paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from equipoise.atomic_files import new_file
from equipoise.constraints.rates import of_decision, rate_and_decision
from equipoise.report.card import card_sections, model_card
from equipoise.report.chart import Chart, rate_axis
from equipoise.report.contents import RATES, GroupContents, PointContents, ReportContents
from equipoise.report.measurement import Range
from equipoise.report.panel import (
    MOST_DRAWN,
    MOST_GROUPS,
    GroupNames,
    decisions_of,
    drawn_rates,
    panel,
)
from equipoise.report.rate_names import rate_meaning, rate_name
from equipoise.report.regression import RegressionContents, render_regression
from equipoise.report.templates import in_script, page_template
from equipoise.report.text import findings, group_name, small_group_sentences


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
    """Return the page."""
    page = Page(contents)
    card = {"card": card_sections(contents), "card_text": model_card(contents)}
    text = page_template().render(page=page, numbers=in_script(page.numbers), **card)
    return text.encode("utf-8", errors="replace")


def inline(contents: ReportContents | RegressionContents) -> str:
    """Return the page as a frame inside of another one, to whose contents it has no access."""
    page, title = _rendered(contents).decode(), escape(contents.title)
    return (
        f'<iframe title="{title}" srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
        'style="width:100%;height:48em;border:0"></iframe>'
    )


@dataclass(frozen=True)
class Page:
    """All that the template of the page shows."""

    contents: ReportContents
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

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions that have tables of their own; none of two."""
        return decisions_of(self.contents)

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The numbers of all points, as JSON has them; words come with them."""
        contents = self.contents
        names = GroupNames(self._shown_first)
        points = [panel(contents, point, names) for point in contents.all_points]
        for point, drawn in zip(contents.all_points, points, strict=True):
            drawn["measured"] = {
                entry.data: {
                    "error": _digits(entry.error, ends=6),
                    "difference": _digits(entry.difference, ends=6),
                }
                for entry in point.measured
            }
            drawn["rates"] = {
                data: _rates_of_groups(self._in_order(data, point)) for data in point.groups
            }
        audit = contents.audit
        used = dict.fromkeys(rate for groups in self._groups.values() for rate in _rates(groups))
        return {
            "audit": None if audit is None else {"audited": _rates_of_groups(audit.groups)},
            "chosen": None if self.chosen is None else contents.key(self.chosen),
            "rates": {rate: [rate_name(rate), rate_meaning(rate)] for rate in used},
            "groups": {data: self._group_numbers(data, names) for data in self._groups},
            "names": names.names,
            "points": points,
        }

    @property
    def chosen(self) -> PointContents | None:
        """The point that is drawn beforehand."""
        return self.contents.nearest()

    @property
    def drawn(self) -> dict[str, Any]:
        """The numbers of the point that is drawn beforehand."""
        return self._numbers_of(self.chosen)

    @property
    def beside(self) -> dict[str, Any] | None:
        """The numbers of the unconstrained point, None where it is not known."""
        free = self.contents.unconstrained
        return None if free is None else self._numbers_of(free)

    def _numbers_of(self, point: PointContents | None) -> dict[str, Any]:
        at = next(at for at, other in enumerate(self.contents.all_points) if other is point)
        drawn: dict[str, Any] = self.numbers["points"][at]
        return drawn

    @cached_property
    def _groups(self) -> dict[str, list[GroupContents]]:
        """The groups of each of the data, which are the same for all points."""
        groups: dict[str, list[GroupContents]] = {}
        for point in self.contents.all_points:
            for data, rows in point.groups.items():
                groups.setdefault(data, rows)
        if self.contents.audit is not None:
            groups["audited"] = self.contents.audit.groups
        return groups

    def _in_order(self, data: str, point: PointContents) -> list[GroupContents]:
        """Return the groups of a point, in the order of the page; without rates where missing."""
        by_name = {(group.feature, group.group): group for group in point.groups[data]}
        return [
            by_name.get((group.feature, group.group), replace(group, rates={}))
            for group in self._groups[data]
        ]

    def _group_numbers(self, data: str, names: GroupNames) -> dict[str, Any]:
        """Return names and sizes of groups, rates of their labels, and the axes of pictures."""
        groups = self._groups[data]
        titles = [group_name(group) for group in groups]
        few = len(groups) <= MOST_DRAWN
        return {
            "names": [names.number(title) for title in titles],
            "people": [group.count for group in groups],
            "first": names.shown(titles),
            "base": {
                rate: [_digits(group.rates.get(rate)) for group in groups]
                for rate in _rates(groups)
                if _is_of_labels(rate)
            },
            "axes": self._axes(data) if few else None,
        }

    def _axes(self, data: str) -> dict[str, Any]:
        """Return axes of rates that fit all points, so that these can be compared by eye."""
        if data == "audited":
            return {rate: _axis(self._groups[data], rate) for rate in self.audited_rates}
        points = [point for point in self.contents.all_points if data in point.groups]
        groups = [group for point in points for group in point.groups[data]]
        return {rate: _axis(groups, rate) for rate in drawn_rates(self.contents)}

    @property
    def many(self) -> int:
        """How many groups there are, where tables do not show all at once; else 0."""
        groups = [group for group in self.numbers["groups"].values() if group["first"] is not None]
        return max((len(group["names"]) - 1 for group in groups), default=0)

    @property
    def first(self) -> int:
        """How many of them tables show at once."""
        return MOST_GROUPS

    def _shown_first(self, name: str) -> bool:
        return self.contents.audit is not None or name in self._first

    @cached_property
    def _first(self) -> set[str]:
        """The names of the groups that are shown at once, the same for all points.

        Everybody; then groups that the first lines, binding inequalities and largest differences
        name; then the largest.
        """
        small = small_group_sentences(self.contents)
        texts = [text for text in findings(self.contents) if text not in small]
        for point in self.contents.points:
            texts += point.binding
            texts += [entry.stated.text for entry in point.measured if entry.stated is not None]
        words = "\n".join(texts)
        sizes: dict[str, int] = {}
        named = set()
        for groups in self._groups.values():
            if len(groups) <= MOST_GROUPS + 1:
                sizes |= {group_name(group): 0 for group in groups}
                continue
            for group in groups:
                name = group_name(group)
                sizes[name] = max(sizes.get(name, 0), group.count)
                if not group.feature or _names(words, group.group):
                    named.add(name)
        order = sorted(sizes, key=lambda name: (name not in named, -sizes[name]))
        everybody = {name for name in order if name == "everybody"}
        return everybody | set(order[: MOST_GROUPS + 1])

    @property
    def group_names(self) -> list[str]:
        """The names of everybody and of all groups, for a choice among them."""
        groups = [group for rows in self._groups.values() for group in rows]
        return list(dict.fromkeys(group_name(group) for group in groups))

    @property
    def audited_rates(self) -> list[str]:
        """The rates of an audit: of labels alone, or of decisions too."""
        audit = self.contents.audit
        kept = RATES[:1] if audit is None or audit.decisions == "labels" else RATES
        if not self.decisions:
            return list(kept)
        each = [of_decision(rate, v) for rate in kept[:-1] or kept for v in self.decisions]
        return each if kept == RATES[:1] else [*each, "error_rate"]


def _rates(groups: Sequence[GroupContents]) -> list[str]:
    """Return the names of all rates that some of the groups have."""
    return list(dict.fromkeys(rate for group in groups for rate in group.rates))


def _names(words: str, name: str) -> bool:
    """Return whether a text has a name in it, and not as a part of a longer one.

    >>> _names("town 17 limits", "town 17"), _names("town 17 limits", "town 1")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None


def _is_of_labels(rate: str) -> bool:
    """Return whether a rate is the same for all classifiers."""
    return rate_and_decision(rate)[0] == RATES[0]


def _rates_of_groups(groups: Sequence[GroupContents]) -> dict[str, list[list[float]]]:
    """Return rates of decisions, and their intervals, group by group."""
    return {
        rate: [_digits(group.rates.get(rate)) for group in groups]
        for rate in _rates(groups)
        if not _is_of_labels(rate)
    }


def _digits(value: Range | None, ends: int = 3) -> list[float]:
    """Return an estimate and the ends of its interval, as many digits as are shown.

    >>> _digits(Range(0.12345678, 0.1, 0.2)), _digits(Range(0.5, None, None)), _digits(None)
    ([0.123457, 0.1, 0.2], [0.5], [])
    """
    if value is None or value.estimate is None:
        return []
    if value.low is None or value.high is None:
        return [round(value.estimate, 6)]
    # The rounding is that of the digits that sentences print.
    limits = [f"{100 * end:.{ends - 2}f}" for end in (value.low, value.high)]
    return [round(value.estimate, 6), *(round(float(end) / 100, ends) for end in limits)]


def _axis(groups: Sequence[GroupContents], rate: str) -> list[Any]:
    """Return the ends of an axis for a rate of groups, and its ticks."""
    axis = rate_axis([(group, None) for group in groups], rate)
    return [axis.low, axis.high, axis.ticks()]
