"""Methods: what each one, fitted to a panel, decides for the people learned from and tested on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from equipoise.baselines import Relabeling, Reweighting, ThresholdOptimizer, Unconstrained
from equipoise.cells.table import Array
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.reductions import ExponentiatedGradient
from equipoise.exceptions import EquipoiseWarning
from equipoise.experiments.learners import N_BOUNDS, Learner
from equipoise.experiments.panels import Notion, Part, Split


@dataclass(frozen=True, eq=False)
class Outcome:
    """One classifier of a method."""

    setting: float  #: The bound, the scale or the number of the grid point.
    train: Array  #: Probability of deciding 1 for each person, over the classifier's own draw.
    test: Array
    fits: int | None = None  #: Fits of the learner up to here, where the method counts them.


Outcomes = Iterator[Outcome]


@dataclass(frozen=True)
class Method:
    """A method, and what it can be applied to."""

    run: Callable[[Split, Notion, Learner], Outcomes]
    expected_fits: Callable[[Learner], float]  #: Roughly; only the remaining time depends on it.
    published: float | None = None  #: The setting as published, where markers stand in figures.
    notions: tuple[str, ...] = ("DP", "EO")  #: Those that it was made for.
    two_groups_only: bool = False

    def suits(self, notion: str, n_groups: int) -> bool:
        """Whether the method can be applied at all."""
        return notion in self.notions and (n_groups == 2 or not self.two_groups_only)


def _decisions(model: Any, split: Split, told: bool = False) -> tuple[Array, Array]:
    """Return the expected decisions for both halves, whose groups the model may be told."""

    def decide(people: Part) -> Array:
        return model.predict_pmf(people.X, **{"sensitive_features": people.A} if told else {})[:, 1]

    return split.map(decide)


def unconstrained(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Train the learner as it is."""
    yield Outcome(0.0, *_decisions(split.fit(Unconstrained(learner.make())), split), 1)


def reweighting(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Kamiran and Calders's reweighting, and its interpolants to the unconstrained learner."""
    for done, scale in enumerate(learner.scales(), 1):
        model = split.fit(Reweighting(learner.make(), scale))
        yield Outcome(scale, *_decisions(model, split), done)


def relabeling(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Kamiran and Calders's relabeling, and its interpolants; one ranker for all."""
    ranker = FrozenEstimator(learner.make().fit(split.train.X, split.train.y))
    for done, scale in enumerate(learner.scales(), 2):
        model = split.fit(Relabeling(learner.make(), scale, ranker=ranker))
        yield Outcome(scale, *_decisions(model, split), done)


def postprocessing(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Hardt, Price and Srebro's thresholds for groups, exact (eps = 0) and relaxed.

    The only method here that must be told the group of a person when it decides.
    """
    scores = FrozenEstimator(learner.make().fit(split.train.X, split.train.y))
    for eps in (0.0, *learner.bounds(N_BOUNDS)):
        model = split.fit(ThresholdOptimizer(scores, notion.constraint(eps=eps)))  # type: ignore[call-arg]
        yield Outcome(eps, *_decisions(model, split, told=True), 1)


def exponentiated_gradient(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """The paper's Algorithm 1, run anew for each bound."""
    fits = 0
    for eps in learner.bounds():
        constraint = notion.constraint(eps=eps)  # type: ignore[call-arg]
        model = ExponentiatedGradient(learner.make(), constraint, max_iter=learner.max_iter)
        fits += split.fit(model).n_calls_
        yield Outcome(eps, *_decisions(model, split), fits)


def grid_search(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """The paper's section 3.4: every point of the grid is a deterministic classifier."""
    size = learner.grid_size
    model = GridSearch(learner.make(), notion.constraint(), grid_size=size, tradeoff=0.5)
    split.fit(model)
    for point in range(len(model.candidates_)):
        model.use(point)
        decided = split.map(lambda people: model.predict(people.X).astype(float))
        yield Outcome(float(point), *decided, len(model.candidates_))


def _frontier(split: Split, notion: Notion, learner: Learner, oracle: str) -> Outcomes:
    """All bounds from one pool of classifiers, or from probabilities that are learned once."""
    model = Frontier(
        learner.make(),
        notion.constraint(),
        bounds=learner.bounds(N_BOUNDS),
        oracle=oracle,
        max_iter=learner.max_rounds if oracle == "refit" else 200,
    )
    split.fit(model)
    fits = model.n_calls_ if oracle == "refit" else 18  # Y, A|Y=0, A|Y=1; five folds and all
    for eps in learner.bounds(N_BOUNDS):
        yield Outcome(eps, *_decisions(model.at(eps), split), fits)


column_generation, plugin = partial(_frontier, oracle="refit"), partial(_frontier, oracle="plugin")

METHODS: dict[str, Method] = {
    "unconstrained": Method(unconstrained, lambda learner: 1, 0.0),
    "reweighting": Method(reweighting, lambda learner: learner.n_scales, 1.0, ("DP",)),
    "relabeling": Method(relabeling, lambda learner: learner.n_scales + 1, 1.0, ("DP",), True),
    "post-processing": Method(postprocessing, lambda learner: 1, 0.0),
    "exponentiated gradient": Method(exponentiated_gradient, lambda learner: 15 * learner.n_eps),
    "grid search": Method(grid_search, lambda learner: learner.grid_size, two_groups_only=True),
    "column generation": Method(column_generation, lambda learner: 15),
    "plug-in": Method(plugin, lambda learner: 18),
}


def outcomes_of(method: Method, split: Split, notion: Notion, learner: Learner) -> list[Outcome]:
    """Run a method. That a gap is not closed or a bound not met shows in the results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", EquipoiseWarning)
        outcomes = list(method.run(split, notion, learner))
    if not all(np.isfinite(o.train).all() and np.isfinite(o.test).all() for o in outcomes):
        raise ValueError("a method returned decisions that are not finite.")
    return outcomes
