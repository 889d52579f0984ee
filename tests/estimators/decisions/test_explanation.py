"""Why this person: decision, draw, members, scores, cuts, and the unconstrained decision."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from people import make_people
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from equipoise import DemographicParity, FairClassifier, GridSearch, ResampledClassifier
from equipoise.oracles.specs import Refit

X, Y, A = make_people(600, seed=3)
WORDS = np.where(Y == 1, "hired", "not hired")


@pytest.fixture(scope="module")
def model():
    oracle = Refit(threshold="learner")
    fair = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02), oracle=oracle)
    return fair.fit(X, WORDS, sensitive_features=A)


def test_it_explains_what_predict_decides(model):
    for key in (None, np.arange(600)):
        found = model.explain(X, key=key)
        np.testing.assert_array_equal(found.decision, model.predict(X, key=key))
        p = model.predict_proba(X)[:, model.classes_.tolist().index("hired")]
        np.testing.assert_allclose(found.probability, p)
        np.testing.assert_array_equal(found.drawn, (p > 1e-12) & (p < 1 - 1e-12))
        for j, member in enumerate(model.classifier_.members):
            np.testing.assert_array_equal(found.selects[:, j], member.predict(X) == 1)
            above = found.scores[:, j] > found.cuts[j]
            np.testing.assert_array_equal(above, found.selects[:, j])
        followed = found.selects[np.arange(600), found.member]
        np.testing.assert_array_equal(found.decision, model.classes_[followed.astype(int)])


def test_without_constraints(model):
    found = model.explain(X)
    plain = LogisticRegression().fit(X, WORDS)
    np.testing.assert_array_equal(found.unconstrained, plain.predict(X))
    np.testing.assert_allclose(found.chance, plain.predict_proba(X)[:, 0], atol=1e-3)
    np.testing.assert_array_equal(found.differs, found.decision != found.unconstrained)
    assert 0 < found.differs.mean() < 0.5


def test_one_row_in_words(model):
    found = model.explain(X)
    drawn, sure = int(np.argmax(found.drawn)), int(np.argmin(found.drawn))
    text = str(model.explain(X[drawn : drawn + 1]))
    assert text.startswith(f"Row 0: {found.decision[drawn]}, drawn: hired had a probability of")
    assert f"{found.probability[drawn]:.3f}" in text
    assert text.count("Member ") == len(model.classifier_.members)
    assert text.count("which was drawn") == 1
    assert "Chance of the label hired: " in text
    text = str(model.explain(X[sure : sure + 1]))
    assert "not drawn: both members agree" in text
    differs = int(np.argmax(found.differs))
    assert f"Without constraints: {found.unconstrained[differs]}." in found.sentences(differs)
    same = int(np.argmin(found.differs))
    assert "Without constraints: the same." in found.sentences(same)


def test_tables(model):
    found = model.explain(X)
    table = found.to_pandas()
    assert isinstance(table, pd.DataFrame)
    assert len(table) == len(found) == 600
    for name in ("decision", "probability", "drawn", "member", "chance of label", "unconstrained"):
        assert name in table
    assert (table["member 0 weight"] == model.classifier_.weights[0]).all()
    assert (table["differs"] == found.differs).all()
    assert "590 more rows" in str(found)
    assert "590 more rows" in found._repr_html_()
    assert found._repr_html_().count("<tr>") == 11


def test_html_is_escaped():
    words = np.where(Y == 1, "<b>yes", "<b>no")
    constraint = DemographicParity(eps=0.5)
    grid = GridSearch(LogisticRegression(), constraint, grid_size=3, positive="<b>yes")
    found = grid.fit(X, words, sensitive_features=A).explain(X[:1])
    assert "<b>" not in found._repr_html_()
    assert "more rows" not in found._repr_html_()
    assert "by a fixed rule" in str(found)


def test_members_without_scores():
    silent = FairClassifier(ResampledClassifier(LinearSVC()), DemographicParity(eps=0.5))
    found = silent.fit(X, Y, sensitive_features=A).explain(X[:3])
    assert np.isnan(found.scores).all()
    assert "score" not in str(found)
    assert "Chance" not in str(found)


def test_rows_elsewhere_are_refused(model):
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="not in memory"):
        model.explain(da.from_array(X))
    rows = da.from_array(X, chunks=(200, 3))
    for method in ("label_proba", "decision_function", "margin"):
        lazy = getattr(model, method)(rows)
        assert hasattr(lazy, "compute")
        np.testing.assert_allclose(lazy.compute(scheduler="synchronous"), getattr(model, method)(X))


def test_a_dask_frame_is_explained_by_partition(model):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    found = rows.map_partitions(lambda part: model.explain(part.to_numpy()).to_pandas())
    expected = model.explain(X).to_pandas()
    found = found.compute(scheduler="synchronous")
    for name in ("decision", "drawn", "member"):
        np.testing.assert_array_equal(found[name], expected[name])
    np.testing.assert_allclose(found["member 0 score"], expected["member 0 score"])
