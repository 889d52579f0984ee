"""Canary rows: whatever makes a model answer otherwise than it did when it was saved is found."""

import json
import zipfile
from hashlib import sha256
from io import BytesIO

import numpy as np
import pytest
from people import make_people, three_labels
from saving import fitted, resealed, rewrite
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise import DemographicParity, FairClassifier, FairRegressor, Frontier
from equipoise.exceptions import ModelFileError, UntrustedTypeError
from equipoise.files import canaries, read_manifest, verify

skops_io = pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


def canaries_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("canaries.json"))


def as_written_by(path, **libraries):
    """Let a file say that other versions have written it."""
    resealed(path, lambda manifest: manifest["versions"].update(libraries))


def with_part(path, name, data):
    """Replace a part of a file, with right hashes."""
    facts = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    rewrite(path, **{name: data})
    resealed(path, lambda manifest: manifest["parts"].update({name: facts}))


def test_a_learner_that_drifts_is_refused_with_the_versions(saved, monkeypatch):
    assert verify(saved) == 12
    as_written_by(saved, **{"scikit-learn": "1.0"})
    before = LogisticRegression.decision_function

    def drifted(self, X):
        return before(self, X) + 1e-4

    monkeypatch.setattr(LogisticRegression, "decision_function", drifted)
    with pytest.raises(ModelFileError) as caught:
        equipoise.load(saved)
    said = str(caught.value)
    assert "does not answer as it did when it was saved" in said
    assert "written with scikit-learn 1.0 and is read with scikit-learn" in said
    assert "pip install scikit-learn==1.0" in said


def test_rounding_of_another_processor_is_no_drift(saved, monkeypatch):
    before = LogisticRegression.decision_function
    monkeypatch.setattr(
        LogisticRegression, "decision_function", lambda self, X: before(self, X) * (1 + 1e-12)
    )
    assert verify(saved) == 12


def test_decisions_that_drift_are_refused_though_scores_do_not(people, tmp_path, monkeypatch):
    equipoise.save(fitted(DecisionTreeClassifier(max_depth=3), people), tmp_path / "m")
    before = DecisionTreeClassifier.predict
    monkeypatch.setattr(DecisionTreeClassifier, "predict", lambda self, X: 1 - before(self, X))
    with pytest.raises(ModelFileError, match="does not decide as it did when it was saved"):
        equipoise.load(tmp_path / "m")


def test_an_error_of_a_library_is_refused_with_the_versions(people, tmp_path, monkeypatch):
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    equipoise.save(fitted(pipeline, people), tmp_path / "m")
    as_written_by(tmp_path / "m", numpy="1.26.0")

    def transform(self, X):
        raise AttributeError("no attribute '_fill_dtype'")

    monkeypatch.setattr(SimpleImputer, "transform", transform)
    with pytest.raises(ModelFileError, match=r"m cannot be loaded.*raises AttributeError.*numpy 1"):
        equipoise.load(tmp_path / "m")


def test_the_same_versions_are_said_to_be_the_same(saved):
    kept = canaries_of(saved)
    kept["score"]["values"] = [value + 1.0 for value in kept["score"]["values"]]
    with_part(saved, "canaries.json", json.dumps(kept).encode())
    with pytest.raises(ModelFileError, match="the file was changed, or a library was"):
        equipoise.load(saved)


def test_damaged_canaries_are_damage(saved):
    for text in (b"[]", b"{}", b'{"rows": {}}'):
        with_part(saved, "canaries.json", text)
        with pytest.raises(ModelFileError, match="damaged"):
            equipoise.load(saved)


def test_a_type_that_no_library_has_is_not_to_be_trusted(saved):
    with zipfile.ZipFile(BytesIO(skops_io.dumps([OneHotEncoder()]))) as archive:
        schema = archive.read("schema.json")
    members = BytesIO()
    with zipfile.ZipFile(members, "w") as archive:
        changed = schema.replace(b"sklearn.preprocessing._encoders", b"_loss_of_nobody")
        archive.writestr("schema.json", changed)
    with_part(saved, "members.skops", members.getvalue())
    as_written_by(saved, **{"scikit-learn": "1.0"})
    with pytest.raises(ModelFileError, match=r"_loss_of_nobody.*trusting it does not") as caught:
        equipoise.load(saved)
    assert not isinstance(caught.value, UntrustedTypeError)
    assert "scikit-learn==1.0" in str(caught.value)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_rows_are_drawn_from_the_types_of_columns_and_known_categories(library, people, tmp_path):
    module = pytest.importorskip(library)
    town = np.where(people.X[:, 1] > 0, "Rome", "Oslo")
    columns = {
        "age": (people.X[:, 0] * 10).astype(np.int8),
        "pay": people.X[:, 1].astype(np.float32),
        "rich": people.X[:, 2] > 0,
        "town": town.tolist(),
    }
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    encoder = make_column_transformer(
        (OneHotEncoder(), ["town"]), (SimpleImputer(), ["age", "pay", "rich"])
    )
    fair = FairClassifier(make_pipeline(encoder, LogisticRegression()), DemographicParity(0.1))
    fair.fit(table, people.y, sensitive_features=people.A)
    equipoise.save(fair, tmp_path / "m")
    assert read_manifest(tmp_path / "m")["canaries"] == "12 rows"  # none without a town
    rows = canaries_of(tmp_path / "m")["rows"]
    assert rows["table"] == library
    assert set(rows["values"]["town"]["values"]) == {"Rome", "Oslo"}
    ages = rows["values"]["age"]["values"]
    assert all(type(age) is int and -128 <= age <= 127 for age in ages)
    assert rows["types"] == {"age": "Int8", "pay": "Float32", "rich": "Boolean", "town": "String"}
    assert verify(tmp_path / "m") == 12


def test_no_row_is_that_of_a_person(people, tmp_path):
    equipoise.save(fitted(DecisionTreeClassifier(max_depth=2), people), tmp_path / "first")
    other = make_people(seed=5)
    equipoise.save(fitted(DecisionTreeClassifier(max_depth=2), other), tmp_path / "second")
    first, second = (canaries_of(tmp_path / name)["rows"] for name in ("first", "second"))
    assert first == second  # they follow from the columns alone


def test_missing_values_are_asked_about_where_the_model_takes_them(people, tmp_path):
    equipoise.save(fitted(HistGradientBoostingClassifier(max_iter=2), people), tmp_path / "takes")
    equipoise.save(fitted(LogisticRegression(), people), tmp_path / "refuses")
    takes, refuses = (canaries_of(tmp_path / name) for name in ("takes", "refuses"))
    assert takes["rows"]["values"]["shape"] == [16, 3]
    assert {"$float": "nan"} in takes["rows"]["values"]["values"]
    assert refuses["rows"]["values"]["shape"] == [12, 3]


def positive(X):
    if (X < 0).any():
        raise ValueError("a negative number")
    return X


def test_rows_that_a_model_refuses_are_left_out(people, tmp_path):
    learner = make_pipeline(FunctionTransformer(positive), LogisticRegression())
    fair = FairClassifier(learner, DemographicParity(0.1))
    fair.fit(np.abs(people.X), people.y, sensitive_features=people.A)
    recorded = canaries.record(fair, [])
    assert 0 < len(recorded["rows"]["values"]) < 12
    assert (recorded["rows"]["values"] >= 0).all()


def test_a_model_that_answers_no_made_up_row_says_why(people, tmp_path):
    pd = pytest.importorskip("pandas")
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=len(people.y))})
    hours = FunctionTransformer(lambda frame: frame.to_numpy().astype("int64") / 1e18)
    fair = FairClassifier(make_pipeline(hours, LogisticRegression()), DemographicParity(0.5))
    fair.fit(dates, people.y, sensitive_features=people.A)
    with pytest.raises(canaries.NoCanariesError, match="the column 'day' is of type Datetime"):
        canaries.record(fair, [])


def regressor(people):
    fair = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=4)
    return fair.fit(people.X, people.X.sum(axis=1), sensitive_features=people.A)


def frontier(people):
    traced = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.1])
    return traced.fit(people.X, people.y, sensitive_features=people.A)


def many_labels(people):
    X, y, A = three_labels()
    return FairClassifier(LogisticRegression(), DemographicParity(0.1)).fit(
        X, y, sensitive_features=A
    )


KINDS = {
    "regressor": regressor,
    "frontier": frontier,
    "many labels": many_labels,
    "plugin": lambda people: fitted(LogisticRegression(), people, oracle="plugin"),
    "mixture": lambda people: fitted(LogisticRegression(), people).classifier_,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_canaries_that_can_fail(kind, people, tmp_path, monkeypatch):
    model = KINDS[kind](people)
    equipoise.save(model, tmp_path / "m")
    assert verify(tmp_path / "m") == 12
    changed = LinearRegression if kind == "regressor" else LogisticRegression
    names = {"regressor": "predict", "many labels": "predict", "plugin": "predict_proba"}
    name = names.get(kind, "decision_function")
    before = getattr(changed, name)
    monkeypatch.setattr(changed, name, lambda self, X: before(self, X)[::-1])
    with pytest.raises(ModelFileError, match="when it was saved"):
        equipoise.load(tmp_path / "m")
