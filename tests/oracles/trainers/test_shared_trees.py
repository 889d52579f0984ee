"""Members of boosted trees that share their first ones: base and rest, and nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training import (
    ASKED,
    X_NEW,
    A,
    X,
    Y,
    lightgbm,
    local_scores,
    scores,
    trainer_of,
    xgboost,
)

from equipoise import DemographicParity, FairClassifier, Frontier, load, save
from equipoise.oracles import BestOf, Refit
from equipoise.oracles.trainers.lightgbm_bins import joined

#: Of 20 trees.
SHARE, N_SHARED = 0.75, 15
LEARNERS = [
    lightgbm,
    xgboost,
    lambda: lightgbm(subsample=0.5, subsample_freq=1, random_state=3),
    lambda: make_pipeline(StandardScaler(), lightgbm()),
    lambda: make_pipeline(StandardScaler(), xgboost()),
]


def of_trees(classifier):
    return classifier[-1] if hasattr(classifier, "steps") else classifier


def raw(classifier, rows, first=None):
    """Return sums over the first trees, or all, of a classifier; float32 of XGBoost."""
    if hasattr(classifier, "booster_"):
        return classifier.booster_.predict(rows, raw_score=True, num_iteration=first)
    trees = (0, 0 if first is None else first)
    return classifier.predict(rows, output_margin=True, iteration_range=trees)


def sharing(make):
    trainer = trainer_of(make())
    trainer.share_trees(SHARE)
    first = trainer.fit(*ASKED[0]).classifier
    trainer.grow_from(first)
    return trainer, first


@pytest.mark.parametrize("make", LEARNERS)
def test_a_member_is_the_shared_trees_and_its_own(make):
    trainer, first = sharing(make)
    for asked in ASKED[1:]:
        trained = trainer.fit(*asked)
        member = of_trees(trained.classifier)
        rows = X_NEW if member is trained.classifier else trained.classifier[:-1].transform(X_NEW)
        base = raw(of_trees(first), rows, N_SHARED)
        assert_array_equal(raw(member, rows, N_SHARED), base)
        assert np.abs(raw(member, rows) - base).max() > 0.1
        # What was measured is what is deployed.
        assert_array_equal(trained.local.predict(trained.rows), trained.classifier.predict(X))
        assert_array_equal(local_scores(trained), scores(trained.classifier, X))


def test_the_rest_of_lightgbm_is_trained_from_the_scores_of_the_shared_trees():
    module = pytest.importorskip("lightgbm")
    trainer, first = sharing(lightgbm)
    label, weight = ASKED[1]
    member = trainer.fit(label, weight).classifier
    start = raw(first, X, N_SHARED)
    params = {"objective": "binary", "verbose": -1, "num_threads": 1}
    rows = module.Dataset(X, label, weight=weight, init_score=start)
    rest = module.train({**params, "num_iterations": 20 - N_SHARED}, rows)
    expected = raw(first, X_NEW, N_SHARED) + rest.predict(X_NEW, raw_score=True)
    assert_allclose(raw(member, X_NEW), expected, rtol=0, atol=1e-13)
    assert member.booster_.num_trees() == 20
    trees = joined(
        first.booster_.model_to_string(num_iteration=N_SHARED), rest.model_to_string()
    ).split("\nend of trees")[0]
    assert member.booster_.model_to_string().split("\nend of trees")[0] == trees


@pytest.mark.parametrize("make", LEARNERS)
def test_nothing_is_shared_unless_asked_for(make):
    trainer, plain = trainer_of(make()), trainer_of(make())
    trainer.grow_from(trainer.fit(*ASKED[0]).classifier)
    for asked in ASKED[1:]:
        one, other = trainer.fit(*asked).classifier, plain.fit(*asked).classifier
        assert_array_equal(scores(one, X_NEW), scores(other, X_NEW))


@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_what_is_shared_travels_to_other_processes(make):
    trainer, _ = sharing(make)
    here = trainer.fit(*ASKED[1]).classifier
    there = pickle.loads(pickle.dumps(trainer)).fit(*ASKED[1]).classifier
    assert_array_equal(scores(here, X_NEW), scores(there, X_NEW))


@pytest.mark.parametrize("make", LEARNERS)
def test_fits_share_trees_and_say_so(make, tmp_path):
    oracle = Refit(shared_trees=SHARE)
    clf = FairClassifier(make(), DemographicParity(0.02), oracle=oracle)
    clf.fit(X, Y, sensitive_features=A)
    clf.certificate_.check()
    assert clf.certificate_.feasible
    assert "members share the first 0.75 of their trees" in str(clf.certificate_)
    frontier = Frontier(make(), DemographicParity(), bounds=[0.02, 0.1], oracle=oracle)
    frontier.fit(X, Y, sensitive_features=A)
    point = frontier.at(0.02)
    assert "members share the first 0.75 of their trees" in str(point.certificate_)
    pytest.importorskip("skops.io", reason="model files need skops")
    save(point, tmp_path / "model.eqp")
    loaded = load(tmp_path / "model.eqp")
    assert_array_equal(loaded.predict(X_NEW), point.predict(X_NEW))
    assert str(loaded.certificate_) == str(point.certificate_)
    plain = FairClassifier(make(), DemographicParity(0.02)).fit(X, Y, sensitive_features=A)
    assert "share" not in str(plain.certificate_).split("\n")[0]
    assert plain.certificate_.shared_trees == 0


@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_fits_of_several_labels_share_trees(make):
    y = Y + (X[:, 2] > 0.5)
    oracle = Refit(shared_trees=SHARE)
    frontier = Frontier(make(), DemographicParity(), bounds=[0.01, 0.05], oracle=oracle)
    frontier.fit(X, y, sensitive_features=A)  # asks all members once more
    kind = type(make())
    members = [member for member in frontier.pool_.classifiers if type(member) is kind]
    sums = [raw(member, X_NEW, N_SHARED) for member in members]
    assert len(sums) > 2
    for other in sums[1:]:
        assert_array_equal(other, sums[0])
    assert sums[0].shape == (len(X_NEW), 3)


def test_who_cannot_share_trees_is_refused():
    def fit(estimator, oracle):
        FairClassifier(estimator, DemographicParity(0.1), oracle=oracle).fit(
            X, Y, sensitive_features=A
        )

    with pytest.raises(TypeError, match="the learner is LogisticRegression"):
        fit(LogisticRegression(), Refit(shared_trees=0.5))
    with pytest.raises(TypeError, match="the learner is LogisticRegression"):
        fit(make_pipeline(StandardScaler(), LogisticRegression()), Refit(shared_trees=0.5))
    for share in (1, -0.1, "most", True):
        with pytest.raises(ValueError, match="expected a part of the trees"):
            fit(lightgbm(), Refit(shared_trees=share))
    with pytest.raises(ValueError, match="models of folds share no trees"):
        fit(lightgbm(), Refit(cv=3, shared_trees=0.5))
    with pytest.raises(ValueError, match="models of folds share no trees"):
        fit(lightgbm(), BestOf(refit=Refit(cv=3, shared_trees=0.5)))
