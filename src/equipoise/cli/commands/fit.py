"""``fit``: one classifier within a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from equipoise.cli import options as opt
from equipoise.cli import terminal


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
    no_evidence: opt.NoEvidence = False,
    results: opt.Results,
) -> None:
    """Fit one classifier within a bound.

    Prints its certificate and what it does to each group, and writes a model file.
    """
    from equipoise.cli.training import Training

    given: dict[str, Any] = {"max_iter": max_iter}
    if not training.is_regression():
        rule = _check_deterministic(deterministic, training)
        given |= {"deterministic": rule, **vars(proof)}
    of_labels = {"--deterministic": deterministic, "--confidence": proof.confidence is not None}
    asked = [name for name, is_asked in of_labels.items() if is_asked]
    prepared = Training.of_options(table, training, eps, asked)
    done = prepared.run([output], results, traces=False, **given)
    model, contents = done.model, done.contents
    found = getattr(model, "proof_", None)
    if found is not None:
        terminal.say(f"Proof: {done.whole.points[0].promise['text']}")
    proven = found is None or found.holds
    written = proven or proof.fallback == "fairest"
    if written:
        done.write(output, evidence=not no_evidence)
    else:
        terminal.say("No model file is written: not proven is not a model (see --fallback).")
    terminal.emit({"file": str(output) if written else None, **prepared.summary(model, contents)})
    prepared.end()


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
