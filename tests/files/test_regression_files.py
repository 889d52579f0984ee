"""Model files of regressors: the same predictions after a round trip, and no small groups."""

from __future__ import annotations

import numpy as np
import pytest
from saving import round_trip
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import equipoise
from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor, Frontier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.exceptions import FewPeopleWarning, NoEvidenceError
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


def test_groups_of_few_are_kept_and_said(few, tmp_path):
    X, y, A = few
    reg = FairRegressor(LinearRegression(), DemographicParity(0.2), thresholds=4)
    reg.fit(X, y, sensitive_features=A)
    with pytest.warns(FewPeopleWarning, match="counts people in groups of fewer than 10"):
        after = round_trip(reg, tmp_path)
    assert {row.group for row in after.certificate_.rows} == {"F", "M", "X", "Y"}
    assert after.certificate_.check() == reg.certificate_.check()


def test_without_evidence_a_regressor_predicts_and_counts_nobody(few, tmp_path):
    X, y, A = few
    reg = FairRegressor(LinearRegression(), DemographicParity(0.2), thresholds=4)
    reg.fit(X, y, sensitive_features=A)
    equipoise.save(reg, tmp_path / "m.equipoise", evidence=False)
    after = equipoise.load(tmp_path / "m.equipoise")
    assert (after.predict(X) == reg.predict(X)).all()
    for ask in (
        lambda: after.certificate_,
        lambda: after.measure(X, y, sensitive_features=A),
        lambda: after.by_group(X, y, sensitive_features=A),
    ):
        with pytest.raises(NoEvidenceError, match="was written without evidence"):
            ask()
    frontier = Frontier(LinearRegression(), DemographicParity(), bounds=[0.3], thresholds=4)
    frontier.fit(X, y, sensitive_features=A)
    with pytest.raises(ValueError, match=r"save\(frontier.at\(eps\), path, evidence=False\)"):
        equipoise.save(frontier, tmp_path / "f.equipoise", evidence=False)
