"""Model files of regressors: the same predictions after a round trip, and no small groups."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from saving import round_trip
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import equipoise
from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor, Frontier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.files import read_manifest

pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    A = rng.choice(["F", "M"], 300)
    X = np.column_stack([(A == "M") + rng.normal(size=300), rng.normal(size=300)])
    return X, X.sum(axis=1) + rng.normal(size=300), A


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("constraint", [DemographicParity(0.05), BoundedGroupLoss(3.0)])
def test_predictions_are_the_same_after_a_round_trip(rows, constraint, loss, tmp_path):
    X, y, A = rows
    before = FairRegressor(LinearRegression(), constraint, loss=loss, thresholds=5)
    before.fit(X, y, sensitive_features=A)
    after = round_trip(before, tmp_path)
    assert (after.predict(X) == before.predict(X)).all()
    assert (after.predict_mean(X) == before.predict_mean(X)).all()
    assert str(after.certificate_) == str(before.certificate_)
    assert repr(after.constraint_) == repr(before.constraint_)
    after.certificate_.check()
    measured = (each.measure(X, y, sensitive_features=A) for each in (before, after))
    assert len(set(measured)) == 1
    manifest = read_manifest(tmp_path / "model.equipoise")
    assert manifest["kind"] == "FairRegressor"
    assert manifest["certificate"]["measure"] == "loss"
    assert sum(manifest["weights"]) == pytest.approx(1.0)
    assert ("PluginRegressor" in manifest["keeps"]) == isinstance(constraint, DemographicParity)


def test_regressors_of_other_libraries_need_no_trust(rows, tmp_path):
    X, y, A = rows
    lightgbm, xgboost = map(pytest.importorskip, ("lightgbm", "xgboost"))
    learners = [
        lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=2, n_jobs=1),
        KNeighborsRegressor(),
    ]
    for at, learner in enumerate(learners):
        before = FairRegressor(learner, DemographicParity(0.1), thresholds=3, max_iter=3)
        before.fit(X, y, sensitive_features=A)
        path = tmp_path / str(at)
        equipoise.save(before, path)
        assert (equipoise.load(path).predict(X) == before.predict(X)).all()
        assert read_manifest(path)["types_to_trust"] == []


def test_a_loss_of_ones_own_is_no_part_of_the_file(rows, tmp_path):
    X, y, A = rows
    own = FairRegressor(
        LinearRegression(), DemographicParity(0.1), loss=lambda t: np.abs(t) ** 1.5, thresholds=5
    )
    after = round_trip(own.fit(X, y, sensitive_features=A), tmp_path)
    assert (after.predict(X) == own.predict(X)).all()
    with pytest.raises(RuntimeError, match="is code, which model files do not hold"):
        after.measure(X, y, sensitive_features=A)


def test_a_frontier_answers_to_other_bounds_after_a_round_trip(rows, tmp_path):
    X, y, A = rows
    before = Frontier(LinearRegression(), DemographicParity(), bounds=[0.05, 0.2], thresholds=5)
    after = round_trip(before.fit(X, y, sensitive_features=A), tmp_path)
    assert type(after) is RegressionFrontier
    for eps in (0.05, 0.1):
        assert (after.at(eps).predict(X) == before.at(eps).predict(X)).all()
    assert len(read_manifest(tmp_path / "model.equipoise")["points"]) == 2


@pytest.fixture(scope="module")
def few(rows):
    X, y, A = rows
    A = A.astype(object)
    A[:3], A[3:6] = "X", "Y"
    return X, y, A


def test_no_number_of_a_small_group_is_in_the_file(few, tmp_path):
    X, y, A = few
    reg = FairRegressor(LinearRegression(), DemographicParity(0.2), thresholds=4)
    reg.fit(X, y, sensitive_features=A)
    after = round_trip(reg, tmp_path)
    assert {row.group for row in reg.certificate_.rows} == {"F", "M", "X", "Y"}
    assert {row.group for row in after.certificate_.rows} == {"M"}  # X and Y are too few
    assert after.certificate_.suppressed
    assert after.certificate_.evidence is None
    assert np.isnan(after.exact_difference_)
    assert "together" in read_manifest(tmp_path / "model.equipoise")["suppressed"]
    small = after.cells_.mass[after.cells_.together]
    assert np.ptp(small) == pytest.approx(0.0)
    with zipfile.ZipFile(tmp_path / "model.equipoise") as archive:
        state = json.loads(archive.read("state.json"))
    assert "Evidence" not in json.dumps(state)
    assert (after.predict(X) == reg.predict(X)).all()


def test_a_frontier_without_small_groups_keeps_the_bounds_traced(few, tmp_path):
    X, y, A = few
    made = Frontier(LinearRegression(), DemographicParity(), bounds=[0.1, 0.3], thresholds=4)
    made.fit(X, y, sensitive_features=A)
    after = round_trip(made, tmp_path)
    assert (after.at(0.1).predict(X) == made.at(0.1).predict(X)).all()
    with pytest.raises(ValueError, match=r"0.2, which was not traced.*0.1, 0.3"):
        after.at(0.2)
    path = tmp_path / "all.equipoise"
    equipoise.save(made, path, suppress_below=0)
    equipoise.load(path).at(0.2)
