"""One classifier as blocks of words and numbers, drawn by the template and by the page's script.

A block is plain data for JSON. Words are made here, once; a browser draws the blocks of the point
that the reader chooses, and writes nothing of its own. A text is a string, or a list in which every
second entry is a name that users chose, kept apart from the text around it. In rows of tables a
whole number stands for a name in `GroupNames`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.constraints.rates import of_decision
from equipoise.game.evidence import Scope
from equipoise.game.switches import number as people
from equipoise.metrics.headline import COMPARED, RULE
from equipoise.report.chart import point_summary
from equipoise.report.contents import PREDICTIVE_RATES, RATES, PointContents, ReportContents
from equipoise.report.measurement import MeasuredContents, Range
from equipoise.report.rate_names import rates_of
from equipoise.report.switches import MovedGroup, SwitchedGroup, moved_groups, switched_groups
from equipoise.report.text import (
    bound,
    decimal,
    estimate,
    group_name,
    interval,
    of,
    percent,
    point_title,
    stated,
    with_interval,
)

Block = dict[str, Any]
Text = str | list[str]

#: Inequalities, of thousands perhaps: only the worst are listed.
MOST_ROWS = 8
#: Decisions that have tables of their own.
MOST_DECISIONS = 12
#: Groups of a table that are there at once; the others wait for a button.
MOST_GROUPS = 100
#: More groups than these make a picture that nobody reads; the table has them.
MOST_DRAWN = 14
#: A member may describe itself at length.
_MOST_LETTERS = 300
#: The longest bar of switched decisions, in pixels.
_BAR = 80


@dataclass
class GroupNames:
    """Names of groups, each there once, and their numbers; those of ``first`` are shown at once."""

    first: Callable[[str], bool]
    names: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def shown(self, names: Sequence[str]) -> list[int] | None:
        """Return the places of the names that are shown at once; None where all are."""
        places = [at for at, name in enumerate(names) if self.first(name)]
        return None if len(places) == len(names) else places


def panel(contents: ReportContents, point: PointContents, names: GroupNames) -> dict[str, Any]:
    """Return all that the page shows of one point, but for rates of groups."""
    free = point is contents.unconstrained
    blocks = [_tiles(contents, point)]
    if point.command:
        blocks.append(_heading("To use this classifier"))
        blocks.append({"code": point.command, "title": "On the command line"})
        blocks.append({"code": point.python, "title": "In Python"})
    blocks += _measured(contents, point)
    if point.switched and not free:
        blocks += _moved(contents, point, names) or _switched(contents, point, names)
    blocks += _groups(contents, point)
    blocks.append({"columns": [_members(point), _prices(contents, point)]})
    if point.certificate.get("text") and not free:
        text = {"pre": point.certificate["text"], "title": "Certificate"}
        blocks.append(_fold("Certificate", [text]))
    return {
        "key": contents.key(point),
        "bound": point.eps,
        "name": "no constraint" if point.eps is None else f"bound {bound(point.eps)}",
        "title": point_title(point),
        "summary": point_summary(point),
        "blocks": blocks,
    }


def decisions_of(contents: ReportContents) -> tuple[str, ...]:
    """Return the decisions that have tables of their own; none of two."""
    return contents.data.decisions[:MOST_DECISIONS]


def drawn_rates(contents: ReportContents) -> list[str]:
    """Return the rates that are drawn: of two decisions all, of more how often each is made."""
    rates = [of_decision("selection_rate", decision) for decision in decisions_of(contents)]
    return [*rates, "error_rate"] if rates else list(RATES[1:])


def _heading(text: str) -> Block:
    return {"heading": text}


def _paragraph(text: Text, *, small: bool = False) -> Block:
    return {"text": text, "small": True} if small else {"text": text}


def _fold(summary: Text, blocks: list[Block], *, opened: bool = False) -> Block:
    fold = {"fold": summary, "blocks": blocks}
    return {**fold, "open": True} if opened else fold


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _range(value: Range | None, sign: str = "") -> Block:
    return {"range": [estimate(value, sign=sign), interval(value, sign=sign)]}


def _tiles(contents: ReportContents, point: PointContents) -> Block:
    """Return the numbers that come first."""
    data = point.main_data
    entry = point.on(data)
    tiles = []
    if entry is not None:
        tiles.append(_measured_tile("Error", entry.error, data))
        if entry.difference is not None and entry.stated is not None:
            tile = _measured_tile("Largest difference", entry.difference, data)
            tile["lines"].append(["", of(entry.stated)])
            tiles.append(tile)
    tiles += _people_tiles(contents, point)
    if point.price is not None and point.is_met:
        saved = "of error at most, up to the gap, on training data"
        tiles.append(_tile("Loosening the bound by 0.01 saves", decimal(0.01 * point.price), saved))
    if point.eps is not None and "gap" in point.certificate:
        # Where the oracle is a learner, the gap is a search gap.
        scope = contents.points[0].scope
        of_class = scope is Scope.WHOLE_CLASS
        title = "Distance from the best, at most" if of_class else "Search gap"
        gap = point.certificate["gap"]
        value = "not known" if gap is None else f"{gap:.6f}"
        tiles.append(_tile(title, value, f"{point.proof}, {scope.value}"))
    return {"tiles": tiles}


def _tile(title: str, value: str, line: str) -> Block:
    return {"title": title, "value": value, "lines": [line]}


def _measured_tile(title: str, value: Range, data: str) -> Block:
    """Return a tile beside whose number that of another classifier is put."""
    tile = _tile(title, estimate(value), f"{data} data {interval(value)}".rstrip())
    return {**tile, "measured": True}


def _people_tiles(contents: ReportContents, point: PointContents) -> list[Block]:
    """Return how many people are decided on differently; nothing where that is not known."""
    data = point.main_data
    rows = point.switched.get(data, [])
    if point is contents.unconstrained or not rows:
        return []
    if moved := moved_groups(rows):
        line = f"of {moved[0].count:,}, {data} data"
        return [_tile("People decided on differently", f"{moved[0].total:,.0f}", line)]
    everybody = switched_groups(rows)[0]
    line = f"of {everybody.count:,}, {data} data"
    return [
        _tile("People who gain", f"{everybody.gained:,.0f}", line),
        _tile("People who lose", f"{everybody.lost:,.0f}", line),
    ]


def _measured(contents: ReportContents, point: PointContents) -> list[Block]:
    """Return error, difference and excess on each of the data."""
    if not point.measured:
        return []
    free = point is contents.unconstrained
    compares = any(entry.difference is not None for entry in point.measured)
    header = ["Data", "People", "Error"]
    header += ["Largest difference"] if compares else []
    header += [] if free else ["Excess over the bound", "Bound"]
    rows = []
    for entry in point.measured:
        row: list[Any] = [{"name": entry.data}, f"{entry.people:,}", _range(entry.error)]
        row += [_range(entry.difference)] if compares else []
        row += [] if free else [_range(entry.stated_excess, "+"), {"words": entry.verdict}]
        rows.append([*row, {"words": stated(entry, contents.suppress_below)}])
    caption = f"Error and excess on each of the data [{contents.level:.0%} intervals]"
    return [
        _heading("On people learned from, and on others"),
        *(_paragraph(_sentence(text)) for text in point.remarks),
        {"table": caption, "head": [[*header, "Of"]], "rows": rows},
        _paragraph(_which(point, compares), small=True),
        *([] if free else _inequalities(point.on(point.main_data))),
    ]


def _which(point: PointContents, compares: bool) -> list[str]:
    """Return the inequality that is stated, and that of the largest estimate if it is another."""
    what = "Largest difference and excess" if compares else "Excess"
    traced = point.measured[0].traced
    rule = f"the largest {COMPARED}" if traced else f"of the inequality with {RULE}"
    text = [
        f"{what}: {rule}. The estimate of a few people may be far off. Bound: whether all "
        "inequalities are met."
    ]
    for entry in point.measured:
        if (row := entry.estimated) is None:
            continue
        difference = entry.difference_of(row)
        value = (
            f"excess {with_interval(row.excess, sign='+')}"
            if difference is None
            else f"difference {with_interval(difference)}"
        )
        text[-1] += f" {_sentence(entry.data)} data, the largest estimate: {value}, "
        text += [of(row), "."]
    return text


def _inequalities(entry: MeasuredContents | None) -> list[Block]:
    """Return the inequalities that are closest to their bounds, or furthest above."""
    if entry is None or len(entry.rows) < 2:
        return []

    def above(row: Any) -> tuple[float, float]:
        value, low, _ = row.excess
        return (value or 0.0) if low is None else low, value or 0.0

    worst = sorted(entry.rows, key=above, reverse=True)[:MOST_ROWS]
    listed = len(worst) == len(entry.rows)
    how_many = "all" if listed else f"{len(worst)} of {len(entry.rows)}"
    table = {
        "table": f"Inequalities on {entry.data} data, worst first ({how_many}); intervals hold at "
        "once",
        "head": [["Inequality", "Excess over its bound", "Bound"]],
        "rows": [[{"name": row.text}, _range(row.excess, "+"), row.verdict] for row in worst],
    }
    return [_fold("Every inequality of the constraint", [table])]


def _switched(contents: ReportContents, point: PointContents, names: GroupNames) -> list[Block]:
    """Return gains and losses of the favourable decision, group by group."""
    blocks = [_heading("Who is decided on differently")]
    for at, data in enumerate(point.switched_data):
        groups = switched_groups(point.switched[data])
        labelled = any(group.gained_qualified is not None for group in groups)
        columns = 2 if labelled else 1
        of_label = ["all", *([["label ", contents.data.labels[1]]] if labelled else [])]
        head = [
            [
                {"text": "Group", "rows": 2},
                {"text": "People", "rows": 2},
                {"text": "Gain", "cols": columns},
                {"text": "Lose", "cols": columns},
                {"text": "Lose, gain", "rows": 2},
            ],
            [*of_label, *of_label],
        ]
        shares = [
            max(group.gained or 0.0, group.lost or 0.0) / group.count
            for group in groups
            if group.count
        ]
        scale = _BAR / (max(shares, default=0.0) or 1.0)
        rows = [_switched_row(group, names, scale, labelled) for group in groups]
        table = {
            "table": f"Decisions that differ from the unconstrained model's, {data} data",
            "head": head,
            "rows": rows,
            "first": names.shown([group_name(group) for group in groups]),
        }
        summary = f"People who gain or lose by the constraint, {data} data"
        blocks.append(_fold(summary, [table], opened=at == 0))
    text = (
        "Gain: not selected by the unconstrained model, and selected by this one. Lose: the "
        f"reverse.{_drawn(point)} People are counted, whatever they weigh. Bars: shares of the "
        "group."
    )
    return [*blocks, _paragraph(text, small=True)]


def _drawn(point: PointContents) -> str:
    return " This one draws, so that numbers are expected ones." if len(point.members) > 1 else ""


def _switched_row(
    group: SwitchedGroup, names: GroupNames, scale: float, labelled: bool
) -> list[Any]:
    name = names.number(group_name(group))
    row: list[Any] = [name, f"{group.count:,}"]
    for total, qualified in (
        (group.gained, group.gained_qualified),
        (group.lost, group.lost_qualified),
    ):
        row.append(people(total))
        row += ["" if qualified is None else people(qualified)] if labelled else []
    share = scale / max(group.count, 1)
    lost = round(share * group.lost, 1)
    gained = round(share * group.gained, 1)
    return [*row, {"balance": [lost, gained]}]


def _moved(contents: ReportContents, point: PointContents, names: GroupNames) -> list[Block]:
    """Return moves between more than two decisions, group by group; nothing of two."""
    decisions = decisions_of(contents)
    if not decisions:
        return []
    head = [
        [
            {"text": "Group", "rows": 2},
            {"text": "People", "rows": 2},
            {"text": "Without the constraint", "rows": 2},
            {"text": "With it", "cols": len(decisions)},
        ],
        [["", decision] for decision in decisions],
    ]
    blocks = [_heading("Who is decided on differently")]
    for at, data in enumerate(point.switched_data):
        groups = moved_groups(point.switched[data])
        rows = [row for group in groups for row in _moved_rows(group, decisions, names)]
        of_rows = [group for group in groups for _ in _moved_rows(group, decisions, names)]
        table = {
            "table": f"Decisions that differ from the unconstrained model's, {data} data",
            "head": head,
            "rows": rows,
            "first": names.shown([group_name(group) for group in of_rows]),
        }
        summary = f"People who move from one decision to another, {data} data"
        blocks.append(_fold(summary, [table], opened=at == 0))
    more = len(contents.data.decisions) > len(decisions)
    text = f"{_drawn(point)} People are counted, whatever they weigh.".strip()
    text += f" The first {len(decisions)} decisions only." if more else ""
    return [*blocks, _paragraph(text, small=True)]


def _moved_rows(group: MovedGroup, decisions: Sequence[str], names: GroupNames) -> list[list[Any]]:
    """Return a line of a group for each decision before."""
    name = names.number(group_name(group))
    rows: list[list[Any]] = []
    for before in decisions:
        cells = [
            "·" if after == before else people(group.moved(before, after)) for after in decisions
        ]
        rows.append([{"inner": before}, *cells])
    size = len(decisions)
    rows[0] = [{"group": name, "rows": size}, {"cell": f"{group.count:,}", "rows": size}, *rows[0]]
    return rows


def _groups(contents: ReportContents, point: PointContents) -> list[Block]:
    """Return pictures and tables of the rates of groups, whose numbers are kept apart."""
    if not point.groups:
        text = "No people were at hand to measure groups on. Make the page with data: "
        return [_heading("Groups"), _paragraph(f"{text}equipoise report FILE DATA.")]
    blocks = [_heading("Groups")]
    for at, data in enumerate(point.group_data):
        if at == 0:
            blocks.append({"tracks": drawn_rates(contents), "data": data})
        title = f"{point_title(point)}, {data} data [{contents.level:.0%} intervals, one by one]"
        blocks += _rate_tables(contents, data, title, opened=at == 0)
    return blocks


def _rate_tables(contents: ReportContents, data: str, caption: str, *, opened: bool) -> list[Block]:
    def rates(names: Iterable[str]) -> list[Block]:
        return [{"rates": list(names), "data": data, "caption": caption}]

    decisions = decisions_of(contents)
    if not decisions:
        tells = f"What a decision tells about the label, {data} data"
        return [
            _fold(f"Table of groups, {data} data", rates(RATES), opened=opened),
            _fold(tells, rates([RATES[0], *PREDICTIVE_RATES])),
        ]
    blocks = []
    for decision in decisions:
        base = rates_of(RATES[:1], decision)
        summary: Text = ["Decision ", decision, f", {data} data"]
        blocks.append(_fold(summary, rates(rates_of(RATES, decision)), opened=opened))
        summary = ["What the decision ", decision, f" tells about the label, {data} data"]
        blocks.append(_fold(summary, rates([*base, *rates_of(PREDICTIVE_RATES, decision)])))
    return [*blocks, _fold(f"Errors, {data} data", rates(RATES[-1:]))]


def _members(point: PointContents) -> list[Block]:
    if not point.members:
        return []
    alone = len(point.members) == 1
    rows = [
        [percent(weight), {"share": round(100 * weight, 1)}, {"words": _shortened(text)}]
        for text, weight in sorted(point.members, key=lambda member: -member[1])
    ]
    decides = "One classifier decides alone." if alone else "Each decision is drawn."
    table = {
        "table": f"What is mixed. {decides}",
        "head": [["Weight", "", "Classifier"]],
        "rows": rows,
    }
    return [_heading("Members"), table]


def _shortened(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= _MOST_LETTERS else value[: _MOST_LETTERS - 1] + "…"


def _prices(contents: ReportContents, point: PointContents) -> list[Block]:
    heading = _heading("Shadow prices")
    if not point.is_met:
        return [heading, _paragraph("Not told: they are those of bounds that are met.")]
    if point.prices:
        left = len(point.prices) - MOST_ROWS
        table = {
            "table": "Error saved by loosening each by 0.01, at most"
            + (f"; {left} more" if left > 0 else ""),
            "head": [["Inequality", "Saves"]],
            "rows": [[{"name": text}, decimal(saved)] for text, saved in point.prices[:MOST_ROWS]],
        }
        return [heading, table]
    if point.eps is None:
        return []
    hides = any(entry.hidden for entry in point.measured)
    costs = "None of the inequalities shown costs" if hides else "No inequality costs"
    return [heading, _paragraph(f"{costs} any error here, up to the gap.")]
