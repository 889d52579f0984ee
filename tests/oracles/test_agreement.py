"""Agreement of classifiers, against decisions compared one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise.oracles import agreement
from equipoise.oracles.agreement import disagreement, divided


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(501, 3))
    members = [LogisticRegression().fit(X, X @ rng.normal(size=3) > 0) for _ in range(5)]
    return X, members, rng.random(501)


@pytest.mark.parametrize("block", [7, 100, 1 << 14])
def test_weight_of_rows_decided_differently(some, block, monkeypatch):
    X, members, weight = some
    monkeypatch.setattr(agreement, "_BLOCK", block)
    found = disagreement(members, X, weight)
    H = [member.predict(X) for member in members]
    expected = [[weight[a != b].sum() for b in H] for a in H]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    sets = [np.array([0]), np.array([1, 3]), np.array([0, 2, 4]), np.arange(5)]
    for members_of, share in zip(sets, divided(members, X, weight, sets), strict=True):
        mean = np.mean([H[h] for h in members_of], axis=0)
        assert share == pytest.approx(weight[(mean > 0) & (mean < 1)].sum())
