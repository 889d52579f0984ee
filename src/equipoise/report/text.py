"""What the page and the model card say: numbers as they are printed, and sentences."""

from __future__ import annotations

from equipoise.constraints import Constraint
from equipoise.constraints.rates import GROUP_RATES
from equipoise.game.certificate import Status
from equipoise.game.lagrangian import is_met
from equipoise.report.contents import (
    RATES,
    ConstraintContents,
    GroupContents,
    MeasuredContents,
    PointContents,
    Range,
    ReportContents,
)

#: Where nothing is known.
UNKNOWN = "–"

#: Rate -> its name in tables. The first is of the labels, the others are of decisions.
RATE_NAMES = {rate.column: rate.words.capitalize() for rate in GROUP_RATES}
#: Rate -> who is counted among whom.
RATE_MEANINGS = {rate.column: rate.meaning for rate in GROUP_RATES}
DECISION_RATES = RATES[1:]

#: What a bound that is met does not mean: a few words, and why.
NOT_PROMISED = (
    (
        "Nothing for sure about new people.",
        "The bound holds on the data of the fit. For other people it holds up to chance, and "
        "less well if the learner overfits. Look at the people held out, and at the interval.",
    ),
    (
        "Nothing for a single person.",
        "It is about averages over groups. Two alike people may be decided on differently.",
    ),
    (
        "Nothing for groups that are not named.",
        "Groups inside groups, and columns that were not given as sensitive, may be far apart.",
    ),
    (
        "Nothing about other rates.",
        "A constraint equalises the rate that it names, and may widen others. Compare all "
        "columns of the group table before you choose.",
    ),
    (
        "Nothing for a rule that is not randomized.",
        "The classifier draws between its members. Rates are those of the draw; rounding "
        "its probabilities at one half breaks the bound.",
    ),
    (
        "Nothing about the labels.",
        "If labels are wrong in a way that depends on the group, constraints that look at "
        "labels repeat the mistake.",
    ),
    (
        "Not that the decision is lawful, or ought to be automated.",
        "A bound that is met is a number.",
    ),
)


def decimal(value: float | None, sign: str = "") -> str:
    """Return a number with four decimals.

    >>> decimal(0.15224), decimal(-0.00001, "+"), decimal(None)
    ('0.1522', '+0.0000', '–')
    """
    # Adding zero after rounding turns -0.0 into 0.0.
    return UNKNOWN if value is None else f"{round(value, 4) + 0.0:{sign}.4f}"


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


def with_interval(value: Range | None, *, share: bool = False, sign: str = "") -> str:
    """Return an estimate and its interval.

    >>> with_interval(Range(0.2, 0.1, 0.3), share=True)
    '20.0% [10.0, 30.0]'
    """
    text = estimate(value, share=share, sign=sign)
    return text if text == UNKNOWN else f"{text} {interval(value, share=share, sign=sign)}".rstrip()


def verdict(excess: Range) -> str:
    """Return whether a bound was met, and how sure that is.

    >>> [verdict(Range(*ends)) for ends in ((0.1, 0.05, 0.2), (0.1, -0.1, 0.2), (-0.1, -0.2, 0.0))]
    ['exceeded', 'exceeded, perhaps by chance', 'met, also within the interval']
    >>> verdict(Range(-0.1, -0.2, 0.1))
    'met'
    """
    if excess.estimate is None:
        return "not known"
    if is_met(excess.estimate):
        return "met, also within the interval" if is_met(excess.high) else "met"
    if excess.low is None:
        return "exceeded, no interval"
    return "exceeded" if excess.low > 0 else "exceeded, perhaps by chance"


def group_name(group: GroupContents) -> str:
    """Return the name of a group with that of its column.

    >>> group_name(GroupContents("sex", "F", 9, {})), group_name(GroupContents("", "all", 9, {}))
    ('sex: F', 'everybody')
    """
    return f"{group.feature}: {group.group}" if group.feature else "everybody"


def point_title(point: PointContents) -> str:
    """Return the name of a point."""
    if point.eps is not None:
        return f"Within the bound {bound(point.eps)}"
    return "This model" if point.command else "Without the constraint"


def findings(contents: ReportContents) -> list[str]:
    """Return what was found, in a few sentences."""
    if contents.audit is not None:
        return [
            f"{words[0].upper()}{words[1:]}: {with_interval(value)}."
            for _, value, words in contents.audit.disparities
        ]
    shown = [contents.unconstrained, contents.nearest()]
    if len(contents.points) > 1:
        shown.append(contents.points[0])
    sentences = [_finding(point) for point in shown if point is not None]
    return sentences + [text for status in Status if (text := _unmet(contents, status))]


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
            f"{which} proven impossible with this learner. What is shown exceeds "
            f"{'it' if alone else 'them'} as little as was found possible."
        )
    return f"{which} not met yet: the search ended before it was known whether that is possible."


def _finding(point: PointContents) -> str:
    measured = point.on(point.main_data)
    name = point_title(point)
    if measured is None:
        return f"{name}: error {decimal(point.error)}."
    people = f"{measured.people:,} {_whose(measured)}"
    text = f"{name}: error {with_interval(measured.error)}"
    if measured.disparity is not None:
        text += f", largest difference between groups {with_interval(measured.disparity)}"
    text = f"{text}, on {people}."
    if point.eps is not None:
        text += f" The bound is {verdict(measured.excess)}."
    return text


def _whose(measured: MeasuredContents) -> str:
    return {
        "test": "people held out",
        "out of fold": "people, each decided on by a model that had not seen them",
    }.get(measured.data, "people learned from")


def constraint_contents(constraint: Constraint) -> ConstraintContents:
    """Return what a constraint asks, in the words of its class.

    >>> from equipoise import DemographicParity
    >>> constraint_contents(DemographicParity()).formula
    '| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps for every group a.'
    """
    return ConstraintContents(
        name=constraint.name,
        code=repr(constraint),
        asks=constraint.asks,
        formula=constraint.formula,
        explanation=[constraint.misleads] if constraint.misleads else [],
    )
