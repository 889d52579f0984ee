"""The options that several commands share, one by one and in groups.

A group is a dataclass: a command that takes one has its options, see `with_groups`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from equipoise.cli.names import CONSTRAINTS, LEARNERS
from equipoise.cli.tables.people import Request

_COLUMNS, _MODEL, _OUTPUT = "Columns", "Model", "Output"

Data = Annotated[Path, typer.Argument(help="A table: CSV (also .gz), Parquet or Arrow.")]
Label = Annotated[
    str, typer.Option("--label", help="The column to predict.", rich_help_panel=_COLUMNS)
]
Sensitive = Annotated[
    list[str],
    typer.Option(
        "--sensitive",
        help="A column that makes groups; again for further ones.",
        rich_help_panel=_COLUMNS,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        help="The favourable label; by default the second of the two, sorted.",
        rich_help_panel=_COLUMNS,
    ),
]
Control = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        help="Compare groups within the values of this column; again for further ones.",
        rich_help_panel=_COLUMNS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="A column of weights of the rows.", rich_help_panel=_COLUMNS),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        help="A column that is no feature, such as an id; again for further ones.",
        rich_help_panel=_COLUMNS,
    ),
]
UseSensitive = Annotated[
    bool,
    typer.Option(
        "--use-sensitive",
        help="Let the sensitive columns be features too; predictions need them then.",
        rich_help_panel=_COLUMNS,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="What else stands for a missing value in a CSV file, such as '?'.",
        rich_help_panel=_COLUMNS,
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing",
        help="Leave out rows without label, group or weight, rather than stop.",
        rich_help_panel=_COLUMNS,
    ),
]
ConstraintName = Annotated[
    str,
    typer.Option(
        "--constraint",
        help=f"What is asked: {', '.join(CONSTRAINTS)}, or module:object.",
        rich_help_panel=_MODEL,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        help="What groups are compared with: overall, pairwise, or a group.",
        rich_help_panel=_MODEL,
    ),
]
Groups = Annotated[
    str,
    typer.Option(
        "--groups",
        help="How several sensitive columns make groups: intersections, margins or both.",
        rich_help_panel=_MODEL,
    ),
]
MinSize = Annotated[
    int,
    typer.Option(
        "--min-size",
        help="Leave groups of fewer people unconstrained, with a note.",
        rich_help_panel=_MODEL,
    ),
]
Learner = Annotated[
    str,
    typer.Option(
        "--learner",
        help=f"What is trained: {', '.join(LEARNERS)}, or module:object.",
        rich_help_panel=_MODEL,
    ),
]
OracleName = Annotated[
    str,
    typer.Option(
        "--oracle",
        help="refit (train anew for every query), plugin (train once, then thresholds), or both.",
        rich_help_panel=_MODEL,
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--cv",
        help="Measure on out-of-fold decisions of so many folds: for learners that overfit.",
        rich_help_panel=_MODEL,
    ),
]
MaxIter = Annotated[
    int, typer.Option("--max-iter", help="The most rounds to play.", rich_help_panel=_MODEL)
]
TestSize = Annotated[
    float,
    typer.Option("--test-size", help="Share of the rows to hold out.", rich_help_panel=_MODEL),
]
Seed = Annotated[
    int,
    typer.Option("--seed", help="Of the split, the learner and the draws.", rich_help_panel=_MODEL),
]
Level = Annotated[
    float,
    typer.Option("--level", help="Level of confidence intervals.", rich_help_panel=_OUTPUT),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="A folder where trained classifiers are kept: the same command, run again after it "
        "was stopped, goes on from there.",
        rich_help_panel=_MODEL,
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="[ADDRESS]",
        help="Read Parquet files (a file, a folder or a quoted pattern) and train on a Dask "
        "cluster: that of the scheduler at this address, or without one a cluster of this machine.",
        rich_help_panel=_MODEL,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files that exist.", rich_help_panel=_OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object for machines.", rich_help_panel=_OUTPUT),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        help="A type that the model file may hold, such as my_package.MyLearner.",
        rich_help_panel=_OUTPUT,
    ),
]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", help="The model file.", rich_help_panel=_OUTPUT)
]
ModelFile = Annotated[Path, typer.Argument(help="A model file; or a frontier file, with --eps.")]
FrontierEps = Annotated[float | None, typer.Option("--eps", help="The bound, for a frontier.")]


@dataclass(frozen=True, kw_only=True)
class LabelledTable:
    """A table, and which of its columns are label, groups and weights."""

    data: Data
    label: Label
    sensitive: Sensitive
    positive: Positive = None
    weight: Weight = None
    missing: Missing = None
    drop_missing: DropMissing = False

    def request(self) -> Request:
        """Return which columns are to be read, and how."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        del given["data"]
        return Request(**given)


@dataclass(frozen=True, kw_only=True)
class FeatureTable(LabelledTable):
    """A table to learn from: also which of its columns are features."""

    control: Control = None
    exclude: Exclude = None
    use_sensitive: UseSensitive = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained, subject to what, on whom and where."""

    constraint: ConstraintName = "dp"
    reference: Reference = None
    groups: Groups = "intersections"
    min_size: MinSize = 1
    learner: Learner = "logistic"
    oracle: OracleName = "refit"
    cv: Folds = None
    test_size: TestSize = 0.2
    seed: Seed = 0
    checkpoint: Checkpoint = None
    dask: Dask = None


@dataclass(frozen=True, kw_only=True)
class Results:
    """How results are printed and written."""

    level: Level = 0.95
    force: Force = False
    machine: Json = False


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with every parameter that is a group replaced by the group's options."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _options_of(kind)
        else:
            parameters.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind)
            )

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{part.name: given.pop(part.name) for part in fields(kind)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            part.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if part.default is MISSING else part.default,
            annotation=hints[part.name],
        )
        for part in fields(group)
    ]
