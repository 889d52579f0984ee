"""MLflow: what was logged is there, and comes back as it was."""

import os

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.report import report_of

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytest.importorskip("skops")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A local store of its own for every test."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    mlflow.set_experiment("fair")
    yield
    if mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(None)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    A = rng.choice(["F", "M"], 600)
    X = np.column_stack([(A == "M") + rng.normal(size=600), rng.normal(size=600)])
    return X, (X.sum(axis=1) + rng.normal(size=600) > 0.5).astype(int), A


@pytest.fixture(scope="module")
def model(people):
    X, y, A = people
    rule = DemographicParity(eps=0.05, reference="pairwise")
    return FairClassifier(LogisticRegression(), rule).fit(X, y, sensitive_features=A)


def test_a_model_comes_back_and_serves_decisions(store, model, people):
    from equipoise.integrations.mlflow import load_model, log_model

    X = people[0]
    with mlflow.start_run():
        info = log_model(model)
    again = load_model(info.model_uri)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_.error == model.certificate_.error
    served = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(served.predict(X), model.predict(X))


def test_a_run_has_the_certificate_and_the_page(store, model, people):
    from equipoise.integrations.mlflow import log_model

    X, y, A = people
    contents = report_of(model, X, y, sensitive_features=A)
    with mlflow.start_run() as run:
        log_model(model, report=contents)
    client = mlflow.MlflowClient()
    data = client.get_run(run.info.run_id).data
    selected = model.predict_proba(X)[:, 1]
    error = np.mean(np.where(y == 1, 1 - selected, selected))
    assert data.metrics["certificate_error"] == pytest.approx(error, abs=1e-12)
    assert data.metrics["training_error"] == pytest.approx(error, abs=1e-12)
    assert data.metrics["training_excess"] <= 1e-9
    assert data.tags["equipoise.bounds"] == "met"
    assert data.tags["equipoise.people"] == model.people_.digest
    files = {item.path for item in client.list_artifacts(run.info.run_id, "equipoise")}
    assert files == {"equipoise/report.html", "equipoise/model_card.md"}


def test_three_labels_are_served_by_name(store):
    from equipoise.integrations.mlflow import load_model, log_model

    X, y, A = three_labels(200)
    fair = FairClassifier(LogisticRegression(), DemographicParity(0.1), oracle="plugin")
    fair.fit(X, y, sensitive_features=A)
    contents = report_of(fair, X, y, sensitive_features=A)
    with mlflow.start_run() as run:
        info = log_model(fair, report=contents)
    assert np.array_equal(load_model(info.model_uri).predict_proba(X), fair.predict_proba(X))
    served = mlflow.pyfunc.load_model(info.model_uri).predict(X)
    assert np.array_equal(served, fair.predict(X))
    assert set(served) <= {"low", "mid", "top"}
    right = fair.predict_proba(X)[np.arange(len(y)), np.searchsorted(["low", "mid", "top"], y)]
    metrics = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    assert metrics["training_error"] == pytest.approx(1 - right.mean())
    assert metrics["certificate_gap"] == pytest.approx(fair.certificate_.gap)


def test_a_frontier_is_kept_too(store, people):
    from equipoise.integrations.mlflow import load_model, log_model

    X, y, A = people
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.1])
    frontier.fit(X, y, sensitive_features=A)
    with mlflow.start_run():
        info = log_model(frontier)
    again = load_model(info.model_uri)
    assert [point.error for point in again.points_] == [p.error for p in frontier.points_]


def test_a_folder_without_a_run(store, model, people, tmp_path):
    from equipoise.integrations.mlflow import load_model, save_model

    save_model(model, tmp_path / "folder")
    again = load_model((tmp_path / "folder").as_uri())
    assert np.array_equal(again.predict(people[0]), model.predict(people[0]))
    served = mlflow.pyfunc.load_model((tmp_path / "folder").as_uri())
    assert np.array_equal(served.predict(people[0]), model.predict(people[0]))
