"""Training, as ``fit`` and ``frontier`` do it: the people, checks before any work, and progress."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.pipeline import Pipeline

from equipoise.cells.codes import factorize
from equipoise.cli import options as opt
from equipoise.cli import terminal
from equipoise.cli.exits import INTERRUPTED, NOT_PROVEN, decide
from equipoise.cli.model_files import check_outputs, made, write_model, write_page
from equipoise.cli.names import (
    find_constraint,
    find_learner,
    find_objective,
    find_oracle,
    with_decisions,
)
from equipoise.cli.result_tables import (
    note_compared,
    note_small,
    show_classifier,
    show_columns,
    show_frontier,
)
from equipoise.cli.tables.encoding import make_encoder
from equipoise.cli.tables.files import TableWriter, naming
from equipoise.cli.tables.people import Examples, Reader, describe
from equipoise.cli.tables.request import Columns, Request
from equipoise.cli.terminal import Tick, command_line
from equipoise.constraints.base import Constraint
from equipoise.constraints.distribution import takes_numbers
from equipoise.engines import engine_for
from equipoise.estimators.base import NUMBERS
from equipoise.exceptions import ManyGroupsWarning
from equipoise.game.lagrangian import NU_SCALE
from equipoise.metrics.few import left_out
from equipoise.report.contents import ColumnContents, DataContents, base_rate

#: Learners, by their names on the command line, that are trained where the rows are.
ON_CLUSTERS = ("logistic", "xgboost", "lightgbm")


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "call"), counted(2, "call")
    ('1 call', '2 calls')
    """
    return f"{number} {what}{'s' * (number != 1)}"


@dataclass(frozen=True, eq=False)
class Training:
    """A learner and a constraint, and the options that say how they are trained."""

    table: opt.FeatureTable
    options: opt.Training
    constraint: Constraint
    learner: Any
    parameters: dict[str, Any]  #: Of the model, besides learner and constraint.

    numeric: ClassVar[bool] = False  #: Whether the label is a number.
    #: What one point of a frontier is called, and a bound to pick it by.
    pick: ClassVar[tuple[str, str]] = "classifier", "0.02"

    @classmethod
    def of_options(
        cls,
        table: opt.FeatureTable,
        options: opt.Training,
        eps: float | None = None,
        of_labels: Sequence[str] = (),
    ) -> Training:
        """Find what is named on the command line; refuse what cannot be done, before any work.

        ``of_labels`` are options given that are for labels alone.
        """
        if options.is_regression() and not cls.numeric:
            from equipoise.cli.regression import NumberTraining, check_options

            check_options(table, options, of_labels)
            return NumberTraining.of_options(table, options, eps)
        constraint = find_constraint(
            options.constraint,
            eps=eps,
            reference=options.reference,
            min_size=options.min_size,
            groups=options.groups,
            decisions=options.decisions,
        )
        return cls(table, options, constraint, *cls.find(table, options))

    @classmethod
    def find(cls, table: opt.FeatureTable, options: opt.Training) -> tuple[Any, dict[str, Any]]:
        """Return the learner, and the parameters of the model."""
        learner = find_learner(options.learner, options.seed)
        if options.dask is not None:
            _check_dask(options.dask, table, options, learner)
        costs = (options.false_positive_cost, options.false_negative_cost)
        return learner, {
            "objective": find_objective(options.minimised, *costs),
            "oracle": find_oracle(options.oracle, options.cv),
            "checkpoint": options.checkpoint,
        }

    def kind(self, *, traces: bool) -> Callable[..., Any]:
        """Return the class of the model: of one bound, or of a frontier."""
        from equipoise.estimators.frontier import Frontier
        from equipoise.estimators.reductions import FairClassifier

        return Frontier if traces else FairClassifier

    @contextmanager
    def open_data(self) -> Iterator[TrainingData]:
        """Read the people; a cluster stays open as long as the context does."""
        options = self.options
        given = (self.table.data, self.table.request(), options.test_size, options.seed)
        if options.dask is None:
            reader = Reader(terminal.note, self.table.dialect()).for_constraint(self.constraint)
            reader.numeric = self.numeric
            data = read_training_data(*given, reader)
            show_columns(data.read, None if self.numeric else data.columns.labels, reader.format)
            yield data
            return
        from equipoise.cli.dask import cluster
        from equipoise.cli.dask.people import DaskReader

        with cluster.opened(options.dask) as client:
            with terminal.progress("Reading") as tick:
                tick(None, "looking at every column")
                found = DaskReader(client, terminal.note).training(*given)
            yield found

    @property
    def compared_from(self) -> int | None:
        """From which size on groups are compared, None where numbers make none."""
        return None if takes_numbers(self.constraint) else self.options.min_size

    def run(
        self, outputs: Sequence[Path | None], results: opt.Results, *, traces: bool, **given: Any
    ) -> Trained:
        """Read the people, fit a model, or a frontier, and show what it does to whom."""
        output = next(path for path in outputs if path is not None)
        held_out = self.options.held_out
        force = check_outputs(*outputs, held_out, force=results.force, reads=[self.table.data])
        results = replace(results, force=force)
        with self.open_data() as data:
            model = self.fit(self.kind(traces=traces), data, **given)
            whole, contents = self.contents(model, data, results.of_file(output))
            data.write_held_out(held_out, force=force)
        self.show(model, whole, results)
        metadata = data.metadata(contents, self.options.seed, (*outputs, held_out))
        return Trained(model, whole, contents, metadata, results)

    def fit(self, kind: Callable[..., Any], data: TrainingData, **given: Any) -> Any:
        """Return a model of this kind, fitted with progress to those to learn from."""
        data.announce(self.compared_from)
        train = data.train
        # What learners print is no result.
        with (
            redirect_stdout(sys.stderr),
            terminal.progress("Fitting") as tick,
            terminal.interruptible(),
        ):
            labels = data.columns.labels
            if len(labels) == 2 and not self.numeric and train.y.dtype == object:
                given["positive"] = labels[1]
            tick(None, "the first call of the learner")
            model = kind(
                data.estimator(self.learner),
                with_decisions(self.constraint, train.y),
                callback=self.watcher(tick, len(train)),
                **self.parameters,
                **given,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ManyGroupsWarning)  # the reader has noted it
                model.fit(train.X, train.y, **train.metadata)
        proof = getattr(model, "proof_", None)
        if terminal.running().interrupted:
            decide(INTERRUPTED)
        elif proof is not None and not proof.holds:
            decide(NOT_PROVEN)
        data.note_held_out(model)
        return model

    def watcher(self, tick: Tick, n: int) -> Callable[[Any], None]:
        """Return a callback that shows calls of the learner, and for how many bounds gaps close.

        In a log there is a line where the number of calls has doubled, and for each quarter of the
        bounds.
        """
        nu = NU_SCALE / np.sqrt(n)
        done = 0

        def watch(rounds: Any) -> None:
            nonlocal done
            rounds = rounds if isinstance(rounds, list) else [rounds]
            closed = sum(last.gap <= nu for last in rounds)
            done = max(done, closed)  # gaps may widen again
            calls = max(last.n_calls for last in rounds)
            words = counted(calls, "call")
            if len(rounds) > 1:
                words += f", gap closed for {closed} of {len(rounds)} bounds"
                share = closed / len(rounds)
            else:
                gap = rounds[0].gap
                words += f", gap {gap:.4f}" if np.isfinite(gap) else ", the bounds are not met yet"
                share = None
            tick(share, words, step=(4 * done // len(rounds), calls.bit_length()))

        return watch

    def contents(self, model: Any, data: TrainingData, options: dict[str, Any]) -> list[Any]:
        """Return the contents of the report about a fitted model: for the terminal, for others."""
        from equipoise.report.summary import summarize

        seed = self.options.seed
        return [
            replace(
                contents.in_order(data.columns.order),
                learner=repr(self.learner),
                command=command_line(),
                notes=list(terminal.running().notes),
            )
            for contents in summarize(
                model, data.people, data.contents(model), seed=seed, **options
            )
        ]

    def show(self, model: Any, contents: Any, results: opt.Results) -> None:
        """Print what a fitted model does to whom."""
        first = contents.points[0]
        if contents.kind == "frontier":
            show_frontier(contents)
        else:
            show_classifier(first, results.level, contents.data.labels, model.objective)
        groups = first.groups["training"]
        note_small(groups, min_size=self.compared_from)

    def summary(self, model: Any, contents: Any) -> dict[str, Any]:
        """Return what a single model is and does, for `--json`."""
        about = {"constraint": repr(model.constraint_), "data": contents.data}
        about["left_out"] = left_out(contents.suppress_below) if contents.leaves_out else ""
        return {**about, "unconstrained": contents.unconstrained, **vars(contents.points[0])}

    def end(self) -> None:
        """Say how a command that was interrupted goes on, once all is written."""
        if terminal.running().interrupted:
            kept = self.options.checkpoint is not None
            how = "goes on from there" if kept else "starts anew; with --checkpoint it would go on"
            terminal.progress_line(
                "Interrupted: what was found is written. The same command, run again, replaces it: "
                f"it {how}."
            )


class Trained(NamedTuple):
    """A fitted model, its results for the owner and for others, and its output files."""

    model: Any
    whole: Any
    contents: Any
    metadata: dict[str, Any]
    results: opt.Results

    def write(self, output: Path, page: Path | None = None, *, evidence: bool = True) -> None:
        """Write the model file, and the page if there is to be one."""
        write_model(self.model, output, self.metadata, self.results, evidence=evidence)
        if page is not None:
            write_page(self.contents, page, force=self.results.force)


def _check_dask(address: str, table: opt.FeatureTable, options: opt.Training, learner: Any) -> None:
    from equipoise.cli.dask.cluster import check_address
    from equipoise.cli.dask.files import find_files
    from equipoise.engines.dask.trainers import trainer_kind

    check_address(address)
    if table.missing:
        raise ValueError(
            "--missing is for CSV files; --dask reads Parquet files, where a missing value is null."
        )
    if not 0 <= options.test_size < 1:
        raise ValueError(f"--test-size is {options.test_size}; expected a share from 0 to below 1.")
    try:
        trainer_kind(learner)
    except TypeError:
        raise ValueError(
            f"--learner is {options.learner!r}, which cannot be trained on a cluster. With --dask "
            f"expected {', '.join(ON_CLUSTERS)}, or module:object for one of these classifiers "
            "with other parameters. Or leave --dask out."
        ) from None
    find_files(table.data)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """People to learn from and people held out, and what is known of them."""

    name: str  #: What the user called the table.
    train: Examples
    test: Examples | None  #: None where nobody is held out.
    columns: Columns
    encoder: Any  #: Turns features into numbers; frozen if it is fitted already.
    base_rate: float | list[float]  #: The share of the favourable label, or of each of several.
    read: list[ColumnContents]  #: How each column was read.
    format: str = ""  #: How the file was written.
    held_out: Iterable[Any] = ()  #: Tables of the rows of test, as they were read.

    @property
    def people(self) -> dict[str, Examples]:
        """Those to measure a model on, by the name of the data."""
        people = {"training": self.train}
        return people if self.test is None else {**people, "test": self.test}

    def announce(self, min_size: int | None) -> None:
        """Print how many people there are to learn from; note that groups of few are compared."""
        people, features = len(self.train), len(self.columns.features)
        terminal.progress_line(f"{people:,} people to learn from, {features} features.")
        if isinstance(self.train.X, pa.Table):  # rows elsewhere are counted by the fit
            note_compared(self.train.smallest_group(), min_size)

    def estimator(self, learner: Any) -> Pipeline:
        """Return the learner after the encoder of the features."""
        return Pipeline([("encode", self.encoder), ("learner", learner)])

    def note_held_out(self, model: Any) -> None:
        """Let a fitted model know the rows that were held out."""
        if self.test is not None and model.people_ is not None:
            classes = getattr(model, "classes_", NUMBERS)
            apart = engine_for(self.test.X).hashed(self.test, classes)
            model.people_ = model.people_.with_held_out(apart)

    def write_held_out(self, path: Path | None, *, force: bool) -> None:
        """Write the rows held out, if that was asked for."""
        if path is None:
            return
        if self.test is None:
            terminal.note(f"nobody was held out, so {path} was not written.")
            return
        with TableWriter(path, overwrite=force) as writer:
            for table in self.held_out:
                writer.write(dict(zip(table.column_names, table.columns, strict=True)))
        terminal.say(f"Written: {path} ({len(self.test):,} rows held out)")

    def metadata(
        self, contents: Any, seed: int | None, outputs: Sequence[Path | None]
    ) -> dict[str, Any]:
        """Return what a model file keeps beside the model: columns, report and how it was made."""
        return {
            "columns": self.columns.to_dict(),
            "report": contents.to_dict(),
            "made": made(seed, outputs if terminal.running().interrupted else ()),
        }

    def contents(self, model: Any) -> DataContents:
        """Return a summary for reports."""
        held_out = 0 if self.test is None else len(self.test)
        return DataContents(
            source=self.name,
            rows=len(self.train) + held_out,
            train_rows=len(self.train),
            test_rows=held_out,
            **self.columns.shown,
            base_rate=self.base_rate,
            columns=self.read,
            format=self.format,
            fingerprint="" if model.people_ is None else model.people_.digest,
        )


def read_training_data(
    data: Path, request: Request, test_size: float, seed: int, reader: Reader
) -> TrainingData:
    """Read a file into memory."""
    table = reader.whole(data, request)
    with naming(data):
        people, columns = reader.training(table, request)
    y, rate = people.y, np.nan
    if not columns.numeric:
        rate = base_rate(y, factorize(y)[1], people.sample_weight)
    learned, held_out = people.deal(test_size, seed)
    train = people.take(learned) if len(held_out) else people
    return TrainingData(
        name=data.name,
        train=train,
        test=people.take(held_out) if len(held_out) else None,
        columns=columns,
        encoder=make_encoder(columns.features, train.X),
        base_rate=rate,
        read=describe(table, request.roles, columns.features),
        format=reader.format,
        held_out=[table.take(held_out)],
    )
