"""The problem: equation (4) for one data set, and how an estimator states it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Cells
from equipoise.constraints.base import Constraint, Moments
from equipoise.engines.dask import Shards, example_of, is_collection, oracle_over
from equipoise.engines.memory import AnyData, read_data
from equipoise.estimators.parallel import in_parallel, with_cores
from equipoise.estimators.pools import CheckpointedPool, fingerprint
from equipoise.game import theory
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.objectives import Loss, Objective, loss_table
from equipoise.game.open_parameters import settle
from equipoise.game.pool import Oracle, Pool
from equipoise.oracles.cell_probabilities import check_probabilistic
from equipoise.oracles.cross_fit import CrossFittedOracle
from equipoise.oracles.plugin import BothOracle, PluginOracle
from equipoise.oracles.refit import RefitOracle, candidate_oracle, weight_parameter
from equipoise.rows.validation import check_features, read_positive

#: Default gap, as a multiple of n^(-1/2): well below the sampling error of the error rate.
NU_SCALE = 0.1


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation (4) for one data set: all that an algorithm needs to know of it."""

    data: AnyData
    cells: Cells
    moments: Moments
    lagrangian: Lagrangian
    oracle: Oracle
    classes: NDArray
    nu: float
    constraint: Constraint
    pool: Pool = field(default_factory=Pool)


class Reduction(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """What the reductions share: reading the data and stating the problem."""

    estimator: Any
    constraint: Constraint
    objective: Objective | Loss | None
    nu: float | None
    slack: float | None
    weights: str
    classes_: NDArray
    #: Whose decisions the members take: the learner's own (as in the paper), or tuned ones.
    threshold: str = "learner"
    #: Where classifiers come from, and whether their moments are measured out of fold.
    oracle: str = "refit"
    cv: Any = None
    #: Fits at a time, and where their results are kept.
    n_jobs: int | None = None
    checkpoint: str | Path | None = None
    #: Whether plug-in classifiers read the group from X.
    aware: bool = False
    #: Whether bounds that must be found first (`MinimaxGroupError`) are within its powers.
    _finds_levels = False

    def _problem(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        control_features: Any,
        sample_weight: Any,
        utilities: Any = None,
        pool: Pool | None = None,
    ) -> Problem:
        """Check everything that can be checked before the first fit.

        A pool that is given is the one to be grown.
        """
        if not isinstance(self.constraint, Constraint):
            raise TypeError(
                f"constraint is {self.constraint!r}; expected a Constraint such as "
                "DemographicParity(eps=0.02)."
            )
        self._check_learner(sample_weight)
        metadata = (sensitive_features, control_features, sample_weight, utilities, self.weights)
        data = read_data(X, y, *metadata, estimator=self.estimator)
        cells = data.cells
        nu = NU_SCALE / np.sqrt(cells.n_effective)
        if self.nu is not None:
            nu = read_positive(self.nu, "nu")
        constraint = self.constraint
        if not constraint.is_open:  # compiled before any work, so that its errors come first
            moments, lagrangian = self._game(constraint, cells)
        pool = self._new_pool(data) if pool is None else pool
        oracle = self._oracle(data)
        if constraint.is_open:
            pool.ask(oracle, cells.total(loss_table(self.objective, cells))[1])
            constraint = settle(constraint, lambda c: self._game(c, cells)[1], pool.s)
            moments, lagrangian = self._game(constraint, cells)
        return Problem(data, cells, moments, lagrangian, oracle, data.classes, nu, constraint, pool)

    def _new_pool(self, data: AnyData) -> Pool:
        """Return an empty pool, one that is kept on disk if that is asked for or wise."""
        at_a_time = self._at_a_time(data)
        respond = in_parallel(at_a_time) if at_a_time > 1 else None
        if self.checkpoint is None and not isinstance(data, Shards):
            return Pool(respond)
        how = (self.estimator, self.threshold, self.oracle, self.cv, self.aware)
        return CheckpointedPool(self.checkpoint, fingerprint(how, data), respond)

    def _at_a_time(self, data: AnyData) -> int:
        """Return how many fits run at a time; on a cluster, one is spread over all workers."""
        return 1 if isinstance(data, Shards) else effective_n_jobs(self.n_jobs)

    def _read_new(self, X: Any, y: Any, *metadata: Any) -> AnyData:
        """Read other data than those of the fit: what is there must be what was there."""
        check_is_fitted(self)
        self._check_features(X, reset=False)
        A, control, sample_weight, utilities = metadata
        data = read_data(X, y, A, control, sample_weight, utilities, self.weights)
        if data.classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"y has the classes {data.classes.tolist()}; expected {self.classes_.tolist()}, as "
                "in the fit."
            )
        return data

    def _check_learner(self, sample_weight: Any) -> None:
        """Refuse what no oracle can be made of."""
        if self.oracle not in ("refit", "plugin", "both"):
            raise ValueError(f"oracle is {self.oracle!r}; expected 'refit', 'plugin' or 'both'.")
        if self.aware and self.oracle == "refit":
            raise ValueError("aware=True is for oracle='plugin' or 'both', but oracle is 'refit'.")
        if isinstance(self.estimator, (list, tuple)):
            if self.oracle != "refit" or self.cv is not None:
                raise ValueError(
                    f"estimator is a list of fitted classifiers, but oracle={self.oracle!r} and "
                    f"cv={self.cv!r} ask for training; leave both at their defaults."
                )
            return
        if self.oracle != "refit":
            check_probabilistic(self.estimator)
        if self.oracle != "plugin" or sample_weight is not None:
            weight_parameter(self.estimator)

    def _oracle(self, data: AnyData) -> Oracle:
        """Return Best_h for this data; a plug-in oracle learns its probabilities here."""
        learner, cv = self.estimator, 5 if self.cv is None else self.cv
        sharing = with_cores(learner, self._at_a_time(data))
        if isinstance(data, Shards):
            return oracle_over(data, learner, self.threshold, self.oracle, self.cv, self.aware)
        X, cells, classes = data.X, data.cells, data.classes
        if isinstance(learner, (list, tuple)):
            return candidate_oracle(learner, X, cells, classes)
        if self.oracle == "plugin":
            return PluginOracle(learner, X, cells, cv, self.aware)
        if self.oracle == "both":
            return BothOracle(
                PluginOracle(learner, X, cells, cv, self.aware),
                CrossFittedOracle(sharing, X, cells, self.threshold, cv),
            )
        if self.cv is not None:
            return CrossFittedOracle(sharing, X, cells, self.threshold, cv)
        return RefitOracle(sharing, X, cells, self.threshold)

    def _game(self, constraint: Constraint, cells: Cells) -> tuple[Moments, Lagrangian]:
        moments = constraint.moments(cells)
        if moments.elastic is not None and not self._finds_levels:
            raise TypeError(
                f"{type(self).__name__} cannot make a worst group's error least: "
                f"{constraint!r} has no bound. Use FairClassifier, or BoundedGroupError(bound=...)."
            )
        lagrangian = Lagrangian.from_moments(
            moments, cells, self.objective, B=self._resolve_B(cells)
        )
        if self.slack is not None:
            constant = read_positive(self.slack, "slack")
            lagrangian = lagrangian.relaxed(theory.slack(moments, constant))
        return moments, lagrangian

    def _resolve_B(self, cells: Cells) -> float:
        return np.inf

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        if not isinstance(self.estimator, (list, tuple)):
            # A learner of the user's own need not know scikit-learn's tags.
            with suppress(AttributeError):
                tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _check_features(self, X: Any, *, reset: bool) -> None:
        check_features(self, example_of(X) if is_collection(X) else X, reset=reset)
