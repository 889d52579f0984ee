"""``predict``: decisions for the rows of a table, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal

if TYPE_CHECKING:
    import numpy as np

    from equipoise.cli.model_files import ModelFile
    from equipoise.cli.tables.columns import Kind


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    output: Annotated[
        Path | None,
        opt.option("CSV, Parquet or Arrow; by default CSV is printed.", "--output", "-o"),
    ] = None,
    id_column: Annotated[
        str | None,
        opt.option(
            "A column that identifies people: the same id always gets the same draw.", "--id"
        ),
    ] = None,
    *,
    how: opt.Application,
) -> None:
    """Decide for the rows of a table.

    The table may be larger than memory. Every row gets a decision and the probability of the
    favourable one, or of each of more than two. The decision is drawn by a hash of the id, or of
    the row itself: the same person always gets the same.
    """
    from collections import Counter

    import numpy as np

    from equipoise.cli.model_files import check_outputs, note_unknown, open_classifier
    from equipoise.cli.tables.files import TableWriter, column_names, naming, read_batches
    from equipoise.cli.tables.request import check_columns

    if how.machine and output is None:
        raise ValueError(
            "--json prints a summary, so the decisions need a file: name it with --output."
        )
    check_outputs(output, force=how.force, reads=[model, data])
    opened = open_classifier(model, how.eps, how.trust, numbers=True)
    wanted: dict[str, Kind] = dict(opened.columns.features)
    if id_column is not None:
        wanted.setdefault(id_column, "category")
    dialect = how.dialect()
    check_columns(column_names(data, dialect), wanted, data)
    rows, selected, labels = 0, dict.fromkeys(opened.columns.labels, 0), opened.columns.labels
    given: dict[str, Any] = {"missing": opened.columns.missing, "dialect": dialect}
    unknown: Counter = Counter()
    with (
        terminal.progress("Deciding", of="the file") as tick,
        TableWriter(output, overwrite=how.force) as writer,
        naming(data),
    ):
        for batch in read_batches(data, wanted, progress=tick, **given):
            decided = decide(opened, batch, id_column, first_row=rows)
            writer.write(decided)
            unknown += opened.count_unknown(batch)
            rows += batch.num_rows
            if not opened.columns.numeric:
                for label in labels:
                    selected[label] += int(np.sum(decided["decision"] == label))
    note_unknown(unknown, rows)
    if not rows:
        terminal.note(f"{data} has no rows; nothing was decided.")
    what, count = ("predictions", {}) if opened.columns.numeric else _decided(selected, rows)
    if output is not None:
        terminal.say(f"Written: {output} ({rows:,} {what})")
    terminal.emit({"output": str(output), "rows": rows, **count})


def _decided(selected: dict[str, int], rows: int) -> tuple[str, dict[str, Any]]:
    """Return how many people got which decision, in words and for `--json`."""
    shown = list(selected) if len(selected) > 2 else list(selected)[1:]
    each = [f", {selected[label] / rows:.1%} of them {label!r}" for label in shown if rows]
    count = selected if len(selected) > 2 else selected[shown[0]]
    return f"decisions{''.join(each)}", {"selected": count}


def decide(
    opened: ModelFile, batch: Any, id_column: str | None, *, first_row: int = 0
) -> dict[str, Any]:
    """Return decisions and probabilities for a batch, with the ids if there are any."""
    import numpy as np

    model, columns = opened.model, opened.columns
    X = batch.select(list(columns.features))
    out: dict[str, Any] = {}
    key = None
    if id_column is not None:
        key = keys_of(batch.column(id_column), id_column, first_row)
        out[id_column] = key
    if columns.numeric:
        return {**out, "prediction": model.predict(X, key=key), "mean": model.predict_mean(X)}
    pmf = model.predict_proba(X)
    decided = (model.predict(X, key=key)[:, None] == model.classes_).argmax(axis=1)
    out["decision"] = np.array(columns.labels, dtype=object)[decided]
    if len(columns.labels) == 2:
        return {**out, "probability": pmf[:, 1]}
    each = {f"probability of {label}": pmf[:, v] for v, label in enumerate(columns.labels)}
    return {**out, **each}


def keys_of(column: Any, name: str, first_row: int) -> np.ndarray:
    """Return ids as text, in which 17 is the same in a CSV and in a Parquet file."""
    import numpy as np

    from equipoise.cli.tables.columns import as_category, is_missing

    gone = is_missing(column)
    if gone.any():
        raise ValueError(
            f"id column {name!r} is missing in row {first_row + int(gone.argmax()) + 1}; expected "
            "one for every row, since decisions are drawn by it."
        )
    return np.asarray(as_category(column, name).to_pylist(), dtype=object)
