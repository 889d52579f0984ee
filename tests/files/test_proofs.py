"""Proofs in model files: they come back as they were, and people of a proof are remembered."""

import pytest
from people import make_people
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.estimators.guarantees.proofs import _PROVEN
from equipoise.exceptions import NotProvenError, NotProvenWarning, ReusedPeopleWarning
from equipoise.files import read_manifest

RULE = DemographicParity(0.3, reference="pairwise")


@pytest.fixture(autouse=True)
def no_proofs_before():
    _PROVEN.clear()
    yield
    _PROVEN.clear()


@pytest.mark.parametrize("eps", [0.4, 0.001])
def test_a_proof_comes_back(eps, tmp_path):
    X, y, A = make_people(600)
    rule = DemographicParity(eps, reference="pairwise")
    model = FairClassifier(LogisticRegression(), rule, confidence=0.9)
    if eps < 0.01:
        with pytest.warns(NotProvenWarning):
            model.fit(X, y, sensitive_features=A)
    else:
        model.fit(X, y, sensitive_features=A)
    equipoise.save(model, tmp_path / "m.equipoise")
    again = equipoise.load(tmp_path / "m.equipoise")
    assert again.proof_ == model.proof_
    assert read_manifest(tmp_path / "m.equipoise")["proof"]["text"] == model.proof_.sentence
    if not model.proof_.holds:
        with pytest.raises(NotProvenError):
            again.predict(X)


def test_a_frontier_from_a_file_knows_whom_it_used(tmp_path):
    X, y, A = make_people(600)
    frontier = Frontier(LogisticRegression(), RULE, bounds=[0.02, 0.3]).fit(
        X, y, sensitive_features=A
    )
    X, y, A = make_people(600, seed=1)
    frontier.prove(X, y, sensitive_features=A)
    equipoise.save(frontier, tmp_path / "f.equipoise")
    _PROVEN.clear()  # another process
    again = equipoise.load(tmp_path / "f.equipoise")
    assert list(again.proofs_) == read_manifest(tmp_path / "f.equipoise")["people_of_proofs"]
    with pytest.warns(ReusedPeopleWarning):
        again.prove(X, y, sensitive_features=A, eps=0.4)
