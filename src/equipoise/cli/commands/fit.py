"""``fit``: one classifier within a bound."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt
from equipoise.cli.terminal import Terminal


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
    from equipoise.report.evaluate import model_point

    terminal = Terminal.current()
    outputs = (output, training.held_out)
    force = check_outputs(*outputs, force=results.force)
    prepared = Training.from_options(table, training, eps)
    with prepared.open_data(terminal) as data:
        model = prepared.fit(FairClassifier, data, terminal, max_iter=max_iter)
        point = model_point(model, data.people, **results.of_file(output))
        point = point.in_order(data.columns.order)
        about = data.contents(model)
        data.write_held_out(training.held_out, force=force, terminal=terminal)
    metadata = {
        "columns": data.columns.to_dict(),
        "data": asdict(about),
        "made": made(training.seed, outputs if terminal.interrupted else ()),
    }
    show_classifier(terminal, point, results.level, model.objective)
    note_few(terminal, point.groups["training"], training.min_size)
    write_model(model, output, metadata, force=force, terminal=terminal)
    terminal.emit(
        {
            "file": str(output),
            "constraint": repr(model.constraint_),
            "data": about,
            **vars(point),
        }
    )
    prepared.end(terminal)
