"""Several fits at a time share the cores."""

import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier

from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch


@pytest.mark.parametrize("kind", [Frontier, GridSearch])
def test_reductions_share_the_cores(kind, people, monkeypatch):
    seen = []
    fit = RandomForestClassifier.fit

    def noted(self, X, y, sample_weight=None):
        seen.append(self.n_jobs)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(RandomForestClassifier, "fit", noted)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
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
