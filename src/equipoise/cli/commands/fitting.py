"""``fit``, ``frontier`` and ``at``: from a table to a model file."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from equipoise.cli import options as opt
from equipoise.cli.files import check_outputs, open_file, page_path, write_model, write_page
from equipoise.cli.names import find_constraint, find_learner, read_bounds
from equipoise.cli.shown import show_frontier, show_groups, show_measured
from equipoise.cli.sources import Source, check_dask, opened_source
from equipoise.cli.tables.people import Request
from equipoise.cli.terminal import Terminal, Tick
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.files.versions import versions
from equipoise.report.contents import ReportContents
from equipoise.report.evaluate import frontier_points, model_point
from equipoise.report.text import constraint_contents

#: The default gap, as in `equipoise.estimators.base`; here it only tells how far a fit has got.
_NU = 0.1


def frontier(
    data: opt.Data,
    label: opt.Label,
    sensitive: opt.Sensitive,
    constraint: opt.ConstraintName = "dp",
    learner: opt.Learner = "logistic",
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds",
            help="Bounds to trace: 0.01,0.02 or 0.001:0.1:20.",
            rich_help_panel="Model",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The frontier file.", rich_help_panel="Output")
    ] = Path("frontier.equipoise"),
    page: Annotated[
        Path | None,
        typer.Option("--page", help="The report page; by default beside the file."),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no report page.")] = False,
    positive: opt.Positive = None,
    control: opt.Control = None,
    weight: opt.Weight = None,
    exclude: opt.Exclude = None,
    use_sensitive: opt.UseSensitive = False,
    missing: opt.Missing = None,
    drop_missing: opt.DropMissing = False,
    reference: opt.Reference = None,
    groups: opt.Groups = "intersections",
    min_size: opt.MinSize = 1,
    oracle: opt.OracleName = "refit",
    cv: opt.Folds = None,
    max_iter: opt.MaxIter = 200,
    test_size: opt.TestSize = 0.2,
    seed: opt.Seed = 0,
    level: opt.Level = 0.95,
    checkpoint: opt.Checkpoint = None,
    dask: opt.Dask = None,
    force: opt.Force = False,
    machine: opt.Json = False,
) -> None:
    """Fit the best classifier for every bound.

    Prints the trade-off between error and fairness, and writes a frontier file, from which `at`
    picks a classifier without training, and a report page.
    """
    terminal = Terminal.current()
    page = page_path(output, page, no_page)
    check_outputs(output, page, force=force)
    asked = find_constraint(constraint, reference=reference, min_size=min_size, groups=groups)
    request = Request(
        label,
        sensitive,
        positive,
        control or (),
        weight,
        exclude or (),
        use_sensitive,
        missing or (),
        drop_missing,
    )
    trained = find_learner(learner, seed)
    check_dask(dask, data, learner, trained, missing, test_size)
    with opened_source(data, request, test_size, seed, dask, terminal) as source:
        model = Frontier(
            source.estimator(trained),
            asked,
            bounds=read_bounds(bounds),
            oracle=oracle,
            cv=cv,
            max_iter=max_iter,
            checkpoint=checkpoint,
            random_state=seed,
        )
        _fit(model, source, terminal)
        points, alone = frontier_points(model, source.people, level=level, file=output.name)
        source.finish(model)
    described = source.contents(model.classes_[1])
    contents = ReportContents(
        kind="frontier",
        title=f"{constraint_contents(asked).name} in {described.source}",
        data=described,
        constraint=constraint_contents(asked),
        learner=repr(trained),
        points=points,
        unconstrained=alone,
        level=level,
        command=command_line(),
        file=output.name,
        versions=versions(),
        notes=list(terminal.notes),
    )
    show_frontier(terminal, contents)
    metadata = {"columns": source.columns.to_dict(), "report": contents.to_dict()}
    write_model(model, output, metadata, force=force, terminal=terminal)
    written = write_page(contents, page, force=force, terminal=terminal)
    terminal.say(f"Pick a classifier: equipoise at {shlex.quote(str(output))} --eps 0.02")
    terminal.emit(
        {
            "file": str(output),
            "page": None if written is None else str(written),
            "fits": model.n_calls_,
            **contents.to_dict(),
        }
    )


def fit(
    data: opt.Data,
    label: opt.Label,
    sensitive: opt.Sensitive,
    eps: Annotated[
        float | None,
        typer.Option(
            "--eps",
            help="The bound; by default that of the constraint.",
            rich_help_panel="Model",
        ),
    ] = None,
    constraint: opt.ConstraintName = "dp",
    learner: opt.Learner = "logistic",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file.", rich_help_panel="Output")
    ] = Path("model.equipoise"),
    positive: opt.Positive = None,
    control: opt.Control = None,
    weight: opt.Weight = None,
    exclude: opt.Exclude = None,
    use_sensitive: opt.UseSensitive = False,
    missing: opt.Missing = None,
    drop_missing: opt.DropMissing = False,
    reference: opt.Reference = None,
    groups: opt.Groups = "intersections",
    min_size: opt.MinSize = 1,
    oracle: opt.OracleName = "refit",
    cv: opt.Folds = None,
    max_iter: opt.MaxIter = 100,
    test_size: opt.TestSize = 0.2,
    seed: opt.Seed = 0,
    level: opt.Level = 0.95,
    checkpoint: opt.Checkpoint = None,
    dask: opt.Dask = None,
    force: opt.Force = False,
    machine: opt.Json = False,
) -> None:
    """Fit one classifier within a bound.

    Prints its certificate and what it does to each group, and writes a model file.
    """
    terminal = Terminal.current()
    check_outputs(output, force=force)
    asked = find_constraint(
        constraint, eps=eps, reference=reference, min_size=min_size, groups=groups
    )
    request = Request(
        label,
        sensitive,
        positive,
        control or (),
        weight,
        exclude or (),
        use_sensitive,
        missing or (),
        drop_missing,
    )
    trained = find_learner(learner, seed)
    check_dask(dask, data, learner, trained, missing, test_size)
    with opened_source(data, request, test_size, seed, dask, terminal) as source:
        model = FairClassifier(
            source.estimator(trained),
            asked,
            oracle=oracle,
            cv=cv,
            max_iter=max_iter,
            checkpoint=checkpoint,
            random_state=seed,
        )
        _fit(model, source, terminal)
        point = model_point(model, source.people, level=level, file=output.name)
        source.finish(model)
    terminal.say(str(model.certificate_))
    show_measured(terminal, point, level)
    show_groups(terminal, point, level)
    metadata = {
        "columns": source.columns.to_dict(),
        "data": source.contents(model.classes_[1]).__dict__,
        "command": command_line(),
    }
    write_model(model, output, metadata, force=force, terminal=terminal)
    terminal.emit({"file": str(output), "constraint": repr(model.constraint_), **vars(point)})


def at(
    file: Annotated[Path, typer.Argument(help="A frontier file.")],
    eps: Annotated[float, typer.Option("--eps", help="The bound.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.")] = Path(
        "model.equipoise"
    ),
    trust: opt.Trust = None,
    level: opt.Level = 0.95,
    force: opt.Force = False,
    machine: opt.Json = False,
) -> None:
    """Pick a classifier from a frontier.

    Any bound will do, also one that was not traced; nothing is trained.
    """
    terminal = Terminal.current()
    check_outputs(output, force=force)
    opened = open_file(file, trust)
    if not isinstance(opened.model, Frontier):
        raise ValueError(f"{file} holds a {type(opened.model).__name__}; expected a frontier.")
    model = opened.model.at(eps)
    if model.certificate_.least_slack > 0:
        terminal.note(
            f"the bound {eps:g} cannot be met with this learner; the classifier exceeds it by "
            f"{model.certificate_.least_slack:.4g}, the least that it can."
        )
    point = model_point(model, {}, level=level, file=output.name)
    terminal.say(str(model.certificate_))
    show_measured(terminal, point, level)
    metadata = {k: v for k, v in opened.metadata.items() if k != "report"}
    if "report" in opened.metadata:
        metadata["data"] = opened.metadata["report"]["data"]
    write_model(model, output, metadata, force=force, terminal=terminal)
    terminal.emit({"file": str(output), "constraint": repr(model.constraint_), **vars(point)})


def _fit(model: Any, source: Source, terminal: Terminal) -> None:
    """Fit with progress."""
    train, features = source.train, len(source.columns.features)
    nu = _NU / np.sqrt(len(train))
    terminal.progress_line(f"{len(train):,} people to learn from, {features} features.")
    # What learners print is no result.
    with redirect_stdout(sys.stderr), terminal.progress("Fitting") as tick:
        model.callback = _watcher(tick, nu)
        model.fit(train.X, train.y, **train.metadata)
    model.callback = None


def _watcher(tick: Tick, nu: float) -> Any:
    furthest = 0.0

    def watch(plays: Any) -> None:
        nonlocal furthest
        plays = plays if isinstance(plays, list) else [plays]
        shares = [min(nu / max(play.gap, 1e-12), 1.0) for play in plays]  # no gap yet: 0
        closed = sum(share == 1.0 for share in shares)
        words = f"{max(play.n_calls for play in plays)} fits"
        words += f", {closed} of {len(plays)} bounds" if len(plays) > 1 else ""
        # Gaps may widen again, and a last try follows where all are closed.
        furthest = max(furthest, min(float(np.mean(shares)), 0.99))
        tick(furthest, words)

    return watch


def command_line() -> str:
    """Return the command line that runs, to be run again."""
    return shlex.join(["equipoise", *sys.argv[1:]])
