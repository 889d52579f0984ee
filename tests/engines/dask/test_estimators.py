"""The same fit on Dask: what a cluster returns is what one process returns."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from clusters import BOUNDS, N, logistic, split, trees
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.engines.dask import retry
from equipoise.engines.dask.engine import DaskEngine
from equipoise.game import PersonCosts
from equipoise.oracles.specs import Plugin, Refit
from equipoise.rows.people import People

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported")
pd = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")


# Estimators: what they return in memory they return from a cluster.


@pytest.mark.parametrize("chunks", [N, 1700, 450])
@pytest.mark.parametrize("learner", [logistic, trees])
def test_frontier_is_that_of_memory(client, people, learner, chunks):
    X, y, A = people
    here = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS).fit(X, y, sensitive_features=A)
    dX, dy, dA = split(X, y, A, chunks=chunks)
    there = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS)
    there.fit(dX, dy, sensitive_features=dA)
    assert there.n_calls_ == here.n_calls_
    for mine, theirs in zip(there.points_, here.points_, strict=True):
        for name in ("error", "lower", "gap", "disparity", "price"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=1e-9)
    assert there.at(0.03).predict(X).tolist() == here.at(0.03).predict(X).tolist()


def test_logistic_regression_is_scikit_learns(client, people):
    X, y, A = people
    weight = np.random.default_rng(3).uniform(0.5, 2, N)
    for learner in (
        logistic(),
        LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky"),
        LogisticRegression(C=0.1, tol=1e-12, solver="newton-cholesky", fit_intercept=False),
    ):
        given = People(*split(X, y, A), sample_weight=split(weight)[0])
        engine = DaskEngine.open(given, estimator=learner)
        costs = np.array([0.9, -1.2, 1.1, -0.8, 1.0, -1.0])
        found = engine.refit(learner).best_response(costs).classifier
        d = costs[2 * A + y]
        w = np.abs(d) * weight
        learner.fit(X, (d < 0).astype(int), sample_weight=w * weight.sum() / w.sum())
        np.testing.assert_allclose(found.coef_, learner.coef_, atol=1e-6)
        np.testing.assert_allclose(found.intercept_, learner.intercept_, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FairClassifier(logistic(), DemographicParity(eps=0.02)),
        lambda: FairClassifier(trees(), EqualizedOdds(eps=0.05), oracle=Refit(threshold="tuned")),
        lambda: ExponentiatedGradient(trees(), DemographicParity(eps=0.05), max_iter=5),
    ],
)
def test_classifiers_are_those_of_memory(client, people, make):
    X, y, A = people
    dX, dy, dA = split(X, y, A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = make().fit(X, y, sensitive_features=A)
        there = make().fit(dX, dy, sensitive_features=dA)
    for name in ("error", "violation", "lower", "upper", "gap"):
        mine, theirs = getattr(there.certificate_, name), getattr(here.certificate_, name)
        assert mine == pytest.approx(theirs, abs=1e-9)
    assert (there.predict_proba(X) == here.predict_proba(X)).all()
    assert there.score(dX, dy) == pytest.approx(here.score(X, y))
    assert str(there.report(dX, dy, sensitive_features=dA)) == str(
        here.report(X, y, sensitive_features=A)
    )


@pytest.mark.parametrize("constraint_weights", [True, False])
def test_costs_of_persons_are_those_of_memory(client, people, constraint_weights):
    X, y, A = people
    rng = np.random.default_rng(0)
    given = A, np.column_stack([y * rng.random(N), (1 - y) * rng.random(N)]), rng.random(N) + 0.5
    names = ("sensitive_features", "utilities", "sample_weight")
    fair = FairClassifier(
        logistic(),
        DemographicParity(eps=0.05),
        objective=PersonCosts("utility"),
        constraint_weights=constraint_weights,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = clone(fair).fit(*split(X, y), **dict(zip(names, split(*given), strict=True)))
        here = fair.fit(X, y, **dict(zip(names, given, strict=True)))
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-4)
    h, (_, g, w) = there.predict_proba(X)[:, 1], given
    paid = np.average(h * g[:, 1] + (1 - h) * g[:, 0], weights=w)
    assert there.certificate_.error == pytest.approx(paid)


def test_grid_search_is_that_of_memory(client, people):
    X, y, A = people
    dX, dy, dA = split(X, y, A == 0)
    here = GridSearch(logistic(), DemographicParity(eps=0.3), grid_size=5)
    here.fit(X, y, sensitive_features=A == 0)
    there = GridSearch(logistic(), DemographicParity(eps=0.3), grid_size=5)
    there.fit(dX, dy, sensitive_features=dA)
    assert [c.error for c in there.candidates_] == pytest.approx(
        [c.error for c in here.candidates_], abs=1e-9
    )
    lazy = there.predict(dX)
    assert isinstance(lazy, da.Array)
    assert lazy.compute().tolist() == here.predict(X).tolist()


def test_frames_labels_weights_and_strata(client, people):
    X, y, A = people
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["income"] = np.where(y == 1, "high", "low")
    frame["sex"] = np.array(["F", "M", "X"])[A]
    frame["region"] = rng.choice(["north", "south"], N)
    frame["weight"] = rng.uniform(0.5, 2, N)
    given = {"sensitive_features": "sex", "control_features": "region", "sample_weight": "weight"}

    def fitted(frame):
        clf = FairClassifier(logistic(), EqualizedOdds(eps=0.05), positive="high")
        columns = {name: frame[column] for name, column in given.items()}
        return clf.fit(frame[list("abcd")], frame["income"], **columns)

    here, there = fitted(frame), fitted(dd.from_pandas(frame, npartitions=4))
    assert there.classes_.tolist() == here.classes_.tolist() == ["low", "high"]
    assert there.nu_ == pytest.approx(here.nu_, rel=1e-12)
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)
    assert there.feature_names_in_.tolist() == list("abcd")
    assert list(map(str, there.certificate_.rows)) == list(map(str, here.certificate_.rows))
    lazy = there.predict(dd.from_pandas(frame[list("abcd")], npartitions=3))
    assert lazy.compute().tolist() == here.predict(frame[list("abcd")]).tolist()


def test_partitions_without_anybody(client, people):
    X, y, A = people
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, A=pd.Categorical(A))
    parts = dd.from_pandas(frame, npartitions=4)
    empty = parts.partitions[1].loc[lambda part: part.a > 99]
    some = dd.concat([parts.partitions[0], empty, parts.partitions[2]])
    for learner in (logistic(), trees()):
        there = FairClassifier(learner, DemographicParity(eps=0.02))
        there.fit(some[list("abcd")], some["y"], sensitive_features=some["A"])
        rows = some.compute()
        here = FairClassifier(learner, DemographicParity(eps=0.02))
        here.fit(rows[list("abcd")].to_numpy(), rows["y"], sensitive_features=rows["A"])
        assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)
        pmf = there.predict_proba(some[list("abcd")]).compute()
        assert pmf.shape == (len(rows), 2)
        assert there.score(some[list("abcd")], some["y"]) == pytest.approx(
            np.where(rows["y"] == 1, pmf[:, 1], pmf[:, 0]).mean()
        )


def test_dask_estimators_are_the_plain_path(client, people):
    X, y, A = people
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("lightgbm.dask")
    params = {"n_estimators": 4, "num_leaves": 7, "n_jobs": 1}
    for learner in (
        lightgbm.LGBMClassifier(verbose=-1, **params),
        pytest.importorskip("xgboost.dask").DaskXGBClassifier(n_estimators=4, max_depth=3),
    ):
        clf = FairClassifier(learner, DemographicParity(eps=0.03))
        dX, dy, dA = split(X, y, A, chunks=1500)
        clf.fit(dX, dy, sensitive_features=dA)
        selected = clf.predict_proba(X)[:, 1]
        gaps = [abs(selected[a == A].mean() - selected.mean()) for a in np.unique(A)]
        assert max(gaps) <= 0.03 + 1e-9
        assert clf.certificate_.error == pytest.approx(
            np.where(y == 1, 1 - selected, selected).mean()
        )
        pickle.dumps(clf.classifier_)  # nothing of the cluster is in it


def test_a_list_of_classifiers_is_mixed_without_training(client, people):
    X, y, A = people
    members = [LogisticRegression(C=c).fit(X[:, :k], y) for c, k in ((1.0, 4), (1e-5, 4))]
    dX, dy, dA = split(X, y, A)
    here = FairClassifier(members, DemographicParity(eps=0.2)).fit(X, y, sensitive_features=A)
    there = FairClassifier(members, DemographicParity(eps=0.2)).fit(dX, dy, sensitive_features=dA)
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-12)


# Out of fold.


@pytest.mark.parametrize("groups", [2, 3])
def test_plugin_learns_probabilities_where_rows_are(client, people, groups):
    X, y, A = people
    A = np.minimum(A, groups - 1)
    dX, dy, dA = split(X, y, A, chunks=1500)
    frontier = Frontier(logistic(), DemographicParity(), bounds=[0.02, 0.05], oracle=Plugin(cv=2))
    frontier.fit(dX, dy, sensitive_features=dA)
    report = frontier.report()
    assert [m.data for m in report] == ["training"] * 2 + ["out of fold"] * 2
    for point in frontier.points_:
        assert point.disparity <= point.eps + 1e-9
    member = frontier.at(0.02).classifier_.members[0]
    expected = logistic().fit(X, y).predict_proba(X)[:, 1]
    found = member.probabilities(X)[:, [1, 3] if groups == 2 else [1, 3, 5]].sum(axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_cv_measures_people_not_seen(client):
    rng = np.random.default_rng(5)
    X, y, A = rng.normal(size=(800, 3)), rng.integers(0, 2, 800), rng.integers(0, 2, 800)
    deep = xgboost.XGBClassifier(n_estimators=40, max_depth=8, n_jobs=1)
    dX, dy, dA = split(X, y, A, chunks=200)
    seen = FairClassifier(deep, DemographicParity(eps=0.1), max_iter=1)
    unseen = FairClassifier(deep, DemographicParity(eps=0.1), max_iter=1, oracle=Refit(cv=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for clf in (seen, unseen):
            clf.fit(dX, dy, sensitive_features=dA)
    assert seen.certificate_.error < 0.1  # labels are noise, which deep trees learn by heart
    assert 0.4 < unseen.certificate_.error < 0.6
    assert set(unseen.violations_) == {"train", "out_of_fold"}


# Lazy answers.


def test_predictions_stay_lazy_and_are_those_of_memory(client, people):
    X, y, A = people
    dX, dy, dA = split(X, y, A)
    clf = FairClassifier(trees(), DemographicParity(eps=0.02)).fit(dX, dy, sensitive_features=dA)
    calls = []

    def watched(block):
        calls.append(1)
        return block

    with dask.config.set(scheduler="synchronous"):
        source = dX.map_blocks(watched, dtype=X.dtype, meta=np.empty((0, 4)))
        decided, pmf = clf.predict(source), clf.predict_proba(source)
        assert not calls
        assert decided.chunks == (dX.chunks[0],)
        assert pmf.shape == (N, 2)
        assert decided.compute().tolist() == clf.predict(X).tolist()
        assert calls
        assert pmf.compute().tolist() == clf.predict_proba(X).tolist()
        key = np.arange(N)
        keyed = clf.predict(dX, key=da.from_array(key, chunks=500))
        assert keyed.compute().tolist() == clf.predict(X, key=key).tolist()
        fresh = clf.predict(dX, random_state=0).compute()
    assert fresh.tolist() != clf.predict(X).tolist()
    assert abs(fresh.mean() - clf.predict_proba(X)[:, 1].mean()) < 0.02


def test_recertify_on_other_people(client, people):
    X, y, A = people
    dX, dy, dA = split(X, y, A)
    here = Frontier(trees(), DemographicParity(), bounds=BOUNDS)
    here.fit(X[:2000], y[:2000], sensitive_features=A[:2000])
    asked = {"sensitive_features": A[1000:]}, {"sensitive_features": dA[1000:]}
    for name in ("recertify", "evaluate"):
        expected = getattr(here, name)(X[1000:], y[1000:], **asked[0])
        found = getattr(here, name)(dX[1000:], dy[1000:], **asked[1])
        for mine, theirs in zip(
            getattr(found, "points_", found), getattr(expected, "points_", expected), strict=True
        ):
            assert mine.error == pytest.approx(theirs.error, abs=1e-12)
            assert mine.disparity == pytest.approx(theirs.disparity, abs=1e-12)


# The driver.


def test_nothing_of_the_size_of_the_data_reaches_the_driver(client, monkeypatch):
    largest = {}
    gather = retry.gather

    def watched(*args, **kwargs):
        results = gather(*args, **kwargs)
        size = max(len(pickle.dumps(result)) for result in results)
        largest[n] = max(largest.get(n, 0), size)
        return results

    for module in ("shards", "trainers.xgboost_resident"):
        monkeypatch.setattr(f"equipoise.engines.dask.{module}.gather", watched)
    for n in (20_000, 80_000):
        state = da.random.default_rng(0)
        X = state.normal(size=(n, 3), chunks=(n // 4, 3))
        A = state.integers(0, 2, n, chunks=n // 4)
        y = (X[:, 0] + A > 0.5).astype(int)
        for learner in (logistic(), trees()):
            Frontier(learner, DemographicParity(), bounds=[0.05]).fit(X, y, sensitive_features=A)
    assert largest[80_000] < 1.2 * largest[20_000] + 1000
    assert largest[80_000] < 500_000


def test_without_a_cluster_the_error_tells_how_to_start_one(people, monkeypatch):
    import distributed

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", nobody)
    X, y, A = split(*people)
    with pytest.raises(ValueError, match=r"Start one first: client = dask.distributed.Client"):
        FairClassifier(logistic(), DemographicParity()).fit(X, y, sensitive_features=A)


def test_rows_in_memory_may_be_trained_on_by_the_workers_through_joblib(people, client):
    X, y, A = people
    asked = {"bounds": BOUNDS, "n_jobs": 2}
    here = Frontier(logistic(), EqualizedOdds(), **asked).fit(X, y, sensitive_features=A)
    before = client.run(lambda dask_worker: dask_worker.state.transition_counter)
    with client.as_current(), parallel_config(backend="dask"):
        there = Frontier(logistic(), EqualizedOdds(), **asked).fit(X, y, sensitive_features=A)
    after = client.run(lambda dask_worker: dask_worker.state.transition_counter)
    assert sum(after.values()) > sum(before.values())  # the workers had something to do
    assert there.n_calls_ == here.n_calls_
    assert [p.error for p in there.points_] == pytest.approx(
        [p.error for p in here.points_], abs=1e-9
    )
