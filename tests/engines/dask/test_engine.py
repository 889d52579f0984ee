"""Frozen transformers before a learner: the same fit on Dask as in memory, on rows as they were."""

from __future__ import annotations

import numpy as np
import pytest
from clusters import restless, split
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import equipoise
from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.exceptions import DeploymentError

dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def towns():
    """Towns as text, which only the encoder understands, with labels and groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 900)
    town = rng.integers(0, 4, 900)
    label = (rng.random(900) < 0.2 + 0.15 * town + 0.1 * group).astype(int)
    names = np.array(["Bonn", "Oslo", "Rome", "York"], dtype=object)[(town + group) % 4]
    return pd.DataFrame({"town": names, "twin": names[::-1]}), label, group


def learner(X):
    encoder = OneHotEncoder(sparse_output=False).fit(X)
    exact = LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-12)
    steps = [("encode", FrozenEstimator(encoder)), ("learner", exact)]
    return Pipeline(steps)


def on_dask(X, y, group):
    frame = dd.from_pandas(X.assign(y=y, group=group), npartitions=3)
    return frame[list(X.columns)], frame["y"], frame["group"]


@pytest.mark.parametrize("oracle", ["refit", "plugin"])
def test_a_frontier_is_that_of_memory(client, towns, oracle, tmp_path):
    X, y, group = towns
    near, far = (
        Frontier(learner(X), DemographicParity(), bounds=[0.02, 0.1], oracle=oracle)
        for _ in range(2)
    )
    near.fit(X, y, sensitive_features=group)
    rows, labels, groups = on_dask(X, y, group)
    far.fit(rows, labels, sensitive_features=groups)
    assert far.feature_names_in_.tolist() == ["town", "twin"]
    # Folds of the plug-in oracle are dealt differently, so that only refits are the same.
    if oracle == "refit":
        errors = [[point.error for point in model.points_] for model in (near, far)]
        np.testing.assert_allclose(errors[1], errors[0], atol=1e-6)
    equipoise.save(far, tmp_path / "far")
    for model in (far, equipoise.load(tmp_path / "far")):
        selected = model.at(0.1).predict_proba(X)[:, 1]
        if oracle == "refit":
            assert abs(selected[group == 1].mean() - selected.mean()) <= 0.1 + 1e-9
        np.testing.assert_allclose(far.at(0.1).predict_proba(rows).compute()[:, 1], selected)
    picked = [h.predict(X) * (y == 1) for h in far.pool_.classifiers]
    shares = far.shares_["training"][:, far.cells_.label == 1].sum(axis=1)
    np.testing.assert_allclose(shares, np.mean(picked, axis=1))


def test_transformers_that_are_not_frozen_are_refused(client, towns):
    X, y, group = towns
    rows, labels, groups = on_dask(X, y, group)
    loose = Pipeline([("scale", StandardScaler()), ("learner", LogisticRegression())])
    model = FairClassifier(loose, DemographicParity())
    with pytest.raises(TypeError, match="FrozenEstimator"):
        model.fit(rows, labels, sensitive_features=groups)


def test_members_are_checked_on_rows_as_they_were_passed(client, people):
    X, y, A = people
    noise = FunctionTransformer(restless, feature_names_out="one-to-one").fit(X)
    frozen = Pipeline([("noise", FrozenEstimator(noise)), ("learner", LogisticRegression())])
    model = FairClassifier(frozen, DemographicParity(eps=0.5))
    rows, labels, groups = split(X, y, A)
    with pytest.raises(DeploymentError):
        model.fit(rows, labels, sensitive_features=groups)
