"""``audit``: how unfair labels, or the predictions of any model, are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from equipoise import metrics
from equipoise.cells.table import Array
from equipoise.cli import options as opt
from equipoise.cli.model_files import check_outputs, write_page
from equipoise.cli.result_tables import show_group_rows, shown
from equipoise.cli.tables.columns import as_number, is_missing, kind_of, plain_values
from equipoise.cli.tables.people import Reader, check_columns, read_label
from equipoise.cli.terminal import Terminal, command_line
from equipoise.files.manifest import date_made, versions
from equipoise.report.contents import AuditContents, DataContents, ReportContents
from equipoise.report.evaluate import group_contents, span
from equipoise.rows.people import People

#: Disparity -> what it is, in words. The first three need decisions only, the others also labels.
_DISPARITIES: dict[str, str] = {
    "demographic_parity_difference": "largest difference of selection rates between groups",
    "demographic_parity_violation": "largest difference of a group's selection rate from all",
    "demographic_parity_ratio": "smallest ratio of selection rates (four-fifths rule: 0.8)",
    "equalized_odds_difference": "largest difference of true- or false-positive rates",
    "equalized_odds_violation": "largest difference of these from those of all",
    "equal_opportunity_difference": "largest difference of true-positive rates",
}
_OF_LABELS = 3


def audit(
    *,
    table: opt.LabelledTable,
    prediction: Annotated[
        str | None, opt.option("A column of decisions, or of probabilities of the favourable one.")
    ] = None,
    page: Annotated[Path | None, opt.option("Also write a report page.")] = None,
    results: opt.Results,
) -> None:
    """Tell how unfair labels or predictions are.

    Rates of every group and the disparities between groups, with confidence intervals: of the
    labels themselves, or of the predictions of any model in one of the columns.
    """
    terminal, level = Terminal.current(), results.level
    check_outputs(page, force=results.force)
    people, labels = _read(table, terminal)
    decided: Array = people.y.astype(float)
    if prediction is not None:
        check_columns(people.X.column_names, [prediction], table.data)
        decided = read_decisions(people.X.column(prediction), prediction, labels)
    found = audit_contents(people, decided, prediction, results)
    of = f"predictions {prediction!r}" if prediction else f"labels {table.label!r}"
    rates = None if prediction else ["base_rate"]
    show_group_rows(terminal, f"Groups: {of}, [{level:.0%} intervals]", found.groups, rates)
    shown_rows = [[words, shown(value, ".4f", ".4f")] for _, value, words in found.disparities]
    terminal.table(f"Disparities, [{level:.0%} intervals]", ["disparity", "value"], shown_rows)
    if page is not None:
        contents = ReportContents(
            kind="audit",
            title=f"Audit of {prediction or table.label} in {table.data.name}",
            data=_data_contents(table, people, labels),
            audit=found,
            level=level,
            command=command_line(),
            versions=versions(),
            date=date_made(),
            suppress_below=results.suppress_below,
            notes=list(terminal.notes),
        )
        write_page(contents, page, force=results.force, terminal=terminal)
    terminal.emit(
        {
            "page": None if page is None else str(page),
            "rows": len(people.y),
            "decisions": found.decisions,
            "groups": found.groups,
            "disparities": {name: value for name, value, _ in found.disparities},
        }
    )


def _read(table: opt.LabelledTable, terminal: Terminal) -> tuple[People, tuple[str, str]]:
    """Return the people with the labels 0 and 1, and what these are called."""
    rows = Reader(terminal.note).whole(table.data, table.request())
    y, labels, recoded = read_label(rows, table.label, table.positive)
    weight = None
    if table.weight is not None:
        weight = as_number(rows.column(table.weight), table.weight).to_numpy()
    groups = {name: plain_values(rows.column(name), name) for name in table.sensitive}
    favourable = y == (1 if recoded else np.unique(y)[1])
    return People(rows, favourable.astype(np.int64), groups, sample_weight=weight), labels


def audit_contents(
    people: People, decided: Array, prediction: str | None, results: opt.Results
) -> AuditContents:
    """Return the rates of all groups, and the disparities between them."""
    about: dict[str, Any] = {
        "sensitive_features": people.sensitive_features,
        "sample_weight": people.sample_weight,
        "level": results.level,
    }
    table = metrics.group_table(people.y, decided, interval="analytic", **about)
    disparities = []
    for name in list(_DISPARITIES)[: _OF_LABELS if prediction is None else None]:
        disparity = getattr(metrics, name)
        value = metrics.confidence_interval(disparity, people.y, decided, **about)
        disparities.append((name, span(*value), _DISPARITIES[name]))
    groups = group_contents(table, results.suppress_below)
    return AuditContents(prediction or "labels", groups, disparities)


def _data_contents(
    table: opt.LabelledTable, people: People, labels: tuple[str, str]
) -> DataContents:
    return DataContents(
        source=table.data.name,
        rows=len(people.y),
        train_rows=0,
        test_rows=0,
        label=table.label,
        labels=labels,
        base_rate=float(np.average(people.y, weights=people.sample_weight)),
        sensitive=list(table.sensitive),
        control=[],
        weight=table.weight,
        features={},
        missing={},
    )


def read_decisions(column: Any, name: str, labels: tuple[str, str]) -> Array:
    """Return how likely each row is to be selected, from decisions or from probabilities."""
    gone = is_missing(column)
    if gone.any():
        raise ValueError(
            f"prediction column {name!r} is missing in {int(gone.sum()):,} rows, first in row "
            f"{int(gone.argmax()) + 1}; expected one for every row."
        )
    text = [str(value) for value in plain_values(column, name)]
    if set(text) <= set(labels):
        return (np.array(text, dtype=object) == labels[1]).astype(float)
    if kind_of(column, name) == "number":
        values = as_number(column, name).to_numpy()
        if values.min() >= 0 and values.max() <= 1:
            return values
    raise ValueError(
        f"prediction column {name!r} has values such as {text[0]!r}; expected the labels "
        f"{labels[0]!r} and {labels[1]!r}, or probabilities from 0 to 1."
    )
