"""The same fit on Dask: what a cluster returns is what one process returns."""

from __future__ import annotations

import os
import pickle
import signal
import time
import warnings
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import hypothesis  # noqa: F401  its plugin would import it at the end, beside running threads
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    ParquetRows,
    RandomizedClassifier,
)
from equipoise.cells.rows import Cells
from equipoise.engines import engine_for
from equipoise.engines.dask import retry
from equipoise.engines.dask.engine import DaskEngine
from equipoise.engines.dask.shards import Shards
from equipoise.exceptions import EngineError
from equipoise.oracles.refit import RefitOracle, constant_classifier
from equipoise.oracles.specs import Plugin, Refit
from equipoise.rows.people import People

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported")
pd = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")

from distributed import Client, LocalCluster  # noqa: E402

N = 3000
BOUNDS = [0.01, 0.03, 0.1]


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def people():
    """Features of few values, so that bins are the values, in whatever order rows come."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, N)
    X = np.round(rng.normal(size=(N, 4)), 1)
    X[:, 0] += A
    X += 0.0  # no -0.0, which equals 0.0 and is written otherwise
    y = (X.sum(axis=1) + rng.normal(size=N) > 1).astype(int)
    return X, y, A


def logistic():
    return LogisticRegression(C=0.1, tol=1e-12, solver="newton-cholesky", max_iter=200)


def trees():
    return xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, random_state=0)


def split(*arrays, chunks=700):
    return [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def raw_shares(model, X, y, A):
    """The share of everybody that is selected with each label in each group, from raw arrays."""
    h = np.asarray(model.predict(X)).astype(bool)
    return [(h & (a == A) & (y == b)).mean() for a in np.unique(A) for b in (0, 1)]


# One seam, three engines.


@pytest.fixture(params=["memory", "disk", "dask"])
def engine(request, people, tmp_path):
    X, y, A = people
    if request.param == "dask":
        request.getfixturevalue("client")
        X, y, A = split(X, y, A)
    if request.param == "disk":
        names = [f"x{j}" for j in range(X.shape[1])]
        pd.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
        X = ParquetRows(tmp_path, features=names, batch_size=512)
    kind = engine_for(X)
    assert kind.__name__.lower() == f"{request.param}engine"
    return kind.open(People(X, y, A), estimator=trees())


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


def test_an_engine_decides(engine, people, tmp_path):
    X, y, A = people
    fitted = trees().fit(X, y)
    mixture = RandomizedClassifier(
        [fitted, constant_classifier(1)], [0.7, 0.3], classes=["no", "yes"]
    )
    given = engine.X if engine.is_local else da.from_array(X, chunks=(700, 4))
    labels = np.array(["no", "yes"])
    text = labels[y] if engine.is_local else da.from_array(labels[y], chunks=700)
    selected = 0.7 * fitted.predict(X) + 0.3
    pmf = np.asarray(engine.predict_pmf(mixture, given))
    np.testing.assert_allclose(pmf, np.column_stack([1 - selected, selected]))
    decided = np.asarray(engine.decide(fitted, given, labels))
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
        learner.fit(X, (d < 0).astype(int), sample_weight=w / w.mean())
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
    assert (there.predict_pmf(X) == here.predict_pmf(X)).all()
    assert there.score(dX, dy) == pytest.approx(here.score(X, y))
    assert str(there.report(dX, dy, sensitive_features=dA)) == str(
        here.report(X, y, sensitive_features=A)
    )


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
        clf = FairClassifier(logistic(), EqualizedOdds(eps=0.05))
        columns = {name: frame[column] for name, column in given.items()}
        return clf.fit(frame[list("abcd")], frame["income"], **columns)

    here, there = fitted(frame), fitted(dd.from_pandas(frame, npartitions=4))
    assert there.classes_.tolist() == here.classes_.tolist() == ["high", "low"]
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
        pmf = there.predict_pmf(some[list("abcd")]).compute()
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
        selected = clf.predict_pmf(X)[:, 1]
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
        decided, pmf = clf.predict(source), clf.predict_pmf(source)
        assert not calls
        assert decided.chunks == (dX.chunks[0],)
        assert pmf.shape == (N, 2)
        assert decided.compute().tolist() == clf.predict(X).tolist()
        assert calls
        assert pmf.compute().tolist() == clf.predict_pmf(X).tolist()
        key = np.arange(N)
        keyed = clf.predict(dX, key=da.from_array(key, chunks=500))
        assert keyed.compute().tolist() == clf.predict(X, key=key).tolist()
        fresh = clf.predict(dX, random_state=0).compute()
    assert fresh.tolist() != clf.predict(X).tolist()
    assert abs(fresh.mean() - clf.predict_pmf(X)[:, 1].mean()) < 0.02


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


# Refusals, before any fit.


def test_bad_input_is_refused_with_the_remedy(client, people):
    X, y, A = people
    dX, dy, dA = split(X, y, A)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    text = frame.assign(e="x")
    unknown = dX[dX[:, 0] > -9]  # sizes are not known any more
    series = pd.Series(A, index=np.arange(N) + 5)
    holes = da.from_array(np.where(np.arange(N) == 2500, np.nan, A), chunks=700)
    three = da.from_array(np.arange(N) % 3, chunks=700)
    fair = FairClassifier(logistic(), DemographicParity(eps=0.02))

    def refuses(message, *, of=ValueError, X=dX, y=dy, A=dA, clf=fair, **more):
        with pytest.raises(of, match=message):
            clf.fit(X, y, sensitive_features=A, **more)

    refuses("y is of type ndarray.*Pass a Dask array", of=TypeError, y=y)
    refuses("inconsistent numbers of samples", A=dA[:-1])
    refuses("has 2 partitions and X has 5.*compute_chunk_sizes", X=unknown, A=dA.rechunk(2000))
    refuses("index from", X=frame, y=frame["a"], A=dd.from_pandas(series, npartitions=3))
    refuses("column 'e' of X is of type", X=text, y=frame["a"], A=frame["b"])
    refuses("partition 3.*NaN", A=holes)
    refuses("3 classes", y=three)
    refuses("sensitive_features is missing", A=None)
    refuses("utilities and constraint_weights=False", utilities=dX[:, :2])
    refuses(
        "RandomForestClassifier cannot be trained on a Dask collection",
        of=TypeError,
        clf=FairClassifier(_forest(), DemographicParity()),
    )
    refuses(
        "aware=True",
        clf=FairClassifier(logistic(), DemographicParity(), oracle=Plugin(aware=True)),
    )
    refuses(
        "cv is KFold",
        clf=FairClassifier(logistic(), DemographicParity(), oracle=Refit(cv=_kfold())),
    )


def _forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def _kfold():
    from sklearn.model_selection import KFold

    return KFold(3)


def test_partitions_are_aligned_where_that_is_safe(client, people):
    X, y, A = people
    here = FairClassifier(trees(), DemographicParity(eps=0.02)).fit(X, y, sensitive_features=A)
    (dX,), (dy,), (dA,) = split(X, chunks=700), split(y, chunks=999), split(A, chunks=100)
    there = FairClassifier(trees(), DemographicParity(eps=0.02))
    there.fit(da.concatenate([dX[:, :2], dX[:, 2:]], axis=1), dy, sensitive_features=dA)
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)
    frame = pd.DataFrame(X, columns=list("abcd"))
    there.fit(
        dd.from_pandas(frame, npartitions=3),
        dd.from_pandas(pd.Series(y), npartitions=5),
        sensitive_features=dd.from_pandas(pd.Series(A, name="group"), npartitions=2),
    )
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)


def test_without_a_cluster_the_error_tells_how_to_start_one(people, monkeypatch):
    import distributed

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", nobody)
    X, y, A = split(*people)
    with pytest.raises(ValueError, match=r"Start one first: client = dask.distributed.Client"):
        FairClassifier(logistic(), DemographicParity()).fit(X, y, sensitive_features=A)


# Lost workers, hangs, and giving up.


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


@pytest.fixture
def own_client():
    """A cluster of one's own, to be broken."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    with client.as_current():
        yield client
    for opened in (client, cluster):
        with suppress(Exception):  # Dask may stumble over workers that were killed
            opened.close()


def pids(client):
    return list(client.run(os.getpid).values())


@pytest.mark.parametrize("learner", [logistic, trees])
def test_a_killed_worker_changes_nothing(own_client, people, learner):
    X, y, A = people
    expected = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS).fit(X, y, sensitive_features=A)
    killed = []

    def kill(plays):
        if len(killed) < 1:
            killed.append(pids(own_client)[0])
            os.kill(killed[0], signal.SIGKILL)

    dX, dy, dA = split(X, y, A)
    frontier = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS, callback=kill)
    frontier.fit(dX, dy, sensitive_features=dA)
    assert killed
    assert [p.error for p in frontier.points_] == pytest.approx(
        [p.error for p in expected.points_], abs=1e-12
    )
    assert frontier.n_calls_ == expected.n_calls_


def test_a_result_that_died_with_its_worker_is_not_waited_for(own_client):
    address, pid = next(iter(own_client.run(os.getpid).items()))
    task = own_client.submit(_sum, 1000, workers=[address], allow_other_workers=False)
    retry.gather(own_client, [task], 600.0, pinned=[address])
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(retry.WorkerLost, match=address):
        retry.gather(own_client, [task], 600.0, pinned=[address])


def _sum(n):
    return sum(range(n))


def test_a_hang_is_abandoned_and_tried_again(own_client, people, tmp_path, monkeypatch):
    shards, flag = Shards(People(*split(*people))), tmp_path / "hung"
    # Ten minutes are over as soon as the task hangs, and not before, however slow the machine is.
    monkeypatch.setattr(retry, "monotonic", lambda: time.monotonic() + 1e6 * flag.exists())
    found = shards.map(_hang_once, str(tmp_path))
    assert sum(found) == N
    assert flag.exists()


def _hang_once(shard, folder):
    flag = Path(folder) / "hung"
    if shard.start == 0 and not flag.exists():
        flag.touch()
        time.sleep(1000)
    return len(shard)


def test_giving_up_keeps_what_was_found(own_client, people, tmp_path):
    X, y, A = split(*people)
    rounds = []

    def fail(plays):
        rounds.append(plays[0].n_calls)
        if len(rounds) == 2:
            own_client.cluster.close()
            # From here on nothing can succeed, however long it is waited for.
            impatient.enter_context(
                dask.config.set({"equipoise.tries": 1, "equipoise.time-limit": "5 s"})
            )

    frontier = Frontier(
        trees(), EqualizedOdds(), bounds=BOUNDS, checkpoint=tmp_path / "kept", callback=fail
    )
    with (
        ExitStack() as impatient,
        pytest.raises(EngineError, match=r"given up.*classifiers found until then are kept"),
    ):
        frontier.fit(X, y, sensitive_features=A)
    kept = len(list((tmp_path / "kept").glob("answer-*.joblib")))
    assert kept >= rounds[-1] >= 1
    with closing(LocalCluster(n_workers=1, dashboard_address=":0")) as cluster, Client(cluster):
        again = Frontier(trees(), EqualizedOdds(), bounds=BOUNDS, checkpoint=tmp_path / "kept")
        again.fit(X, y, sensitive_features=A)
    expected = Frontier(trees(), EqualizedOdds(), bounds=BOUNDS)
    raw_X, raw_y, raw_A = people
    expected.fit(raw_X, raw_y, sensitive_features=raw_A)
    assert [p.error for p in again.points_] == pytest.approx(
        [p.error for p in expected.points_], abs=1e-12
    )
