"""What a file keeps of single people is said for each type."""

import zipfile
from io import BytesIO

import numpy as np
import pytest
from saving import fitted
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import equipoise
from equipoise import RandomizedClassifier, ResampledClassifier
from equipoise.files import read_manifest
from equipoise.files.manifest import kept_values

pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")
CANARY = 1234.5678901


def saved(learner, people, folder):
    X = people.X.copy()
    X[7, 0] = CANARY
    model = RandomizedClassifier([learner.fit(X, people.y)], [1.0])
    equipoise.save(model, folder / "m")
    return read_manifest(folder / "m")["keeps"], numbers(folder / "m")


def numbers(path):
    """Return all numbers of arrays in the members, and the text of the rest."""
    with zipfile.ZipFile(path) as archive:
        members = zipfile.ZipFile(BytesIO(archive.read("members.skops")))
    found = b""
    for name in members.namelist():
        found += members.read(name)
    return found


@pytest.mark.parametrize(
    ("learner", "name", "words"),
    [
        (KNeighborsClassifier(algorithm="brute"), "KNeighborsClassifier", "every row"),
        (SVC(), "SVC", "support vectors"),
        (HistGradientBoostingClassifier(max_iter=2), "HistGradientBoostingClassifier", "bins"),
        (RandomForestClassifier(2), "RandomForestClassifier", "leaf"),
        (make_pipeline(MinMaxScaler(), LogisticRegression()), "MinMaxScaler", "largest value"),
        (
            ResampledClassifier(KNeighborsClassifier(algorithm="brute")),
            "KNeighborsClassifier",
            "every row",
        ),
    ],
)
def test_it_is_said_by_name(learner, name, words, people, tmp_path):
    keeps, _ = saved(learner, people, tmp_path)
    assert words in keeps[name]
    assert len(keeps) == 1


def test_lightgbm(people, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    keeps, _ = saved(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1), people, tmp_path)
    assert "smallest and the largest value" in keeps["LGBMClassifier"]


def test_nothing_is_said_where_nothing_is_kept(people, tmp_path):
    keeps, held = saved(make_pipeline(StandardScaler(), LogisticRegression()), people, tmp_path)
    assert keeps == {}
    assert np.float64(CANARY).tobytes() not in held
    (tmp_path / "other").mkdir()
    keeps, held = saved(KNeighborsClassifier(algorithm="brute"), people, tmp_path / "other")
    assert np.float64(CANARY).tobytes() in held  # the check would find it


def test_encoders_that_were_told_their_categories_keep_no_others():
    told = OneHotEncoder(categories=[["a", "b"]])
    assert kept_values([told]) == {}
    assert "categories" in kept_values([OneHotEncoder()])["OneHotEncoder"]


def test_types_that_nobody_knows_are_named():
    class Mine(LogisticRegression.__mro__[-2]):
        def predict(self, X):
            return X

    assert kept_values([Mine()]) == {"Mine": "what it keeps is not known here"}


def test_calibration_is_looked_into(people, tmp_path):
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2)
    model.fit(people.X, people.y)
    assert "IsotonicRegression" in kept_values([model])


def test_a_fit_of_a_linear_model_keeps_nothing(people, tmp_path):
    equipoise.save(fitted(LogisticRegression(), people), tmp_path / "m")
    assert read_manifest(tmp_path / "m")["keeps"] == {}
