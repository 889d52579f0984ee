"""The evidence of a model in its file: kept whole, or left out whole."""

import json
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equipoise
from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.estimators import Monitor
from equipoise.exceptions import (
    EquipoiseWarning,
    FewPeopleWarning,
    NoEvidenceError,
    NotProvenError,
    NotProvenWarning,
)
from equipoise.files import read_manifest

N = 600
KINDS = [FairClassifier, ExponentiatedGradient, GridSearch]


@pytest.fixture(scope="module")
def few():
    """People of whom three are X, all with label 1; weights tell every sum from all others."""
    rng = np.random.default_rng(0)
    A = rng.choice(["F", "M", "D"], N, p=[0.5, 0.4, 0.1])
    A[:3] = "X"
    X = np.column_stack([(A == "M") + rng.normal(size=N), rng.normal(size=N)])
    y = (X.sum(axis=1) + rng.normal(size=N) > 0.5).astype(int)
    y[:3] = 1
    return X, y, A, rng.uniform(0.5, 2, N)


def fitted(kind, few, constraint, **how):
    X, y, A, weight = few
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)  # nobody is X with label 0
        how = {"bounds": [0.05, 0.1]} | how if kind is Frontier else how
        how = how if kind in (ExponentiatedGradient, GridSearch) else {"nu": 0.01} | how
        model = kind(LogisticRegression(), constraint, **how)
        return model.fit(X, y, sensitive_features=A, sample_weight=weight)


def saved(model, path, **how):
    """Save a model; return all numbers of the file, the manifest and the model again."""
    equipoise.save(model, path, overwrite=True, **how)
    with zipfile.ZipFile(path) as archive:
        parts = [json.loads(archive.read(name)) for name in ("state.json", "manifest.json")]
    return np.array(numbers(parts)), parts[1], equipoise.load(path)


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for entry in value for number in numbers(entry)]
    return [float(value)] if type(value) in (int, float) else []


def counted(model, few):
    """Numbers about people: how many, what share, and how often they are selected, by group."""
    X, y, A, weight = few
    selected = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    share, found = weight / weight.sum(), [N, (y * weight).sum() / weight.sum()]
    for group in "FMDX":
        for label in (0, 1):
            inside = (group == A) & (y == label)
            found += [inside.sum(), share[inside].sum(), share[inside] @ selected[inside]]
    return np.array([number for number in found if number not in (0, 1, 2, 3)])


def test_the_evidence_is_kept_whole_and_groups_of_few_are_said(few, tmp_path):
    model = fitted(FairClassifier, few, DemographicParity(eps=0.05))
    with pytest.warns(FewPeopleWarning, match="counts people in groups of fewer than 10") as told:
        _, manifest, again = saved(model, tmp_path / "m")
    assert len(told) == 1
    assert "evidence=False" in manifest["few"]
    assert again.certificate_.check() == model.certificate_.check()
    before, after = model.tallies_["training"].cells, again.tallies_["training"].cells
    assert after.count.tolist() == before.count.tolist()
    assert {row.group for row in again.certificate_.rows} == set("FMDX")
    assert {row.name.partition(":")[2].split()[0] for row in Monitor(again).rows_} == set("FMDX")


def test_nothing_is_said_where_no_group_is_of_few(few, tmp_path):
    X, y, A, _ = few
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model.fit(X[3:], y[3:], sensitive_features=A[3:])
    assert saved(model, tmp_path / "m")[1]["few"] == ""


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.FewPeopleWarning")
def test_a_frontier_from_a_file_answers_to_all_bounds(few, tmp_path):
    X = few[0]
    frontier = fitted(Frontier, few, DemographicParity())
    _, _, again = saved(frontier, tmp_path / "m")
    for eps in (0.05, 0.07):
        assert (again.at(eps).predict(X) == frontier.at(eps).predict(X)).all()
    assert again.with_constraint(DemographicParity(reference="pairwise")).points_
    with pytest.raises(ValueError, match=r"save\(frontier.at\(eps\), path, evidence=False\)"):
        equipoise.save(frontier, tmp_path / "f", evidence=False)
    equipoise.save(frontier.at(0.07), tmp_path / "f", evidence=False)


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.FewPeopleWarning")
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_without_evidence_a_model_decides_and_counts_nobody(kind, few, tmp_path):
    X = few[0]
    model = fitted(kind, few, DemographicParity(eps=0.05))
    secrets = counted(model, few)
    whole, _, _ = saved(model, tmp_path / "whole")
    near = [np.abs(whole - secret).min() <= 1e-9 for secret in secrets]
    assert np.mean(near) > 0.5  # the search finds what is there
    found, manifest, again = saved(model, tmp_path / "m", evidence=False)
    for secret in secrets:
        assert np.abs(found - secret).min() > 1e-9 * secret
    assert manifest["evidence"] is False
    assert manifest["few"] == ""
    assert (again.predict(X) == model.predict(X)).all()
    kept = equipoise.load(tmp_path / "m")
    equipoise.save(kept, tmp_path / "again", evidence=False)
    assert (equipoise.load(tmp_path / "again").predict(X) == model.predict(X)).all()


def test_what_is_left_out_says_so_and_what_to_do(few, tmp_path):
    X, y, A, _ = few
    model = fitted(FairClassifier, few, DemographicParity(eps=0.05))
    _, _, again = saved(model, tmp_path / "m", evidence=False)
    for ask in (
        lambda: again.certificate_,
        lambda: again.tallies_,
        lambda: again.violations_,
        lambda: again.report(),
        lambda: again.report(X, y, sensitive_features=A),
        lambda: Monitor(again),
    ):
        with pytest.raises(NoEvidenceError, match="Load the file that has the evidence, or fit"):
            ask()
    assert not hasattr(again, "certificate_")
    unfitted = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    with pytest.raises(AttributeError, match="no attribute 'certificate_'"):
        unfitted.certificate_  # noqa: B018
    assert model.certificate_.feasible  # the model itself has lost nothing


def test_a_pipeline_loses_the_evidence_of_its_last_step(few, tmp_path):
    X, y, A, _ = few
    inner = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model = make_pipeline(StandardScaler(), inner).fit(X, y, fairclassifier__sensitive_features=A)
    with pytest.warns(FewPeopleWarning):
        equipoise.save(model, tmp_path / "m")
    _, _, again = saved(model, tmp_path / "m", evidence=False)
    assert (again.predict(X) == model.predict(X)).all()
    assert not hasattr(again[-1], "certificate_")
    assert model[-1].certificate_.evidence is not None


def test_a_model_that_is_not_proven_does_not_lose_that(few, tmp_path):
    X, y, A, _ = few
    rule = EqualizedOdds(0.001)
    model = FairClassifier(LogisticRegression(), rule, confidence=0.9)
    groups = np.where(A[3:] == "M", "M", "F")
    with pytest.warns(NotProvenWarning):
        model.fit(X[3:], y[3:], sensitive_features=groups)
    with pytest.raises(NotProvenError):
        equipoise.save(model, tmp_path / "m", evidence=False)
    assert not (tmp_path / "m").exists()


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.FewPeopleWarning")
def test_the_manifest_says_that_plugin_classifiers_keep_costs_of_cells(few, tmp_path):
    saved(fitted(FairClassifier, few, DemographicParity(eps=0.05), oracle="plugin"), tmp_path / "m")
    assert "how many people" in read_manifest(tmp_path / "m")["keeps"]["PluginClassifier"]
