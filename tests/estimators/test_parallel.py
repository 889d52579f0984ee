"""Several fits at a time share the cores."""

import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch
from equipoise.estimators.parallel import with_cores


def forest(n_jobs):
    return RandomForestClassifier(n_jobs=n_jobs)


@pytest.mark.parametrize("nest", [lambda f: f, lambda f: make_pipeline(StandardScaler(), f)])
@pytest.mark.parametrize(("asked", "given"), [(-1, 1), (-2, 1), (10**6, 1), (1, 1), (None, None)])
def test_a_learner_gets_at_most_its_share(nest, asked, given):
    learner = nest(forest(asked))
    shared = with_cores(learner, 10_000)
    (n_jobs,) = (v for k, v in shared.get_params().items() if k.endswith("n_jobs"))
    assert n_jobs == given
    assert next(v for k, v in learner.get_params().items() if k.endswith("n_jobs")) == asked
    assert with_cores(learner, 1) is learner


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_learners_that_take_all_cores_unless_told(package):
    library = pytest.importorskip(package)
    kind = library.LGBMClassifier if package == "lightgbm" else library.XGBClassifier
    vote = VotingClassifier([("trees", kind()), ("line", LogisticRegression())])
    assert with_cores(vote, 10_000).get_params()["trees__n_jobs"] == 1


@pytest.mark.parametrize("kind", [Frontier, GridSearch])
def test_reductions_share_the_cores(kind, people, monkeypatch):
    seen = []
    fit = RandomForestClassifier.fit

    def noted(self, X, y, sample_weight=None):
        seen.append(self.n_jobs)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(RandomForestClassifier, "fit", noted)
    monkeypatch.setattr("equipoise.estimators.parallel.cpu_count", lambda: 2)
    learner = RandomForestClassifier(3, max_depth=2, n_jobs=-1, random_state=0)
    size = {"bounds": [0.05]} if kind is Frontier else {"grid_size": 3, "tradeoff": 0.5}
    asked = kind(learner, DemographicParity(eps=0.05), n_jobs=2, **size)
    with parallel_config(backend="threading"):  # in other processes nothing would be noted
        asked.fit(people.X, people.y, sensitive_features=people.A)
    assert set(seen) == {1}
    seen.clear()
    FairClassifier(learner, DemographicParity(eps=0.05)).fit(
        people.X, people.y, sensitive_features=people.A
    )
    assert set(seen) == {-1}
