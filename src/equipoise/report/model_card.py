"""The model card: what a model is for, what it was made of and what it does, in one page of text.

The headings are those of Mitchell et al., "Model Cards for Model Reporting" (2019). What no fit can
know, such as who is responsible, is left open and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.atomic_files import new_file
from equipoise.report.contents import PointContents, ReportContents
from equipoise.report.group_tables import shown_groups
from equipoise.report.numbers import (
    RATE_MEANINGS,
    RATE_NAMES,
    bound,
    decimal,
    group_name,
    verdict,
    with_interval,
)
from equipoise.report.words import chosen_point, does_not_promise, findings, main_data

#: Groups in the card, at most.
_MOST_GROUPS = 40
#: What users must say themselves.
_OPEN = "To be completed"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


@dataclass(frozen=True)
class CardTable:
    """A table of text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class CardSection:
    """A heading and what stands below it: paragraphs, items of a list, a table."""

    title: str
    paragraphs: Sequence[str] = ()
    items: Sequence[str] = ()
    table: CardTable | None = None


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
    lines = [f"# Model card: {_plain(contents.title)}", ""]
    for section in card_sections(contents, eps=eps):
        lines += [f"## {section.title}", ""]
        for paragraph in section.paragraphs:
            lines += [_plain(paragraph), ""]
        if section.items:
            lines += [*(f"- {_plain(item)}" for item in section.items), ""]
        if section.table is not None:
            header, rows = section.table.header, section.table.rows
            lines += [_line(header), _line(["---"] * len(header), plain=False)]
            lines += [*map(_line, rows), ""]
    return "\n".join(lines)


def card_sections(contents: ReportContents, *, eps: float | None = None) -> list[CardSection]:
    """Return the sections of the card, as plain text."""
    point = chosen_point(contents, eps)
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
        *([] if point is None else _results(contents, point)),
        CardSection(
            "Ethical considerations",
            ["What the constraint does not promise:"],
            [f"{short} {why}" for short, why in does_not_promise(contents)],
        ),
        CardSection(
            "Caveats and recommendations",
            [f"{_OPEN}: who is responsible, how people can object, when it is measured again."],
            list(contents.notes),
        ),
    ]


def _model(contents: ReportContents, point: PointContents | None) -> CardSection:
    items = [f"Learner: {contents.learner}." if contents.learner else ""]
    if contents.constraint is not None:
        items += [
            f"Constraint: {contents.constraint.name}. {contents.constraint.asks}",
            f"As written: {contents.constraint.code}",
        ]
    if point is not None:
        if point.eps is not None:
            items.append(f"Bound: {bound(point.eps)}.")
        items += [
            f"Randomized over {len(point.members)} classifiers." if len(point.members) > 1 else "",
            f"To select it: {point.command}" if point.command else "",
        ]
    items += [
        f"Made by: {contents.command}" if contents.command else "",
        "Versions: " + ", ".join(f"{k} {v}" for k, v in contents.versions.items())
        if contents.versions
        else "",
    ]
    return CardSection("Model", findings(contents), [item for item in items if item])


def _factors(contents: ReportContents) -> CardSection:
    data = contents.data
    items = [f"Groups by: {', '.join(data.sensitive)}."]
    if data.control:
        items.append(f"Compared within: {', '.join(data.control)}.")
    return CardSection("Factors", (), items)


def _data(contents: ReportContents) -> CardSection:
    data = contents.data
    items = [
        f"Source: {data.source}, {data.rows:,} rows.",
        f"Learned from {data.train_rows:,}, held out {data.test_rows:,}."
        if data.train_rows
        else "",
        f"Label: {data.label}; favourable: {data.labels[1]}, otherwise {data.labels[0]}. "
        f"{data.base_rate:.1%} have the favourable one.",
        f"Weights: {data.weight}." if data.weight else "",
        f"Features: {', '.join(data.features)}." if data.features else "",
        "Missing values: " + ", ".join(f"{name} {n:,}" for name, n in data.missing.items()) + "."
        if data.missing
        else "",
    ]
    asked = f"{_OPEN}: how the data were collected, when, and whom they leave out."
    return CardSection("Data", [asked], [item for item in items if item])


def _results(contents: ReportContents, point: PointContents) -> list[CardSection]:
    measured = CardTable(
        ["data", "people", "error", "excess over the bound", "bound"],
        [
            [
                entry.data,
                f"{entry.people:,}",
                with_interval(entry.error),
                with_interval(entry.excess, sign="+"),
                verdict(entry.excess),
            ]
            for entry in point.measured
        ],
    )
    certificate = point.certificate
    proven = "certified" if certificate.get("certified") else "not certified"
    told = [f"Error {decimal(point.error)} on the data of the fit."]
    if certificate.get("lower") is not None:
        told[0] = (
            f"Error {decimal(point.error)} on the data of the fit; no classifier within the bound "
            f"that the learner was found able to make errs less than "
            f"{decimal(certificate['lower'])} ({proven})."
        )
    sections = [CardSection("Results", told, (), measured if point.measured else None)]
    data = main_data(point) if main_data(point) in point.groups else next(iter(point.groups), None)
    if data is None:
        return sections
    groups = shown_groups(point.groups[data], _MOST_GROUPS)
    rows = [
        [
            group_name(group.feature, group.group),
            f"{group.count:,}",
            *(with_interval(group.rates.get(rate), share=True) for rate in RATE_NAMES),
        ]
        for group in groups
    ]
    header = ["group", "people", *(name.lower() for name in RATE_NAMES.values())]
    return [*sections, CardSection(f"Groups, {data} data", (), (), CardTable(header, rows))]


def _line(cells: Sequence[str], plain: bool = True) -> str:
    return f"| {' | '.join(map(_plain, cells) if plain else cells)} |"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is: names of groups are whatever a file holds."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
