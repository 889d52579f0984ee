"""Write model files with the versions installed here: ``python tools/model_corpus.py``.

The tests read the files of every folder of ``tests/files/corpus`` with the versions that they run
with, so that files of the oldest versions allowed and of the newest ones are read by each other.
All people are made up.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, FairClassifier, FairRegressor, Frontier, save
from equipoise.oracles import Plugin, Refit

TARGET = Path(__file__).resolve().parents[1] / "tests" / "files" / "corpus"


def people(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, labels and groups of made-up people, the same with every version."""
    rng = np.random.RandomState(seed)
    group = rng.randint(0, 2, n)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(4), columns=["a", "b", "c"])
    X["a"] += group
    X["town"] = np.array(["Rome", "Oslo", "Lima"])[rng.randint(0, 3, n)]
    y = (X["a"] + X["b"] + rng.logistic(size=n) > 0.5).astype(int)
    return X, y.to_numpy(), group


def models() -> Iterator[tuple[str, Any]]:
    """Yield the name of each file and its model."""
    frame, y, group = people(240, seed=0)
    X = frame[["a", "b", "c"]].to_numpy()
    with_gaps = frame.copy()
    with_gaps.loc[::7, "b"] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = make_column_transformer((numbers, ["a", "b", "c"]), (OneHotEncoder(), ["town"]))
    boosted = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1)
    learners = {
        "logistic": LogisticRegression(),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
        "bayes": GaussianNB(),
        "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
        "support_vectors": SVC(),
        "gradient_boosting": GradientBoostingClassifier(n_estimators=2, random_state=0),
        "histograms": HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4),
        "lightgbm": boosted,
    }
    bound = DemographicParity(0.02)
    for name, learner in learners.items():
        yield name, FairClassifier(learner, bound).fit(X, y, sensitive_features=group)
    tuned = FairClassifier(boosted, bound, oracle=Refit(threshold="tuned"))
    yield "lightgbm_tuned", tuned.fit(X, y, sensitive_features=group)
    pipeline = make_pipeline(encoder, LogisticRegression())
    yield "pipeline", FairClassifier(pipeline, bound).fit(with_gaps, y, sensitive_features=group)
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.1])
    yield "frontier", frontier.fit(X, y, sensitive_features=group)
    plugin = FairClassifier(LogisticRegression(), bound, oracle=Plugin(cv=2))
    yield "plugin", plugin.fit(X, y, sensitive_features=group)
    regressor = FairRegressor(LinearRegression(), DemographicParity(0.1), thresholds=4)
    yield "regressor", regressor.fit(X, X.sum(axis=1), sensitive_features=group)


def answers(model: Any) -> list[float]:
    """Return the chances of the favourable decision, or the mean predictions, of new people."""
    frame, _, _ = people(60, seed=1)
    rows = frame if hasattr(model, "feature_names_in_") else frame[["a", "b", "c"]].to_numpy()
    if isinstance(model, Frontier):
        model = model.at(0.05)
    if isinstance(model, FairRegressor):
        return model.predict_mean(rows).tolist()
    return model.predict_proba(rows)[:, 1].tolist()


def main() -> None:
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # so that the same model is the same file
    folder = TARGET / f"scikit-learn-{sklearn.__version__}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    expected = {}
    with warnings.catch_warnings(action="ignore"):
        for name, model in models():
            save(model, folder / f"{name}.equipoise")
            expected[name] = answers(model)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    print(f"{len(expected)} files in {folder}")


if __name__ == "__main__":
    main()
