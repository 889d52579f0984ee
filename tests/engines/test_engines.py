"""One seam, three engines: what each must do, checked against raw arrays and against memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from clusters import N, raw_shares, split, trees

from equipoise import RandomizedClassifier
from equipoise.cells.rows import Cells
from equipoise.engines import engine_for
from equipoise.engines.dask.shards import Shards
from equipoise.estimators.results import verify
from equipoise.exceptions import DeploymentError
from equipoise.game.rounds import Pool
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.trainers import constant_classifier
from equipoise.rows.people import People


@pytest.fixture
def engine(opened):
    return opened()


def test_an_engine_counts_people(engine, people):
    _, y, A = people
    cells = engine.cells
    order = [(a, b) for a in np.unique(A) for b in (0, 1)]
    found = zip(cells.sensitive["group"].tolist(), cells.label.tolist(), strict=True)
    assert list(found) == order
    assert cells.count.tolist() == [int(((a == A) & (y == b)).sum()) for a, b in order]
    np.testing.assert_allclose(cells.mass, [((a == A) & (y == b)).mean() for a, b in order])
    np.testing.assert_allclose(cells.square, cells.count / N**2)
    assert cells.n_examples == N
    assert cells.n_effective == pytest.approx(N)


def test_an_engine_answers_costs(engine, people):
    X, y, A = people
    oracle = engine.refit(trees())
    rng = np.random.default_rng(1)
    base = np.where(engine.cells.label == 1, -1.0, 1.0)
    for costs in (base, base + rng.normal(size=6) * 0.3, np.ones(6), -np.ones(6)):
        classifier, s = oracle.best_response(costs)
        np.testing.assert_allclose(s, raw_shares(classifier, X, y, A), atol=1e-15)
        np.testing.assert_allclose(engine.shares([classifier])[0], s, atol=1e-15)


def test_an_engine_asks_again_what_is_deployed(engine):
    oracle = engine.refit(trees())
    classifier, s = oracle.best_response(np.where(engine.cells.label == 1, -1.0, 1.0))

    def problem(recorded):
        pool = Pool.of([classifier], [recorded])
        return SimpleNamespace(
            engine=engine, oracle=oracle, pool=pool, asked_again={}, unconstrained=None
        )

    verify(problem(s), [0])
    s = s.copy()
    s[0] += 1 / N  # one person
    with pytest.raises(DeploymentError, match="XGBClassifier does not decide as recorded"):
        verify(problem(s), [0])


def test_folds_on_a_cluster_are_asked_twice(client, people, monkeypatch):
    engine = engine_for(split(*people)[0]).open(People(*split(*people)), estimator=trees())
    oracle = engine.refit(trees(), cv=2)
    costs, honest, calls = np.where(engine.cells.label == 1, -1.0, 1.0), Shards.total, []

    def total(shards, function, *args):
        calls.append(function.__name__)
        return honest(shards, function, *args) * (1 + 0.1 * calls.count("selected_out_of_fold"))

    oracle.best_response(costs)
    monkeypatch.setattr(Shards, "total", total)
    with pytest.raises(DeploymentError, match="does not decide as recorded"):
        oracle.best_response(costs)
    assert calls == ["selected_out_of_fold"] * 2


def test_engines_agree(engine, people):
    X, y, A = people
    oracle = engine.refit(trees())
    expected = RefitOracle(trees(), X, Cells.from_columns(y, {"group": A}))
    rng = np.random.default_rng(2)
    for _ in range(3):
        costs = np.where(engine.cells.label == 1, -1.0, 1.0) + rng.normal(size=6) * 0.3
        mine, theirs = oracle.best_response(costs), expected.best_response(costs)
        assert mine.s.tolist() == theirs.s.tolist()
        dumps = (r.classifier.get_booster().get_dump(dump_format="json") for r in (mine, theirs))
        assert next(dumps) == next(dumps)  # bit for bit


@pytest.mark.parametrize("constraint_weights", [True, False])
def test_an_engine_adds_up_costs_of_persons(opened, people, constraint_weights):
    """Costs of either decision and weights, row by row, against raw arrays and against memory."""
    X, y, A = people
    rng = np.random.default_rng(3)
    g, w = rng.random((N, 2)), rng.integers(1, 4, N).astype(float)
    engine = opened(g, w, constraint_weights=constraint_weights)
    offset, slope = engine.cells.total("utility")
    oracle = engine.refit(trees())
    memory = People(X, y, A, sample_weight=w, utilities=g)
    cells, _ = memory.read(constraint_weights=constraint_weights)
    expected = RefitOracle(trees(), X, cells)
    for costs in (slope, slope + rng.normal(size=slope.shape) * 0.1, 0 * slope + 1, 0 * slope - 1):
        classifier, s = oracle.best_response(costs)
        h = classifier.predict(X)
        paid = np.where(h == 1, g[:, 1], g[:, 0])
        assert offset + s @ slope == pytest.approx(np.average(paid, weights=w))
        counts = w if constraint_weights else np.ones(N)
        for value in np.unique(A):
            event = engine.cells.sensitive["group"] == value
            rows = value == A
            for of, raw in (("utility", paid), (np.tile([0.0, 1.0], (len(event), 1)), h)):
                at_zero, by = engine.cells.average(event, of)
                assert at_zero + s @ by == pytest.approx(
                    np.average(raw[rows], weights=counts[rows])
                )
        np.testing.assert_allclose(engine.shares([classifier])[0], s, atol=1e-14)
        np.testing.assert_allclose(expected.best_response(costs).s, s, atol=1e-14)
    mixture = RandomizedClassifier([classifier], [1.0], np.array([0, 1]))
    np.testing.assert_allclose(engine.tally(mixture).s, s, atol=1e-14)
    for mine, theirs in zip(engine.cells.limits(), cells.limits(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-14)


def test_an_engine_decides(engine, people, tmp_path):
    X, y, A = people
    fitted = trees().fit(X, y)
    mixture = RandomizedClassifier(
        [fitted, constant_classifier(1)], [0.7, 0.3], classes=["no", "yes"]
    )
    given = engine.X if engine.is_local else split(X)[0]
    labels = np.array(["no", "yes"])
    text = labels[y] if engine.is_local else split(labels[y])[0]
    selected = 0.7 * fitted.predict(X) + 0.3
    pmf = np.asarray(engine.answer(mixture.predict_proba, given, columns=len(mixture.classes_)))
    np.testing.assert_allclose(pmf, np.column_stack([1 - selected, selected]))
    decided = np.asarray(engine.predict(RandomizedClassifier([fitted], [1.0], labels), given))
    assert decided.tolist() == labels[fitted.predict(X)].tolist()
    drawn = np.asarray(engine.predict(mixture, given))
    assert (drawn[fitted.predict(X) == 1] == "yes").all()
    assert drawn.tolist() == mixture.predict(X).tolist()
    right = np.where(y == 1, selected, 1 - selected).mean()
    assert engine.score(mixture, given, text) == pytest.approx(right)
    tally = engine.tally(mixture)
    np.testing.assert_allclose(
        tally.s, [(selected * ((a == A) & (y == b))).mean() for a in np.unique(A) for b in (0, 1)]
    )
    assert engine.example(given).shape[1] == 4


def test_an_engine_knows_its_data(engine, people):
    X, y, A = people
    before = list(engine.identity())
    assert before == list(engine.identity())
    if engine.is_local:
        other = type(engine).open(People(engine.X, y, (A + 1) % 3))
    else:
        other = type(engine).open(People(*split(X, y, (A + 1) % 3)), estimator=trees())
    assert before != list(other.identity())


@pytest.mark.parametrize("weighted", [False, True])
def test_an_engine_counts_whom_classifiers_divide_on(opened, people, weighted):
    X, y, _ = people
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    given = [np.column_stack([np.zeros(len(y)), X[:, 0] > 0]), weight] if weighted else []
    engine = opened(*given, **({"constraint_weights": False} if weighted else {}))
    members = [trees().set_params(max_depth=depth).fit(X, y) for depth in (1, 2, 3)]
    members += [constant_classifier(0), constant_classifier(1)]
    H, share = np.array([member.predict(X) for member in members]), weight / weight.sum()
    expected = [[share[a != b].sum() for b in H] for a in H]
    found = engine.compare(members)
    np.testing.assert_allclose(found.disagreement, expected, atol=1e-9)
    np.testing.assert_array_equal(found.shares, engine.shares(members))
    assert found.switches is None
    for some in ([1], [0, 2], [0, 1, 2], [0, 1, 2, 3, 4]):
        counted = share[(H[some].mean(0) > 0) & (H[some].mean(0) < 1)].sum()
        divided = engine.compare([members[h] for h in some]).divided
        assert divided == pytest.approx(counted, abs=1e-9)


@pytest.mark.parametrize("constraint_weights", [None, True, False])
def test_an_engine_counts_switched_decisions(opened, people, constraint_weights):
    """People are counted one by one, whatever they weigh."""
    X, y, A = people
    engine = opened()
    if constraint_weights is not None:
        rng = np.random.default_rng(3)
        w, g = rng.integers(1, 4, N).astype(float), rng.random((N, 2))
        engine = opened(g, w, constraint_weights=constraint_weights)
    reference = trees().fit(X, y)
    other = trees().fit(X, (X[:, 0] - A > 0).astype(int))
    before = reference.predict(X)
    decisions = (other.predict(X), before, np.ones(N))
    members = [other, reference, constant_classifier(1)]
    found = engine.compare(members, reference).switches
    assert found.shape == (3, 2, 6)
    # One that is not among those compared is asked for itself, and has no entry.
    apart = engine.compare([members[0], members[2]], reference)
    np.testing.assert_array_equal(apart.switches, found[[0, 2]])
    np.testing.assert_array_equal(apart.shares, engine.shares([members[0], members[2]]))
    for classifier, after in zip(found, decisions, strict=True):
        for cell, counted in enumerate(classifier.T.tolist()):
            here = (engine.cells.sensitive["group"][cell] == A) & (y == engine.cells.label[cell])
            assert counted == [
                ((after == 1) & (before == 0) & here).sum(),
                ((after == 0) & (before == 1) & here).sum(),
            ]


@pytest.fixture
def partly_known(people):
    """Groups of three numbers, of which some are missing."""
    gone = np.random.default_rng(3).random(N) < 0.25
    return np.where(gone, np.nan, people[2].astype(float))


def test_an_engine_counts_people_of_unknown_group(opened, people, partly_known):
    """Counted apart, in no group, and by the same edges on every engine."""
    X, y, _ = people
    engine = opened(groups=partly_known, missing="ignore", bins=[0.5])
    cells, bins = engine.cells, np.where(partly_known < 0.5, "under 0.5", "0.5 and over")
    for group, mask in cells.groups().items():
        inside = (bins == group) & ~np.isnan(partly_known)
        assert cells.count[mask].sum() == inside.sum()
    assert list(cells.groups()) == ["under 0.5", "0.5 and over"]
    assert cells.count[cells.unknown].sum() == np.isnan(partly_known).sum()
    assert cells.rules.bins == {"group": [0.5]}
    classifier, s = engine.refit(trees()).best_response(np.where(cells.label == 1, -1.0, 1.0))
    h = classifier.predict(X)
    unknown = np.isnan(partly_known)
    assert s[cells.unknown].sum() == pytest.approx(h[unknown].sum() / N)
    selected = h[(partly_known < 0.5) & (y == 1)].sum() / N
    assert s[cells.groups()["under 0.5"] & (cells.label == 1)].sum() == pytest.approx(selected)


def test_an_engine_finds_edges_of_equal_size(opened, partly_known):
    known = partly_known[~np.isnan(partly_known)]
    found = opened(groups=partly_known, missing="ignore", bins=3).cells.rules.bins["group"]
    expected = np.unique(np.quantile(known, [1 / 3, 2 / 3]))
    assert found == pytest.approx(expected[expected > known.min()])


def test_an_engine_refuses_groups_that_are_missing(opened, partly_known):
    with pytest.raises(ValueError, match="missing='ignore'"):
        opened(groups=partly_known)
    with pytest.raises(ValueError, match="missing for everybody"):
        opened(groups=np.full(N, np.nan), missing="ignore")
