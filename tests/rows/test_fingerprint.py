"""The fingerprint of people: counts against sets of raw rows."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from equipoise.report.text import who_are
from equipoise.rows.fingerprint import (
    SKETCH_SIZE,
    Fingerprint,
    LocalHashes,
    Overlap,
    least_hashes,
)
from equipoise.rows.hashing import as_uniform, hash_people, parts_of, with_salt


def people(n, seed=0, decimals=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).round(decimals), rng.integers(0, 2, n)


def hashed(X, y):
    return LocalHashes(np.array_split(hash_people(X, y, 1), 3))


def raw_overlap(A, B):
    """Count rows of B, with label, that are in A: Python sets, no hashes of ours."""
    known = {(*row, label) for row, label in zip(A[0].tolist(), A[1].tolist(), strict=True)}
    rows = zip(B[0].tolist(), B[1].tolist(), strict=True)
    return sum((*row, label) in known for row, label in rows)


@pytest.mark.parametrize("decimals", [8, 0])  # with 0, many rows are equal
def test_small_fits_are_counted_exactly(decimals):
    X, y = people(3000, decimals=decimals)
    fit = Fingerprint.of(hashed(X[:2000], y[:2000]))
    found = fit.overlap(hashed(X[1500:], y[1500:]))
    expected = raw_overlap((X[:2000], y[:2000]), (X[1500:], y[1500:]))
    assert found == Overlap(1500, expected, expected, expected)
    assert expected >= 500


def test_a_person_with_another_label_is_another_person():
    X, y = people(100)
    fit = Fingerprint.of(hashed(X, y))
    assert fit.overlap(hashed(X, 1 - y)).estimate == 0


@pytest.mark.parametrize("n", [1000, 30_000])
def test_people_with_another_number_were_learned_from(n):
    X, _ = people(2 * n)
    y = np.random.default_rng(1).normal(size=2 * n)

    def numbered(rows, y):
        return LocalHashes(parts_of(hash_people(X[rows], y[rows])))

    fit = Fingerprint.of(numbered(slice(n), y))
    found = fit.overlap(numbered(slice(n), y + 0.001))
    assert found.estimate == pytest.approx(n, rel=0 if n < 4096 else 0.1)
    assert str(found).endswith("of them were learned from, or equal somebody who was in features")
    assert fit.overlap(numbered(slice(n), y)).same  # the hash of the table has the numbers
    new = fit.overlap(numbered(slice(n, None), y))
    assert (new.estimate, new.relabelled) == (0, 0)


def test_others_who_all_equal_somebody_learned_from_are_not_called_learned_from():
    X, y = people(1000)
    X = (X[:, :1] > 0).astype(float)
    found = Fingerprint.of(hashed(X[:500], y[:500])).overlap(hashed(X[500:], y[500:]))
    assert found.estimate == 500
    assert str(found).startswith("all of them were learned from, or equal somebody who was")
    assert who_are("test", found) == f"people ({found})"


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("n", [1000, 30_000])
def test_people_with_another_label_are_counted_too(labels, n):
    X, _ = people(n + n // 2)
    y = np.arange(len(X)) % labels
    hashes = partial(hash_people, X[:n])
    fit = Fingerprint.of(LocalHashes([hashes(y[:n], *range(1, labels))]))
    other = np.where(np.arange(len(X)) % 4 == 0, (y + 1) % labels, y)  # one in four is relabelled
    asked = slice(n // 2, None)
    found = fit.overlap(
        LocalHashes([hash_people(X[asked], other[asked], *range(1, labels))]), labels
    )
    assert found.estimate == pytest.approx(3 * n / 8, rel=0.001 if n < 4096 else 0.15)
    assert found.relabelled == pytest.approx(n / 8, rel=0.001 if n < 4096 else 0.25)
    assert "with another label" in str(found)
    all_others = fit.overlap(
        LocalHashes([hash_people(X[:n], (y[:n] + 1) % labels, *range(1, labels))]), labels
    )
    assert all_others.estimate == 0
    assert not all_others.is_nobody
    new = fit.overlap(LocalHashes([hash_people(X[n:], y[n:], *range(1, labels))]), labels)
    assert new.relabelled == 0
    assert new.is_nobody is (n < 4096)


@pytest.mark.parametrize("n", [1000, 30_000])
def test_people_who_are_there_with_either_label_are_in_both_counts(n):
    X, y = people(n)[0], np.arange(n) % 2
    twice = hash_people(np.vstack([X, X]), np.append(y, 1 - y), 1)
    fit = Fingerprint.of(LocalHashes([twice]))
    found = fit.overlap(LocalHashes([hash_people(X, y, 1)]), 2)
    within = 0.001 if n < 2000 else 0.15
    assert found.estimate == pytest.approx(n, rel=within)
    assert found.relabelled == pytest.approx(n, rel=within)
    assert " more " not in str(found)


def test_one_person_many_times_is_not_taken_for_many():
    X, y = people(40_000)
    fit = Fingerprint.of(hashed(X, y))
    salted = as_uniform(with_salt(hash_people(X, y, 1), fit.salt))
    row = int(np.flatnonzero(np.isin(salted, fit.sketch[:-1]))[0])
    new, labels = people(500, seed=9)
    X, y = np.vstack([np.repeat(X[[row]], 1000, 0), new]), np.append(np.full(1000, y[row]), labels)
    found = fit.overlap(hashed(X, y))
    assert 1000 <= found.low <= found.high < 1500
    assert "all of them" not in str(found)


@pytest.mark.parametrize("shared", [0, 2000, 10_000])
def test_estimates_for_large_fits_cover_the_truth(shared):
    covered = 0
    for seed in range(20):
        X, y = people(60_000, seed)
        fit = Fingerprint.of(hashed(X[:50_000], y[:50_000]))
        assert len(fit.sketch) == SKETCH_SIZE
        start = 50_000 - shared
        found = fit.overlap(hashed(X[start : start + 10_000], y[start : start + 10_000]))
        covered += found.low <= shared <= found.high
        # t = 4096 / 50,000 of those shared are drawn: four standard deviations.
        assert abs(found.estimate - shared) <= 4 * np.sqrt(shared * 50_000 / 4096)
    assert covered >= 17  # of 20 at 95 %: fewer has a probability of 0.003


def test_the_people_themselves_are_found_whatever_their_order():
    X, y = people(50_000)
    fit = Fingerprint.of(hashed(X, y))
    order = np.random.default_rng(1).permutation(50_000)
    assert fit.overlap(hashed(X[order], y[order])) == Overlap(*[50_000] * 4, same=True)


def test_parts_make_the_fingerprint_of_the_whole():
    X, y = people(20_000)

    class Parts:
        def map(self, function, *args):
            parts = (slice(0, 7000), slice(7000, 7001), slice(7001, 20_000))
            return [function(hash_people(X[part], y[part], 1), *args) for part in parts]

    one, other = Fingerprint.of(hashed(X, y)), Fingerprint.of(Parts())
    assert (one.rows, one.digest, one.salt) == (other.rows, other.digest, other.salt)
    assert one.sketch.tolist() == other.sketch.tolist()


def test_joined_is_the_fingerprint_of_both():
    X, y = people(3000)
    first = Fingerprint.of(hashed(X[:1000], y[:1000]))
    both = first.joined(hashed(X[1000:2000], y[1000:2000]))
    assert both.rows == 2000
    assert both.digest == Fingerprint.of(hashed(X[:2000], y[:2000])).digest
    assert both.overlap(hashed(X[500:], y[500:])).estimate == 1500
    assert first.joined(hashed(X[:1000], y[:1000])) is first


def test_rows_set_apart_are_held_out_though_equal_to_others():
    X, y = people(3000, decimals=0)
    fit = Fingerprint.of(hashed(X[:2000], y[:2000])).with_held_out(hashed(X[2000:], y[2000:]))
    apart = fit.overlap(hashed(X[2000:][::-1], y[2000:][::-1]))
    assert apart.set_apart
    assert apart.estimate > 100
    assert str(apart).endswith("equal somebody learned from in features and label")
    assert not fit.overlap(hashed(X[2001:], y[2001:])).set_apart
    assert not fit.joined(hashed(X[2000:], y[2000:])).held_out


def test_sketches_of_different_fits_cannot_be_compared():
    X, y = people(2000)
    one, other = (Fingerprint.of(hashed(X[s], y[s])) for s in (slice(1000), slice(500, 1500)))
    assert not np.isin(one.sketch, other.sketch).any()


def test_kinds_of_tables_do_not_matter():
    pandas = pytest.importorskip("pandas")
    X, y = people(300)
    frame = pandas.DataFrame(X, columns=list("abc"))
    fit = Fingerprint.of(LocalHashes([hash_people(frame, np.where(y, "yes", "no"), "yes")]))
    assert fit.overlap(hashed(X, y)).estimate == 300


@pytest.mark.parametrize("distinct", [10, 5_000, 40_000])
def test_the_sketch_has_the_least_hashes_however_often_rows_repeat(distinct):
    hashes = np.random.default_rng(0).integers(0, 2**64, distinct, dtype=np.uint64)
    repeated = np.repeat(hashes, 60_000 // distinct)
    sketch = least_hashes(repeated, salt=7)
    one_by_one = sorted({float(least_hashes(np.array([h]), 7)[0]) for h in hashes})
    assert sketch.tolist() == one_by_one[:SKETCH_SIZE]
    in_parts = Fingerprint.of(LocalHashes(np.array_split(repeated, 7)), salt=7)
    assert in_parts.sketch.tolist() == one_by_one[:SKETCH_SIZE]


@pytest.mark.parametrize(
    ("values", "columns"),
    [(range(10), 4), ((0, 1), 14), (np.arange(10) / 100, 4)],
    ids=["digits", "yes and no", "hundredths"],
)
def test_rows_of_few_values_have_hashes_of_their_own_that_look_random(values, columns):
    X = np.array(list(product(values, repeat=columns)), dtype=float)
    hashes = hash_people(X, np.zeros(len(X), dtype=int), 1)
    assert len(np.unique(hashes)) == len(X)
    for bits in (hashes >> np.uint64(58), hashes & np.uint64(63)):
        assert chisquare(np.bincount(bits.astype(int), minlength=64)).pvalue > 1e-4
