"""Models on which metadata were requested are saved like others."""

import pytest
import sklearn
from saving import round_trip
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, FairClassifier, Frontier

pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def fair(learner=None):
    learner = LogisticRegression() if learner is None else learner
    model = FairClassifier(learner, DemographicParity(eps=0.05))
    return model.set_fit_request(sensitive_features=True)


def frontier():
    learner = LogisticRegression().set_fit_request(sample_weight=True)
    return Frontier(learner, DemographicParity(), bounds=[0.05])


KINDS = {
    "model": fair,
    "learner": lambda: fair(LogisticRegression().set_fit_request(sample_weight=True)),
    "pipeline": lambda: Pipeline([("scale", StandardScaler()), ("fair", fair())]),
    "search": lambda: GridSearchCV(fair(), {"estimator__C": [0.1, 1.0]}, cv=2),
    "frontier": frontier,
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_saved_and_loaded_with_their_requests(kind, people, tmp_path):
    model = KINDS[kind]().fit(people.X, people.y, sensitive_features=people.A)
    after = round_trip(model, tmp_path)
    before = model.at(0.05) if kind == "frontier" else model
    other = after.at(0.05) if kind == "frontier" else after
    assert (other.predict(people.X) == before.predict(people.X)).all()
    if kind == "model":
        owner = model._metadata_request.owner  # what was saved is as it was
        assert owner is model or owner == type(model).__name__  # as scikit-learn's version has it
        assert after._metadata_request.fit.requests["sensitive_features"] is True
        again = after.fit(people.X, people.y, sensitive_features=people.A)
        assert (again.predict(people.X) == before.predict(people.X)).all()


def test_of_a_search_the_best_estimator_is_saved(people, tmp_path):
    search = GridSearchCV(fair(), {"estimator__C": [1.0]}, cv=2)
    search.fit(people.X, people.y, sensitive_features=people.A)
    assert type(round_trip(search, tmp_path)) is FairClassifier
    search.set_params(refit=False).fit(people.X, people.y, sensitive_features=people.A)
    with pytest.raises(TypeError, match=r"refitted \(refit=True\)"):
        round_trip(search, tmp_path / "other")
