"""``audit``: how unfair labels, or the predictions of any model, are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from equipoise import metrics
from equipoise.cells.rows import Array
from equipoise.cli import options as opt
from equipoise.cli.commands.fitting import command_line
from equipoise.cli.files import check_outputs, page_path, write_page
from equipoise.cli.shown import show_group_rows
from equipoise.cli.tables.columns import as_number, kind_of, plain_values
from equipoise.cli.tables.people import Columns, Reader, Request, check_columns, read_label
from equipoise.cli.terminal import Terminal
from equipoise.files.versions import versions
from equipoise.report.contents import AuditContents, DataContents, Range, ReportContents
from equipoise.report.evaluate import group_contents, span

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
    data: opt.Data,
    label: opt.Label,
    sensitive: opt.Sensitive,
    prediction: Annotated[
        str | None,
        typer.Option(
            "--prediction",
            help="A column of decisions, or of probabilities of the favourable one.",
            rich_help_panel="Columns",
        ),
    ] = None,
    positive: opt.Positive = None,
    weight: opt.Weight = None,
    missing: opt.Missing = None,
    drop_missing: opt.DropMissing = False,
    page: Annotated[Path | None, typer.Option("--page", help="Also write a report page.")] = None,
    level: opt.Level = 0.95,
    force: opt.Force = False,
    machine: opt.Json = False,
) -> None:
    """Tell how unfair labels or predictions are.

    Rates of every group and the disparities between groups, with confidence intervals: of the
    labels themselves, or of the predictions of any model in one of the columns.
    """
    terminal = Terminal.current()
    page = None if page is None else page_path(page, page, False)
    check_outputs(page, force=force)
    request = Request(
        label,
        sensitive,
        positive,
        weight=weight,
        missing=missing or (),
        drop_missing=drop_missing,
    )
    table = Reader(terminal.note).whole(data, request)
    y, labels, recoded = read_label(table, label, positive)
    y = (y == (1 if recoded else np.unique(y)[1])).astype(np.int64)
    decided: Array = y.astype(float)
    if prediction is not None:
        check_columns(table.column_names, [prediction], data)
        decided = read_decisions(table.column(prediction), prediction, labels)
    groups = {name: plain_values(table.column(name), name) for name in sensitive}
    given = None if weight is None else as_number(table.column(weight), weight).to_numpy()
    found = _audit(y, decided, groups, given, level, prediction)
    columns = Columns(label, labels, recoded, tuple(sensitive), (), weight, {})
    contents = ReportContents(
        kind="audit",
        title=f"Audit of {prediction or label} in {data.name}",
        data=_data(data, y, given, columns),
        audit=found,
        level=level,
        command=command_line(),
        versions=versions(),
        notes=list(terminal.notes),
    )
    of = f"predictions {prediction!r}" if prediction else f"labels {label!r}"
    rates = None if prediction else ["base_rate"]
    show_group_rows(terminal, f"Groups: {of}, [{level:.0%} intervals]", found.groups, rates)
    rows = [[words, _shown(value)] for _, value, words in found.disparities]
    terminal.table(f"Disparities, [{level:.0%} intervals]", ["disparity", "value"], rows)
    written = write_page(contents, page, force=force, terminal=terminal)
    terminal.emit(
        {
            "page": None if written is None else str(written),
            "rows": len(y),
            "decisions": found.decisions,
            "groups": found.groups,
            "disparities": {name: value for name, value, _ in found.disparities},
        }
    )


def _audit(
    y: Any,
    decided: Array,
    groups: dict[str, Any],
    weight: Any,
    level: float,
    prediction: str | None,
) -> AuditContents:
    about = {"sensitive_features": groups, "sample_weight": weight, "level": level}
    names = list(_DISPARITIES)[: _OF_LABELS if prediction is None else None]
    return AuditContents(
        decisions="labels" if prediction is None else prediction,
        groups=group_contents(metrics.group_table(y, decided, interval="analytic", **about)),
        disparities=[
            (
                name,
                span(*metrics.confidence_interval(getattr(metrics, name), y, decided, **about)),
                _DISPARITIES[name],
            )
            for name in names
        ],
    )


def read_decisions(column: Any, name: str, labels: tuple[str, str]) -> Array:
    """Return how likely each row is to be selected, from decisions or from probabilities."""
    gone = column.is_null(nan_is_null=True).to_numpy()
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


def _data(path: Path, y: Any, weight: Any, columns: Columns) -> DataContents:
    return DataContents(
        source=path.name,
        rows=len(y),
        train_rows=0,
        test_rows=0,
        label=columns.label,
        labels=columns.labels,
        base_rate=float(np.average(y, weights=weight)),
        sensitive=list(columns.sensitive),
        control=[],
        weight=columns.weight,
        features={},
        missing={},
    )


def _shown(value: Range) -> str:
    if value.estimate is None:
        return ""
    return f"{value.estimate:.4f} [{value.low or 0.0:.4f}, {value.high or 0.0:.4f}]"
