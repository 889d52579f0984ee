"""Commands on a numeric label: ``--task regression`` of fit and frontier, and what reads files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cli import exits
from equipoise.cli import options as opt
from equipoise.cli.exits import INTERRUPTED, Ended
from equipoise.cli.model_files import (
    ModelFile,
    check_outputs,
    made,
    note_untraced,
    write_model,
    write_page,
)
from equipoise.cli.names import find_regressor, read_bounds
from equipoise.cli.result_tables import say_who, show_columns
from equipoise.cli.spelling import spelled
from equipoise.cli.tables.people import Reader
from equipoise.cli.terminal import Terminal, Tick, command_line
from equipoise.cli.training import TrainingData, constraint_of, read_training_data
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.intervals import Level
from equipoise.estimators.regression.regressor import FairRegressor, Measured
from equipoise.report.regression import (
    RegressionContents,
    RegressionPoint,
    number,
    regression_contents,
)

#: Options that are about labels, and their defaults.
_OF_LABELS = {
    "objective": "error",
    "balanced": False,
    "false_positive_cost": None,
    "false_negative_cost": None,
    "dask": None,
}


def is_regression(model: Any) -> bool:
    """Whether a model predicts numbers."""
    return isinstance(model, (FairRegressor, RegressionFrontier))


def fit_numbers(
    table: opt.FeatureTable,
    training: opt.Training,
    *,
    bound: float | None = None,
    bounds: str | None = None,
    max_iter: int,
    output: Path,
    page: Path | None = None,
    traces: bool,
    results: opt.Results,
    refused: Sequence[str] = (),
) -> None:
    """Fit a regressor, or trace a frontier of them, and write files; ``refused`` are options."""
    terminal = Terminal.current()
    _check_options(table, training, refused)
    outputs = (output, page, training.held_out)
    force = check_outputs(*outputs, force=results.force, reads=[table.data])
    constraint = constraint_of(training, bound)
    learner = find_regressor(training.learner, training.seed)
    reader = Reader(terminal.note, table.dialect()).for_constraint(constraint)
    reader.numeric = True
    data = read_training_data(
        table.data, table.request(), training.test_size, training.seed, reader
    )
    show_columns(terminal, data.read, None, reader.format)
    kind: Any = RegressionFrontier if traces else FairRegressor
    traced = {"bounds": read_bounds(bounds)} if traces else {}
    given = {**_parameters(training), "max_iter": max_iter, **traced}
    data.announce(terminal, training.min_size)
    model = _fitted(kind(data.estimator(learner), constraint, **given), data, terminal)
    data.note_held_out(model)
    contents = regression_contents(
        model,
        data.people,
        source=data.name,
        label=data.columns.label,
        file=output.name,
        suppress_below=results.suppress_below,
        learner=repr(learner),
        command=command_line(),
        notes=list(terminal.notes),
        seed=training.seed,
    )
    data.write_held_out(training.held_out, force=force, terminal=terminal)
    show_points(terminal, contents)
    metadata, few = (
        data.metadata(contents, training.seed, outputs, terminal),
        results.suppress_below,
    )
    write_model(model, output, metadata, force=force, suppress_below=few, terminal=terminal)
    if page is not None:
        write_page(contents, page, force=force, terminal=terminal)
    if traces:
        terminal.say(f"Pick a regressor: equipoise at {shlex.quote(str(output))} --eps BOUND")
    written = {"file": str(output), "page": None if page is None else str(page)}
    terminal.emit({**written, **contents.to_dict()})
    if terminal.interrupted:
        raise Ended(INTERRUPTED)


def _parameters(training: opt.Training) -> dict[str, Any]:
    """Return the parameters of a regressor that options give."""
    return {
        "loss": training.loss,
        "thresholds": training.thresholds,
        "oracle": None if training.oracle == "refit" else training.oracle,
        "cv": 5 if training.cv is None else training.cv,
        "checkpoint": training.checkpoint,
    }


def _check_options(table: opt.FeatureTable, training: opt.Training, refused: Sequence[str]) -> None:
    """Refuse options that are about labels, before any work is done."""
    given = [*refused, *(["--positive"] if table.positive is not None else [])]
    for name, default in _OF_LABELS.items():
        if getattr(training, name) != default:
            given.append("--" + name.replace("_", "-"))
    if training.oracle == "best_of":
        given.append("--oracle best_of")
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be used with --task regression, which predicts numbers "
            "from rows in memory. Leave it out."
        )


def _fitted(model: Any, data: TrainingData, terminal: Terminal) -> Any:
    """Return the model fitted with progress; what learners print is no result."""
    train = data.train
    with (
        redirect_stdout(sys.stderr),
        terminal.progress("Fitting") as tick,
        terminal.interruptible(),
    ):
        model.callback = _watcher(tick)
        model.fit(train.X, train.y, **train.metadata)
        model.callback = None
    return model


def _watcher(tick: Tick) -> Callable[[Any], None]:
    """Return a callback that counts questions; in a log, where their number has doubled."""
    shown = 0

    def watch(rounds: Any) -> None:
        nonlocal shown
        asked = max(last.n_calls for last in (rounds if isinstance(rounds, list) else [rounds]))
        shown = asked if asked >= 2 * shown else shown
        tick(0.0, f"{shown} question{'s' * (shown != 1)}")

    return watch


def show_points(terminal: Terminal, contents: RegressionContents) -> None:
    """Print a line for each bound, and the groups of a single model."""
    last = "at any threshold" if contents.is_parity else "status"
    rows = [
        [
            number(point.eps),
            number(point.loss),
            number(point.largest),
            number(point.exact) if contents.is_parity else point.status,
            number(point.gap),
            len(point.members),
        ]
        for point in contents.points
    ]
    largest = "largest difference" if contents.is_parity else "largest group loss"
    header = ["bound", "loss", largest, last, "gap", "members"]
    terminal.table(f"{contents.title}, {contents.loss} loss", header, rows)
    terminal.say(f"The best constant has loss {number(contents.constant_loss)}.")
    if len(contents.points) == 1:
        terminal.say(contents.points[0].certificate)
        show_groups_of(terminal, contents.points[0])


def show_groups_of(terminal: Terminal, point: RegressionPoint) -> None:
    """Print losses and differences by group."""
    for data, groups in point.groups.items():
        rows = [
            [
                g.group,
                "few" if g.people is None else f"{g.people:,}",
                *map(number, (g.loss, g.mean_prediction, g.difference)),
            ]
            for g in groups
        ]
        header = ["group", "people", "mean loss", "mean prediction", "largest difference"]
        terminal.table(f"Groups of the {data} data", header, rows)


def at_numbers(opened: ModelFile, eps: float, output: Path, results: opt.Results) -> None:
    """Pick a regressor from a frontier file and write it."""
    terminal = Terminal.current()
    model = opened.model.at(eps)
    contents = _of_file(opened, model, {}, results.suppress_below, output.name)
    if not model.certificate_.feasible:
        terminal.note(f"the bound {eps:g} is {model.certificate_.verdict}.")
    note_untraced(terminal, opened.model, eps, model.certificate_)
    show_points(terminal, contents)
    metadata = {**opened.metadata, "report": contents.to_dict()}
    metadata["made"] = made(opened.metadata.get("made", {}).get("seed"))
    few, force = results.suppress_below, results.force
    write_model(model, output, metadata, force=force, suppress_below=few, terminal=terminal)
    terminal.emit({"file": str(output), **contents.to_dict()})


def report_numbers(opened: ModelFile, people: dict[str, Any], few: int) -> RegressionContents:
    """Return what the page of a model file shows; from the file alone, or with new people."""
    if not people:
        return RegressionContents.from_dict(opened.metadata["report"])
    return _of_file(opened, opened.model, people, few, opened.path.name)


def _of_file(
    opened: ModelFile, model: Any, people: dict[str, Any], few: int, file: str
) -> RegressionContents:
    stored = opened.metadata["report"]
    found = regression_contents(
        model, people, source=stored["source"], label=stored["label"], suppress_below=few, file=file
    )
    kept = {name: stored[name] for name in ("learner", "seed")}
    return replace(found, command=command_line(), **kept)


def certify_numbers(
    opened: ModelFile, data: Path, reader: Reader, drop_missing: bool, few: int, sure: Level
) -> None:
    """Measure a regressor on other people.

    The exit code is 1 where a bound is exceeded beyond its interval, 4 where nothing was compared.
    """
    terminal, model = Terminal.current(), opened.model
    people = reader.known(data, opened.columns, drop_missing=drop_missing)
    groups = {k: v for k, v in people.metadata.items() if k != "missing"}
    level, measured = sure.level, model.measure(people.X, people.y, **sure._asdict(), **groups)
    contents = _of_file(opened, model, {"test": people}, few, opened.path.name)
    (point,) = contents.points
    terminal.say(f"{spelled(model.constraint_)} on {data.name}")
    say_who(terminal, f"{len(people):,} {contents.who['test']}", point.remarks, measured.overlap)
    is_compared = not np.isnan(measured.excess)
    hides = any(group.people is None for group in point.groups["test"]) or not is_compared
    names = ("largest", "excess", "low", "high")
    shown = {name: None if hides else _finite(getattr(measured, name)) for name in names}
    where = "at any threshold" if contents.is_parity else "of a group"
    terminal.say(
        f"Loss {number(measured.loss)}; largest {where} {number(shown['largest'])}, {level:.0%} "
        f"interval from {number(shown['low'])} to {number(shown['high'])}."
    )
    show_groups_of(terminal, point)
    terminal.say(_outcome(measured, shown["excess"], level))
    terminal.emit(
        {
            "exceeded": bool(measured.exceeds),
            "compared": is_compared,
            "constraint": repr(model.constraint_),
            "people": len(people),
            "learned_from": measured.overlap and measured.overlap._asdict(),
            "loss": float(measured.loss),
            "level": level,
            **shown,
            "groups": [vars(group) for group in point.groups["test"]],
            "remarks": point.remarks,
        }
    )
    if measured.exceeds:
        raise exits.Ended(exits.EXCEEDED)
    if not is_compared:
        raise exits.Ended(exits.NOTHING_COMPARED)


def _finite(value: float) -> float | None:
    """Return a number for JSON, which knows no infinity."""
    return float(value) if np.isfinite(value) else None


def _outcome(measured: Measured, excess: float | None, level: float) -> str:
    """Return whether the bound is exceeded, and how sure that is; ``excess`` None is not shown."""
    if np.isnan(measured.excess):
        return "NOTHING WAS COMPARED: no bound could be looked at on these people."
    by = "" if excess is None else f", by {number(excess)}"
    if measured.exceeds:
        return f"EXCEEDED{by}: more than chance explains at the {level:.0%} level."
    if measured.excess > 1e-8 * max(1.0, abs(measured.largest)):
        return (
            f"The bound is exceeded on these people{by}, but not beyond the {level:.0%} interval: "
            "chance may explain it."
        )
    return "The bound is not exceeded on these people."


def predict_numbers(model: FairRegressor, X: Any, key: Any) -> dict[str, np.ndarray]:
    """Return the prediction drawn for each row, and the mean over the draw."""
    return {"prediction": model.predict(X, key=key), "mean": model.predict_mean(X)}
