"""The reductions as citizens of scikit-learn: parameters, pipelines, searches, looks."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from fitting import RANDOMIZED, REDUCTIONS, A, X, Y, fitted, make
from people import selection_gap
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
)

# Parameters


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_parameters_of_the_parts(reduction):
    fair = make(reduction, make_pipeline(StandardScaler(), LogisticRegression()))
    assert fair.get_params()["constraint__eps"] == 0.05
    assert fair.get_params()["estimator__logisticregression__C"] == 1.0
    assert "constraint__eps" not in fair.get_params(deep=False)
    fair.set_params(constraint__eps=0.1, estimator__logisticregression__C=3.0, nu=0.01)
    assert (fair.constraint.eps, fair.estimator[-1].C, fair.nu) == (0.1, 3.0, 0.01)
    with pytest.raises(ValueError, match="epsilon"):
        fair.set_params(constraint__epsilon=0.1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_parameters_of_both_constraints(reduction):
    fair = make(reduction, constraint=DemographicParity(eps=0.1) & EqualizedOdds(eps=0.2))
    assert fair.get_params()["constraint__0__eps"] == 0.1
    assert fair.get_params()["constraint__1__eps"] == 0.2
    fair.set_params(constraint__0__eps=0.3, constraint__1__reference="pairwise")
    copy = clone(fair)
    assert [part.eps for part in copy.constraint.parts] == [0.3, 0.2]
    assert copy.constraint.parts[1].reference == "pairwise"
    copy.set_params(constraint__1__eps=0.9)
    assert fair.constraint.parts[1].eps == 0.2  # the copy shares nothing
    fair.fit(X, Y, sensitive_features=A)
    if reduction is FairClassifier:
        assert selection_gap(fair.predict_proba(X)[:, 1], A) <= 0.3 + 1e-7


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_clone_is_unfitted_and_its_own(reduction):
    fair = fitted(reduction)
    copy = clone(fair)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    copy.set_params(constraint__eps=0.4)
    assert fair.constraint.eps == 0.05
    copy.set_params(constraint__eps=0.05).fit(X, Y, sensitive_features=A)
    np.testing.assert_array_equal(copy.predict(X), fair.predict(X))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_fit_writes_no_parameter(reduction):
    fair = make(
        reduction,
        make_pipeline(StandardScaler(), LogisticRegression()),
        DemographicParity(eps=0.1) & EqualizedOdds(eps=0.1),
        sampling_slack=0.01,
        **({"B": None, "callback": lambda each: None} if reduction in RANDOMIZED else {}),
    )
    before = fair.get_params(deep=True)
    frozen = pickle.dumps({k: v for k, v in before.items() if k != "callback"})
    fair.fit(X, Y, sensitive_features=A, sample_weight=np.arange(len(Y)) + 1.0)
    after = fair.get_params(deep=True)
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert pickle.dumps({k: v for k, v in after.items() if k != "callback"}) == frozen
    for name in ("X", "y", "A"):
        assert not hasattr(fair, name)


def test_defaults_are_resolved_into_attributes():
    fair = fitted()
    assert fair.nu_ == pytest.approx(0.1 / np.sqrt(len(Y)))
    assert np.isinf(fair.B_)
    eg = fitted(ExponentiatedGradient)
    assert (eg.nu_, eg.B_) == pytest.approx((0.1 / np.sqrt(len(Y)), np.sqrt(len(Y))))
    given = fitted(nu=0.02, B=7)
    assert (given.nu_, given.B_) == (0.02, 7.0)
    weight = np.where(np.arange(len(Y)) < 100, 1.0, 0.0)
    sparse = make().fit(X, Y, sensitive_features=A, sample_weight=weight)
    assert sparse.nu_ == pytest.approx(0.1 / np.sqrt(100))


# Pipelines and searches


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_last_step_of_a_pipeline(reduction):
    loose = DemographicParity(eps=0.3)
    fair = make(reduction, constraint=loose).set_fit_request(
        sensitive_features=True, sample_weight=True
    )
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    outer = Pipeline([("scale", scaler), ("fair", fair)])
    weight = np.random.default_rng(0).integers(1, 3, len(Y))
    outer.fit(X, Y, sensitive_features=A, sample_weight=weight)
    alone = make(reduction, constraint=loose).fit(
        StandardScaler().fit_transform(X), Y, sensitive_features=A, sample_weight=weight
    )
    np.testing.assert_array_equal(
        outer.predict(X), alone.predict(StandardScaler().fit_transform(X))
    )
    assert outer.set_params(fair__constraint__eps=0.5)[-1].constraint.eps == 0.5


def test_last_step_of_a_pipeline_without_routing():
    outer = make_pipeline(StandardScaler(), make())
    outer.fit(X, Y, fairclassifier__sensitive_features=A)
    assert selection_gap(outer[-1].predict_proba(outer[0].transform(X))[:, 1], A) <= 0.05 + 1e-7
    with pytest.raises(ValueError, match="set_fit_request"):
        make_pipeline(StandardScaler(), make()).fit(X, Y)


@pytest.mark.usefixtures("routing")
def test_pipeline_passes_the_key_on():
    fair = make(nu=1e-4).set_fit_request(sensitive_features=True).set_predict_request(key=True)
    outer = make_pipeline(StandardScaler(), fair).fit(X, Y, sensitive_features=A)
    key = np.arange(len(Y))
    inner = outer[-1].predict(outer[0].transform(X), key=key)
    np.testing.assert_array_equal(outer.predict(X, key=key), inner)
    assert (outer.predict(X, key=key) != outer.predict(X, key=key + 1)).any()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_search_over_the_bound(reduction):
    fair = make(reduction).set_fit_request(sensitive_features=True)
    search = GridSearchCV(fair, {"constraint__eps": [0.02, 0.3]}, cv=2, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a grid of 5 need not meet 0.02
        search.fit(X, Y, sensitive_features=A)
    assert search.best_params_ == {"constraint__eps": 0.3}  # accuracy alone prefers no bound
    assert search.best_estimator_.constraint.eps == 0.3
    assert fair.constraint.eps == 0.05
    assert len(search.cv_results_["params"]) == 2


@pytest.mark.usefixtures("routing")
def test_search_through_a_pipeline():
    fair = make().set_fit_request(sensitive_features=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), fair),
        {"fairclassifier__constraint__eps": [0.05, 0.3], "fairclassifier__estimator__C": [1.0]},
        cv=2,
        error_score="raise",
    ).fit(X, Y, sensitive_features=A)
    assert set(search.best_params_) == {
        "fairclassifier__constraint__eps",
        "fairclassifier__estimator__C",
    }


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.usefixtures("routing")
def test_cross_validate(reduction):
    fair = make(reduction, constraint=DemographicParity(eps=0.3))
    fair.set_fit_request(sensitive_features=True)
    params = {"sensitive_features": A}
    result = cross_validate(
        fair, X, Y, params=params, cv=3, return_estimator=True, error_score="raise"
    )
    assert (result["test_score"] > 0.6).all()
    for part in result["estimator"]:
        check_is_fitted(part)
    scores = cross_val_score(fair, X, Y, params=params, cv=3)
    np.testing.assert_allclose(scores, result["test_score"])


@pytest.mark.usefixtures("routing")
def test_search_without_a_request_says_what_to_do():
    with pytest.raises(Exception, match=r"sensitive_features"):
        cross_validate(make(), X, Y, params={"sensitive_features": A}, error_score="raise")
    # Not passing A at all is caught by the estimator itself.
    fair = make().set_fit_request(sensitive_features=True)
    with pytest.raises(ValueError, match="set_fit_request"):
        cross_validate(fair, X, Y, cv=2, error_score="raise")


@pytest.mark.usefixtures("routing")
def test_requests():
    fair = make().set_fit_request(sensitive_features=True, sample_weight="weight")
    requests = fair.get_metadata_routing().fit.requests
    assert requests["sensitive_features"] is True
    assert requests["sample_weight"] == "weight"
    assert requests["control_features"] is None
    assert clone(fair).get_metadata_routing().fit.requests == requests


# Looks


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_html(reduction):
    fair = make(reduction, make_pipeline(StandardScaler(), LogisticRegression()))
    for state in (fair, fair.fit(X, Y, sensitive_features=A)):
        html = state._repr_html_()
        for part in (reduction.__name__, "StandardScaler", "LogisticRegression"):
            assert part in html
    assert "DemographicParity(eps=0.05)" in repr(fair)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_feature_names(reduction):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(X, columns=["age", "income", "debt"])
    fair = make(reduction).fit(frame, Y, sensitive_features=A)
    assert fair.feature_names_in_.tolist() == ["age", "income", "debt"]
    with pytest.raises(ValueError, match="feature names should match"):
        fair.predict(frame[["debt", "age", "income"]])
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        fitted(reduction).predict(X[:, :2])
    fair.fit(X, Y, sensitive_features=A)
    assert not hasattr(fair, "feature_names_in_")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_unfitted(reduction):
    for method in ("predict", "predict_proba", "score"):
        arguments = (X, Y) if method == "score" else (X,)
        with pytest.raises(NotFittedError):
            getattr(make(reduction), method)(*arguments)
