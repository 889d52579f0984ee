"""What the page says in sentences: the findings, and what a constraint does not promise."""

from __future__ import annotations

from equipoise.report.contents import MeasuredContents, PointContents, ReportContents
from equipoise.report.numbers import bound, decimal, interval, on, verdict, with_interval


def chosen_point(contents: ReportContents, eps: float | None = None) -> PointContents | None:
    """Return the point that is shown first: the one nearest to a bound, or in the middle.

    >>> from equipoise.report.contents import DataContents
    >>> data = DataContents("a.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None, {}, {})
    >>> chosen_point(ReportContents("audit", "Audit", data)) is None
    True
    """
    if not contents.points:
        return None
    if eps is None:
        return contents.points[len(contents.points) // 2]
    traced = [point for point in contents.points if point.eps is not None]
    return min(traced or contents.points, key=lambda point: abs((point.eps or 0.0) - eps))


def main_data(point: PointContents) -> str:
    """Return the data that count most: people whom the fit has not seen, if there are any."""
    names = [entry.data for entry in point.measured]
    first = names[0] if names else "training"
    return next((name for name in ("test", "out of fold") if name in names), first)


def findings(contents: ReportContents) -> list[str]:
    """Return what was found, in a few sentences."""
    if contents.audit is not None:
        return [
            f"{words[0].upper()}{words[1:]}: {with_interval(value)}."
            for _, value, words in contents.audit.disparities
        ]
    shown = [contents.unconstrained, chosen_point(contents)]
    if len(contents.points) > 1:
        shown.append(contents.points[0])
    sentences = [_finding(point) for point in shown if point is not None]
    unmet = [point for point in contents.points if not point.certificate.get("feasible", True)]
    if unmet and unmet[-1].eps is not None:
        sentences.append(
            f"{len(unmet)} of the bounds, up to {bound(unmet[-1].eps)}, cannot be met with this "
            "learner. Their points hold the least that can."
        )
    return sentences


def _finding(point: PointContents) -> str:
    measured = on(point, main_data(point))
    name = "Without the constraint" if point.eps is None else f"Within the bound {bound(point.eps)}"
    if point.eps is None and point.command:
        name = "This model"
    if measured is None:
        return f"{name}: error {decimal(point.error)}."
    people = f"{measured.people:,} {_whose(measured)}"
    text = f"{name}: error {decimal(measured.error.estimate)} {interval(measured.error)}"
    if measured.disparity is not None:
        text += (
            f", largest difference between groups {decimal(measured.disparity.estimate)} "
            f"{interval(measured.disparity)}"
        )
    text = f"{text}, on {people}."
    if point.eps is not None:
        text += f" The bound is {verdict(measured.excess)}."
    return text


def _whose(measured: MeasuredContents) -> str:
    return {
        "test": "people held out",
        "out of fold": "people, each decided on by a model that had not seen them",
    }.get(measured.data, "people learned from")


def does_not_promise(contents: ReportContents) -> list[tuple[str, str]]:
    """Return what a bound that is met does not mean: a few words, and why."""
    return [
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
    ]


def certificate_words(contents: ReportContents) -> list[str]:
    """Return what a certificate proves, for which class of classifiers."""
    exact = any(point.certificate.get("exact") for point in contents.points)
    scope = (
        "The oracle of this fit finds true minimisers, so it holds over the whole class."
        if exact
        else "The learner minimises a loss of its own, so this holds relative to the oracle: over "
        "every classifier that the learner was able to find when it was asked."
    )
    return [
        "For each bound the fit gives a lower value: no classifier within the bound errs less, on "
        f"the data of the fit. {scope}",
        "The gap is the distance between the error reached and the lower value. A point is "
        "certified where its gap is no more than nu, the gap asked for.",
        "The certificate is about the data of the fit. It proves nothing about new people.",
    ]
