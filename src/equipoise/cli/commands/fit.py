"""``fit``: one classifier within a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import options as opt
from equipoise.cli.exits import NOT_PROVEN, Ended
from equipoise.cli.model_files import check_outputs, made, write_model
from equipoise.cli.result_tables import show_groups, show_measured
from equipoise.cli.terminal import Terminal
from equipoise.cli.training import Training
from equipoise.estimators.reductions import FairClassifier
from equipoise.report.evaluate import model_point


def fit(
    *,
    table: opt.FeatureTable,
    eps: Annotated[
        float | None, typer.Option("--eps", help="The bound; by default that of the constraint.")
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
        point = model_point(
            model,
            data.people,
            level=results.level,
            file=output.name,
            suppress_below=results.suppress_below,
        )
        data.write_held_out(training.held_out, force=results.force, terminal=terminal)
    terminal.say(point.certificate["text"])
    show_measured(terminal, point, results.level)
    show_groups(terminal, point)
    has_proof = getattr(model, "proof_", None)
    if has_proof is not None:
        terminal.say(f"Proof: {point.promise['text']}")
    metadata = {
        "columns": data.columns.to_dict(),
        "data": vars(data.contents(model)),
        "made": made(training.seed),
    }
    is_model = has_proof is None or has_proof.holds or proof.fallback is not None
    if is_model:
        write_model(model, output, metadata, force=results.force, terminal=terminal)
    else:
        terminal.say("No model file is written: not proven is not a model (see --fallback).")
    file = str(output) if is_model else None
    terminal.emit({"file": file, "constraint": repr(model.constraint_), **vars(point)})
    if has_proof is not None and not has_proof.holds:
        raise Ended(NOT_PROVEN)
