"""Where the people of a fit come from: a table in memory, or files that a cluster reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sklearn.pipeline import Pipeline

from equipoise.cli import cluster
from equipoise.cli.contents import data_contents
from equipoise.cli.tables.encoding import make_encoder
from equipoise.cli.tables.people import Columns, Reader, Request
from equipoise.cli.terminal import Terminal
from equipoise.engines.dask.trainers import trainer_kind
from equipoise.report.contents import DataContents

#: Learners, by their names on the command line, that are trained where the rows are.
ON_CLUSTERS = ("logistic", "xgboost", "lightgbm")


class Source(Protocol):
    """People to learn from and people held out, and how a model is made of them."""

    train: Any
    test: Any
    columns: Columns

    @property
    def people(self) -> dict[str, Any]:
        """Those to measure a model on, by the name of the data."""

    def estimator(self, learner: Any) -> Any:
        """Return what is fitted to the people."""

    def finish(self, model: Any) -> None:
        """Let a model that was fitted and measured take tables."""

    def contents(self, positive: Any) -> DataContents:
        """Return a summary of the data."""


class TableSource:
    """A file that is read into memory."""

    def __init__(
        self, data: Path, request: Request, test_size: float, seed: int, terminal: Terminal
    ) -> None:
        self._name = data.name
        people, self.columns = Reader(terminal.note).training(data, request)
        self.train, self.test = people.split(test_size, seed)

    @property
    def people(self) -> dict[str, Any]:
        """Those to measure a model on, by the name of the data."""
        return _named(self.train, self.test)

    def estimator(self, learner: Any) -> Any:
        """Return the learner after an encoder of the features."""
        return Pipeline([("encode", make_encoder(self.columns.features)), ("learner", learner)])

    def finish(self, model: Any) -> None:
        """Do nothing: it takes tables already."""

    def contents(self, positive: Any) -> DataContents:
        """Return a summary of the data."""
        return data_contents(self._name, self.train, self.test, self.columns, positive)


class ClusterSource:
    """Parquet files that the workers of a cluster read, and whose rows stay there."""

    def __init__(
        self,
        client: Any,
        data: Path,
        request: Request,
        test_size: float,
        seed: int,
        terminal: Terminal,
    ) -> None:
        from equipoise.cli.dask_examples import DaskReader

        self._name = str(data)
        with terminal.progress("Reading") as tick:
            tick(0.0, "looking at every column")
            self._found = DaskReader(client, terminal.note).training(data, request, test_size, seed)
        self.train, self.test = self._found.train, self._found.test
        self.columns = self._found.columns

    @property
    def people(self) -> dict[str, Any]:
        """Those to measure a model on, by the name of the data."""
        return _named(self.train, self.test)

    def estimator(self, learner: Any) -> Any:
        """Return the learner alone: the rows are encoded as they are read."""
        return learner

    def finish(self, model: Any) -> None:
        """Put the encoder into the model."""
        from equipoise.cli.dask_examples import example_row
        from equipoise.cli.encoded_members import with_encoder

        with_encoder(model, self._found.encoder, example_row(self.columns.features))

    def contents(self, positive: Any) -> DataContents:
        """Return a summary of the data."""
        columns, held_out = self.columns, 0 if self.test is None else len(self.test)
        return DataContents(
            source=self._name,
            rows=len(self.train) + held_out,
            train_rows=len(self.train),
            test_rows=held_out,
            label=columns.label,
            labels=columns.labels,
            base_rate=self._found.base_rate,
            sensitive=list(columns.sensitive),
            control=list(columns.control),
            weight=columns.weight,
            features=dict(columns.features),
            missing={name: count for name, count in self._found.missing.items() if count},
        )


@contextmanager
def opened_source(
    data: Path,
    request: Request,
    test_size: float,
    seed: int,
    dask: str | None,
    terminal: Terminal,
) -> Iterator[Source]:
    """Read the people of a fit; a cluster stays open as long as it is needed."""
    if dask is None:
        yield TableSource(data, request, test_size, seed, terminal)
        return
    with cluster.opened(dask) as client:
        yield ClusterSource(client, data, request, test_size, seed, terminal)


def check_dask(
    dask: str | None,
    data: Path,
    learner: str,
    estimator: Any,
    missing: Sequence[str] | None,
    test_size: float,
) -> None:
    """Refuse, before any work, what cannot be done on a cluster."""
    if dask is None:
        return
    cluster.check_address(dask)
    if missing:
        raise ValueError(
            "--missing is for CSV files; --dask reads Parquet files, where a missing value is null."
        )
    if not 0 <= test_size < 1:
        raise ValueError(f"--test-size is {test_size}; expected a share from 0 to below 1.")
    try:
        trainer_kind(estimator)
    except TypeError:
        raise ValueError(
            f"--learner is {learner!r}, which cannot be trained on a cluster. With --dask expected "
            f"{', '.join(ON_CLUSTERS)}, or module:object for one of these classifiers with other "
            "parameters. Or leave --dask out."
        ) from None
    from equipoise.cli.pieces import find_files

    find_files(data)


def _named(train: Any, test: Any) -> dict[str, Any]:
    return {"training": train} if test is None else {"training": train, "test": test}
