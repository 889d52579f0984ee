"""Model files: the same decisions after a round trip, and no rows in the file."""

import re
import subprocess
import sys
import warnings
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from people import make_people
from saving import fitted, round_trip
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equipoise
from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
    RandomizedClassifier,
)
from equipoise.files import read_manifest
from equipoise.oracles import BestOf, Plugin, Refit

skops_io = pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=2)


LEARNERS = {
    "logistic": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=3, max_depth=2),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_are_the_same_after_a_round_trip(name, people, tmp_path):
    before = fitted(LEARNERS[name](), people, nu=1e-6)  # no room for a single classifier
    after = round_trip(before, tmp_path)
    keys = np.array([f"person {number}" for number in range(len(people.y))])
    assert len(after.classifier_.members) > 1
    assert (after.predict_proba(people.X) == before.predict_proba(people.X)).all()
    assert (after.predict(people.X) == before.predict(people.X)).all()
    assert (after.predict(people.X, key=keys) == before.predict(people.X, key=keys)).all()
    assert str(after.certificate_) == str(before.certificate_)
    assert repr(after.constraint_) == repr(before.constraint_)
    assert after.classifier_.random_state == before.classifier_.random_state


def test_columns_may_be_selected_by_type(people, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(people.X).add_prefix("x").assign(kind=np.where(people.y == 1, "a", "b"))
    by_type = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(), make_column_selector("kind")),
    )
    fair = FairClassifier(make_pipeline(by_type, LogisticRegression()), DemographicParity(eps=0.1))
    fair.fit(frame, people.y, sensitive_features=people.A)
    after = round_trip(fair, tmp_path)
    assert (after.predict_proba(frame) == fair.predict_proba(frame)).all()


def test_a_loaded_model_can_be_fitted_again(people, tmp_path):
    after = round_trip(fitted(LogisticRegression(C=0.5), people), tmp_path)
    assert after.get_params()["estimator__C"] == 0.5
    again = after.fit(people.X, people.y, sensitive_features=people.A)
    assert again.certificate_.feasible


def test_plug_in_members_share_their_probabilities_again(people, tmp_path):
    before = fitted(LogisticRegression(), people, oracle=Plugin(cv=2))
    after = round_trip(before, tmp_path)
    shared = [member.probabilities for member in after.classifier_.members]
    assert len(shared) > 1
    assert all(probabilities is shared[0] for probabilities in shared)
    assert (after.predict_proba(people.X) == before.predict_proba(people.X)).all()
    assert after.violations_ == before.violations_


def test_members_of_both_kinds_go_together(people, tmp_path):
    bounds = [0.005, 0.01, 0.02, 0.05, 0.1]
    before = Frontier(
        LogisticRegression(),
        DemographicParity(),
        bounds=bounds,
        oracle=BestOf(Plugin(cv=2), Refit(cv=2)),
    )
    before.fit(people.X, people.y, sensitive_features=people.A)
    after = round_trip(before, tmp_path)
    plugged_in = [hasattr(member, "probabilities") for member in after.pool_.classifiers]
    assert set(plugged_in) == {True, False}
    for eps in bounds:
        models = before.at(eps), after.at(eps)
        np.testing.assert_array_equal(*(model.predict_proba(people.X) for model in models))


def test_pipelines_share_their_transformers_again(people, tmp_path):
    after = round_trip(fitted(LEARNERS["pipeline"](), people), tmp_path)
    scalers = [member.classifier.steps[0][1] for member in after.classifier_.members]
    assert len(scalers) > 1
    assert all(scaler is scalers[0] for scaler in scalers)


def test_a_frontier_answers_any_bound_after_a_round_trip(people, tmp_path):
    frontier = Frontier(LogisticRegression(), EqualizedOdds(), bounds=[0.01, 0.05, 0.1])
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    after = round_trip(frontier, tmp_path)
    for eps in (0.01, 0.033, 0.2):
        mine, theirs = frontier.at(eps), after.at(eps)
        assert (mine.predict_proba(people.X) == theirs.predict_proba(people.X)).all()
        assert (mine.predict(people.X) == theirs.predict(people.X)).all()
        assert mine.certificate_.gap == theirs.certificate_.gap
    assert [p.error for p in after.points_] == [p.error for p in frontier.points_]
    other = DemographicParity()
    assert [p.error for p in after.with_constraint(other).points_] == [
        p.error for p in frontier.with_constraint(other).points_
    ]
    new = make_people(seed=1)
    measured = after.evaluate(new.X, new.y, sensitive_features=new.A)
    assert measured[0].error == frontier.evaluate(new.X, new.y, sensitive_features=new.A)[0].error
    refined = after.refine(0.02, people.X, people.y, sensitive_features=people.A)
    assert refined.certificate_.is_optimal()


def test_other_kinds_of_model(people, tmp_path):
    args = (people.X, people.y)
    grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.1), grid_size=5)
    grid.fit(*args, sensitive_features=people.A)
    gradient = ExponentiatedGradient(LogisticRegression(), DemographicParity(eps=0.1), max_iter=20)
    gradient.fit(*args, sensitive_features=people.A)
    mixture = RandomizedClassifier(
        gradient.classifier_.members, gradient.classifier_.weights, ["no", "yes"], random_state=7
    )
    for number, before in enumerate([grid, gradient, mixture]):
        folder = tmp_path / str(number)
        folder.mkdir()
        after = round_trip(before, folder)
        assert (after.predict(people.X) == before.predict(people.X)).all()
    assert len(round_trip(grid, tmp_path).candidates_) == len(grid.candidates_)


def test_candidates_and_a_pipeline_around_a_model(people, tmp_path):
    names = np.array(["no", "yes"])[people.y]
    candidates = [LogisticRegression(C=c).fit(people.X, names) for c in (0.001, 1.0)]
    candidates.append(DummyClassifier(strategy="constant", constant="no").fit(people.X, names))
    before = FairClassifier(candidates, DemographicParity(eps=0.02))
    before.fit(people.X, names, sensitive_features=people.A)
    after = round_trip(before, tmp_path)
    assert (after.predict(people.X) == before.predict(people.X)).all()

    scaler = StandardScaler().fit(people.X)
    inner = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
    inner.fit(scaler.transform(people.X), people.y, sensitive_features=people.A)
    around = make_pipeline(scaler, inner)
    equipoise.save(around, tmp_path / "around")
    after = equipoise.load(tmp_path / "around")
    assert (after.predict(people.X) == around.predict(people.X)).all()
    assert read_manifest(tmp_path / "around")["inside"] == ["StandardScaler"]


def test_frames_with_categories_and_groups_of_any_kind(people, tmp_path):
    frame = pd.DataFrame(people.X, columns=["a", "b", "c"])
    frame["town"] = np.where(people.X[:, 1] > 0, "Rome", None)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    learner = make_pipeline(encode, LogisticRegression())
    groups = pd.DataFrame({"sex": np.where(people.A, "F", "M"), "old": people.X[:, 2] > 0})
    before = Frontier(learner, DemographicParity(), bounds=[0.05])
    before.fit(frame, people.y, sensitive_features=groups)
    after = round_trip(before, tmp_path)
    assert (after.at(0.05).predict(frame) == before.at(0.05).predict(frame)).all()
    assert after.feature_names_in_.tolist() == ["a", "b", "c", "town"]
    assert read_manifest(tmp_path / "model.equipoise")["feature_names"][-1] == "town"
    rows = after.points_[0].certificate.rows
    assert [row.group for row in rows] == [r.group for r in before.points_[0].certificate.rows]


@pytest.mark.parametrize("name", ["pipeline", "lightgbm"])
def test_the_file_holds_no_rows_and_does_not_grow_with_them(name, tmp_path):
    sizes, secret = [], 0.1234567891
    for n in (5000, 20_000):  # both above the size of the sketch of people
        some = make_people(n)
        some.X[3, 2] = secret
        frontier = Frontier(LEARNERS[name](), DemographicParity(), bounds=[0.05], max_iter=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            frontier.fit(some.X, some.y, sensitive_features=some.A)
        path = tmp_path / f"{n}"
        equipoise.save(frontier, path)
        with zipfile.ZipFile(path) as archive:
            parts = [archive.read(name) for name in archive.namelist()]
        assert not any(np.float64(secret).tobytes() in part for part in parts)
        assert not any(b"0.1234567891" in part for part in parts)
        sizes.append(path.stat().st_size / len(frontier.pool_))
    assert sizes[1] < 1.3 * sizes[0]


def test_the_manifest_tells_what_the_model_is(saved):
    manifest = read_manifest(saved)
    assert manifest["kind"] == "FairClassifier"
    assert manifest["format_version"] == 1
    assert manifest["versions"]["equipoise"] == equipoise.__version__
    assert manifest["constraint"] == "DemographicParity(eps=0.02)"
    assert manifest["certificate"]["status"] == "met"
    assert sum(manifest["weights"]) == pytest.approx(1)
    assert manifest["classes"] == ["0", "1"]
    assert manifest["n_features"] == 3
    with zipfile.ZipFile(saved) as archive:
        for name, facts in manifest["parts"].items():
            assert sha256(archive.read(name)).hexdigest() == facts["sha256"]


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(TypeError, match="expected one of FairClassifier"):
        equipoise.save(LogisticRegression(), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted"):
        equipoise.save(FairClassifier(LogisticRegression(), DemographicParity()), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_unasked(saved, people):
    before = saved.read_bytes()
    model = equipoise.load(saved)
    with pytest.raises(FileExistsError, match="exists already"):
        equipoise.save(model, saved)
    assert saved.read_bytes() == before
    equipoise.save(model, saved, overwrite=True, metadata={"note": "again"})
    assert read_manifest(saved)["metadata"] == {"note": "again"}


def test_an_interrupted_write_leaves_the_old_file_and_no_other(saved, monkeypatch):
    before, model = saved.read_bytes(), equipoise.load(saved)

    def fail(file):
        raise OSError("disk full")

    monkeypatch.setattr("equipoise.atomic_files.os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        equipoise.save(model, saved, overwrite=True)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_what_a_killed_save_leaves_is_removed_by_the_next(saved):
    (saved.parent / f".{saved.name}.k1ll3d_0.partial").write_bytes(saved.read_bytes()[:100])
    equipoise.save(equipoise.load(saved), saved, overwrite=True)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.processes
def test_another_process_decides_the_same(saved, people, tmp_path):
    np.save(tmp_path / "X.npy", people.X)
    code = (
        "import numpy as np, equipoise, sys;"
        "X = np.load(sys.argv[2]); model = equipoise.load(sys.argv[1]);"
        "print(''.join(map(str, model.predict(X, key=np.arange(len(X))))))"
    )
    command = [sys.executable, "-c", code, str(saved), str(tmp_path / "X.npy")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    here = equipoise.load(saved).predict(people.X, key=np.arange(len(people.X)))
    assert printed == "".join(map(str, here))


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[2] / "docs" / "model_files.md"
    code = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    exec("\n".join(code), {})
    assert (tmp_path / "frontier.equipoise").is_file()
