"""What follows from a pool of classifiers for any bound: mixtures, certificates, fitted models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import GroupRules
from equipoise.constraints.base import Constraint
from equipoise.estimators.base import Reduction
from equipoise.estimators.decisions.one_rule import check_data_again, with_one_rule
from equipoise.estimators.decisions.switches import switched_of
from equipoise.estimators.decisions.unconstrained import UnconstrainedModel
from equipoise.estimators.frontier_point import (
    FrontierPoint,
    games_of,
    point_of,
    unconstrained_point,
    with_eps,
)
from equipoise.estimators.randomized import FitResult, RandomizedClassifier
from equipoise.estimators.reductions import FairClassifier
from equipoise.estimators.results import result_of, warn
from equipoise.faces import Records
from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import over_pool
from equipoise.game.evidence import Scope
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.least_random import Lottery, least_random_round
from equipoise.game.rounds import Outcome, Pool, Reason, Round
from equipoise.game.switches import Switched
from equipoise.guarantees.proof import Proof
from equipoise.metrics.audit import Tally
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.people import People


class PoolReduction(Reduction):
    """A reduction whose result is a pool: the answer to any bound is a small linear program."""

    pool_: Pool
    cells_: CellTable
    shares_: Mapping[str, Array]
    disagreement_: Array
    switches_: Array | None
    lagrangian_: Lagrangian
    classes_: NDArray
    people_: Fingerprint | None
    n_jobs: int | None
    nu_: float
    n_iter_: int
    n_calls_: int
    points_: Records[FrontierPoint]
    unconstrained_: FrontierPoint
    _queries: Queries | None
    _settled: set[float] | None
    _free: int
    _unconstrained: UnconstrainedModel
    _salt: int
    _scope: Scope

    @property
    def unconstrained_model_(self) -> UnconstrainedModel:
        """The learner trained on the labels, with which decisions are compared."""
        return self._unconstrained

    @property
    def _group_rules(self) -> GroupRules:
        return self.cells_.rules

    def _deciding(self) -> Sequence[Any]:
        return self.pool_.classifiers

    def _trace(self, bounds: Iterable[float]) -> None:
        self.points_ = self._points([float(eps) for eps in bounds])
        known = self.lagrangian_, self.pool_, self._free
        self.unconstrained_ = unconstrained_point(*known, self._certificate, Lottery(0.0, True))

    def _points(self, bounds: list[float]) -> Records[FrontierPoint]:
        games = games_of(self.constraint, self.lagrangian_, bounds)
        found = [found for _, found in self._solved(games, bounds)]
        return Records(
            point_of(eps, found, game, self._certificate(found, game))
            for eps, found, game in zip(bounds, found, games, strict=True)
        )

    def _solved(self, games: list[Lagrangian], bounds: list[float]) -> list[tuple[Round, Round]]:
        """Return the best mixture of the pool and the least random one, for each game.

        Where the search was stopped, nothing is proven impossible, see `results.as_settled`.
        """
        rounds = [
            found if self._settled is None or eps in self._settled else found.without_proof()
            for eps, found in zip(bounds, self._best(games), strict=True)
        ]
        return [
            (last, self._least_random(last, game)) for last, game in zip(rounds, games, strict=True)
        ]

    def _best(self, games: list[Lagrangian]) -> list[Round]:
        """Return the best mixture of the pool for each game."""
        return over_pool(games, self.pool_, self._queries, unconstrained=self._free, nu=self.nu_)

    def _least_random(self, found: Round, game: Lagrangian) -> Round:
        return least_random_round(
            found,
            game,
            self._shares,
            lambda numbers: self.disagreement_[np.ix_(numbers, numbers)],
            nu=self.nu_,
            free=self._free,
            n_decisions=self.cells_.n_decisions,
        )

    @property
    def _shares(self) -> Array:
        """The shares that are certified; one array for all certificates."""
        return list(self.shares_.values())[-1]

    def _certificate(
        self,
        found: Round,
        game: Lagrangian,
        s: Array | None = None,
        switched: Switched | None = None,
    ) -> Certificate:
        """Return the certificate of a round over shares ``s``; by default those of the pool."""
        certificate = Certificate.of_round(
            replace(found, n_calls=self.n_calls_),
            game,
            self._shares if s is None else s,
            nu=self.nu_,
            scope=self._scope,
            cells=self.cells_,
            out_of_fold=list(self.shares_)[-1] == "out of fold",
        )
        if switched is None:
            assert self.switches_ is not None
            known = self.cells_, self.switches_
            switched = Switched.of_mixture(*known, found.mixture, self.classes_)
        share = getattr(self.oracle, "shared_trees", 0.0)
        return replace(certificate, switched=switched, shared_trees=float(share))

    def _classifier(self, point: FrontierPoint, proof: Proof | None = None) -> FairClassifier:
        """Return the fitted classifier of a point, with what is proven of it."""
        constraint = with_eps(self.constraint, point.eps)
        tallies = {
            data: Tally.of_shares(self.cells_, point.mixture.shares(shares))
            for data, shares in self.shares_.items()
        }
        violations = self._excess(point, tallies)
        members = point.mixture.members(self.pool_.classifiers)
        certificate = point.certificate
        if proof is not None:
            certificate = replace(certificate, proof=proof.sentence)
        result = FitResult(
            RandomizedClassifier(members, point.mixture.weights, self.classes_, self._salt),
            certificate,
            constraint,
            tallies,
            violations,
            self.nu_,
            np.inf,
            self.n_iter_,
            self.n_calls_,
            self.people_,
            example=self,
            unconstrained=self._unconstrained,
            proof=proof,
        )
        return self._unfitted(constraint)._finish(result)

    def _excess(self, point: FrontierPoint, tallies: Mapping[str, Tally]) -> dict[str, float]:
        """Return by how much bounds, as they were given, are exceeded; NaN where not known."""
        names = {"training": "train", "out of fold": "out_of_fold"}
        given = self.lagrangian_.with_bound(point.eps).as_given()
        excess = {data: float(given.violation(tally.s)) for data, tally in tallies.items()}
        return {names.get(data, data): value for data, value in excess.items()}

    def _unfitted(self, constraint: Constraint, **params: Any) -> FairClassifier:
        shared = ("estimator", "objective", "oracle", "nu", "sampling_slack", "random_state")
        params |= {name: getattr(self, name) for name in (*shared, "constraint_weights")}
        return FairClassifier(constraint=constraint, **params)

    def _one_rule(self, eps: float, deterministic: Any, people: People) -> FairClassifier:
        """Return the fitted classifier of a bound that is one rule, if there is one as good."""
        check_data_again(self, deterministic, people)
        stated = self._state(people, pool=self.pool_.detached(), n_jobs=self.n_jobs)
        game, constraint = self.lagrangian_.with_bound(eps), with_eps(self.constraint, eps)
        problem = replace(stated, lagrangian=game, constraint=constraint, nu=self.nu_)
        ((last, least_random),) = self._solved([game], [eps])
        found = with_one_rule(problem, last, least_random)
        # As if stopped: a fit that came to its end would ask the learner why bounds conflict.
        outcome = Outcome(replace(found, iteration=self.n_iter_), self.n_iter_, Reason.CALLBACK)
        found_again = result_of(problem, outcome, self._salt)
        switched = switched_of(problem.engine, found_again.classifier, self._unconstrained)
        certificate = self._certificate(found, game, problem.pool.s, switched)
        result = replace(
            found_again,
            certificate=certificate,
            example=self,
            unconstrained=self._unconstrained,
        )
        warn(problem, outcome, certificate)
        return self._unfitted(constraint, deterministic=True)._finish(result)
