"""ACSIncome as a population of profiles, so that a sample is a draw and the truth is known.

A *unit* is a combination of features and group; a sample says how many people of each unit have
label 0 and 1. Fits are to units, weighted by these numbers: the same as fits to the people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from equipoise.cells.table import CellTable
from equipoise.constraints import Constraint
from equipoise.datasets import load_acs_income
from equipoise.engines.memory import MemoryEngine
from equipoise.game.known import Queries
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import best_mixture
from equipoise.game.rounds import Limits, Pool
from equipoise.guarantees.path import Path
from equipoise.guarantees.tested_rows import TestedRows
from equipoise.oracles.specs import Refit
from equipoise.oracles.trainers import constant_classifier
from equipoise.rows.people import People

Array = NDArray[np.float64]
#: The most rounds of one training, as the gap of a fit to few people is soon below its noise.
ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Population:
    """Units with their features, group and number of people of either label.

    Attributes
    ----------
    X : array of shape (U, features)
        The group is the last feature.
    group : array of shape (U,)
        Its number.
    people : array of shape (U, 2)
    """

    X: Array
    group: NDArray
    people: Array

    @cached_property
    def chances(self) -> Array:
        """The chance that a person drawn is of this unit and label: shape (2 U,)."""
        return self.people.ravel() / self.people.sum()

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return how many of n people drawn are of each unit and label."""
        return rng.multinomial(n, self.chances).reshape(self.people.shape).astype(float)

    def table(self, people: Array) -> tuple[CellTable, Array]:
        """Return the cells of some people, and the share of each unit in each cell (U, C)."""
        unit, label = np.nonzero(people)
        count = people[unit, label]
        cells, code = CellTable.from_sums(label, {"group": self.group[unit]}, {}, count=count)
        shares = np.zeros((len(people), cells.n_cells))
        np.add.at(shares, (unit, code), count / count.sum())
        return cells, shares

    def rows(self, people: Array) -> People:
        """Return units as people with weights."""
        unit, label = np.nonzero(people)
        return People(self.X[unit], label, {"group": self.group[unit]}, None, people[unit, label])


def acs_income(by: str) -> Population:
    """Return the population with the groups of "sex", two, or of "race", four."""
    loaded = load_acs_income(as_frame=True)
    frame, label = loaded.data, np.asarray(loaded.target, dtype=int)
    age = np.digitize(frame["AGEP"], [22, 26, 30, 35, 40, 45, 50, 55, 60, 65])
    school = np.digitize(frame["SCHL"], [12, 16, 18, 20, 21, 22, 23, 24])
    hours = np.digitize(frame["WKHP"], [15, 25, 33, 39, 41, 49, 58])
    married = (frame["MAR"].astype(str) == "1").to_numpy()
    if by == "sex":
        group = np.where(frame["SEX"].astype(str) == "1", "male", "female")
    else:
        names = {"1": "White", "2": "Black", "6": "Asian"}
        group = frame["RAC1P"].astype(str).map(lambda code: names.get(code, "Other")).to_numpy(str)
    names, code = np.unique(group, return_inverse=True)
    units = np.column_stack([age, school, hours, married, code])
    units, unit = np.unique(units, axis=0, return_inverse=True)
    people = np.bincount(2 * unit.ravel() + label, minlength=2 * len(units)).reshape(-1, 2)
    age, school, hours = ((v - v.mean()) / v.std() for v in units[:, :3].T)
    one_hot = np.eye(len(names))[units[:, 4]][:, 1:]
    X = np.column_stack([age, age**2, school, hours, units[:, 3], school * hours, one_hot])
    return Population(X, units[:, 4], people.astype(float))  # numbers: sorted often


@dataclass(frozen=True, eq=False)
class Fit:
    """A path of candidates, as decisions about every unit.

    Attributes
    ----------
    path : Path
    pool : Pool
    decisions : array of shape (P, U)
        Of the classifiers in the pool.
    """

    path: Path
    pool: Pool
    nu: float
    decisions: Array

    def candidates(self, most: float = np.inf) -> tuple[Array, Array]:
        """Return the chance that each candidate, up to ``most``, selects each unit: (T, U).

        And the least and the largest chance that constants leave to anybody: (T, 2).
        """
        path = self.path if most == np.inf else self.path.again(self.pool, self.nu, most)
        return (
            np.array([mixture.shares(self.decisions) for mixture in path.mixtures]),
            np.array([path.reach(mixture) for mixture in path.mixtures]),
        )

    def for_people(self, factor: float) -> Fit:
        """Return the fit for a proof of so many times the people; give ``most`` to candidates."""
        return replace(self, path=replace(self.path, errors=self.path.errors / np.sqrt(factor)))

    def naive(self) -> Array:
        """Return the chance that the plain fit to the bound selects each unit: shape (1, U)."""
        game = replace(self.path.game, B=1e3)  # as near to the bound as can be, if it is not met
        return best_mixture(game, self.pool.s).shares(self.decisions)[None]


def fit(
    population: Population,
    people: Array,
    constraint: Constraint,
    n_proof: float,
    learner: Any = None,
    nu: float = 0.002,
) -> Fit:
    """Train the candidates of a proof of ``n_proof`` people on some people."""
    engine = MemoryEngine.open(population.rows(people))
    n, table = people.sum(), engine.cells.table()
    counted = replace(table, count=np.round(table.mass * n).astype(int), square=table.mass / n)
    game = Lagrangian.from_moments(constraint.moments(counted), counted)
    pool = Pool()
    pool.add(constant_classifier(0), np.zeros(table.n_cells))
    pool.add(constant_classifier(1), table.mass)
    rows = TestedRows.of(constraint, counted)
    path = Path.train(
        game,
        Refit().over(engine, LogisticRegression(C=10) if learner is None else learner, 1),
        pool,
        rows,
        float(np.sqrt(n / n_proof)),
        nu=nu,
        limits=Limits(ROUNDS),
        queries=Queries([], []),
        constants={label: label for label in (0, 1) if rows.sure[label]},
    )
    decisions = np.array([np.asarray(h.predict(population.X)) for h in pool.classifiers], float)
    return Fit(path, pool, nu, decisions)
