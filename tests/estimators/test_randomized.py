"""Q and its dice: the same for the same person, fair over people, fresh on request."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.dummy import DummyClassifier

from equipoise import RandomizedClassifier
from equipoise.estimators.randomized import hash_uniform

#: With fixed inputs the p-values are fixed too; a fair hash falls below this once in 10,000 tests.
ODD = 1e-4


def frames():
    return [
        (pytest.importorskip("pandas", reason="needs pandas"), "pandas"),
        (pytest.importorskip("polars", reason="needs Polars"), "Polars"),
        (pytest.importorskip("pyarrow", reason="needs pyarrow"), "Arrow"),
    ]


def as_frame(library, columns):
    return library.table(columns) if hasattr(library, "table") else library.DataFrame(columns)


# The hash depends on values alone


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).integers(-3, 4, size=(500, 4))


NUMBER_TABLES = {
    "floats": lambda X: X.astype(float),
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "negative zeros": lambda X: np.where(X == 0, -0.0, X),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr_matrix": sp.csr_matrix,
    "csr of float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("kind", NUMBER_TABLES)
def test_numbers_hash_alike_in_any_container(kind, numbers):
    np.testing.assert_array_equal(hash_uniform(NUMBER_TABLES[kind](numbers)), hash_uniform(numbers))


def test_numbers_hash_alike_in_frames(numbers):
    for library, _ in frames():
        for dtype in (int, float):
            columns = {f"x{j}": numbers[:, j].astype(dtype) for j in range(4)}
            found = hash_uniform(as_frame(library, columns))
            np.testing.assert_array_equal(found, hash_uniform(numbers))


def test_zeros_written_out_and_entries_in_parts_do_not_matter():
    dense = np.array([[0.0, 3.0], [0.0, 0.0]])
    spelled = sp.coo_array(([0.0, 1.0, 2.0, 0.0], ([0, 0, 0, 1], [0, 1, 1, 1])), shape=(2, 2))
    before = spelled.nnz
    np.testing.assert_array_equal(hash_uniform(spelled), hash_uniform(dense))
    assert spelled.nnz == before  # what the caller passed is left alone


def test_words_hash_alike_in_any_container():
    words = ["ash", "birch", "ash", "cedar", "birch", "ä"] * 3
    expected = hash_uniform(np.array(words))
    assert len(set(expected)) == 4
    pandas, polars, arrow = (library for library, _ in frames())
    alike = [
        words,
        np.array(words, dtype=object),
        pandas.Series(words),
        pandas.Series(words, dtype="category"),
        pandas.Series(words, dtype="string"),
        pandas.Categorical(words, categories=["ä", "cedar", "birch", "ash"]),
        pandas.DataFrame({"tree": words}),
        polars.Series(words),
        polars.Series(words, dtype=polars.Categorical),
        polars.Series(words, dtype=polars.Enum(["ä", "cedar", "birch", "ash"])),
        polars.DataFrame({"tree": words}),
        arrow.array(words),
        arrow.chunked_array([words[:5], words[5:]]),
        arrow.array(words).dictionary_encode(),
        arrow.table({"tree": arrow.array(words).dictionary_encode()}),
    ]
    for values in alike:
        np.testing.assert_array_equal(hash_uniform(values), expected)


def test_mixed_columns_hash_alike():
    columns = {"tree": ["ash", "birch", "ash"], "height": [3, 4, 5], "old": [True, False, True]}
    expected = hash_uniform([list(row) for row in zip(*columns.values(), strict=True)])
    for library, _ in frames():
        np.testing.assert_array_equal(hash_uniform(as_frame(library, columns)), expected)


def test_missing_hash_alike():
    pandas, polars, arrow = (library for library, _ in frames())
    alike = [
        [1.5, float("nan")],
        np.array([1.5, None]),
        np.array([1.5, -float("nan")]),
        pandas.Series([1.5, None]),
        pandas.Series([1.5, None], dtype="Float64"),
        pandas.Series([1.5, pandas.NA], dtype=object),
        polars.Series([1.5, None]),
        arrow.array([1.5, None]),
    ]
    for values in alike:
        np.testing.assert_array_equal(hash_uniform(values), hash_uniform(alike[0]))
    text = [pandas.Series(["a", None], dtype="string"), polars.Series(["a", None]), ["a", None]]
    for values in text:
        np.testing.assert_array_equal(hash_uniform(values), hash_uniform(text[0]))


def test_equal_numbers_hash_alike_whatever_their_type():
    alike = [1, 1.0, True, np.True_, np.int8(1), np.float32(1), Decimal("1.00"), Fraction(2, 2)]
    values = {float(hash_uniform(np.array([value], dtype=object))[0]) for value in alike}
    assert values == {float(hash_uniform([1])[0])}
    large = 2**60
    assert (
        hash_uniform([large])
        == hash_uniform([float(large)])
        == hash_uniform(np.array([large], "O"))
    )
    huge = 2**80
    assert hash_uniform([huge]) == hash_uniform([float(huge)])


def test_large_integers_stay_apart():
    for start, dtype in ((2**53, np.int64), (-(2**60), np.int64), (2**63, np.uint64)):
        values = [start + i for i in range(1000)]
        found = hash_uniform(np.array(values, dtype=dtype))
        assert len(np.unique(found)) == 1000
        np.testing.assert_array_equal(found, hash_uniform(np.array(values, dtype=object)))
    assert len(np.unique(hash_uniform([2**80 + i for i in range(50)]))) == 50


def test_times_hash_alike_in_any_unit():
    moment = datetime(2021, 3, 4, 5, 6, 7)
    alike = [np.array([moment], dtype=f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")]
    alike += [np.array([moment], dtype=object)]
    alike += [np.array([moment.replace(tzinfo=UTC)], dtype=object)]
    pandas, polars, _ = (library for library, _ in frames())
    alike += [pandas.Series([moment]), polars.Series([moment])]
    assert len({float(hash_uniform(values)[0]) for values in alike}) == 1
    day = [np.array(["2021-03-04"], "M8[D]"), np.array(["2021-03-04"], "M8[ns]")]
    day += [np.array([date(2021, 3, 4)], dtype=object)]
    assert len({float(hash_uniform(values)[0]) for values in day}) == 1
    span = [np.array([90], "m8[m]"), np.array([5400], "m8[s]"), [timedelta(minutes=90)]]
    assert len({float(hash_uniform(values)[0]) for values in span}) == 1
    gone = [np.array(["NaT"], "M8[ns]"), [float("nan")]]
    assert len({float(hash_uniform(values)[0]) for values in gone}) == 1


def test_values_without_a_lasting_text_are_refused():
    with pytest.raises(TypeError, match="key"):
        hash_uniform(np.array([object()]))
    with pytest.raises(TypeError, match="key"):
        hash_uniform(np.array([[1], [2, 3]], dtype=object))


def test_position_of_a_value_matters():
    X = np.arange(2000).reshape(-1, 2)
    assert not np.any(hash_uniform(X) == hash_uniform(X[:, ::-1]))
    # An empty column at the end changes nothing; one at the front does.
    nothing = np.zeros((1000, 1))
    np.testing.assert_array_equal(hash_uniform(np.hstack([X, nothing])), hash_uniform(X))
    assert not np.any(hash_uniform(np.hstack([nothing, X + 1])) == hash_uniform(X + 1))


def test_values_do_not_change_from_release_to_release():
    """People keep their decisions when the package is updated: these figures are for good."""
    assert hash_uniform([[1, 2]])[0].hex() == "0x1.98a355e92a304p-2"
    assert hash_uniform(["ash"])[0].hex() == "0x1.c48d93fbf7effp-1"
    assert hash_uniform([[0.5, 0.0]], salt=3)[0].hex() == "0x1.75428e8bdfe1fp-1"


def test_other_processes_agree():
    code = (
        "import numpy as np; from equipoise.estimators.randomized import hash_uniform;"
        "a = hash_uniform(np.random.default_rng(0).normal(size=(50, 3)), salt=5);"
        "b = hash_uniform([f'person {i}' for i in range(50)]);"
        "print(a.tobytes().hex(), b.tobytes().hex())"
    )
    a = hash_uniform(np.random.default_rng(0).normal(size=(50, 3)), salt=5)
    b = hash_uniform([f"person {i}" for i in range(50)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "1234"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [a.tobytes().hex(), b.tobytes().hex()]


# The hash is uniform, whatever the rows look like


def single_bits():
    """Return doubles that differ from pi in one bit each, in every pair of two columns."""
    bits = np.float64(np.pi).view(np.uint64) ^ (np.uint64(1) << np.arange(62, dtype=np.uint64))
    near = bits.view(np.float64)
    return np.stack(np.meshgrid(near, near), axis=-1).reshape(-1, 2)


ADVERSARIES = {
    "normal": lambda: np.random.default_rng(0).normal(size=(20_000, 5)),
    "small integers": lambda: np.arange(20_000),
    "even integers": lambda: np.arange(0, 2**20, 64),
    "powers of two": lambda: np.ldexp(1.0, np.arange(-1000, 1000)),
    "negative integers": lambda: -np.arange(20_000),
    "one-hot rows": lambda: sp.eye_array(20_000, format="csr"),
    "pairs of ones": lambda: sp.csr_array(
        (
            np.ones(40_000),
            np.array(np.triu_indices(201, 1)).T[:20_000].ravel(),
            np.arange(0, 40_001, 2),
        ),
        shape=(20_000, 201),
    ),
    "all bit patterns": lambda: (np.arange(2**14)[:, None] >> np.arange(14)) & 1,
    "small grid": lambda: np.stack(np.meshgrid(np.arange(140), np.arange(140)), -1).reshape(-1, 2),
    "single bits": single_bits,
    "words": lambda: [f"person {i}" for i in range(20_000)],
    "equal columns": lambda: np.repeat(np.arange(20_000)[:, None], 6, axis=1),
    "dates": lambda: np.datetime64("2000-01-01") + np.arange(20_000),
}


@pytest.mark.parametrize("salt", [0, 1, 2**31])
@pytest.mark.parametrize("kind", ADVERSARIES)
def test_uniform(kind, salt):
    u = hash_uniform(ADVERSARIES[kind](), salt=salt)
    assert len(np.unique(u)) == len(u)
    assert ((u >= 0) & (u < 1)).all()
    assert stats.kstest(u, "uniform").pvalue > ODD
    for bins in (2, 16, 256):
        assert stats.chisquare(np.bincount((u * bins).astype(int), minlength=bins)).pvalue > ODD
    low = (u * 2**53).astype(np.uint64) % np.uint64(64)  # the last bits as well as the first
    assert stats.chisquare(np.bincount(low.astype(int), minlength=64)).pvalue > ODD


@pytest.mark.parametrize("kind", ["small integers", "all bit patterns", "single bits"])
def test_neighbours_are_independent(kind):
    u = hash_uniform(ADVERSARIES[kind]())
    assert stats.kstest((u[1:] - u[:-1]) % 1, "uniform").pvalue > ODD
    assert stats.pearsonr(u[1:], u[:-1]).pvalue > ODD


@pytest.mark.parametrize("salts", [(0, 1), (1, 2), (0, 2**32), (7, 8)])
@pytest.mark.parametrize("kind", ["normal", "small integers", "one-hot rows"])
def test_salts_are_independent(kind, salts):
    rows = ADVERSARIES[kind]()
    u, v = (hash_uniform(rows, salt=salt) for salt in salts)
    assert not (u == v).any()
    table = np.histogram2d(u, v, bins=12, range=[[0, 1], [0, 1]])[0]
    assert stats.chi2_contingency(table).pvalue > ODD
    assert stats.kstest((u - v) % 1, "uniform").pvalue > ODD


def test_draw_says_nothing_about_the_features():
    X = np.random.default_rng(0).normal(size=(20_000, 5))
    u = hash_uniform(X)
    assert all(stats.pearsonr(X[:, j], u).pvalue > ODD for j in range(5))
    assert stats.ks_2samp(u[X[:, 0] > 0], u[X[:, 0] <= 0]).pvalue > ODD


# The classifier


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
    u = hash_uniform(X, salt=0)
    drawn = np.where(u < 0.5, 0, np.where(u < 0.7, 1, 2))
    expected = X[:, 0] > np.array([-0.5, 0.0, 1.0])[drawn]
    np.testing.assert_array_equal(decisions, expected)


def test_pmf(Q, X):
    pmf = Q.predict_pmf(X)
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
    np.testing.assert_array_equal(copy.predict_pmf(X), coin.predict_pmf(X))
