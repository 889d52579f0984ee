"""Regressors of rows on disk: the same fit as in memory, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from equipoise import (
    BoundedGroupLoss,
    DemographicParity,
    FairRegressor,
    Frontier,
    MinimaxGroupLoss,
    ParquetRows,
)

pytest.importorskip("pyarrow", reason="needs pyarrow")
pd = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost", minversion="3.0")


def trees(**more):
    given = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1, "random_state": 0}
    return xgboost.XGBRegressor(**given | more)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Features of few values, so that bins are the values, and the same rows in a file."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, 400)
    X = np.round(rng.normal(size=(400, 2)), 1).astype(np.float32)
    y = X[:, 0] + A * X[:, 1] + rng.normal(size=400)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pd.DataFrame(X, columns=["x0", "x1"]).to_parquet(path)
    return X, y, A, ParquetRows(path, features=["x0", "x1"], batch_size=150)


@pytest.mark.parametrize(
    "constraint", [MinimaxGroupLoss(), BoundedGroupLoss(2.4), DemographicParity(0.02)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_on_disk_is_that_of_memory(people, constraint, weighted):
    X, y, A, rows = people
    weight = np.where(A == 1, 2.0, 1.0) if weighted else None
    given = {"oracle": "refit", "thresholds": 5, "max_iter": 30}
    near, far = (
        FairRegressor(trees(), constraint, **given).fit(
            some, y, sensitive_features=A, sample_weight=weight
        )
        for some in (X, rows)
    )
    assert far.certificate_.error == pytest.approx(near.certificate_.error, rel=1e-6)
    assert far.n_calls_ == near.n_calls_ > 2
    for answer in ("predict", "predict_mean", "predict_members"):
        found = getattr(far, answer)(rows)
        assert found == pytest.approx(getattr(near, answer)(X), rel=1e-5)
        assert found == pytest.approx(getattr(far, answer)(X), rel=1e-6)
    groups = {"sensitive_features": A, "sample_weight": weight}
    told = [model.measure(some, y, **groups) for model, some in ((near, X), (far, rows))]
    assert told[1][:3] == pytest.approx(told[0][:3], rel=1e-5)
    assert told[1].overlap[:2] == (400, 400)
    losses = [[each.loss for each in far.by_group(some, y, **groups)] for some in (X, rows)]
    assert losses[1] == pytest.approx(losses[0])


def test_a_frontier_on_disk(people):
    X, y, A, rows = people
    given = {"bounds": [2.4, 2.6], "max_iter": 40}
    near, far = (
        Frontier(trees(), BoundedGroupLoss(), **given).fit(some, y, sensitive_features=A)
        for some in (X, rows)
    )
    errors = [[point.error for point in each.points_] for each in (near, far)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
    assert far.at(2.5).predict(rows) == pytest.approx(far.at(2.5).predict(X))


@pytest.mark.parametrize(
    ("learner", "constraint", "told"),
    [
        (trees(), DemographicParity(0.1), "learns from some of the rows.*oracle='refit'"),
        (LinearRegression(), MinimaxGroupLoss(), "XGBClassifier or XGBRegressor"),
        (trees(max_delta_step=1, callbacks=[]), MinimaxGroupLoss(), "XGBRegressor"),
    ],
)
def test_what_does_not_go_with_rows_on_disk_is_refused(people, learner, constraint, told):
    _, y, A, rows = people
    with pytest.raises(TypeError, match=told):
        FairRegressor(learner, constraint).fit(rows, y, sensitive_features=A)
