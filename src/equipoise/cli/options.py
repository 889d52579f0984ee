"""The options that several commands share, one by one and in groups.

A group is a dataclass: a command that takes one has its options, see `with_groups`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from equipoise.cli.names import CONSTRAINTS, LEARNERS

if TYPE_CHECKING:
    from equipoise.cli.tables.dialect import Dialect
    from equipoise.cli.tables.request import Request

#: As in `equipoise.metrics.few`, which takes time to import.
SUPPRESS_BELOW = 10


def option(help: str, *names: str, **more: Any) -> Any:
    """Return an option with this help; by default it is called like its parameter."""
    return typer.Option(*names, help=help, **more)


Data = Annotated[Path, typer.Argument(help="A table: CSV (also .gz), Parquet, Arrow or Excel.")]
DropMissing = Annotated[
    bool,
    option("Leave out rows without label, group or weight, rather than stop.", "--drop-missing"),
]
MaxIter = Annotated[int, option("The most rounds to play.")]
Level = Annotated[float, option("Level of confidence intervals.")]
Force = Annotated[bool, option("Overwrite files that exist.", "--force")]
Json = Annotated[bool, option("Print one JSON object for machines.", "--json")]
Trust = Annotated[
    list[str] | None, option("A type that the model file may hold, such as my_package.MyLearner.")
]
MinSize = Annotated[int, option("Leave groups of fewer people out of comparisons, with a note.")]
MinSizeOfFit = Annotated[
    int | None,
    option("Leave groups of fewer people out of comparisons; by default as in the fit."),
]
SuppressBelow = Annotated[
    int,
    option("Leave people in groups of fewer out of pages, cards and JSON; 0: nobody.", min=0),
]
NoEvidence = Annotated[
    bool,
    option(
        "Write a model file that decides and has nothing that counts people: no certificate, "
        "no report.",
        "--no-evidence",
    ),
]
ModelOutput = Annotated[Path, option("The model file.", "--output", "-o")]
ModelFile = Annotated[Path, typer.Argument(help="A model file; or a frontier file, with --eps.")]
FrontierEps = Annotated[float | None, option("The bound, for a frontier.", "--eps")]


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a CSV file is written."""

    separator: Annotated[
        str | None, option("The character between columns of a CSV file; found out by default.")
    ] = None
    decimal: Annotated[
        str | None, option("The decimal mark in a CSV file, '.' or ','; found out by default.")
    ] = None
    encoding: Annotated[
        str | None, option("Of a CSV file, such as latin-1; found out by default.")
    ] = None

    def dialect(self) -> Dialect:
        """Return the dialect of the file, as far as it is given."""
        from equipoise.cli.tables.dialect import Dialect

        return Dialect(self.separator, self.decimal, self.encoding)


@dataclass(frozen=True, kw_only=True)
class Application(Format):
    """How a model file is applied to a table, and how results are written."""

    eps: FrontierEps = None
    trust: Trust = None
    force: Force = False
    machine: Json = False


@dataclass(frozen=True, kw_only=True)
class LabelledTable(Format):
    """A table, and which of its columns are label, groups and weights."""

    data: Data
    label: Annotated[str, option("The column to predict.")]
    sensitive: Annotated[list[str], option("A column that makes groups; again for further ones.")]
    positive: Annotated[
        str | None,
        option(
            "The favourable label. By default true, 1 or the larger of two numbers, or what plain "
            "words say, such as yes, approved or hired; other texts need it. More than two labels "
            "stay as they are without it; with it, all others count as one."
        ),
    ] = None
    weight: Annotated[str | None, option("A column of weights of the rows.")] = None
    missing: Annotated[
        list[str] | None, option("What else stands for a missing value in a CSV file, such as '?'.")
    ] = None
    drop_missing: DropMissing = False
    missing_groups: Annotated[
        str,
        option(
            "People whose group is missing: error, or ignore, and count them in the error and in "
            "no group."
        ),
    ] = "error"
    bins: Annotated[
        list[str] | None,
        option(
            "Put a sensitive column of numbers into classes: COLUMN=4 by quantiles, or edges as "
            "COLUMN=25,40,60; again for further ones."
        ),
    ] = None

    def request(self) -> Request:
        """Return which columns are to be read, and how."""
        from equipoise.cli.tables.request import Request

        apart = {"data", *(part.name for part in fields(Format))}
        given = vars(self).items()
        return Request(**{k: v for k, v in given if v is not None and k not in apart})


@dataclass(frozen=True, kw_only=True)
class FeatureTable(LabelledTable):
    """A table to learn from: also which of its columns are features."""

    control: Annotated[
        list[str] | None,
        option("Compare groups within the values of this column; again for further ones."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        option("A column that is no feature, such as an id; again for further ones."),
    ] = None
    keep_text: Annotated[
        list[str] | None,
        option(
            "A text column to learn from although it looks like names, ids or notes; again for "
            "further ones."
        ),
    ] = None
    use_sensitive: Annotated[
        bool,
        option(
            "Let the sensitive columns be features too; predictions need them then.",
            "--use-sensitive",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained, subject to what, on whom and where."""

    task: Annotated[
        str, option("What the label is: classification, or regression where it is a number.")
    ] = "classification"
    loss: Annotated[str, option("With --task regression: squared or absolute.")] = "squared"
    thresholds: Annotated[
        int, option("With --task regression and dp: how many thresholds are looked at.")
    ] = 40

    constraint: Annotated[
        str, option(f"What is asked: {', '.join(CONSTRAINTS)}, or module:object.")
    ] = "dp"
    reference: Annotated[
        str | None, option("What groups are compared with: overall, pairwise, or a group.")
    ] = None
    groups: Annotated[
        str, option("How several sensitive columns make groups: intersections, margins or both.")
    ] = "intersections"
    decisions: Annotated[
        list[str] | None,
        option(
            "Of more than two labels, a decision whose rates are compared; again for further ones. "
            "By default all are."
        ),
    ] = None
    min_size: MinSize = 1
    learner: Annotated[
        str,
        option(
            f"What is trained: {', '.join(LEARNERS)}, or module:object; with parameters as in "
            "lightgbm:n_estimators=50,num_leaves=15."
        ),
    ] = "logistic"
    objective: Annotated[
        str,
        option("What is minimised: error, balanced (both labels count the same), module:object."),
    ] = "error"
    balanced: Annotated[
        bool, option("Short for --objective balanced, for a rare label.", "--balanced")
    ] = False
    false_positive_cost: Annotated[
        float | None, option("What it costs to select somebody whose label is the other one; 1.")
    ] = None
    false_negative_cost: Annotated[
        float | None, option("What it costs to turn down somebody with the favourable label; 1.")
    ] = None
    oracle: Annotated[
        str,
        option(
            "refit (train anew for every query), plugin (train once, then thresholds), "
            "or best_of (both)."
        ),
    ] = "refit"
    cv: Annotated[
        int | None,
        option("Measure on out-of-fold decisions of so many folds: for learners that overfit."),
    ] = None
    test_size: Annotated[float, option("Share of the rows to hold out.")] = 0.2
    held_out: Annotated[
        Path | None, option("Also write the rows held out to this file, to certify on later.")
    ] = None
    seed: Annotated[int, option("Of the split and the learner.")] = 0
    checkpoint: Annotated[
        Path | None,
        option(
            "A folder where trained models are kept: the same command, run again "
            "after it was stopped, goes on from there. Reading it runs code: name only folders "
            "that nobody else can write to."
        ),
    ] = None
    dask: Annotated[
        str | None,
        option(
            "Read Parquet files (a file, a folder or a quoted pattern) and train on a Dask "
            "cluster: that of the scheduler at this address, or without one a cluster of this "
            "machine.",
            metavar="[ADDRESS]",
        ),
    ] = None

    def is_regression(self) -> bool:
        """Return whether the label is a number; refuse a task that is not known."""
        if self.task not in ("classification", "regression"):
            raise ValueError(
                f"--task is {self.task!r}; expected classification, or regression where the label "
                "is a number."
            )
        if self.task == "classification" and (self.loss, self.thresholds) != ("squared", 40):
            raise ValueError("--loss and --thresholds are for --task regression; leave them out.")
        return self.task == "regression"

    @property
    def minimised(self) -> str:
        """What is minimised: the objective that is named."""
        if self.balanced and self.objective not in ("error", "balanced"):
            raise ValueError(
                f"--balanced is given, and --objective {self.objective}; expected one of them."
            )
        return "balanced" if self.balanced else self.objective


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Whether bounds are to be proven for people who were not seen, and how."""

    confidence: Annotated[
        float | None,
        option("Prove the bound for people not seen, with this probability, such as 0.95."),
    ] = None
    proof: Annotated[
        str,
        option(
            "How: split (one part of the rows to learn from, the others for the proof), or forward "
            "(each of four models proven on the rows after it; asymptotic)."
        ),
    ] = "split"
    proof_share: Annotated[float, option("The share of rows that are for the proof.")] = 0.7
    fallback: Annotated[
        str | None,
        option(
            "fairest: write the fairest model found even where nothing is proven. lottery: accept "
            "a proof with more than 5 % of decisions drawn regardless of who it is."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Results:
    """How results are printed and written."""

    level: Level = 0.95
    suppress_below: SuppressBelow = SUPPRESS_BELOW
    force: Force = False
    machine: Json = False

    def of_file(self, path: Path) -> dict[str, Any]:
        """Return the options of a report about a model file: for the terminal, and for others."""
        return {"level": self.level, "limits": [0, self.suppress_below], "file": path.name}


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
    last = {part.name for part in fields(Format)}  # asked for least
    return [
        inspect.Parameter(
            part.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if part.default is MISSING else part.default,
            annotation=hints[part.name],
        )
        for part in sorted(fields(group), key=lambda part: part.name in last)
    ]
