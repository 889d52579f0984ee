"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.names import CONSTRAINTS, LEARNERS

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
