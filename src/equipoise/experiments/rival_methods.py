"""Other libraries, as methods: there only where they are installed.

``pip install equipoise[compare]`` installs them; nothing else in equipoise needs them.
"""

from __future__ import annotations

import logging
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from equipoise.cells.table import Array
from equipoise.experiments.learners import N_BOUNDS, Learner
from equipoise.experiments.methods import METHODS, Method, Outcome, Outcomes
from equipoise.experiments.panels import Notion, Part, Split

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
    yield Outcome(0.0, *split.map(partial(_pmf, model, told=True)), 1)


def _name(notion: Notion) -> str:
    return "equalized_odds" if notion.given_label else "demographic_parity"


def _pmf(model: Any, people: Part, told: bool = False) -> Array:
    """Return fairlearn's probabilities of 1, which rounding takes beyond 0 and 1."""
    groups = {"sensitive_features": people.A} if told else {}
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


#: Other libraries' methods, by name; the first word is the library.
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
