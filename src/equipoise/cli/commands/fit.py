"""``fit``: one classifier within a bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt
from equipoise.cli.terminal import Terminal, command_line


def fit(
    *,
    table: opt.FeatureTable,
    eps: Annotated[
        float | None, opt.option("The bound; by default that of the constraint.")
    ] = None,
    training: opt.Training,
    max_iter: opt.MaxIter = 100,
    output: opt.ModelOutput = Path("model.equipoise"),
    results: opt.Results,
) -> None:
    """Fit one classifier within a bound.

    Prints its certificate and what it does to each group, and writes a model file.
    """
    from equipoise.cli.model_files import check_outputs, made, write_model
    from equipoise.cli.result_tables import note_few, show_classifier
    from equipoise.cli.training import Training
    from equipoise.estimators.reductions import FairClassifier
    from equipoise.report.evaluate import without_constraint
    from equipoise.report.summary import summarize

    terminal = Terminal.current()
    outputs = (output, training.held_out)
    force = check_outputs(*outputs, force=results.force)
    prepared = Training.from_options(table, training, eps)
    with prepared.open_data(terminal) as data:
        model = prepared.fit(FairClassifier, data, terminal, max_iter=max_iter)
        free = prepared.fit_unconstrained(data, terminal)
        options = results.of_file(output)
        contents = summarize(
            model, data.people, data.contents(model), seed=training.seed, **options
        )
        if free is not None:
            unconstrained = without_constraint(free, model.constraint_, data.people, **options)
            contents = replace(contents, unconstrained=unconstrained)
        data.write_held_out(training.held_out, force=force, terminal=terminal)
    contents = replace(
        contents.in_order(data.columns.order),
        learner=repr(prepared.learner),
        command=command_line(),
        notes=list(terminal.notes),
    )
    (point,) = contents.points
    show_classifier(terminal, point, results.level, model.objective)
    note_few(terminal, point.groups["training"], training.min_size)
    metadata = {
        "columns": data.columns.to_dict(),
        "report": contents.to_dict(),
        "made": made(training.seed, outputs if terminal.interrupted else ()),
    }
    write_model(model, output, metadata, force=force, terminal=terminal)
    terminal.emit(
        {
            "file": str(output),
            "constraint": repr(model.constraint_),
            "data": contents.data,
            "unconstrained": contents.unconstrained,
            **vars(point),
        }
    )
    prepared.end(terminal)
