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
from equipoise.estimators.regression.regressor import FairRegressor, Measured
from equipoise.metrics.few import left_out
from equipoise.report.measurement import finite
from equipoise.report.regression import (
    RegressionContents,
    RegressionPoint,
    people_without_few,
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
                f"{g.people:,}",
                *map(number, (g.loss, g.mean_prediction, g.difference)),
            ]
            for g in groups
        ]
        header = ["group", "people", "mean loss", "mean prediction", "largest difference"]
        terminal.table(f"Groups of the {data} data", header, rows)


def at_numbers(
    opened: ModelFile, eps: float, output: Path, results: opt.Results, *, evidence: bool = True
) -> None:
    """Pick a regressor from a frontier file and write it."""
    model = opened.model.at(eps)
    limits = [0, results.suppress_below]
    whole, contents = contents_of(opened, model, {}, limits, output.name)
    if not model.certificate_.feasible:
        terminal.note(f"the bound {eps:g} is {model.certificate_.verdict}.")
    note_untraced(opened.model, eps, model.certificate_)
    show_points(whole)
    metadata = {**opened.metadata, "report": contents.to_dict()}
    metadata["made"] = made(opened.seed)
    write_model(model, output, metadata, results, evidence=evidence)
    terminal.emit({"file": str(output), **contents.to_dict()})


def contents_of(
    opened: ModelFile, model: Any, people: dict[str, Any], limits: Sequence[int], file: str
) -> list[RegressionContents]:
    """Return the page contents of a saved regressor, for each limit of few people."""
    stored = opened.metadata["report"]
    about = {name: stored[name] for name in ("source", "label", "seed")}
    return [
        replace(
            regression_contents(model, people, suppress_below=limit, file=file, **about),
            command=command_line(),
            learner=stored["learner"],
        )
        for limit in limits
    ]


def certify_numbers(
    opened: ModelFile,
    data: Path,
    reader: Reader,
    drop_missing: bool,
    limits: Sequence[int],
    level: float,
) -> None:
    """Measure a regressor on other people.

    The exit code is 1 where a bound is exceeded beyond its interval, 4 where nothing was compared.
    """
    model = opened.model
    people = reader.known(data, opened.columns, drop_missing=drop_missing)
    measured = _measured(model, people, level)
    is_compared = not np.isnan(measured.excess)
    decide_certify(bool(measured.exceeds), is_compared)
    whole, contents = contents_of(opened, model, {"test": people}, limits, opened.path.name)
    (point,) = whole.points
    terminal.say(f"{spelled(model.constraint_)} on {data.name}")
    say_who(f"{len(people):,} {whole.who['test']}", point.remarks, measured.overlap)
    where = "at any threshold" if contents.is_parity else "of a group"
    largest, low, high = (
        finite(getattr(measured, name)) if is_compared else None
        for name in ("largest", "low", "high")
    )
    terminal.say(
        f"Loss {number(measured.loss)}; largest {where} {number(largest)}, {level:.0%} "
        f"interval from {number(low)} to {number(high)}."
    )
    show_groups_of(point)
    terminal.say(_outcome(measured, level))
    terminal.emit(
        {
            "exceeded": bool(measured.exceeds),
            "compared": is_compared,
            "verdict": measured.verdict,
            "constraint": repr(model.constraint_),
            "level": level,
            "left_out": left_out(limits[-1]) if contents.leaves_out else "",
            "people": contents.rows.get("test", 0),
            **_numbers_for_others(model, people, measured, limits[-1], level),
            "groups": [vars(group) for group in contents.points[0].groups.get("test", [])],
            "remarks": contents.points[0].remarks,
        }
    )


def _numbers_for_others(
    model: Any, people: Any, measured: Measured, limit: int, level: float
) -> dict[str, Any]:
    """Return the measurement without people in groups of few."""
    shown = people_without_few(model, people, limit)
    if shown is None:
        measured = Measured(np.nan, np.nan, np.nan)
    elif shown is not people:
        measured = _measured(model, shown, level)
    names = ("largest", "excess", "low", "high")
    known = not np.isnan(measured.excess)
    numbers = {name: finite(getattr(measured, name)) if known else None for name in names}
    overlap = measured.overlap and measured.overlap._asdict()
    return {"learned_from": overlap, "loss": finite(measured.loss), **numbers}


def _measured(model: Any, people: Any, level: float) -> Measured:
    groups = {name: values for name, values in people.metadata.items() if name != "missing"}
    measured: Measured = model.measure(people.X, people.y, level=level, **groups)
    return measured


def _outcome(measured: Measured, level: float) -> str:
    """Return the verdict in a sentence."""
    if np.isnan(measured.excess):
        return "NOTHING WAS COMPARED: no bound could be looked at on these people."
    by = number(measured.excess)
    if measured.exceeds:
        return f"EXCEEDED, by {by}: more than chance explains at the {level:.0%} level."
    if measured.verdict.startswith("exceeded"):
        return (
            f"The bound is exceeded on these people, by {by}, but not beyond the {level:.0%} "
            "interval: chance may explain it."
        )
    return "The bound is not exceeded on these people."
