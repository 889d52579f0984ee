"""The model card: what a model is for, what it was made of and what it does, in one page of text.

The headings are those of Mitchell et al., "Model Cards for Model Reporting" (2019). What no fit can
know, such as who is responsible, is left open and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.report.contents import RATES, PointContents, ReportContents, largest_groups
from equipoise.report.templates import markdown_template
from equipoise.report.text import (
    NOT_PROMISED,
    RATE_MEANINGS,
    RATE_NAMES,
    SUPPRESSED,
    bound,
    bound_verdict,
    decimal,
    facts_of_making,
    findings,
    group_name,
    shares_of_data,
    with_interval,
)

#: Groups in the card, at most.
_MOST_GROUPS = 40
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
    contents: ReportContents,
    *,
    eps: float | None = None,
    overwrite: bool = True,
) -> None:
    """Write the model card as Markdown.

    Parameters
    ----------
    path : str or Path
    contents : ReportContents
        Of a frontier or of a model.
    eps : float, optional
        Which point of a frontier the card is about: the one nearest to this bound. By default the
        one that the page shows first.
    overwrite : bool, default=True
        Whether a file that has this name is replaced.
    """
    with new_file(path, overwrite=overwrite) as partial:
        text = model_card(contents, eps=eps)
        partial.write_text(text, encoding="utf-8", errors="replace")


def model_card(contents: ReportContents, *, eps: float | None = None) -> str:
    r"""Return the model card as Markdown; see `write_model_card`.

    Examples
    --------
    >>> from equipoise.report.contents import DataContents
    >>> data = DataContents("a*b.csv", 2, 2, 0, "y", ("0", "1"), 0.5, ["sex"], [], None, {}, {})
    >>> print(model_card(ReportContents("model", "Parity in a*b.csv", data)).splitlines()[0])
    # Model card: Parity in a\*b.csv
    """
    sections = card_sections(contents, eps=eps)
    template = markdown_template("card.md.j2")
    return template.render(title=contents.title, sections=sections).rstrip() + "\n"


def card_sections(contents: ReportContents, *, eps: float | None = None) -> list[CardSection]:
    """Return the sections of the card, as plain text."""
    point = contents.nearest(eps)
    return [
        _model(contents, point),
        CardSection(
            "Intended use",
            [f"{_OPEN}: who decides what about whom with this model, and which uses are excluded."],
        ),
        _factors(contents),
        CardSection(
            "Metrics",
            [f"All intervals have level {contents.level:.0%}."],
            [f"{name}: {RATE_MEANINGS[rate]}." for rate, name in RATE_NAMES.items()],
        ),
        _data(contents),
        *([] if point is None else _results(point)),
        CardSection(
            "Ethical considerations",
            ["What the constraint does not promise:"],
            [f"{short} {why}" for short, why in NOT_PROMISED.items()],
        ),
        CardSection(
            "Caveats and recommendations",
            [f"{_OPEN}: who is responsible, how people can object, when it is measured again."],
            list(contents.notes),
        ),
    ]


def _model(contents: ReportContents, point: PointContents | None) -> CardSection:
    asked, items = contents.constraint, list[str]()
    if contents.learner:
        items.append(f"Learner: {contents.learner}.")
    if asked is not None:
        items += [f"Constraint: {asked.name}. {asked.asks}", f"As written: {asked.code}"]
    if point is not None and point.eps is not None:
        items.append(f"Bound: {bound(point.eps)}.")
    if point is not None and len(point.members) > 1:
        items.append(f"Randomized over {len(point.members)} classifiers.")
    if point is not None and point.command:
        items.append(f"To select it: {point.command}")
    if contents.command:
        items.append(f"Made by: {contents.command}")
    items += [f"{term}: {text}." for term, text in facts_of_making(contents)]
    if contents.versions:
        items.append("Versions: " + ", ".join(f"{k} {v}" for k, v in contents.versions.items()))
    return CardSection("Model", findings(contents), items)


def _factors(contents: ReportContents) -> CardSection:
    data = contents.data
    items = [f"Groups by: {', '.join(data.sensitive)}."]
    if data.control:
        items.append(f"Compared within: {', '.join(data.control)}.")
    return CardSection("Factors", items=items)


def _data(contents: ReportContents) -> CardSection:
    data = contents.data
    items = [f"Source: {data.source}, {data.rows:,} rows."]
    items += [f"{term}: {text}." for term, text in shares_of_data(contents)]
    items.append(
        f"Label: {data.label}; favourable: {data.labels[1]}, otherwise {data.labels[0]}. "
        f"{data.base_rate:.1%} have the favourable one."
    )
    if data.weight:
        items.append(f"Weights: {data.weight}.")
    if data.features:
        items.append(f"Features: {', '.join(data.features)}.")
    if data.missing:
        counts = ", ".join(f"{name} {count:,}" for name, count in data.missing.items())
        items.append(f"Missing values: {counts}.")
    asked = f"{_OPEN}: how the data were collected, when, and whom they leave out."
    return CardSection("Data", [asked], items)


def _results(point: PointContents) -> list[CardSection]:
    told = f"Error {decimal(point.error)} on the data of the fit"
    lower = point.certificate.get("lower")
    if lower is not None:
        scope = point.certificate.get("scope", "")
        told += f"; lower value {decimal(lower)}, {scope} ({point.proof})"
    header = ["data", "people", "error", "excess over the bound", "bound"]
    rows = [
        [
            entry.data,
            f"{entry.people:,}",
            with_interval(entry.error),
            with_interval(entry.excess, sign="+"),
            bound_verdict(entry),
        ]
        for entry in point.measured
    ]
    results = CardSection("Results", [f"{told}."], header=header, rows=rows)
    return [results, *(_groups(point, data) for data in point.group_data[:1])]


def _groups(point: PointContents, data: str) -> CardSection:
    header = ["group", "people", *(RATE_NAMES[rate].lower() for rate in RATES)]
    rows = [
        [
            group_name(group),
            SUPPRESSED if group.count is None else f"{group.count:,}",
            *(with_interval(group.rates.get(rate), share=True) for rate in RATES),
        ]
        for group in largest_groups(point.groups[data], _MOST_GROUPS)
    ]
    return CardSection(f"Groups, {data} data", header=header, rows=rows)
