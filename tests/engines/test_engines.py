"""One seam, three engines: what each must do, checked against raw arrays and against memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from clusters import N, logistic, raw_shares, split, trees

from equipoise import ParquetRows, RandomizedClassifier
from equipoise.cells.rows import Cells
from equipoise.engines import engine_for
from equipoise.engines.dask.shards import Shards
from equipoise.estimators.results import verify
from equipoise.exceptions import DeploymentError
from equipoise.game.rounds import Pool
from equipoise.oracles import Refit
from equipoise.oracles.plugin import PluginOracle
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.trainers import constant_classifier
from equipoise.rows.people import People

pd = pytest.importorskip("pandas")


@pytest.fixture(params=["memory", "disk", "dask"])
def opened(request, people, tmp_path):
    """Open an engine on the people, with further columns and settings."""

    def open_engine(*more, groups=None, labels=None, estimator=None, **settings):
        X, y, A = people
        A = A if groups is None else groups
        y = y if labels is None else labels
        if request.param == "dask":
            request.getfixturevalue("client")
            X, y, A, *more = [None if each is None else split(each)[0] for each in (X, y, A, *more)]
        if request.param == "disk":
            names = [f"x{j}" for j in range(X.shape[1])]
            pd.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
            X = ParquetRows(tmp_path, features=names, batch_size=512)
        kind = engine_for(X)
        assert kind.__name__.lower() == f"{request.param}engine"
        given = dict(zip(("utilities", "sample_weight"), more, strict=False))
        given |= {name: settings.pop(name) for name in ("missing", "bins") if name in settings}
        return kind.open(People(X, y, A, **given), estimator=estimator or trees(), **settings)

    return open_engine


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
        return SimpleNamespace(engine=engine, oracle=oracle, pool=pool, asked_again={})

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
    pmf = np.asarray(engine.answer(mixture.predict_pmf, given, columns=len(mixture.classes_)))
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
    pmf = np.asarray(engine.answer(mixture.predict_pmf, given, columns=len(mixture.classes_)))
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
