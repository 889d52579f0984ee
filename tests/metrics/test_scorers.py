"""Scorers by hand and through scikit-learn's metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
from people import three_labels
from raw_rates import violation
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

from equipoise import DemographicParity, FairClassifier, metrics


@pytest.fixture(scope="module")
def applicants():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2, 600)
    X = np.column_stack([A + rng.normal(size=600), rng.normal(size=600)])
    y = (X.sum(axis=1) + rng.normal(size=600) > 0.5).astype(int)
    return X, y, A


def test_scorer_scores_probabilities(applicants):
    X, y, A = applicants
    clf = FairClassifier(LogisticRegression(), DemographicParity(0.01))
    clf.fit(X, y, sensitive_features=A)
    scorer = metrics.make_scorer(metrics.demographic_parity_violation)
    expected = violation(y, clf.predict_proba(X)[:, 1], A, np.ones(len(y)), [None])
    assert scorer(clf, X, y, sensitive_features=A) == pytest.approx(-expected)
    better = metrics.make_scorer(metrics.accuracy_score, greater_is_better=True)
    assert better(clf, X, y) == pytest.approx(clf.score(X, y))
    weight = np.arange(1, len(y) + 1)
    expected = clf.score(X, y, sample_weight=weight)
    assert better(clf, X, y, sample_weight=weight) == pytest.approx(expected)
    assert "demographic_parity_violation" in repr(scorer)
    with pytest.raises(ValueError, match="needs sensitive_features"):
        scorer(clf, X, y)


@pytest.mark.usefixtures("routing")
def test_grid_search_by_violation_and_error(applicants):
    X, y, A = applicants
    clf = FairClassifier(LogisticRegression(), DemographicParity())
    search = GridSearchCV(
        clf.set_fit_request(sensitive_features=True),
        {"constraint__eps": [0.01, 0.5]},
        scoring={
            "violation": metrics.make_scorer(metrics.demographic_parity_violation),
            "error": metrics.make_scorer(metrics.error_rate),
            "gap": metrics.make_scorer(metrics.demographic_parity_difference, method="to_overall"),
        },
        refit="violation",
        cv=3,
    ).fit(X, y, sensitive_features=A)
    assert search.best_params_ == {"constraint__eps": 0.01}
    results = search.cv_results_
    assert results["mean_test_violation"][0] > results["mean_test_violation"][1] + 0.05
    assert results["mean_test_error"][0] < results["mean_test_error"][1]
    np.testing.assert_allclose(results["mean_test_violation"], results["mean_test_gap"])


@pytest.mark.usefixtures("routing")
def test_cross_validate_passes_groups_and_weights(applicants):
    X, y, A = applicants
    seen = {}

    def metric(y_true, y_pred, *, sensitive_features, sample_weight=None):
        seen[len(y_true)] = (sensitive_features, sample_weight)
        return 0.25

    scorer = metrics.make_scorer(metric, greater_is_better=True)
    params = {"sensitive_features": A, "sample_weight": np.arange(len(y))}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scores = cross_validate(
        model,
        X,
        y,
        cv=[(np.arange(400), np.arange(400, 600)), (np.arange(200, 600), np.arange(150))],
        scoring=scorer.set_score_request(sample_weight=True),
        params=params,
        error_score="raise",
    )["test_score"]
    assert scores.tolist() == [0.25, 0.25]
    np.testing.assert_array_equal(seen[200][0], A[400:])
    np.testing.assert_array_equal(seen[150][1], np.arange(150))


def test_scorer_of_three_labels_and_of_the_other_label(applicants):
    X, y, A = three_labels(300)
    model = FairClassifier(LogisticRegression(), DemographicParity(0.1), oracle="plugin")
    pmf = model.fit(X, y, sensitive_features=A).predict_proba(X)
    classes = model.classes_.tolist()
    wrong = 1 - pmf[np.arange(len(y)), [classes.index(label) for label in y]].mean()
    assert -metrics.make_scorer(metrics.error_rate)(model, X, y) == pytest.approx(wrong)
    scorer = metrics.make_scorer(metrics.selection_rate, pos_label="top", greater_is_better=True)
    assert scorer(model, X, y) == pytest.approx(pmf[:, classes.index("top")].mean())
    X, y, A = applicants
    model = FairClassifier(LogisticRegression(), DemographicParity(0.01))
    pmf = model.fit(X, y, sensitive_features=A).predict_proba(X)
    scorer = metrics.make_scorer(metrics.selection_rate, pos_label=0, greater_is_better=True)
    assert scorer(model, X, y) == pytest.approx(pmf[:, 0].mean())
