"""``audit``: how unfair labels, or the predictions of any model, are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.terminal import command_line

if TYPE_CHECKING:
    from equipoise.cells.table import Array
    from equipoise.cli.tables.people import Reader
    from equipoise.report.contents import AuditContents, DataContents, ReportContents
    from equipoise.rows.people import People


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
    from equipoise.cli.disparities import audit_contents, one_hot, read_decisions
    from equipoise.cli.model_files import check_outputs, write_page
    from equipoise.cli.tables.files import naming
    from equipoise.cli.tables.people import Reader
    from equipoise.cli.tables.request import check_columns
    from equipoise.metrics.summaries import few_of_a_label
    from equipoise.report.contents import in_order

    level = results.level
    check_outputs(page, force=results.force, reads=[table.data])
    reader = Reader(terminal.note, table.dialect())
    with naming(table.data):
        people, labels = _read(table, reader)
    data = _data_contents(table, people, labels, reader.format)
    tables.show_columns(data.columns, labels, data.format)
    decided: Array = one_hot(people.y, labels) if data.decisions else people.y.astype(float)
    if prediction is not None:
        check_columns(people.X.column_names, [prediction], table.data)
        decided = read_decisions(people.X.column(prediction), prediction, labels)
    found = audit_contents(people, decided, prediction, min_size, results)
    found = replace(
        found, groups=in_order(found.groups, table.request().classes(people.X)["order"])
    )
    data = data.without_few([found.groups])
    of = f"predictions {prediction!r}" if prediction else f"labels {table.label!r}"
    rates = tables.RATES if prediction else tables.RATES[:1]
    tables.show_group_rows(f"Groups: {of}, [{level:.0%} intervals]", found.groups, rates)
    tables.show_disparities(found, level)
    tables.note_small(found.groups, results.suppress_below, min_size=min_size)
    for text in few_of_a_label(labels, np.array([(people.y == label).sum() for label in labels])):
        terminal.note(text)
    if page is not None:
        contents = _page_contents(table, data, found, results)
        write_page(contents, page, force=results.force)
    written = None if page is None else str(page)
    terminal.emit({"page": written, "rows": len(people.y), "data": data, **_summary(found)})


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


def _read(table: opt.LabelledTable, reader: Reader) -> tuple[People, tuple[str, ...]]:
    """Return the people with the labels 0 and 1, or more than two texts, and what they are."""
    import numpy as np

    from equipoise.cli.tables.columns import as_number
    from equipoise.cli.tables.people import check_groups, read_label
    from equipoise.rows.people import People

    rows = reader.whole(table.data, table.request())
    y, labels, recoded = read_label(rows, table.label, table.positive, one=True)
    weight = None
    if table.weight is not None:
        weight = as_number(rows.column(table.weight), table.weight).to_numpy()
    columns = table.request().columns(labels, recoded, {}, rows)
    groups = {name: columns.group_values(rows.column(name), name) for name in table.sensitive}
    for name, values in groups.items():
        check_groups(values, rows.column(name), name, reader.note)
    if len(labels) > 2:
        y, labels = np.array(list(map(str, y)), dtype=object), tuple(sorted(labels))
    elif not recoded:
        y = (y == np.unique(y)[1]).astype(np.int64)
    people = People(
        rows,
        y,
        groups,
        sample_weight=weight,
        missing=columns.missing_groups,
    )
    return people, labels


def _data_contents(
    table: opt.LabelledTable, people: People, labels: tuple[str, ...], format_: str
) -> DataContents:
    from equipoise.cli.tables.people import describe
    from equipoise.report.contents import DataContents, base_rate

    classes = labels if len(labels) > 2 else (0, 1)
    return DataContents(
        source=table.data.name,
        rows=len(people.y),
        train_rows=0,
        test_rows=0,
        label=table.label,
        labels=labels,
        base_rate=base_rate(people.y, classes, people.sample_weight),
        sensitive=list(table.sensitive),
        control=[],
        weight=table.weight,
        columns=describe(people.X, table.request().roles, ()),
        format=format_,
    )
