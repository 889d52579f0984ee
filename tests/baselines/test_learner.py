"""The unconstrained learner, and what all baselines can do."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from applicants import applicants
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import DemographicParity, metrics
from equipoise.baselines import Relabeling, Reweighting, ThresholdOptimizer, Unconstrained
from equipoise.rows.hashing import hash_uniform


def test_unconstrained_is_the_learner():
    X, y, A = applicants()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    words = np.array(["no", "yes"])[y]
    ours = Unconstrained(LogisticRegression()).fit(
        X, words, sensitive_features=A, sample_weight=weight
    )
    theirs = LogisticRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.predict(X) == "yes", theirs.predict(X))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.score(X, words) == theirs.score(X, y)


def test_unconstrained_needs_no_groups_and_no_weights():
    X, y, _ = applicants()
    clf = Unconstrained(KNeighborsClassifier()).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), KNeighborsClassifier().fit(X, y).predict(X))
    assert not hasattr(Unconstrained(RidgeClassifier()), "predict_proba")


ALL = [
    Unconstrained(LogisticRegression()),
    Reweighting(LogisticRegression()),
    Relabeling(LogisticRegression()),
    ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0.05)),
]


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_shape(model):
    X, y, A = applicants()
    before = repr(model.get_params())
    with pytest.raises(NotFittedError):
        model.predict(X)
    for features in (X, scipy.sparse.csr_array(X), pd.DataFrame(X, columns=list("abc"))):
        clf = clone(model).fit(features, y, sensitive_features=A)
        groups = {"sensitive_features": A} if isinstance(clf, ThresholdOptimizer) else {}
        copy = pickle.loads(pickle.dumps(clf))
        np.testing.assert_array_equal(
            copy.predict(features, **groups), clf.predict(features, **groups)
        )
        assert clf.n_features_in_ == 3
    assert clf.feature_names_in_.tolist() == list("abc")
    assert repr(model.get_params()) == before
    pipeline = clone(model).set_params(
        estimator=make_pipeline(StandardScaler(), LogisticRegression())
    )
    pipeline.fit(X, y, sensitive_features=A)
    assert pipeline.predict_proba(X, **groups).shape == (len(y), 2)


@pytest.mark.parametrize("model", ALL[1:], ids=lambda m: type(m).__name__)
def test_errors_before_any_fit(model, spy):
    X, y, A = applicants()
    model = clone(model).set_params(estimator=spy())
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has 400 rows but sensitive_features has 3"):
        model.fit(X, y, sensitive_features=A[:3])
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.ones(len(y)), sensitive_features=A)
    if hasattr(model, "scale"):
        with pytest.raises(ValueError, match=r"scale is 1\.5"):
            model.set_params(scale=1.5).fit(X, y, sensitive_features=A)
    else:
        with pytest.raises(TypeError, match="constraint is 'dp'; expected a Constraint"):
            model.set_params(constraint="dp").fit(X, y, sensitive_features=A)
    assert not spy.labels


@pytest.mark.usefixtures("routing")
def test_baselines_inside_a_search():
    X, y, A = applicants(n=600)
    scorer = metrics.make_scorer(metrics.demographic_parity_violation)
    model = Reweighting(LogisticRegression()).set_fit_request(sensitive_features=True)
    search = GridSearchCV(model, {"scale": [0.0, 1.0]}, scoring=scorer, cv=3)
    search.fit(X, y, sensitive_features=A)
    assert search.best_params_ == {"scale": 1.0}
    model = ThresholdOptimizer(LogisticRegression(), DemographicParity(eps=0))
    model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
    scores = cross_validate(
        model,
        X,
        y,
        scoring={"violation": scorer},
        params={"sensitive_features": A},
        error_score="raise",
        cv=3,
    )
    assert (scores["test_violation"] > -0.1).all()
    scores = cross_validate(
        model, X, y, params={"sensitive_features": A}, error_score="raise", cv=3
    )
    assert (scores["test_score"] > 0.6).all()


def test_no_memory_of_the_training_rows():
    X, y, A = applicants(n=5000)
    for model in ALL:
        clf = clone(model).fit(X, y, sensitive_features=A)
        assert len(pickle.dumps(clf)) < len(pickle.dumps(clf.estimator_)) + 10_000


class SensitiveFromX:
    """Supplies the sensitive features, which the common checks do not know of."""

    @staticmethod
    def groups(X):
        try:
            groups = hash_uniform(X) < 0.5
        except TypeError:  # rows of dictionaries and the like, which the learner is to refuse
            return np.arange(len(X)) % 2
        return groups if groups.any() and not groups.all() else np.arange(len(groups)) % 2

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, sensitive_features=self.groups(X), sample_weight=sample_weight)


class CheckedReweighting(SensitiveFromX, Reweighting):
    pass


class CheckedRelabeling(SensitiveFromX, Relabeling):
    pass


WHOLE = "someone of weight two is relabeled as a whole, two people of weight one each by themselves"
CANNOT_PASS = {
    "check_sample_weight_equivalence_on_dense_data": WHOLE,
    "check_sample_weight_equivalence_on_sparse_data": WHOLE,
}


@parametrize_with_checks(
    [
        Unconstrained(LogisticRegression()),
        CheckedReweighting(LogisticRegression()),
        CheckedRelabeling(LogisticRegression()),
    ],
    expected_failed_checks=lambda model: CANNOT_PASS if isinstance(model, Relabeling) else {},
)
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
def test_common_checks(estimator, check):
    check(estimator)
