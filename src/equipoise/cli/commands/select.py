"""``select``: exactly k of the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal

if TYPE_CHECKING:
    from equipoise.cli.model_files import ModelFile
    from equipoise.cli.tables.columns import Kind


def select(
    model: opt.ModelFile,
    data: opt.Data,
    k: Annotated[int, opt.option("How many to select.", "-k")],
    output: Annotated[Path, opt.option("CSV, Parquet or Arrow.", "--output", "-o")],
    sensitive: Annotated[
        list[str] | None,
        opt.option(
            "A column whose groups are kept in balance; again for further ones. By default those "
            "that the model was fitted with."
        ),
    ] = None,
    without_groups: Annotated[
        bool, opt.option("Look at no groups; their numbers are left to chance.", "--without-groups")
    ] = False,
    id_column: Annotated[
        str | None, opt.option("A column that identifies people, such as a number.", "--id")
    ] = None,
    by: Annotated[
        str,
        opt.option(
            "lot (everybody with their own probability) or rank (nobody is drawn, and k can be "
            "any number)."
        ),
    ] = "lot",
    u: Annotated[
        float | None,
        opt.option("The number that a selection has printed, to select the same people.", "--u"),
    ] = None,
    seed: Annotated[
        int | None, opt.option("Draw the number afresh; by default these people have one.")
    ] = None,
    decision: Annotated[
        str | None,
        opt.option("The decision to select for; by default the favourable one of two."),
    ] = None,
    *,
    how: opt.Application,
) -> None:
    """Select exactly k people of a table.

    By lot everybody has their own probability, that of the model times one number; by rank those
    of the highest chance of the label are selected, first of all among whom the model selects.
    Groups get their expected numbers, rounded. Who is selected depends on who else is in the table.
    """
    import numpy as np

    from equipoise.cli.commands.predict import keys_of
    from equipoise.cli.model_files import check_outputs, open_classifier
    from equipoise.cli.tables.files import TableWriter, naming
    from equipoise.estimators.decisions.selection import read_decision

    if sensitive and without_groups:
        raise ValueError("--sensitive names groups and --without-groups asks for none; drop one.")
    check_outputs(output, force=how.force, reads=[model, data])
    opened = open_classifier(model, how.eps, how.trust)
    groups = [] if without_groups else list(sensitive or opened.columns.sensitive)
    with naming(data):
        table = _read(opened, data, groups, id_column, how)
    opened.note_unknown(table)
    key = None if id_column is None else keys_of(table.column(id_column), id_column, 0)
    number = read_decision(decision, np.array(opened.columns.labels, dtype=object))
    found = opened.model.select(
        table.select(list(opened.columns.features)),
        k,
        sensitive_features={
            name: opened.columns.group_values(table.column(name), name) for name in groups
        }
        or None,
        key=key,
        by=by,
        random_state=seed,
        u=u,
        decision=opened.model.classes_[number],
    )
    columns: dict[str, Any] = {} if id_column is None else {id_column: key}
    columns["decision"] = _decisions(opened.columns.labels, number, found.selected)
    columns["probability"] = found.probabilities
    with TableWriter(output, overwrite=how.force) as writer:
        writer.write(columns)
    terminal.say(str(found))
    terminal.say(f"Written: {output} ({len(found.selected):,} rows)")
    counts = {str(name): count._asdict() for name, count in found.groups.items()}
    more = {"u": found.u, "factor": found.factor, "groups": counts}
    terminal.emit({"output": str(output), "rows": len(found.selected), "selected": k, **more})


def _decisions(labels: tuple[str, ...], number: int, selected: Any) -> Any:
    """Return the decision that people were selected for, and for the others the other of two."""
    import numpy as np

    other = labels[1 - number] if len(labels) == 2 else f"not {labels[number]}"
    return np.array([other, labels[number]], dtype=object)[selected.astype(int)]


def _read(
    opened: ModelFile, data: Path, groups: list[str], id_column: str | None, how: opt.Format
) -> Any:
    """Return all people of a table, with the columns that are needed."""
    import pyarrow as pa

    from equipoise.cli.tables.files import column_names, read_batches
    from equipoise.cli.tables.request import check_columns

    columns, dialect = opened.columns, how.dialect()
    wanted: dict[str, Kind] = dict(columns.features)
    for name in (*groups, *([] if id_column is None else [id_column])):
        wanted.setdefault(name, "number" if name in columns.bins else "category")
    known = column_names(data, dialect)
    _check_groups(known, groups, data)
    check_columns(known, wanted, data)
    given: dict[str, Any] = {"missing": columns.missing, "dialect": dialect}
    with terminal.progress("Reading", of="the file") as tick:
        pieces = list(read_batches(data, wanted, progress=tick, **given))
    if not sum(piece.num_rows for piece in pieces):
        raise ValueError(f"{data} has no rows; expected the people to select from.")
    return pa.concat_tables(pieces)


def _check_groups(known: list[str], groups: list[str], data: Path) -> None:
    """Refuse a table without the groups, with a way to do without them."""
    if missing := [name for name in groups if name not in known]:
        raise ValueError(
            f"{data.name} has no column {missing[0]!r}, by which groups are kept in balance. Name "
            "others with --sensitive, or select with --without-groups."
        )
