"""``report``: the page of a frontier or a model, also on new data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.terminal import command_line

if TYPE_CHECKING:
    from equipoise.cli.model_files import ModelFile
    from equipoise.cli.tables.people import Examples
    from equipoise.report.contents import ReportContents
    from equipoise.report.regression import RegressionContents


def report(
    *,
    file: Annotated[Path, typer.Argument(help="A frontier file or a model file.")],
    data: Annotated[
        Path | None, typer.Argument(help="New people to measure on: CSV, Parquet or Arrow.")
    ] = None,
    output: Annotated[
        Path | None, opt.option("The page; by default beside the file.", "--output", "-o")
    ] = None,
    card: Annotated[Path | None, opt.option("Also write the model card, as Markdown.")] = None,
    drop_missing: opt.DropMissing = False,
    min_size: opt.MinSizeOfFit = None,
    format: opt.Format,
    trust: opt.Trust = None,
    results: opt.Results,
) -> None:
    """Write the report page of a file.

    Without data the page shows what was measured when the file was made.
    """
    from equipoise.cli.model_files import check_outputs, open_file, write_page
    from equipoise.cli.tables.people import Reader
    from equipoise.report.card import write_model_card

    output = file.with_suffix(".html") if output is None else output
    check_outputs(output, card, force=results.force, reads=[file, data])
    if min_size is not None and data is None:
        raise ValueError(
            "--min-size says whom to compare in new data, and without data the page shows what was "
            "measured when the file was made. Name a table after the file, or leave it out."
        )
    opened = open_file(file, trust).compared_from(min_size)
    people = {}
    if data is not None:
        reader = Reader(terminal.note, format.dialect()).for_constraint(opened.model.constraint)
        people["test"] = new = reader.known(data, opened.columns, drop_missing=drop_missing)
        opened.note_unknown(new.X)
    contents = make_contents(opened, people, data, results)
    write_page(contents, output, force=results.force)
    if card is not None:
        write_model_card(card, contents, overwrite=results.force)
        terminal.say(f"Written: {card}")
    terminal.emit({"page": str(output), "report": contents.to_dict()})


def make_contents(
    opened: ModelFile, people: dict[str, Examples], data: Path | None, results: opt.Results
) -> ReportContents | RegressionContents:
    """Return the contents of the page; from the file alone, or with new data."""
    from equipoise.cli.regression import contents_of
    from equipoise.report.contents import DataContents, ReportContents
    from equipoise.report.regression import RegressionContents
    from equipoise.report.summary import summarize

    stored, limits = opened.metadata.get("report"), [results.suppress_below]
    if stored is not None and not people:
        return (RegressionContents if opened.columns.numeric else ReportContents).from_dict(stored)
    if stored is None and "data" not in opened.metadata:
        raise ValueError(
            f"{opened.path} was written without evidence (--no-evidence): it decides, and there is "
            "nothing to report. Report on the file that has the evidence, or fit anew."
        )
    if opened.columns.numeric:
        (numbers,) = contents_of(opened, opened.model, people, limits, opened.path.name)
        return numbers
    about = stored["data"] if stored is not None else opened.metadata["data"]
    summary = DataContents.from_dict(about)
    if people and data is not None:
        summary = replace(
            summary, source=f"{summary.source}; test: {data.name}", test_rows=len(people["test"])
        )
    given: dict[str, Any] = {"level": results.level, "limits": limits, "file": opened.path.name}
    (contents,) = summarize(opened.model, people, summary, seed=opened.seed, **given)
    learner = repr(opened.model.estimator.steps[-1][1])
    contents = contents.in_order(opened.columns.order)
    return replace(contents, learner=learner, command=command_line())
