"""``at``: a classifier out of a frontier, without training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import options as opt
from equipoise.cli import terminal


def at(
    *,
    file: Annotated[Path, typer.Argument(help="A frontier file.")],
    eps: Annotated[float, opt.option("The bound.")],
    output: opt.ModelOutput = Path("model.equipoise"),
    no_evidence: opt.NoEvidence = False,
    min_size: opt.MinSizeOfFit = None,
    trust: opt.Trust = None,
    results: opt.Results,
) -> None:
    """Pick a classifier from a frontier.

    Any bound will do, also one that was not traced; nothing is trained.
    """
    from equipoise.cli.model_files import (
        check_outputs,
        made,
        note_untraced,
        open_file,
        with_min_size,
        write_model,
    )
    from equipoise.cli.result_tables import note_small_switched, show_classifier
    from equipoise.estimators.frontier import Frontier
    from equipoise.estimators.regression.frontier import RegressionFrontier
    from equipoise.metrics.few import cells_of_few, left_out
    from equipoise.report.evaluate import fitted_cells, model_for_readers

    check_outputs(output, force=results.force, reads=[file])
    opened = open_file(file, trust)
    if isinstance(opened.model, RegressionFrontier):
        from equipoise.cli.regression import at_numbers

        at_numbers(opened, eps, output, results, evidence=not no_evidence)
        return
    if not isinstance(opened.model, Frontier):
        raise ValueError(
            f"{file} holds a {type(opened.model).__name__}; expected a frontier, which the command "
            "frontier writes."
        )
    model = opened.model.at(eps)
    certificate = model.certificate_
    if not certificate.feasible:
        terminal.note(
            f"the bound {eps:g} is {certificate.verdict}; the classifier exceeds it by "
            f"{max(certificate.least_slack, certificate.violation):.4g}."
        )
    note_untraced(opened.model, eps, certificate)
    compared = with_min_size(model, min_size)
    shown, _ = model_for_readers(compared, {}, **results.of_file(output))
    (point, _), (for_others, _) = shown
    labels = opened.columns.labels
    show_classifier(point, results.level, labels, model.objective)
    note_small_switched(point)
    metadata = {k: v for k, v in opened.metadata.items() if k != "report"}
    if "report" in opened.metadata:
        metadata["data"] = opened.metadata["report"]["data"]
    metadata["made"] = made(opened.seed)
    write_model(model, output, metadata, results, evidence=not no_evidence)
    few = cells_of_few(fitted_cells(model), results.suppress_below)
    terminal.emit(
        {
            "file": str(output),
            "constraint": repr(model.constraint_),
            "left_out": left_out(results.suppress_below) if few.any() else "",
            **vars(for_others),
        }
    )
