"""Hashes of rows: of the values alone, uniform, and for one person the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from equipoise.rows.hashing import draw_uniform, hash_uniform

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


@pytest.mark.processes
def test_other_processes_agree():
    code = (
        "import numpy as np; from equipoise.rows.hashing import hash_uniform;"
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


# The draws of people


@pytest.mark.parametrize("copy", ["float32", "float64 of float32", "frame", "sparse", "objects"])
def test_single_and_double_precision_draw_alike(copy):
    X = np.random.default_rng(0).normal(size=(2000, 4)) * [1, 1e-4, 1e7, 1e12]
    X[::7, 1], X[::5, 2] = 0.1, 123_456_789
    single = X.astype(np.float32)
    copies = {
        "float32": lambda: single,
        "float64 of float32": lambda: single.astype(float),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(single),
        "sparse": lambda: sp.csr_array(single),
        "objects": lambda: X.astype(object),
    }
    assert (hash_uniform(X) != hash_uniform(single)).all()  # they are other numbers
    np.testing.assert_array_equal(draw_uniform(copies[copy](), salt=3), draw_uniform(X, salt=3))
    assert len(np.unique(draw_uniform(X, salt=3))) == 2000


def test_extreme_numbers_draw_alike():
    values = [1e300, -1e300, 2**2000, 1e-300, 0.0, -0.0, 2.0**53, float("nan"), float("inf")]
    doubles = np.array([np.inf if v == 2**2000 else v for v in values])
    with np.errstate(over="ignore"):
        singles = doubles.astype(np.float32)
    expected = draw_uniform(singles, salt=0)
    np.testing.assert_array_equal(draw_uniform(doubles, salt=0), expected)
    np.testing.assert_array_equal(draw_uniform(np.array(values, dtype=object), salt=0), expected)


def test_rows_of_integers_draw_as_their_copies():
    rows = np.array([[16_777_217, 3], [123_456_789, -4]])
    for kind in (float, np.float32, object):
        np.testing.assert_array_equal(
            draw_uniform(rows.astype(kind), salt=1), draw_uniform(rows, salt=1)
        )


KEYS = [0, 17, -4, 16_777_217, 2**53 - 1, 2**60 + 1, 10**18]


def test_keys_are_whole_numbers_or_their_texts():
    X = np.zeros((len(KEYS), 1))
    pandas = pytest.importorskip("pandas")
    expected = draw_uniform(X, salt=5, key=KEYS)
    np.testing.assert_array_equal(expected, hash_uniform(KEYS, salt=5))
    texts = [str(key) for key in KEYS]
    alike = [texts, np.array(texts), [text.encode() for text in texts], pandas.Series(texts)]
    alike += [np.array(KEYS, dtype=object), pandas.Series(KEYS, dtype="Int64")]
    for key in alike:
        np.testing.assert_array_equal(draw_uniform(X, salt=5, key=key), expected)
    short = np.array([0.0, 17.0, -4.0])
    for key in (short, short.astype(np.float32), short.tolist(), short.astype(object)):
        np.testing.assert_array_equal(draw_uniform(X[:3], salt=5, key=key), expected[:3])
    huge = [2**80, 2**1030, 10**307]
    np.testing.assert_array_equal(
        draw_uniform(X[:3], salt=0, key=huge), draw_uniform(X[:3], salt=0, key=list(map(str, huge)))
    )


def test_other_texts_are_other_people():
    texts = ["17", "017", "17.0", " 17", "+17", "1_7", "\u0661\u0667", "-0", "", "1e1", "A17"]
    drawn = draw_uniform(np.zeros((len(texts), 1)), salt=0, key=texts)
    assert len(np.unique(drawn)) == len(texts)


def test_keys_with_fractions_draw_alike_in_single_precision():
    key = np.random.default_rng(0).normal(size=(50, 2))
    expected = draw_uniform(key, salt=0, key=key)
    for copy in (key.astype(np.float32), key.astype(object)):
        np.testing.assert_array_equal(draw_uniform(key, salt=0, key=copy), expected)


@pytest.mark.parametrize(
    "key",
    [
        [None, "a"],
        [float("nan"), 1.0],
        np.array([np.nan, 1]),
        np.array(["NaT", "2020-01-01"], "M8[D]"),
        np.array([[1, 2], [3, None]], dtype=object),
    ],
)
def test_missing_keys_are_refused(key):
    with pytest.raises(ValueError, match="key has missing values"):
        draw_uniform(np.zeros((2, 1)), salt=0, key=key)


def test_missing_keys_of_frames_are_refused():
    for library, _ in frames():
        key = as_frame(library, {"id": ["a", None]})
        with pytest.raises(ValueError, match="key has missing values"):
            draw_uniform(np.zeros((2, 1)), salt=0, key=key)


@pytest.mark.parametrize(
    "key",
    [np.array([2.0**24 + 2], np.float32), np.array([2.0**60]), [1e20], np.array([1e20], object)],
)
def test_keys_that_lost_their_last_digits_are_refused(key):
    with pytest.raises(ValueError, match=r"of which the last digits may be lost.*integers or str"):
        draw_uniform(np.zeros((1, 1)), salt=0, key=key)
