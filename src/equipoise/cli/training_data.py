"""The people of a fit, from a table in memory or from files that a cluster reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from equipoise.cli.tables.columns import is_missing
from equipoise.cli.tables.encoding import make_encoder
from equipoise.cli.tables.files import TableWriter
from equipoise.cli.tables.people import Columns, Examples, Reader, Request, favourable
from equipoise.cli.terminal import Terminal
from equipoise.report.contents import DataContents


@dataclass(frozen=True, eq=False)
class TrainingData:
    """People to learn from and people held out, and what is known of them."""

    name: str  #: What the user called the table.
    train: Examples
    test: Examples | None  #: None where nobody is held out.
    columns: Columns
    encoder: Any  #: Turns features into numbers; frozen if it is fitted already.
    base_rate: float  #: The share of the favourable label.
    missing: dict[str, int]  #: Missing values by feature.
    held_out: Iterable[Any] = ()  #: Tables of the rows of test, as they were read.

    @property
    def people(self) -> dict[str, Examples]:
        """Those to measure a model on, by the name of the data."""
        people = {"training": self.train}
        return people if self.test is None else {**people, "test": self.test}

    def estimator(self, learner: Any) -> Pipeline:
        """Return the learner after the encoder of the features."""
        return Pipeline([("encode", self.encoder), ("learner", learner)])

    def write_held_out(self, path: Path | None, *, force: bool, terminal: Terminal) -> None:
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

    def contents(self, model: Any) -> DataContents:
        """Return a summary for reports."""
        columns, held_out = self.columns, 0 if self.test is None else len(self.test)
        return DataContents(
            source=self.name,
            rows=len(self.train) + held_out,
            train_rows=len(self.train),
            test_rows=held_out,
            label=columns.label,
            labels=columns.labels,
            base_rate=self.base_rate,
            sensitive=list(columns.sensitive),
            control=list(columns.control),
            weight=columns.weight,
            features=dict(columns.features),
            missing={name: count for name, count in self.missing.items() if count},
            fingerprint="" if model.people_ is None else model.people_.digest,
        )


def read_training_data(
    data: Path, request: Request, test_size: float, seed: int, note: Callable[[str], None]
) -> TrainingData:
    """Read a file into memory."""
    reader = Reader(note)
    table = reader.whole(data, request)
    people, columns = reader.training(table, request)
    learned, held_out = people.deal(test_size, seed)
    train = people.take(learned) if len(held_out) else people
    return TrainingData(
        name=data.name,
        train=train,
        test=people.take(held_out) if len(held_out) else None,
        columns=columns,
        encoder=make_encoder(columns.features, train.X),
        base_rate=float(np.average(favourable(people.y, columns), weights=people.sample_weight)),
        missing={name: int(is_missing(people.X.column(name)).sum()) for name in columns.features},
        held_out=[table.take(held_out)],
    )
