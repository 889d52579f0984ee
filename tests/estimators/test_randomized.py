"""Q: it follows one member for each person, and tells how often."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from equipoise import RandomizedClassifier
from equipoise.rows.hashing import draw_uniform
from equipoise.rows.tables import take_rows

#: With fixed inputs the p-values are fixed too; a fair hash falls below this once in 10,000 tests.
ODD = 1e-4


class Above:
    """Select whoever has a first value above a threshold; no estimator of scikit-learn."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.threshold).astype(int)


WEIGHTS = np.array([0.5, 0.2, 0.3])


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(3).normal(size=(20_000, 2))


@pytest.fixture(scope="module")
def Q():
    return RandomizedClassifier([Above(-0.5), Above(0.0), Above(1.0)], WEIGHTS)


def test_batch_order_and_subset_do_not_matter(Q, X):
    decisions = Q.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(Q.predict(X[order]), decisions[order])
    np.testing.assert_array_equal(Q.predict(X[:100]), decisions[:100])
    batches = [Q.predict(X[start : start + 777]) for start in range(0, len(X), 777)]
    np.testing.assert_array_equal(np.concatenate(batches), decisions)
    np.testing.assert_array_equal([Q.predict(X[[i]])[0] for i in range(200)], decisions[:200])


def test_decisions_are_a_members(Q, X):
    """Whoever all members agree on gets their answer; each draw follows exactly one of them."""
    decisions = Q.predict(X)
    assert decisions[X[:, 0] > 1.0].all()
    assert not decisions[X[:, 0] <= -0.5].any()
    u = draw_uniform(X, salt=0)
    drawn = np.where(u < 0.5, 0, np.where(u < 0.7, 1, 2))
    expected = X[:, 0] > np.array([-0.5, 0.0, 1.0])[drawn]
    np.testing.assert_array_equal(decisions, expected)


def test_pmf(Q, X):
    pmf = Q.predict_proba(X)
    x = X[:, 0]
    expected = 0.5 * (x > -0.5) + 0.2 * (x > 0) + 0.3 * (x > 1)
    np.testing.assert_allclose(pmf, np.column_stack([1 - expected, expected]), atol=1e-12)
    assert ((pmf >= 0) & (pmf <= 1)).all()


@pytest.mark.parametrize("how", ["hash", "other salt", "key", "fresh"])
def test_frequencies_match_the_pmf(how, Q, X):
    draws = {
        "hash": lambda: Q.predict(X),
        "other salt": lambda: RandomizedClassifier(Q.members, WEIGHTS, random_state=9).predict(X),
        "key": lambda: Q.predict(X, key=np.arange(len(X))),
        "fresh": lambda: Q.predict(X, random_state=1),
    }
    decisions, x = draws[how](), X[:, 0]
    for low, high, probability in ((-0.5, 0.0, 0.5), (0.0, 1.0, 0.7)):
        there = (x > low) & (x <= high)
        selected = int(decisions[there].sum())
        assert stats.binomtest(selected, int(there.sum()), probability).pvalue > ODD


def test_salt_changes_decisions(Q, X):
    other = RandomizedClassifier(Q.members, WEIGHTS, random_state=1)
    assert 0.1 < (other.predict(X) != Q.predict(X)).mean() < 0.5
    again = RandomizedClassifier(Q.members, WEIGHTS, random_state=0)
    np.testing.assert_array_equal(again.predict(X), Q.predict(X))


def test_key_replaces_the_row(Q):
    same = np.full((2000, 2), 0.5)
    assert len(set(Q.predict(same))) == 1  # equal rows share a draw
    keys = [f"customer {i}" for i in range(2000)]
    decisions = Q.predict(same, key=keys)
    assert stats.binomtest(int(decisions.sum()), 2000, 0.7).pvalue > ODD
    # The same person keeps the draw when the row changes within the members' agreement.
    np.testing.assert_array_equal(Q.predict(same + 0.25, key=keys), decisions)
    np.testing.assert_array_equal(Q.predict(same[:10], key=keys[:10]), decisions[:10])
    np.testing.assert_array_equal(Q.predict(same, key=np.array(keys)[:, None]), decisions)


def test_fresh_draws(Q, X):
    first = Q.predict(X, random_state=1)
    np.testing.assert_array_equal(Q.predict(X, random_state=1), first)
    assert (Q.predict(X, random_state=2) != first).any()
    generator = np.random.default_rng(0)
    assert (Q.predict(X, random_state=generator) != Q.predict(X, random_state=generator)).any()
    legacy = np.random.RandomState(0)
    assert (Q.predict(X, random_state=legacy) != Q.predict(X, random_state=legacy)).any()


def test_key_and_fresh_draw_exclude_each_other(Q, X):
    with pytest.raises(ValueError, match="both key and random_state"):
        Q.predict(X, key=np.arange(len(X)), random_state=1)
    with pytest.raises(ValueError, match="key has 3 entries but X has 20000 rows"):
        Q.predict(X, key=[1, 2, 3])


def test_score_is_the_expected_accuracy(Q, X):
    rng = np.random.default_rng(0)
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    weight = rng.random(len(X))
    right = sum(
        share * (y == (X[:, 0] > t)) for share, t in zip(WEIGHTS, (-0.5, 0, 1), strict=True)
    )
    assert Q.score(X, y) == pytest.approx(right.mean(), abs=1e-12)
    expected = (weight * right).sum() / weight.sum()
    assert Q.score(X, y, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    drawn = np.mean([(Q.predict(X, random_state=seed) == y).mean() for seed in range(30)])
    assert Q.score(X, y) == pytest.approx(drawn, abs=0.005)
    with pytest.raises(ValueError, match="expected one label for each of 20000 rows"):
        Q.score(X, y[:5])


def test_labels_of_the_user(X):
    words = RandomizedClassifier([Above(0.0)], [1.0], classes=["no", "yes"])
    np.testing.assert_array_equal(words.predict(X), np.where(X[:, 0] > 0, "yes", "no"))
    assert words.score(X, np.where(X[:, 0] > 0, "yes", "no")) == 1.0
    assert words.score(X, np.full(len(X), "maybe")) == 0.0


def test_members_without_weight_are_dropped(X):
    members = [Above(-0.5), Above(0.0), Above(1.0)]
    Q = RandomizedClassifier(members, [2.0, 0.0, 6.0])
    assert Q.members == [members[0], members[2]]
    np.testing.assert_allclose(Q.weights, [0.25, 0.75])
    assert "2 members" in repr(Q)
    np.testing.assert_array_equal(RandomizedClassifier([Above(0.0)], [3.0]).weights, [1.0])


@pytest.mark.parametrize(
    "weights", [[0.5], [0.5, -0.5], [0.0, 0.0], [np.nan, 1.0], [0.1, 0.2, 0.7]]
)
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="got 2 members and weights"):
        RandomizedClassifier([Above(0.0), Above(1.0)], weights)


def test_weights_at_the_edge(X):
    """Rounding must not let a draw fall beyond the last member."""
    Q = RandomizedClassifier([Above(t) for t in np.linspace(-1, 1, 10)], np.full(10, 0.1))
    decisions = Q.predict(X)
    assert decisions[X[:, 0] > 1].all()
    assert np.cumsum(Q.weights)[-1] == pytest.approx(1)


def test_predictions_of_a_member_are_checked(X):
    class Probability(Above):
        def predict(self, X):
            return np.full(len(X), 0.5)

    with pytest.raises(ValueError, match=r"Probability\.predict returned.*0\.5"):
        RandomizedClassifier([Probability(0.0)], [1.0]).predict(X)


def test_pickle(X):
    yes, no = (
        DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1]) for c in (1, 0)
    )
    coin = RandomizedClassifier([yes, no], [0.3, 0.7], classes=["no", "yes"], random_state=4)
    copy = pickle.loads(pickle.dumps(coin))
    np.testing.assert_array_equal(copy.predict(X), coin.predict(X))
    np.testing.assert_array_equal(copy.predict_proba(X), coin.predict_proba(X))


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_linear_members_decide_as_if_each_row_followed_its_draw(kind, X):
    rng = np.random.default_rng(0)
    labels = [(X @ rng.normal(size=2) > 0.3).astype(int) for _ in WEIGHTS]
    table = {"array": np.asarray, "frame": pd.DataFrame, "sparse": csr_array}[kind](X)
    members = [LogisticRegression().fit(table, label) for label in labels]
    Q = RandomizedClassifier(members, WEIGHTS)
    answers = np.array([member.predict(table) for member in members])
    assert (answers[0] != answers[1]).any()
    expected = answers[Q.draw(table), np.arange(len(X))]
    np.testing.assert_array_equal(Q.predict(table), expected)
    for number in range(20):
        row = take_rows(table, np.array([number]))
        assert Q.predict(row) == expected[number]
