"""The model card: what a model is for, what it was made of and what it does, in one page of text.

The headings are those of Mitchell et al., "Model Cards for Model Reporting" (2019). What no fit can
know, such as who is responsible, is left open and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.game.switches import number
from equipoise.metrics.headline import COMPARED, RULE
from equipoise.report.contents import (
    RATES,
    DataContents,
    GroupContents,
    PointContents,
    ReportContents,
)
from equipoise.report.groups import largest_groups
from equipoise.report.rate_names import RATE_NAMES, rate_meaning, rate_name, rates_of
from equipoise.report.regression import RegressionContents, regression_card
from equipoise.report.switches import moved_groups, switched_groups
from equipoise.report.templates import markdown_template
from equipoise.report.text import (
    NOT_PROMISED,
    bound,
    decimal,
    facts_of_making,
    findings,
    group_name,
    moves_of,
    percent,
    rate_of,
    shares_of_data,
    stated,
    with_interval,
)

#: Groups in the card, at most.
_MOST_GROUPS = 40
#: Decisions that have tables of their own, at most.
_MOST_DECISIONS = 8
#: What users must say themselves.
_OPEN = "To be completed"


@dataclass(frozen=True)
class CardSection:
    """A heading and what stands below it: paragraphs, items of a list, a table."""

    title: str
    paragraphs: Sequence[str] = ()
    items: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def write_model_card(
    path: str | Path,
    contents: ReportContents | RegressionContents,
    *,
    eps: float | None = None,
    overwrite: bool = True,
) -> None:
    """Write the model card as Markdown.

    Parameters
    ----------
    path : str or Path
    contents : ReportContents or RegressionContents
        Of a frontier or of a model.
    eps : float, optional
        Which point of a frontier the card is about: the one nearest to this bound. By default the
        one that the page shows first.
    overwrite : bool, default=True
        Whether a file that has this name is replaced.
    """
    with new_file(path, overwrite=overwrite) as partial:
        if isinstance(contents, RegressionContents):
            text = regression_card(contents)
        else:
            text = model_card(contents, eps=eps)
        partial.write_text(text, encoding="utf-8", errors="replace")


def model_card(contents: ReportContents, *, eps: float | None = None) -> str:
    r"""Return the model card as Markdown; see `write_model_card`.

    Examples
    --------
    >>> from equipoise.report.contents import DataContents
    >>> data = DataContents("a*b.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None)
    >>> print(model_card(ReportContents("model", "Parity in a*b.csv", data)).splitlines()[0])
    # Model card: Parity in a\*b.csv
    """
    sections = card_sections(contents, eps=eps)
    template = markdown_template("card.md.j2")
    return template.render(title=contents.title, sections=sections).rstrip() + "\n"


def card_sections(contents: ReportContents, *, eps: float | None = None) -> list[CardSection]:
    """Return the sections of the card, as plain text."""
    point, data = contents.nearest(eps), contents.data
    factors = [f"Groups by: {', '.join(data.sensitive)}."]
    if data.control:
        factors.append(f"Compared within: {', '.join(data.control)}.")
    use = f"{_OPEN}: who decides what about whom with this model, and which uses are excluded."
    collected = f"{_OPEN}: how the data were collected, when, and whom they leave out."
    duties = f"{_OPEN}: who is responsible, how people can object, when it is measured again."
    return [
        CardSection("Model", findings(contents), _model_facts(contents, point)),
        CardSection("Intended use", [use]),
        CardSection("Factors", items=factors),
        CardSection(
            "Metrics",
            [f"All intervals have level {contents.level:.0%}."],
            [f"{rate_name(rate)}: {rate_meaning(rate)}." for rate in _all_rates(data.decisions)],
        ),
        CardSection("Data", [collected], _data_facts(contents)),
        *([] if point is None else _results(point, data.decisions, contents.suppress_below)),
        *([] if point is None else _switched(point, data.labels[1])),
        CardSection(
            "Ethical considerations",
            ["What the constraint does not promise:"],
            [f"{short} {why}" for short, why in NOT_PROMISED.items()],
        ),
        CardSection("Caveats and recommendations", [duties], contents.notes),
    ]


def _all_rates(decisions: Sequence[str]) -> list[str]:
    """Return the rates that the card explains; of several decisions, those of the first few."""
    if not decisions:
        return list(RATE_NAMES)
    of_each = [rate for v in decisions[:_MOST_DECISIONS] for rate in rates_of(RATES, v)]
    return [*of_each, "error_rate"]


def _model_facts(contents: ReportContents, point: PointContents | None) -> list[str]:
    asked, facts = contents.constraint, list[str]()
    if contents.learner:
        facts.append(f"Learner: {contents.learner}.")
    if asked is not None:
        facts += [f"Constraint: {asked.name}. {asked.asks}", f"As written: {asked.code}"]
    if point is not None:
        if point.eps is not None:
            facts.append(f"Bound: {bound(point.eps)}.")
        if len(point.members) > 1:
            facts.append(f"Randomized over {len(point.members)} classifiers.")
        if point.command:
            facts.append(f"To select it: {point.command}")
    if contents.command:
        facts.append(f"Made by: {contents.command}")
    facts += [f"{term}: {text}." for term, text in facts_of_making(contents)]
    if contents.versions:
        facts.append("Versions: " + ", ".join(f"{k} {v}" for k, v in contents.versions.items()))
    return facts


def _data_facts(contents: ReportContents) -> list[str]:
    data = contents.data
    missing = ", ".join(f"{col.name} {col.missing:,}" for col in data.columns if col.missing)
    optional = [
        ("Weights", data.weight),
        ("Features", ", ".join(data.features)),
        ("Missing values", missing),
    ]
    return [
        f"Source: {data.source}, {data.rows:,} rows.",
        *(f"{term}: {text}." for term, text in shares_of_data(contents)),
        f"Label: {data.label}; {_labels(data)}",
        *(f"{term}: {text}." for term, text in optional if text),
    ]


def _labels(data: DataContents) -> str:
    if data.decisions:
        shares = ", ".join(f"{name} ({share:.1%})" for name, share in data.label_shares)
        return f"{len(data.decisions)} values, with their shares of the people: {shares}."
    share = None if isinstance(data.base_rate, list) else data.base_rate
    return (
        f"favourable: {data.labels[1]}, otherwise {data.labels[0]}. {percent(share)} have "
        "the favourable one."
    )


def _results(point: PointContents, decisions: Sequence[str], limit: int) -> list[CardSection]:
    """Return the measurements on each of the data, and the groups on those that count most."""
    text = f"Error {decimal(point.error)} on the data of the fit"
    lower = point.certificate.get("lower")
    if lower is not None:
        scope = point.certificate.get("scope", "")
        text += f"; lower value {decimal(lower)}, {scope} ({point.proof})"
    if (by_lot := point.certificate.get("by_lot")) is not None:
        most = "" if point.certificate.get("by_lot_exact") else "at most "
        text += f". Decided at random: {most}{by_lot:.2%} of the people measured"
    header = ["data", "people", "error", "excess over the bound", "of", "bound"]
    rows = [
        [
            entry.data,
            f"{entry.people:,}",
            with_interval(entry.error),
            with_interval(entry.stated_excess, sign="+"),
            stated(entry, limit),
            entry.verdict,
        ]
        for entry in point.measured
    ]
    traced = any(entry.traced for entry in point.measured)
    text += f". Excess: {COMPARED}" if traced else f". Excess: of the inequality with {RULE}"
    sections = [CardSection("Results", [f"{text}."], header=header, rows=rows)]
    for data in point.group_data[:1]:
        groups = largest_groups(point.groups[data], _MOST_GROUPS)
        if not decisions:
            sections.append(_groups(f"Groups, {data} data", groups, RATES))
            continue
        for decision in decisions[:_MOST_DECISIONS]:
            title = f"Groups, decision {decision}, {data} data"
            sections.append(_groups(title, groups, rates_of(RATES, decision)))
        sections.append(_groups(f"Groups, errors, {data} data", groups, RATES[-1:]))
    return sections


def _groups(title: str, groups: Sequence[GroupContents], rates: Sequence[str]) -> CardSection:
    """Return a table of some rates of groups."""
    header = ["group", "people", *(rate_name(rate).lower() for rate in rates)]
    rows = [
        [
            group_name(group),
            f"{group.count:,}",
            *(rate_of(group, rate) for rate in rates),
        ]
        for group in groups
    ]
    return CardSection(title, header=header, rows=rows)


def _switched(point: PointContents, favourable: str) -> list[CardSection]:
    """Return who is decided on differently, on the data that count most."""
    if point.main_data not in point.switched:
        return []
    text = "Compared with the unconstrained model; of a randomized model, expected numbers."
    title = f"Who is decided on differently, {point.main_data} data"
    if moved := moved_groups(point.switched[point.main_data]):
        header = ["group", "people", "before", "after", "moved"]
        rows = [
            [group_name(group), *move]
            for group in largest_groups(moved, _MOST_GROUPS)
            for move in moves_of(group)
        ]
        return [CardSection(title, [text], header=header, rows=rows)]
    groups = switched_groups(point.switched[point.main_data])
    labelled = any(group.gained_qualified is not None for group in groups)
    counts = ["gained", "gained_qualified", "lost", "lost_qualified"]
    names = ["gain", f"gain, label {favourable}", "lose", f"lose, label {favourable}"]
    kept = slice(None, None, 1 if labelled else 2)
    rows = [
        [
            group_name(group),
            *(
                number(value)
                for value in (group.count, *(getattr(group, name) for name in counts[kept]))
            ),
        ]
        for group in largest_groups(groups, _MOST_GROUPS)
    ]
    header = ["group", "people", *names[kept]]
    return [CardSection(title, [text], header=header, rows=rows)]
