"""Pipelines: the transformers are fitted once."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import NMF, PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from training import (
    ASKED,
    X_NEW,
    A,
    X,
    check_same_as_plain,
    kind,
    lightgbm,
    trainer_of,
)


def test_a_cached_pipeline_is_left_to_its_cache(tmp_path):
    cached = make_pipeline(StandardScaler(), GaussianNB(), memory=str(tmp_path))
    assert kind(cached) == "PlainTrainer"


PIPELINES = {
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "several": lambda: make_pipeline(
        SimpleImputer(), VarianceThreshold(), PolynomialFeatures(), LogisticRegression()
    ),
    "passthrough": lambda: Pipeline([("as it is", "passthrough"), ("nb", GaussianNB())]),
    "columns": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(StandardScaler(), MinMaxScaler()), [0, 1]), remainder="passthrough"
        ),
        LinearSVC(random_state=0),
    ),
    "nested": lambda: make_pipeline(
        StandardScaler(), make_pipeline(MinMaxScaler(), HistGradientBoostingClassifier(max_iter=5))
    ),
    # fit_transform and transform differ in the last digits, or by much
    "PCA": lambda: make_pipeline(PCA(3, random_state=0), LogisticRegression()),
    "NMF": lambda: make_pipeline(
        MinMaxScaler(), NMF(2, init="nndsvda", random_state=0, max_iter=20), LogisticRegression()
    ),
    "LightGBM": lambda: make_pipeline(StandardScaler(), lightgbm()),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_predict_as_plain_refits_do(name):
    estimator = PIPELINES[name]()
    assert kind(estimator) == "PipelineTrainer"
    new = X_NEW.clip(X.min(axis=0), X.max(axis=0))  # NMF takes no negative numbers
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        check_same_as_plain(estimator, new=new)


def test_pipelines_of_frames():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(A == 1, "p", "q"))
    head = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list("abcd")))
    new = pd.DataFrame(X_NEW, columns=list("abcde")).assign(kind="q")
    check_same_as_plain(make_pipeline(head, LogisticRegression()), frame, new)
    head = clone(head).set_output(transform="pandas").set_params(onehotencoder__sparse_output=False)
    check_same_as_plain(make_pipeline(head, LogisticRegression()), frame, new)


def test_the_head_of_a_pipeline_is_fitted_once(monkeypatch):
    fits = []
    real = StandardScaler.fit
    monkeypatch.setattr(StandardScaler, "fit", lambda *a, **k: fits.append(1) or real(*a, **k))
    estimator = make_pipeline(StandardScaler(), GaussianNB())
    trainer = trainer_of(estimator)
    members = [trainer.fit(*asked).classifier for asked in ASKED]
    assert len(fits) == 1
    assert members[0][0] is members[1][0]
    assert members[0][-1] is not members[1][-1]
    assert not hasattr(estimator[0], "mean_")  # the user's own is not touched
    assert list(members[0].named_steps) == list(estimator.named_steps)
