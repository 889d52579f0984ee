"""Training, as ``fit`` and ``frontier`` do it: checked before any work, and with progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.cli import options as opt
from equipoise.cli.names import find_constraint, find_learner, find_oracle
from equipoise.cli.terminal import Terminal, Tick
from equipoise.cli.training_data import TrainingData, read_training_data
from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.estimators.base import NU_SCALE
from equipoise.oracles.specs import OracleSpec

#: Learners, by their names on the command line, that are trained where the rows are.
ON_CLUSTERS = ("logistic", "xgboost", "lightgbm")


@dataclass(frozen=True, eq=False)
class Training:
    """A learner and a constraint, and the options that say how they are trained."""

    table: opt.FeatureTable
    options: opt.Training
    constraint: Constraint
    learner: Any
    oracle: OracleSpec

    @classmethod
    def from_options(
        cls, table: opt.FeatureTable, options: opt.Training, eps: float | None = None
    ) -> Training:
        """Find what is named on the command line; refuse what cannot be done, before any work."""
        constraint = find_constraint(
            options.constraint,
            eps=eps,
            reference=options.reference,
            min_size=options.min_size,
            groups=options.groups,
        )
        learner = find_learner(options.learner, options.seed)
        if options.dask is not None:
            _check_dask(options.dask, table, options, learner)
        return cls(table, options, constraint, learner, find_oracle(options.oracle, options.cv))

    @contextmanager
    def open_data(self, terminal: Terminal) -> Iterator[TrainingData]:
        """Read the people; a cluster stays open as long as the context does."""
        options = self.options
        given = (self.table.data, self.table.request(), options.test_size, options.seed)
        if options.dask is None:
            yield read_training_data(*given, terminal.note)
            return
        from equipoise.cli.dask import cluster
        from equipoise.cli.dask.people import DaskReader

        with cluster.opened(options.dask) as client:
            with terminal.progress("Reading") as tick:
                tick(0.0, "looking at every column")
                found = DaskReader(client, terminal.note).training(*given)
            yield found

    def fit(
        self, kind: Callable[..., Any], data: TrainingData, terminal: Terminal, **parameters: Any
    ) -> Any:
        """Return a model of this kind, fitted with progress to those to learn from."""
        train, features = data.train, len(data.columns.features)
        terminal.progress_line(f"{len(train):,} people to learn from, {features} features.")
        # What learners print is no result.
        with redirect_stdout(sys.stderr), terminal.progress("Fitting") as tick:
            model = kind(
                data.estimator(self.learner),
                self.constraint,
                oracle=self.oracle,
                checkpoint=self.options.checkpoint,
                callback=_watcher(tick, NU_SCALE / np.sqrt(len(train))),
                **parameters,
            )
            model.fit(train.X, train.y, **train.metadata)
        if data.test is not None and model.people_ is not None:
            apart = engine_for(data.test.X).hashed(data.test, model.classes_)
            model.people_ = model.people_.with_held_out(apart)
        return model


def _watcher(tick: Tick, nu: float) -> Callable[[Any], None]:
    """Return a callback that shows how near the gaps of all bounds are to ``nu``."""
    furthest = 0.0

    def watch(rounds: Any) -> None:
        nonlocal furthest
        rounds = rounds if isinstance(rounds, list) else [rounds]
        shares = [min(nu / max(last.gap, 1e-12), 1.0) for last in rounds]  # no gap yet: 0
        closed = sum(share == 1.0 for share in shares)
        words = f"{max(last.n_calls for last in rounds)} fits"
        words += f", {closed} of {len(rounds)} bounds" if len(rounds) > 1 else ""
        # Gaps may widen again, and a last try follows where all are closed.
        furthest = max(furthest, min(float(np.mean(shares)), 0.99))
        tick(furthest, words)

    return watch


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
