"""What the page and the model card say: numbers as they are printed, and sentences."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from inspect import cleandoc

from equipoise.constraints.base import All, Constraint
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
RATE_NAMES = {
    "base_rate": "Label is favourable",
    "selection_rate": "Selected",
    "true_positive_rate": "True positives",
    "false_positive_rate": "False positives",
    "error_rate": "Wrong",
}
#: Rate -> who is counted among whom.
RATE_MEANINGS = {
    "base_rate": "people whose label is the favourable one, among all",
    "selection_rate": "people who get the favourable decision, among all",
    "true_positive_rate": "selected, among those whose label is the favourable one",
    "false_positive_rate": "selected, among those whose label is the other one",
    "error_rate": "decided otherwise than their label says, among all",
}
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


def is_met(excess: float | None) -> bool | None:
    """Return whether a bound is met, None where that is not known."""
    return None if excess is None else excess <= 1e-6


def verdict(excess: Range) -> str:
    """Return whether a bound was met, and how sure that is.

    >>> [verdict(Range(*ends)) for ends in ((0.1, 0.05, 0.2), (0.1, -0.1, 0.2), (-0.1, -0.2, 0.0))]
    ['exceeded', 'exceeded, perhaps by chance', 'met, also within the interval']
    >>> verdict(Range(-0.1, -0.2, 0.1))
    'met'
    """
    met = is_met(excess.estimate)
    if met is None:
        return "not known"
    if met:
        sure = excess.high is not None and excess.high <= 0
        return "met, also within the interval" if sure else "met"
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
    unmet = [point for point in contents.points if not point.certificate.get("feasible", True)]
    if unmet and len(contents.points) == 1:
        sentences.append(
            "The bound cannot be met with this learner. The model exceeds it as little as it can."
        )
    elif unmet and unmet[-1].eps is not None:
        sentences.append(
            f"{len(unmet)} of the bounds, up to {bound(unmet[-1].eps)}, cannot be met with this "
            "learner. Their points hold the least that can."
        )
    return sentences


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
    """Return what a constraint asks, in the words of its documentation.

    >>> from equipoise import DemographicParity
    >>> constraint_contents(DemographicParity()).formula
    '| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps for every group a.'
    """
    if isinstance(constraint, All):
        parts = [constraint_contents(part) for part in constraint.parts]
        return ConstraintContents(
            name=" and ".join(part.name for part in parts),
            code=repr(constraint),
            asks=" ".join(part.asks for part in parts),
            formula="  and  ".join(part.formula for part in parts if part.formula),
            explanation=[text for part in parts for text in part.explanation],
        )
    text = cleandoc(type(constraint).__doc__ or "").partition("\nParameters\n")[0]
    paragraphs = [" ".join(part.split()).replace("``", "") for part in text.strip().split("\n\n")]
    raw = [part.strip() for part in text.strip().split("\n\n")]
    formula = next((p for p, r in zip(paragraphs, raw, strict=True) if r.startswith("``")), "")
    return ConstraintContents(
        name=str(getattr(constraint, "name", type(constraint).__name__)),
        code=repr(constraint),
        asks=paragraphs[0] if paragraphs else "",
        formula=formula,
        explanation=[part for part in paragraphs[1:] if part != formula],
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that count."""
    found = {"python": platform.python_version()}
    for name in ("equipoise", "scikit-learn", "numpy", "scipy", "pyarrow", "lightgbm", "xgboost"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
