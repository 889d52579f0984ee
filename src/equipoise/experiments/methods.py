"""Methods: what each one, fitted to a panel, decides for the people learned from and tested on."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
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
from equipoise.metrics.scorers import predictions


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


def _decisions(model: Any, split: Split) -> tuple[Array, Array]:
    """Return the expected decisions for both halves."""

    def decide(people: Part) -> Array:
        return np.asarray(predictions(model, people.X, people.A), dtype=float)

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
        yield Outcome(eps, *_decisions(model, split), 1)


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


#: Half-widths of the critical region of reject option classification, around 0.5.
_MARGINS = np.linspace(0.02, 0.48, 24)


def fairlearn_reduction(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """fairlearn's implementation of the paper's Algorithm 1, run anew for each bound."""
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient

    constraint = EqualizedOdds if notion.given_label else DemographicParity
    for eps in learner.bounds():
        model = ExponentiatedGradient(learner.make(), constraint(difference_bound=eps))
        split.fit(model)
        yield Outcome(eps, *split.map(partial(_pmf, model)))


def fairlearn_thresholds(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """fairlearn's post-processing; it has no relaxation."""
    from fairlearn.postprocessing import ThresholdOptimizer

    model = ThresholdOptimizer(
        estimator=learner.make().fit(split.train.X, split.train.y),
        constraints=_name(notion),
        objective="accuracy_score",
        prefit=True,
        predict_method="predict_proba",
    )
    split.fit(model)
    yield Outcome(0.0, *split.map(partial(_pmf, model, with_groups=True)), 1)


def _name(notion: Notion) -> str:
    return "equalized_odds" if notion.given_label else "demographic_parity"


def _pmf(model: Any, people: Part, with_groups: bool = False) -> Array:
    """Return fairlearn's probabilities of 1, which rounding takes beyond 0 and 1."""
    groups = {"sensitive_features": people.A} if with_groups else {}
    return np.clip(model._pmf_predict(people.X, **groups)[:, 1], 0.0, 1.0)


def error_parity(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """error-parity's relaxed thresholds; its bound is on the gap between any two groups."""
    from error_parity import RelaxedThresholdOptimizer

    train = split.train
    fitted = learner.make().fit(train.X, train.y)
    for eps in (0.0, *learner.bounds(N_BOUNDS)):
        model = RelaxedThresholdOptimizer(
            predictor=lambda X: fitted.predict_proba(X)[:, 1],
            constraint=_name(notion),
            tolerance=eps,
        )
        model.fit(train.X, train.y, group=train.A)
        # Its predict draws at random; the classifiers that it draws from tell the expectation.
        members = model._realized_classifier.group_to_clf
        yield Outcome(eps, *split.map(partial(_by_group, members)), 1)


def _by_group(members: dict[int, Any], people: Part) -> Array:
    selected = np.empty(len(people))
    for group, member in members.items():
        rows = group == people.A
        selected[rows] = _expectation(member, people.X[rows])
    return selected


def _expectation(classifier: Any, X: Array) -> Array:
    """What a classifier of error-parity decides on average."""
    if hasattr(classifier, "probabilities"):
        parts = zip(classifier.probabilities, classifier.classifiers, strict=True)
        return np.sum([p * _expectation(member, X) for p, member in parts], axis=0)
    if hasattr(classifier, "target_fpr"):  # chooses people at random, whoever they are
        return np.full(len(X), float(classifier.target_fpr))
    return np.asarray(classifier(X), dtype=float)


def oxonfair(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """OxonFair's thresholds for groups, without randomness; its bound is on the widest gap."""
    from oxonfair import DataDict, FairPredictor
    from oxonfair.utils import group_metrics as metrics

    logging.getLogger("oxonfair").setLevel(logging.ERROR)
    halves = [DataDict(people.y, people.X, people.A) for people in (split.train, split.test)]
    model = FairPredictor(learner.make().fit(split.train.X, split.train.y), halves[0])
    gap = metrics.equalized_odds_max if notion.given_label else metrics.pos_pred_rate.max_diff
    for number, eps in enumerate(learner.bounds(N_BOUNDS)):
        model.fit(metrics.accuracy, gap, eps, recompute=number == 0)
        decided = [np.asarray(model.predict(half), dtype=float) for half in halves]
        yield Outcome(eps, decided[0], decided[1], 1)


def aif360_reject_option(split: Split, notion: Notion, learner: Learner) -> Outcomes:
    """AIF360's reject option: the favoured group loses, the other wins, near the boundary."""
    import pandas as pd
    from aif360.sklearn.postprocessing import RejectOptionClassifier

    train = split.train
    model = learner.make().fit(train.X, train.y)
    rates = [train.y[group == train.A].mean() for group in (0, 1)]
    tables = [
        pd.DataFrame(model.predict_proba(people.X), index=pd.Index(people.A, name="group"))
        for people in (train, split.test)
    ]
    label = pd.Series(train.y, index=tables[0].index)
    for margin in _MARGINS:
        option = RejectOptionClassifier("group", threshold=0.5, margin=float(margin))
        option.fit(tables[0], label, priv_group=int(np.argmax(rates)))
        decided = [np.asarray(option.predict(table), dtype=float) for table in tables]
        yield Outcome(float(margin), decided[0], decided[1], 1)


#: Other libraries' methods, by name; the first word is the library. Nothing else needs these:
#: ``pip install equipoise[compare]`` installs them, and they run where they are installed.
RIVALS: dict[str, Method] = {
    "fairlearn exponentiated gradient": Method(
        fairlearn_reduction, lambda learner: 25 * learner.n_eps
    ),
    "fairlearn threshold optimizer": Method(fairlearn_thresholds, lambda learner: 1, 0.0),
    "error-parity thresholds": Method(error_parity, lambda learner: 1),
    "oxonfair thresholds": Method(oxonfair, lambda learner: 1),
    "aif360 reject option": Method(aif360_reject_option, lambda learner: 1, two_groups_only=True),
}


def all_methods() -> dict[str, Method]:
    """Return our methods and those of other libraries, installed or not."""
    return METHODS | RIVALS


def installed_rivals() -> list[str]:
    """Return the names of the methods whose libraries are installed."""
    modules = {"error-parity": "error_parity"}
    first = {name: name.split()[0] for name in RIVALS}
    return [name for name, word in first.items() if find_spec(modules.get(word, word))]
