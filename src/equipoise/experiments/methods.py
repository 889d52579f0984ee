"""Methods: what each one, fitted to a panel, decides for the people learned from and tested on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from equipoise.experiments.panels import Notion, Split


@dataclass(frozen=True, eq=False)
class Outcome:
    """One classifier of a method.

    Attributes
    ----------
    setting : float
        The bound, the scale or the number of the grid point.
    train, test : array
        Probability of deciding 1 for each person: expectations over the classifier's own draw.
    fits : int or None
        Fits of the learner up to here, where the method counts them.
    """

    setting: float
    train: Array
    test: Array
    fits: int | None = None


Outcomes = Iterator[Outcome]


@dataclass(frozen=True)
class Method:
    """A method, and what it can be applied to.

    Attributes
    ----------
    run : callable
        From (split, notion, learner) to outcomes.
    published : float or None
        The setting of the method as published; markers in the figures stand there.
    notions : tuple of str
        Those that it was made for.
    two_groups_only : bool
    expected_fits : callable
        Roughly, from a learner to the number of fits; only the remaining time depends on it.
    """

    run: Callable[[Split, Notion, Learner], Outcomes]
    expected_fits: Callable[[Learner], float]
    published: float | None = None
    notions: tuple[str, ...] = ("DP", "EO")
    two_groups_only: bool = False

    def suits(self, notion: str, n_groups: int) -> bool:
        """Whether the method can be applied at all."""
        return notion in self.notions and (n_groups == 2 or not self.two_groups_only)


def _decisions(model: Any, split: Split, **routed: str) -> tuple[Array, Array]:
    """Expected decisions for both halves; ``routed`` names what is given beside X."""
    train, test = (
        model.predict_pmf(people.X, **{name: getattr(people, of) for name, of in routed.items()})
        for people in (split.train, split.test)
    )
    return train[:, 1], test[:, 1]


def unconstrained(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Train the learner as it is."""
    model = Unconstrained(learner.make()).fit(split.train.X, split.train.y)
    yield Outcome(0.0, *_decisions(model, split), 1)


def reweighting(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Kamiran and Calders's reweighting, and its interpolants to the unconstrained learner."""
    train = split.train
    for done, scale in enumerate(learner.scales(), 1):
        model = Reweighting(learner.make(), scale=float(scale))
        model.fit(train.X, train.y, sensitive_features=train.A)
        yield Outcome(float(scale), *_decisions(model, split), done)


def relabeling(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Kamiran and Calders's relabeling, and its interpolants; one ranker for all."""
    train = split.train
    ranker = FrozenEstimator(learner.make().fit(train.X, train.y))
    for done, scale in enumerate(learner.scales(), 2):
        model = Relabeling(learner.make(), scale=float(scale), ranker=ranker)
        model.fit(train.X, train.y, sensitive_features=train.A)
        yield Outcome(float(scale), *_decisions(model, split), done)


def postprocessing(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """Hardt, Price and Srebro's thresholds for groups, exact (eps = 0) and relaxed.

    The only method here that must be told the group of a person when it decides.
    """
    train = split.train
    scores = FrozenEstimator(learner.make().fit(train.X, train.y))
    for eps in (0.0, *learner.bounds(N_BOUNDS)):
        model = ThresholdOptimizer(scores, notion.constraint(eps=float(eps)))  # type: ignore[call-arg]
        model.fit(train.X, train.y, sensitive_features=train.A)
        yield Outcome(float(eps), *_decisions(model, split, sensitive_features="A"), 1)


def exponentiated_gradient(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """The paper's Algorithm 1, run anew for each bound."""
    train, fits = split.train, 0
    for eps in learner.bounds():
        constraint = notion.constraint(eps=float(eps))  # type: ignore[call-arg]
        model = ExponentiatedGradient(learner.make(), constraint, max_iter=learner.max_iter)
        model.fit(train.X, train.y, sensitive_features=train.A)
        fits += model.n_calls_
        yield Outcome(float(eps), *_decisions(model, split), fits)


def grid_search(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """The paper's section 3.4: every point of the grid is a deterministic classifier."""
    halves = (split.train, split.test)
    model = GridSearch(
        learner.make(), notion.constraint(), grid_size=learner.grid_size, tradeoff=0.5
    )
    model.fit(split.train.X, split.train.y, sensitive_features=split.train.A)
    for point in range(len(model.candidates_)):
        model.use(point)
        train, test = (model.predict(people.X).astype(float) for people in halves)
        yield Outcome(float(point), train, test, len(model.candidates_))


def column_generation(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """All bounds from one pool of classifiers (`Frontier`)."""
    return _frontier(split, notion, learner, oracle="refit")


def plugin(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """All bounds from probabilities that are learned once (`Frontier`, ``oracle="plugin"``)."""
    return _frontier(split, notion, learner, oracle="plugin")


def _frontier(split: Split, notion: Notion, learner: Learner, oracle: str) -> Outcomes:
    train, bounds = split.train, learner.bounds(N_BOUNDS)
    model = Frontier(
        learner.make(),
        notion.constraint(),
        bounds=bounds,
        oracle=oracle,
        max_iter=learner.max_rounds if oracle == "refit" else 200,
    )
    model.fit(train.X, train.y, sensitive_features=train.A)
    fits = model.n_calls_ if oracle == "refit" else 18  # Y, A|Y=0, A|Y=1; five folds and all
    for eps in bounds:
        yield Outcome(float(eps), *_decisions(model.at(float(eps)), split), fits)


_DP = ("DP",)
METHODS: dict[str, Method] = {
    "unconstrained": Method(unconstrained, lambda learner: 1, published=0.0),
    "reweighting": Method(
        reweighting, lambda learner: learner.n_scales, published=1.0, notions=_DP
    ),
    "relabeling": Method(
        relabeling,
        lambda learner: learner.n_scales + 1,
        published=1.0,
        notions=_DP,
        two_groups_only=True,
    ),
    "post-processing": Method(postprocessing, lambda learner: 1, published=0.0),
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
