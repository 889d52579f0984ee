"""Commands on a numeric label: ``--task regression`` of fit and frontier, and what reads files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import decide_certify
from equipoise.cli.model_files import ModelFile, made, note_untraced, write_model
from equipoise.cli.names import find_regressor
from equipoise.cli.result_tables import say_who
from equipoise.cli.spelling import spelled
from equipoise.cli.tables.people import Reader
from equipoise.cli.terminal import Tick, command_line
from equipoise.cli.training import Training, counted
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.intervals import Level
from equipoise.estimators.regression.regressor import FairRegressor, Measured
from equipoise.game.lagrangian import TOLERANCE, is_met
from equipoise.report.measurement import finite
from equipoise.report.regression import (
    RegressionContents,
    RegressionPoint,
    regression_contents,
)
from equipoise.report.text import number

#: Options that are about labels, and their defaults.
_OF_LABELS = {
    "objective": "error",
    "balanced": False,
    "false_positive_cost": None,
    "false_negative_cost": None,
    "dask": None,
    "decisions": None,
}


class NumberTraining(Training):
    """A regressor and a constraint, and how they are trained."""

    numeric = True
    pick = "regressor", "BOUND"

    @classmethod
    def find(cls, table: opt.FeatureTable, options: opt.Training) -> tuple[Any, dict[str, Any]]:
        """Return the learner, and the parameters of the model."""
        return find_regressor(options.learner, options.seed), {
            "loss": options.loss,
            "thresholds": options.thresholds,
            "oracle": None if options.oracle == "refit" else options.oracle,
            "cv": 5 if options.cv is None else options.cv,
            "checkpoint": options.checkpoint,
        }

    def kind(self, *, traces: bool) -> Callable[..., Any]:
        """Return the class of the model: of one bound, or of a frontier."""
        return RegressionFrontier if traces else FairRegressor

    def watcher(self, tick: Tick, n: int) -> Callable[[Any], None]:
        """Return a callback that counts calls; in a log, where their number has doubled."""

        def watch(rounds: Any) -> None:
            calls = max(last.n_calls for last in (rounds if isinstance(rounds, list) else [rounds]))
            tick(None, counted(calls, "call"), step=calls.bit_length())

        return watch

    def show(self, model: Any, contents: Any, results: opt.Results) -> None:
        """Print what a fitted model does to whom."""
        show_points(contents)

    def summary(self, model: Any, contents: Any) -> dict[str, Any]:
        """Return what a single model is and does, for `--json`."""
        return {"page": None, **contents.to_dict()}


def check_options(table: opt.FeatureTable, options: opt.Training, given: Sequence[str]) -> None:
    """Refuse options that are about labels, before any work is done; some are ``given``."""
    refused = [*given, *(["--positive"] if table.positive is not None else [])]
    for name, default in _OF_LABELS.items():
        if getattr(options, name) != default:
            refused.append("--" + name.replace("_", "-"))
    if options.oracle == "best_of":
        refused.append("--oracle best_of")
    if refused:
        raise ValueError(
            f"{', '.join(refused)} cannot be used with --task regression, which predicts numbers "
            "from rows in memory. Leave it out."
        )


def show_points(contents: RegressionContents) -> None:
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
        show_groups_of(contents.points[0])


def show_groups_of(point: RegressionPoint) -> None:
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
    model = opened.model.at(eps)
    contents = contents_of(opened, model, {}, results.suppress_below, output.name)
    if not model.certificate_.feasible:
        terminal.note(f"the bound {eps:g} is {model.certificate_.verdict}.")
    note_untraced(opened.model, eps, model.certificate_)
    show_points(contents)
    metadata = {**opened.metadata, "report": contents.to_dict()}
    metadata["made"] = made(opened.seed)
    write_model(model, output, metadata, results)
    terminal.emit({"file": str(output), **contents.to_dict()})


def contents_of(
    opened: ModelFile, model: Any, people: dict[str, Any], few: int, file: str
) -> RegressionContents:
    """Return what a page shows of a regressor out of a model file."""
    stored = opened.metadata["report"]
    about = {name: stored[name] for name in ("source", "label", "seed")}
    found = regression_contents(model, people, suppress_below=few, file=file, **about)
    return replace(found, command=command_line(), learner=stored["learner"])


def certify_numbers(
    opened: ModelFile, data: Path, reader: Reader, drop_missing: bool, few: int, sure: Level
) -> None:
    """Measure a regressor on other people.

    The exit code is 1 where a bound is exceeded beyond its interval, 4 where nothing was compared.
    """
    model = opened.model
    people = reader.known(data, opened.columns, drop_missing=drop_missing)
    groups = {k: v for k, v in people.metadata.items() if k != "missing"}
    level, measured = sure.level, model.measure(people.X, people.y, **sure._asdict(), **groups)
    is_compared = not np.isnan(measured.excess)
    decide_certify(bool(measured.exceeds), is_compared)
    contents = contents_of(opened, model, {"test": people}, few, opened.path.name)
    (point,) = contents.points
    terminal.say(f"{spelled(model.constraint_)} on {data.name}")
    say_who(f"{len(people):,} {contents.who['test']}", point.remarks, measured.overlap)
    hides = any(group.people is None for group in point.groups["test"]) or not is_compared
    names = ("largest", "excess", "low", "high")
    shown = {name: None if hides else finite(getattr(measured, name)) for name in names}
    where = "at any threshold" if contents.is_parity else "of a group"
    terminal.say(
        f"Loss {number(measured.loss)}; largest {where} {number(shown['largest'])}, {level:.0%} "
        f"interval from {number(shown['low'])} to {number(shown['high'])}."
    )
    show_groups_of(point)
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


def _outcome(measured: Measured, excess: float | None, level: float) -> str:
    """Return whether the bound is exceeded, and how sure that is; ``excess`` None is not shown."""
    if np.isnan(measured.excess):
        return "NOTHING WAS COMPARED: no bound could be looked at on these people."
    by = "" if excess is None else f", by {number(excess)}"
    if measured.exceeds:
        return f"EXCEEDED{by}: more than chance explains at the {level:.0%} level."
    if not is_met(measured.excess, TOLERANCE * abs(measured.largest)):
        return (
            f"The bound is exceeded on these people{by}, but not beyond the {level:.0%} interval: "
            "chance may explain it."
        )
    return "The bound is not exceeded on these people."
