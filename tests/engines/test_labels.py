"""Three labels and decisions: every engine against raw arrays, a cluster against memory."""

from __future__ import annotations

import numpy as np
import pytest
from clusters import N, logistic, split, trees

from equipoise import RandomizedClassifier
from equipoise.engines import engine_for
from equipoise.oracles import Refit
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.trainers import constant_classifier
from equipoise.rows.people import People


@pytest.fixture
def tracks(people):
    """Three labels, as text."""
    X, _, A = people
    noise = np.random.default_rng(7).normal(size=N)
    return np.array(["high", "low", "mid"])[np.digitize(X.sum(axis=1) - A + noise, [-0.5, 1.0])]


def shares_of(h, labels, A, weight=None):
    """The share that gets each decision but the first, by group and label, from raw arrays."""
    own = np.full(N, 1 / N) if weight is None else weight / weight.sum()
    groups, names = np.unique(A), np.unique(labels)
    cells = [(a == A) & (labels == y) for a in groups for y in names]
    return [own[cell & (h == v)].sum() for cell in cells for v in (1, 2)]


def test_an_engine_answers_costs_of_three_labels(opened, people, tracks):
    X, _, A = people
    weight = np.random.default_rng(6).integers(1, 4, N).astype(float)
    rng = np.random.default_rng(1)
    for more in ([], [None, weight]):
        given = {"sample_weight": weight} if more else {}
        memory, classes = People(X, tracks, A, **given).read()
        engine = opened(*more, labels=tracks)
        assert engine.classes.tolist() == classes.tolist() == ["high", "low", "mid"]
        np.testing.assert_allclose(engine.cells.mass, memory.mass)
        oracle, expected = engine.refit(trees()), RefitOracle(trees(), X, memory)
        _, base = engine.cells.total((memory.label[:, None] != np.arange(3)).astype(float))
        dearest = np.tile([5.0, 0.0], 9)  # nobody gets "low"
        for costs in (base + 0.3 * rng.normal(size=18), base + dearest, np.ones(18), -np.ones(18)):
            classifier, s = oracle.best_response(costs)
            raw = shares_of(classifier.predict(X), tracks, A, weight if more else None)
            np.testing.assert_allclose(s, raw, atol=1e-14)
            np.testing.assert_allclose(engine.shares([classifier])[0], s, atol=1e-14)
            np.testing.assert_allclose(expected.best_response(costs).s, s, atol=1e-14)
    mixture = RandomizedClassifier([classifier, constant_classifier(2, 3)], [0.25, 0.75], classes)
    given = engine.X if engine.is_local else split(X)[0]
    pmf = np.asarray(engine.answer(mixture.predict_proba, given, columns=len(mixture.classes_)))
    assert pmf.shape == (N, 3)
    drawn = np.asarray(engine.predict(RandomizedClassifier([classifier], [1.0], classes), given))
    assert drawn.tolist() == classes[classifier.predict(X)].tolist()
    tally = 0.25 * engine.shares([classifier])[0] + 0.75 * engine.cells.constant(2)
    np.testing.assert_allclose(engine.tally(mixture).s, tally, atol=1e-14)
    compared = engine.compare([classifier, constant_classifier(2, 3)])
    differ = weight[classifier.predict(X) != 2].sum() / weight.sum()
    np.testing.assert_allclose(compared.disagreement[0, 1], differ, atol=1e-9)
    assert compared.divided == pytest.approx(differ)


def test_an_engine_adds_up_utilities_of_three_decisions(opened, people, tracks):
    X, _, A = people
    rng = np.random.default_rng(3)
    g, w = rng.random((N, 3)), rng.integers(1, 4, N).astype(float)
    engine = opened(g, w, labels=tracks, constraint_weights=False)
    offset, slope = engine.cells.total("utility")
    cells, _ = People(X, tracks, A, sample_weight=w, utilities=g).read(constraint_weights=False)
    oracle, expected = engine.refit(trees()), RefitOracle(trees(), X, cells)
    for costs in (slope, slope + 0.1 * rng.normal(size=slope.shape)):
        classifier, s = oracle.best_response(costs)
        h = classifier.predict(X)
        paid = g[np.arange(N), h]
        assert offset + s @ slope == pytest.approx(np.average(paid, weights=w))
        for value in np.unique(A):
            event = engine.cells.sensitive["group"] == value
            at_zero, by = engine.cells.average(event, "utility")
            assert at_zero + s @ by == pytest.approx(paid[value == A].mean())
        np.testing.assert_allclose(engine.shares([classifier])[0], s, atol=1e-14)
        np.testing.assert_allclose(expected.best_response(costs).s, s, atol=1e-14)


def test_a_cluster_fits_three_labels_as_memory_does(client, people, tracks):
    """Logistic regression for three labels and for two of them, folds, and the plug-in oracle."""
    X, _, A = people
    cells, classes = People(X, tracks, A).read()
    given = People(*split(X, tracks, A))
    engine = engine_for(given.X).open(given, estimator=logistic())
    _, base = cells.total((cells.label[:, None] != np.arange(3)).astype(float))
    memory = RefitOracle(logistic(), X, cells)
    oracle = engine.refit(logistic())
    for costs in (base, base + np.tile([9.0, 0.0], 9)):
        mine, theirs = oracle.best_response(costs), memory.best_response(costs)
        np.testing.assert_allclose(
            mine.classifier.predict_proba(X), theirs.classifier.predict_proba(X), atol=1e-5
        )
        np.testing.assert_allclose(mine.s, theirs.s, atol=2 / N)
    out_of_fold = engine.refit(logistic(), cv=2).best_response(base)
    assert np.abs(out_of_fold.s - mine.s).sum() < 1.0
    plugin = engine.plugin(logistic(), cv=2)
    classifier, s = plugin.best_response(base)
    y = np.searchsorted(classes, tracks)
    plain = memory.best_response(base).classifier.score(X, y)
    assert (classifier.predict(X) == y).mean() == pytest.approx(plain, abs=0.01)
    assert np.abs(s - shares_of(classifier.predict(X), tracks, A)).sum() < 0.1
    costs = base + 0.3 * np.random.default_rng(0).normal(size=18)
    _, s = plugin.best_response(costs)
    _, expected = PluginOracle(logistic(), X, cells, cv=2).best_response(costs)
    assert s @ costs == pytest.approx(expected @ costs, abs=0.01)
    with pytest.raises(ValueError, match="moves the one cut of two labels"):
        Refit(threshold="tuned").over(engine, logistic())


def test_a_cluster_refuses_learners_that_take_one_label_a_row(client, people, tracks):
    lightgbm = pytest.importorskip("lightgbm")
    X, _, A = people
    learner, given = lightgbm.LGBMClassifier(n_estimators=2), People(*split(X, tracks, A))
    engine = engine_for(given.X).open(given, estimator=learner)
    with pytest.raises(TypeError, match="LGBMClassifier is not trained for 3 labels on a Dask"):
        engine.refit(learner)


def test_trees_on_a_cluster_tell_three_labels_apart(client, people, tracks):
    X, _, A = people
    cells, _ = People(X, tracks, A).read()
    given = People(*split(X, tracks, A))
    engine = engine_for(given.X).open(given, estimator=trees())
    _, base = cells.total((cells.label[:, None] != np.arange(3)).astype(float))
    oracle = engine.plugin(trees(), cv=2)
    classifier, s = oracle.best_response(base)
    plain = trees().fit(X, cells.label[cells.code])
    alike = classifier.predict(X) == plain.predict(X)
    assert alike.mean() > 0.97
    assert np.abs(s - shares_of(classifier.predict(X), tracks, A)).sum() < 0.3
