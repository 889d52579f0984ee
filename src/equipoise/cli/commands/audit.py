"""``audit``: how unfair labels, or the predictions of any model, are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.terminal import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.cells.table import Array, CellTable
    from equipoise.cli.tables.people import Examples, Reader
    from equipoise.cli.tables.request import Columns
    from equipoise.report.contents import AuditContents, DataContents, ReportContents


def audit(
    *,
    table: opt.LabelledTable,
    prediction: Annotated[
        str | None, opt.option("A column of decisions, or of probabilities of the favourable one.")
    ] = None,
    min_size: opt.MinSize = 1,
    page: Annotated[Path | None, opt.option("Also write a report page.")] = None,
    results: opt.Results,
) -> None:
    """Tell how unfair labels or predictions are.

    Rates of every group and the disparities between groups, with confidence intervals: of the
    labels themselves, or of the predictions of any model in one of the columns.
    """
    import numpy as np

    from equipoise.cli import result_tables as tables
    from equipoise.cli.disparities import audit_of, for_others, one_hot, read_decisions
    from equipoise.cli.model_files import check_outputs, write_page
    from equipoise.cli.tables.files import naming
    from equipoise.cli.tables.people import Reader, describe
    from equipoise.cli.tables.request import check_columns
    from equipoise.metrics.few import left_out
    from equipoise.metrics.summaries import few_of_a_label
    from equipoise.report.contents import DataContents, base_rate, in_order

    check_outputs(page, force=results.force, reads=[table.data])
    reader = Reader(terminal.note, table.dialect())
    with naming(table.data):
        rows, people, columns = _read(table, reader)
    labels = columns.labels
    data = DataContents(
        source=table.data.name,
        rows=len(people),
        train_rows=0,
        test_rows=0,
        **columns.shown,
        base_rate=base_rate(people.y, labels if len(labels) > 2 else (0, 1), people.sample_weight),
        columns=describe(rows, table.request().roles, ()),
        format=reader.format,
    )
    tables.show_columns(data.columns, labels, data.format)
    decided: Array = one_hot(people.y, labels) if data.decisions else people.y.astype(float)
    if prediction is not None:
        check_columns(rows.column_names, [prediction], table.data)
        decided = read_decisions(rows.column(prediction), prediction, labels)
    how: dict[str, Any] = {"prediction": prediction, "min_size": min_size, "level": results.level}
    whole = audit_of(people, decided, **how)
    shown = for_others(whole, people, decided, results.suppress_below, **how)
    found, shown = (
        replace(audit, groups=in_order(audit.groups, columns.order))
        for audit in (whole.contents, shown)
    )
    of = f"predictions {prediction!r}" if prediction else f"labels {table.label!r}"
    rates = tables.RATES if prediction else tables.RATES[:1]
    tables.show_group_rows(f"Groups: {of}, [{results.level:.0%} intervals]", found.groups, rates)
    tables.show_disparities(found, results.level)
    tables.note_small(found.groups, min_size=min_size)
    for text in few_of_a_label(labels, np.array([(people.y == label).sum() for label in labels])):
        terminal.note(text)
    data = data.without_few({"audit": _cells(people, labels)}, results.suppress_below)
    leaves_out = data.rows < len(people)
    if page is not None:
        contents = replace(_page_contents(table, data, shown, results), leaves_out=leaves_out)
        write_page(contents, page, force=results.force)
    terminal.emit(
        {
            "page": None if page is None else str(page),
            "rows": data.rows,
            "data": data,
            "left_out": left_out(results.suppress_below) if leaves_out else "",
            **_summary(shown),
        }
    )


def _cells(people: Examples, labels: Sequence[str]) -> CellTable:
    """Return the cells of the people, by label and group."""
    import numpy as np

    from equipoise.metrics.audit import read_cells

    names = labels if len(labels) > 2 else (0, 1)
    label = np.array([names.index(y) for y in people.y.tolist()], dtype=np.int8)
    about = (people.sensitive_features, None, people.sample_weight, people.missing)
    return read_cells(label, *about, tuple(names)).table()


def _summary(found: AuditContents) -> dict[str, Any]:
    """Return what was found, for `--json`."""
    return {
        "decisions": found.decisions,
        "groups": found.groups,
        "disparities": {name: value for name, value, _ in found.disparities},
        "between": found.between,
        "by_estimate": found.by_estimate,
    }


def _page_contents(
    table: opt.LabelledTable, data: DataContents, found: AuditContents, results: opt.Results
) -> ReportContents:
    from equipoise.files.manifest import date_made, versions
    from equipoise.report.contents import ReportContents

    of = table.label if found.decisions == "labels" else found.decisions
    return ReportContents(
        kind="audit",
        title=f"Audit of {of} in {table.data.name}",
        data=data,
        audit=found,
        level=results.level,
        command=command_line(),
        versions=versions(),
        date=date_made(),
        suppress_below=results.suppress_below,
        notes=list(terminal.running().notes),
    )


def _read(table: opt.LabelledTable, reader: Reader) -> tuple[Any, Examples, Columns]:
    """Return the table, its people with the labels 0 and 1, or more than two texts, and columns."""
    import numpy as np

    from equipoise.cli.tables.people import read_label

    request = table.request()
    rows = reader.whole(table.data, request)
    y, labels, recoded = read_label(rows, table.label, table.positive, one=True)
    if len(labels) > 2:
        y, labels = np.array(list(map(str, y)), dtype=object), tuple(sorted(labels))
    elif not recoded:
        y = (y == np.unique(y)[1]).astype(np.int64)
    columns = request.columns(labels, recoded, {}, rows)
    return rows, reader.examples(rows, columns, y), columns
