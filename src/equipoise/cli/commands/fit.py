"""``fit``: one classifier within a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from equipoise.cli import options as opt
from equipoise.cli.exits import NOT_PROVEN, Ended
from equipoise.cli.model_files import check_outputs, made, write_model
from equipoise.cli.result_tables import show_classifier
from equipoise.cli.terminal import Terminal
from equipoise.cli.training import Training
from equipoise.estimators.reductions import FairClassifier
from equipoise.report.evaluate import model_point


def fit(
    *,
    table: opt.FeatureTable,
    eps: Annotated[
        float | None, opt.option("The bound; by default that of the constraint.")
    ] = None,
    training: opt.Training,
    proof: opt.Proof,
    max_iter: opt.MaxIter = 100,
    output: opt.ModelOutput = Path("model.equipoise"),
    results: opt.Results,
) -> None:
    """Fit one classifier within a bound.

    Prints its certificate and what it does to each group, and writes a model file.
    """
    terminal = Terminal.current()
    check_outputs(output, training.held_out, force=results.force)
    prepared = Training.from_options(table, training, eps)
    with prepared.open_data(terminal) as data:
        model = prepared.fit(FairClassifier, data, terminal, max_iter=max_iter, **vars(proof))
        point = model_point(model, data.people, **results.of_file(output))
        data.write_held_out(training.held_out, force=results.force, terminal=terminal)
    metadata = {
        "columns": data.columns.to_dict(),
        "data": vars(data.contents(model)),
        "made": made(training.seed),
    }
    show_classifier(terminal, point, results.level)
    found = getattr(model, "proof_", None)
    proven = found is None or found.holds
    if point.promise is not None:
        terminal.say(f"Proof: {point.promise['text']}")
    if proven or proof.fallback is not None:
        write_model(model, output, metadata, force=results.force, terminal=terminal)
        file: str | None = str(output)
    else:
        terminal.say("No model file is written: not proven is not a model (see --fallback).")
        file = None
    terminal.emit({"file": file, "constraint": repr(model.constraint_), **vars(point)})
    if not proven:
        raise Ended(NOT_PROVEN)
