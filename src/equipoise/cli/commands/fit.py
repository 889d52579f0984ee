"""``fit``: one classifier within a bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli.exits import NOT_PROVEN, Ended
from equipoise.cli.terminal import Terminal

if TYPE_CHECKING:
    pass


def fit(
    *,
    table: opt.FeatureTable,
    eps: Annotated[
        float | None, opt.option("The bound; by default that of the constraint.")
    ] = None,
    training: opt.Training,
    deterministic: Annotated[
        bool,
        opt.option(
            "One rule in place of a lottery, where one does as well; else the reason is printed.",
            "--deterministic",
        ),
    ] = False,
    proof: opt.Proof,
    max_iter: opt.MaxIter = 100,
    output: opt.ModelOutput = Path("model.equipoise"),
    results: opt.Results,
) -> None:
    """Fit one classifier within a bound.

    Prints its certificate and what it does to each group, and writes a model file.
    """
    from equipoise.cli.model_files import check_outputs, write_model
    from equipoise.cli.result_tables import note_small, show_classifier
    from equipoise.cli.training import Training
    from equipoise.estimators.reductions import FairClassifier

    terminal = Terminal.current()
    if training.is_regression():
        from equipoise.cli.regression import fit_numbers

        asked = {"--deterministic": deterministic, "--confidence": proof.confidence is not None}
        refused = [name for name, given in asked.items() if given]
        how: dict[str, Any] = {"output": output, "results": results, "refused": refused}
        fit_numbers(table, training, bound=eps, max_iter=max_iter, traces=False, **how)
        return
    outputs = (output, training.held_out)
    force = check_outputs(*outputs, force=results.force, reads=[table.data])
    rule = {"deterministic": _check_deterministic(deterministic, training)}
    prepared = Training.from_options(table, training, eps)
    with prepared.open_data(terminal) as data:
        given = {"max_iter": max_iter, **rule, **vars(proof)}
        model = prepared.fit(FairClassifier, data, terminal, **given)
        contents = prepared.contents(model, data, results.of_file(output), terminal)
        data.write_held_out(training.held_out, force=force, terminal=terminal)
    (point,) = contents.points
    show_classifier(terminal, point, results.level, data.columns.labels, model.objective)
    few, groups = results.suppress_below, point.groups["training"]
    note_small(terminal, groups, few, min_size=prepared.compared_from)
    metadata = data.metadata(contents, training.seed, outputs, terminal)
    if point.promise is not None:
        terminal.say(f"Proof: {point.promise['text']}")
    found = getattr(model, "proof_", None)
    proven = found is None or found.holds
    written = proven or proof.fallback is not None
    if written:
        write_model(model, output, metadata, force=force, suppress_below=few, terminal=terminal)
    else:
        terminal.say("No model file is written: not proven is not a model (see --fallback).")
    summary = {"file": str(output) if written else None, "constraint": repr(model.constraint_)}
    terminal.emit(
        {**summary, "data": contents.data, "unconstrained": contents.unconstrained, **vars(point)}
    )
    prepared.end(terminal)
    if not proven:
        raise Ended(NOT_PROVEN)


def _check_deterministic(deterministic: bool, training: opt.Training) -> bool:
    """Refuse what no rule can be searched for with, before any work is done."""
    if not deterministic:
        return False
    if training.dask is not None:
        raise ValueError(
            "--deterministic cuts through the scores of single rows, and with --dask these are on "
            "other machines. Fit a sample without --dask, or leave --deterministic out."
        )
    if training.oracle == "best_of" or (training.oracle == "refit" and training.cv is not None):
        raise ValueError(
            "--deterministic needs scores that are kept; those of --oracle best_of and of --cv "
            "with --oracle refit come from models that are not. Use --oracle plugin, or --oracle "
            "refit without --cv."
        )
    return True
