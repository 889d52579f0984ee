"""What the page and the model card say: numbers as they are printed, and sentences."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files

from equipoise.constraints.rates import of_decision, rate_and_decision
from equipoise.game.evidence import Scope, Status
from equipoise.game.switches import number as people
from equipoise.metrics.few import group_of_few, left_out
from equipoise.report.contents import (
    RATES,
    AuditContents,
    GroupContents,
    PointContents,
    ReportContents,
)
from equipoise.report.groups import small_group_remarks
from equipoise.report.measurement import MeasuredContents, Range, RowContents
from equipoise.report.switches import (
    MovedGroup,
    SwitchedGroup,
    moved_groups,
    moved_sentence,
    switched_groups,
    switched_sentence,
)
from equipoise.rows.fingerprint import Overlap

#: Where nothing is known.
UNKNOWN = "–"

#: Decisions of more than two that sentences are about, at most.
_MOST_DECISIONS = 6
#: What a bound that is met does not mean: a few words, and why.
NOT_PROMISED: dict[str, str] = tomllib.loads(
    files("equipoise.report").joinpath("templates/not_promised.toml").read_text("utf-8")
)


def decimal(value: float | None, sign: str = "") -> str:
    """Return a number with four decimals.

    >>> decimal(0.15224), decimal(-0.00001, "+"), decimal(None)
    ('0.1522', '+0.0000', '–')
    """
    # Adding zero after rounding turns -0.0 into 0.0.
    return UNKNOWN if value is None else f"{round(value, 4) + 0.0:{sign}.4f}"


def number(value: float | None) -> str:
    """Return a number in five digits; a dash where it is not known or not shown.

    >>> number(0.0123456), number(None)
    ('0.012346', '-')
    """
    return "-" if value is None else f"{value:.5g}"


def percent(value: float | None) -> str:
    """Return a share in percent.

    >>> percent(0.1522)
    '15.2%'
    """
    return UNKNOWN if value is None else f"{round(value, 6):.1%}"


def bound(eps: float | None) -> str:
    """Return a bound: as many digits as tell it apart from its neighbours, no more.

    >>> bound(0.011288378916846888), bound(0.02), bound(None)
    ('0.01129', '0.02', 'none')
    """
    return "none" if eps is None else f"{eps:.4g}"


def interval(value: Range | None, *, share: bool = False, sign: str = "") -> str:
    """Return the interval alone, empty where there is none.

    >>> interval(Range(0.2, 0.1, 0.3)), interval(Range(0.2, 0.1, 0.3), share=True)
    ('[0.1000, 0.3000]', '[10.0, 30.0]')
    """
    if value is None or value.low is None or value.high is None:
        return ""
    if share:
        return f"[{100 * value.low:.1f}, {100 * value.high:.1f}]"
    return f"[{decimal(value.low, sign)}, {decimal(value.high, sign)}]"


def estimate(value: Range | None, *, share: bool = False, sign: str = "") -> str:
    """Return the estimate alone.

    >>> estimate(Range(0.2, 0.1, 0.3), share=True), estimate(None)
    ('20.0%', '–')
    """
    known = None if value is None else value.estimate
    return percent(known) if share else decimal(known, sign)


def share_interval(value: Sequence[float]) -> str:
    """Return the ends of an interval of a share in percent, empty where there are none.

    >>> share_interval([0.2, 0.1, 0.3]), share_interval([0.2])
    ('[10.0, 30.0]', '')
    """
    return interval(Range(*value), share=True) if len(value) == 3 else ""


def with_interval(
    value: Range | None, *, share: bool = False, sign: str = "", nothing: str = UNKNOWN
) -> str:
    """Return an estimate and its interval; ``nothing`` where it is not known.

    >>> with_interval(Range(0.2, 0.1, 0.3), share=True)
    '20.0% [10.0, 30.0]'
    """
    text = estimate(value, share=share, sign=sign)
    return (
        nothing if text == UNKNOWN else f"{text} {interval(value, share=share, sign=sign)}".rstrip()
    )


def rate_of(group: GroupContents, rate: str) -> str:
    """Return a rate of a group in percent with its interval, or why there is none.

    >>> nothing, known = Range(None, None, None), Range(0.5, 0.4, 0.6)
    >>> group = GroupContents("sex", "F", 9, {"base_rate": known, "true_positive_rate": nothing})
    >>> rate_of(group, "base_rate"), rate_of(group, "true_positive_rate")
    ('50.0% [40.0, 60.0]', 'nobody')
    """
    return with_interval(group.rates.get(rate), share=True, nothing=why_no_rate(group, rate))


def why_no_rate(group: GroupContents, rate: str) -> str:
    """Return why a rate of a group is not known, in a word or two."""
    _, decision = rate_and_decision(rate)
    base = RATES[0] if decision is None else of_decision(RATES[0], decision)
    has_labels = base in group.rates and group.rates[base].estimate is not None
    return "nobody" if has_labels else "no labels"


def group_name(group: GroupContents | SwitchedGroup | MovedGroup) -> str:
    """Return the name of a group with that of its column.

    >>> group_name(GroupContents("sex", "F", 9, {})), group_name(GroupContents("", "all", 9, {}))
    ('sex: F', 'everybody')
    """
    return f"{group.feature}: {group.group}" if group.feature else "everybody"


def moves_of(group: MovedGroup) -> list[list[str]]:
    """Return who of a group moves between decisions: people, before, after, and how many.

    >>> moves_of(MovedGroup("sex", "F", 9, (("refer", "accept", 2.0),)))
    [['9', 'refer', 'accept', '2']]
    """
    moves = group.moves or (("", "", 0.0),)
    return [[f"{group.count:,}", before, after, people(some)] for before, after, some in moves]


def point_title(point: PointContents) -> str:
    """Return the name of a point."""
    if point.eps is not None:
        return f"For the bound {bound(point.eps)}"
    return "This model" if point.command else "Without the constraint"


def findings(contents: ReportContents) -> list[str]:
    """Return the findings in a few sentences."""
    if contents.audit is not None:
        found = [
            f"{words[0].upper()}{words[1:]}: {with_interval(value)}"
            f"{_between(contents.audit, name)}."
            for name, value, words in contents.audit.disparities
        ]
        return found + small_group_sentences(contents)
    shown = [contents.unconstrained, contents.nearest()]
    if len(contents.points) > 1:
        shown.append(contents.points[0])
    sentences = (
        [f"Error is what was minimised: {contents.objective}."] if contents.objective else []
    )
    measured = shown[1] and shown[1].on(shown[1].main_data)
    if measured:
        sentences.append(f"Measured on {measured.people:,} {whose(measured)}.")
    for point in shown:
        if point is not None:
            sentences.append(_finding(point, contents.suppress_below))
            chosen = point is shown[1]
            sentences += _switched(point, contents.data.labels[1]) if chosen else []
            if chosen and contents.data.decisions:
                sentences += _by_decision(point, contents.data.decisions)
    remarked = [point for point in shown if point is not None and point.remarks]
    sentences += dict.fromkeys(
        f"{point_title(point)}: {text}" for point in remarked for text in point.remarks
    )
    sentences += small_group_sentences(contents)
    return sentences + [text for status in Status if (text := _unmet(contents, status))]


def _between(audit: AuditContents, name: str) -> str:
    """Return between whom a disparity is, and the one of the largest estimate if it is another."""
    groups, other = audit.between.get(name, ""), audit.by_estimate.get(name, "")
    between = f", between {groups}" if groups else ""
    return between + (f"; by the estimate alone {other}" if other else "")


def small_group_sentences(contents: ReportContents) -> list[str]:
    """Return who is left out, and which groups are too small to say anything about."""
    point, audit = contents.nearest(), contents.audit
    groups = audit.groups if audit else point.groups.get(point.main_data, []) if point else []
    remarks = [left_out(contents.suppress_below)] if contents.leaves_out else []
    return remarks + small_group_remarks(groups)


#: What nothing better was found in, by the scope of a proof.
_WITH = {
    Scope.WHOLE_CLASS: "with these classifiers",
    Scope.ORACLE: "with this learner",
    Scope.POOL: "with mixtures of the classifiers known",
}


def _unmet(contents: ReportContents, status: Status) -> str:
    """Return a sentence about the bounds with this status; none about those that are met."""
    points = [point for point in contents.points if point.status is status]
    if not points or status is Status.MET:
        return ""
    alone = len(contents.points) == 1 or points[-1].eps is None
    which = (
        "The bound is"
        if alone
        else f"{len(points)} of the bounds, up to {bound(points[-1].eps)}, are"
    )
    if status is Status.IMPOSSIBLE:
        return (
            f"{which} proven impossible {_WITH[points[-1].scope]}. What is shown exceeds "
            f"{'it' if alone else 'them'} as little as was found possible."
        )
    return f"{which} not met yet: the search ended before it was known whether that is possible."


def _finding(point: PointContents, limit: int) -> str:
    measured = point.on(point.main_data)
    name = point_title(point)
    if measured is None:
        return f"{name}: error {decimal(point.error)}."
    text = f"{name}: error {with_interval(measured.error)}"
    text += "".join(f", {remark}" for remark in [largest(measured, limit)] if remark) + "."
    if point.eps is not None:
        text += f" The bound is {measured.verdict}."
    return text + _most_and_least(point.groups.get(point.main_data, []))


def largest(measured: MeasuredContents, limit: int = 0) -> str:
    """Return the largest difference or excess, between whom; also by the estimate alone.

    Where it is of a group of fewer people than the limit, that is said, and not of which.

    >>> rows = [RowContents("many", Range(0.02, 0.01, 0.03), 900)]
    >>> rows.append(RowContents("few", Range(0.1, -0.2, 0.4), 13))
    >>> every, nothing = Range(0.1, 0.01, 0.4), Range(None, None, None)
    >>> given = ("test", 913, nothing, every, None, "few", rows)
    >>> print(largest(MeasuredContents(*given, headline=rows[0])))
    largest excess over a bound +0.0200 [+0.0100, +0.0300] (many, 900 people), by the estimate \
alone +0.1000 [-0.2000, +0.4000] (few, 13 people)
    """
    if measured.stated is None or measured.stated_excess is None:
        return ""
    what, sign = ("excess over a bound", "+") if measured.bound is None else ("difference", "")
    value = measured.difference or measured.stated_excess
    lines = [f"{with_interval(value, sign=sign)} ({of(measured.stated)})"]
    if (row := measured.estimated) is not None:
        value = measured.difference_of(row) or row.excess
        lines.append(f"{with_interval(value, sign=sign)} ({of(row)})")
    few = f"of {group_of_few(limit)}; of the others " if measured.larger_for_few else ""
    return f"largest {what} {few}{', by the estimate alone '.join(lines)}"


def of(row: RowContents) -> str:
    """Return what an inequality is about, and how many people the rarest of its rates is of.

    >>> of(RowContents("F below M", Range(0.01, 0.0, 0.02), 1200))
    'F below M, 1,200 people'
    """
    return f"{row.text}, {row.people:,} people"


def stated(measured: MeasuredContents, limit: int) -> str:
    """Return what the excess is of, and whether it is larger for a group of fewer people."""
    text = "" if measured.stated is None else of(measured.stated)
    return f"{text}; larger for {group_of_few(limit)}" if measured.larger_for_few else text


def _switched(point: PointContents, favourable: str) -> list[str]:
    """Return who gains and who loses by a point, if that is known."""
    rows = point.switched.get(point.main_data, [])
    sentence = switched_sentence(switched_groups(rows), favourable) or moved_sentence(
        moved_groups(rows)
    )
    return [f"{point_title(point)}: {sentence}"] if sentence else []


def _most_and_least(groups: Sequence[GroupContents], column: str = "selection_rate") -> str:
    """Return which groups are selected most and least often by the limits of their intervals.

    >>> rates = {"M": Range(0.3, 0.28, 0.32), "F": Range(0.2, 0.18, 0.22)}
    >>> rates["X"] = Range(0.9, 0.1, 1.0)
    >>> groups = [GroupContents("sex", a, 99, {"selection_rate": rates[a]}) for a in rates]
    >>> print(_most_and_least(groups).strip())
    By the limits of intervals, M (30.0% [28.0, 32.0] of 99) is selected most often, F (20.0% \
[18.0, 22.0] of 99) least often.
    >>> print(_most_and_least(groups[1:]).strip())
    Intervals do not tell which group is selected most often.
    """
    rated = [
        (rate, group)
        for group in groups
        if group.feature == groups[-1].feature
        and (rate := group.rates.get(column)) is not None
        and rate.estimate is not None
    ]
    if len(rated) < 2:
        return ""

    def limits(end: str) -> list[tuple[float, float]]:
        """Return one end of each rate, and the rate itself, which decides where there is none."""
        ends = [(getattr(rate, end), rate.estimate or 0.0) for rate, _ in rated]
        return [(value if limit is None else limit, value) for limit, value in ends]

    low, high = limits("low"), limits("high")
    most, least = rated[low.index(max(low))], rated[high.index(min(high))]
    lines = [
        f"{group.group} ({with_interval(rate, share=True)} of {group.count:,})"
        for rate, group in (most, least)
    ]
    decision = rate_and_decision(column)[1]
    does = "is selected" if decision is None else f"gets {decision}"
    if most is least:  # its interval lies within all others
        return f" Intervals do not tell which group {does} most often."
    return f" By the limits of intervals, {lines[0]} {does} most often, {lines[1]} least often."


def _by_decision(point: PointContents, decisions: Sequence[str]) -> list[str]:
    """Return for the first decisions of more than two who gets them most and least often."""
    groups, found = point.groups.get(point.main_data, []), []
    for decision in decisions[:_MOST_DECISIONS]:
        if sentence := _most_and_least(groups, of_decision("selection_rate", decision)):
            found.append(f"{point_title(point)}:{sentence}")
    return found


def whose(measured: MeasuredContents) -> str:
    """Return who the people of an entry are, see `who_are`."""
    if measured.data == "out of fold":
        return "people, each decided on by a model that had not seen them"
    return who_are(measured.data, measured.overlap)


def who_are(data: str, overlap: Overlap | None) -> str:
    """Return who the people of some data are: learned from, held out, or some of both.

    >>> print(who_are("test", Overlap(9, 4, 4, 4)))
    people (4 of them were learned from, or equal somebody who was in features and label)
    """
    if overlap is None:
        unknown = "people (whether they were learned from is not known)"
        return unknown if data == "test" else "people learned from"
    if overlap.same:
        return "people learned from"
    if overlap.is_nobody:
        return "people held out"
    held_out = overlap.set_apart or (overlap.estimate == 0 and not overlap.relabelled)
    return f"people held out ({overlap})" if held_out else f"people ({overlap})"


def shares_of_data(contents: ReportContents) -> list[tuple[str, str]]:
    """Return how many people were learned from, and how many others were measured, in words."""
    data, point = contents.data, contents.nearest()
    found = [("Learned from", f"{data.train_rows:,} people")] if data.train_rows else []
    measured = None if point is None else point.on("test")
    if measured is not None:
        found.append(("Test data", f"{measured.people:,} {whose(measured)}"))
    return found


def facts_of_making(contents: ReportContents) -> list[tuple[str, str]]:
    """Return when, from what and with what the page was made."""
    facts = [
        ("Date", contents.date),
        ("Fingerprint of the data", contents.data.fingerprint),
        ("Seed", "" if contents.seed is None else str(contents.seed)),
    ]
    return [(term, value) for term, value in facts if value]
