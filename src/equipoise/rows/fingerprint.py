"""The fingerprint of people: how many of other people are among them, and nobody's row.

Every row, with its label, is hashed once to 64 bits that look random; salted, they are a number in
[0, 1). Where labels are numbers the hash of the table has them, and the sketch does not. A
fingerprint keeps the number of rows, a hash of the whole table, and a *bottom-k sketch*: the k
least of these numbers. Of other people, those whose numbers lie below the largest one kept are a
random sample, drawn by the hash; how many of that sample are in the sketch tells how many there are
in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from equipoise.cells.table import Array
from equipoise.rows.hashing import Bits, as_uniform, with_other_labels, with_salt

#: Numbers kept: 32 kB. Counts are exact for fits of fewer rows; of a larger fit's own people the
#: count is off by 1.6 % (one standard deviation, k ** -0.5).
SKETCH_SIZE = 4096
#: Of more labels than these, people with another label are not looked for.
MOST_LABELS = 12
_WORD = 1 << 64


class Hashed(Protocol):
    """The hashes of rows, wherever these are."""

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(hashes, *args)`` for each part of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class LocalHashes:
    """The hashes of rows in this process, in parts; see `equipoise.rows.hashing.hash_people`."""

    parts: Sequence[Bits]

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the values of a function of each part."""
        return [function(part, *args) for part in self.parts]


class Overlap(NamedTuple):
    """How many of some people are among those learned from, or equal one in features and label.

    ``low`` and ``high`` are the ends of a 95 % interval; all three are equal where it is exact.
    ``set_apart`` says that the fit itself held these rows out: those counted are other people.
    ``relabelled`` estimates how many equal somebody in features who had another label; they may
    be among those counted, where people with either label were learned from.
    ``same`` says that they are those learned from, ``featured`` that features alone were compared.

    >>> print(Overlap(100, 0, 0, 0))
    none of them was learned from
    >>> print(Overlap(100, 0, 0, 0, relabelled=7))
    none of them was learned from as labelled here; 7 equal somebody who was, with another label
    >>> print(Overlap(9000, 480, 410, 560))
    about 480 of them were learned from, or equal somebody who was in features and label
    >>> print(Overlap(9, 9, 9, 9), Overlap(9, 9, 9, 9, same=True), sep=chr(10))
    all of them were learned from, or equal somebody who was in features and label
    all of them were learned from
    >>> print(Overlap(9000, 0, 0, 27))
    at most 27 of them were learned from, none in a sample of them
    """

    people: int
    estimate: int
    low: int
    high: int
    set_apart: bool = False
    relabelled: int = 0
    same: bool = False
    featured: bool = False

    @property
    def is_nobody(self) -> bool:
        """Whether nobody was learned from, with whatever label."""
        return self.high == 0 and not self.relabelled

    @property
    def is_exact(self) -> bool:
        """Whether the count is no estimate."""
        return self.low == self.high

    def without(self, people: int) -> Overlap:
        """Return what is known of the others where so many of the people are left out.

        >>> print(Overlap(100, 30, 30, 30).without(4))
        about 30 of them were learned from, or equal somebody who was in features and label
        >>> print(Overlap(100, 100, 100, 100, same=True).without(4))
        all of them were learned from
        """
        number = self.people - people
        low = max(self.low - people, 0)
        high = min(self.high, number)
        estimate = min(self.estimate, number)
        return self._replace(people=number, estimate=estimate, low=low, high=high)

    def __str__(self) -> str:
        if not self.relabelled:
            return self._as_labelled()
        here = " as labelled here" if self.estimate == 0 else ""
        about = "" if self.is_exact else "about "
        return (
            f"{self._as_labelled()}{here}; {about}{self.relabelled:,} equal somebody who was, with "
            "another label"
        )

    def _as_labelled(self) -> str:
        if self.high == 0:
            return "none of them was learned from"
        if self.estimate == 0:
            return f"at most {self.high:,} of them were learned from, none in a sample of them"
        if self.same:
            return "all of them were learned from"
        about = f"{'' if self.is_exact else 'about '}{self.estimate:,} of them"
        if self.is_exact and self.estimate == self.people:
            about = "all of them"
        alike = "in features" if self.featured else "in features and label"
        if self.set_apart:
            return f"{about} equal somebody learned from {alike}"
        return f"{about} were learned from, or equal somebody who was {alike}"


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """The fingerprint of the people of a fit.

    Attributes
    ----------
    rows : int
        How many they are.
    digest : str
        A hash of the table, 32 hexadecimal digits: the same whatever the order of rows, the kind
        of table and where it is kept. It finds accidents and is no signature.
    salt : int
        Of the hashes in the sketch; follows from the table, so that sketches of different fits
        cannot be compared with each other.
    sketch : array
        The least `SKETCH_SIZE` different hashes, sorted; all of them where there are fewer.
    held_out : str
        The digest of the rows that were set apart before the fit, empty if that is not known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    >>> from equipoise.rows.hashing import hash_people
    >>> fit = Fingerprint.of(LocalHashes([hash_people(X[:300], y[:300], 1)]))
    >>> print(fit.overlap(LocalHashes([hash_people(X[200:], y[200:], 1)])).estimate)
    100
    """

    rows: int
    digest: str
    salt: int
    sketch: Array
    held_out: str = ""

    @classmethod
    def of(cls, hashed: Hashed, salt: int | None = None) -> Fingerprint:
        """Return the fingerprint of rows; with the salt of another one, to be joined with it."""
        rows, digest = _total(hashed)
        salt = int(digest[:13], 16) if salt is None else salt
        # Hashes are spread evenly: twice the share wanted nearly always has them, without a sort.
        share = 2 * SKETCH_SIZE / max(rows, 1)
        sketch = _smallest(hashed.map(least_hashes, salt, share))
        if share < 1 and len(sketch) < SKETCH_SIZE:  # many rows are alike
            sketch = _smallest(hashed.map(least_hashes, salt))
        return cls(rows, digest, salt, sketch)

    @property
    def is_complete(self) -> bool:
        """Whether the sketch has the hash of every row."""
        return len(self.sketch) < SKETCH_SIZE

    @property
    def reach(self) -> float:
        """The number below which the sketch has the hash of every row: their share of all."""
        return 1.0 if self.is_complete else float(self.sketch[-1])

    def with_held_out(self, hashed: Hashed) -> Fingerprint:
        """Return the fingerprint that also knows the rows which were set apart before the fit."""
        return replace(self, held_out=_total(hashed)[1])

    def joined(self, hashed: Hashed) -> Fingerprint:
        """Return the fingerprint of these people and further ones."""
        more = Fingerprint.of(hashed, self.salt)
        if more.digest == self.digest:
            return self
        both = zip(_words(self.digest), _words(more.digest), strict=True)
        digest = "".join(f"{(a + b) % _WORD:016x}" for a, b in both)
        sketch = _smallest([self.sketch, more.sketch])
        return Fingerprint(self.rows + more.rows, digest, self.salt, sketch)

    def overlap(self, hashed: Hashed, n_labels: int = 0) -> Overlap:
        """Return how many of some people are among those of the fingerprint.

        The people in the sketch are a random sample of those shared, each drawn with a
        probability that is the largest hash kept. The interval is that of a Poisson count,
        widened where people equal each other and are drawn together. Of people whose hash is
        within the sketch's reach it is certain whether they are in it. Of ``n_labels`` known
        labels, people who are with another one are counted too; of numbers, whatever these are.
        """
        people, digest = _total(hashed)
        if digest == self.digest:
            return Overlap(people, people, people, people, same=True)
        known = self.sketch if self.is_complete else self.sketch[:-1]
        apart = digest == self.held_out
        labels = 0 if apart else min(n_labels, MOST_LABELS)
        parts = hashed.map(matching_hashes, self.salt, known, self.reach, labels)
        matching, relabelled, within, featured = zip(*parts, strict=True)
        alone = any(featured)
        _, count = np.unique(np.concatenate(matching), return_counts=True)
        found, others = int(count.sum()), sum(relabelled)
        if self.is_complete:
            return Overlap(people, found, found, found, apart, others, featured=alone)
        together = float(np.square(count).sum()) / found if found else 1.0
        drawn, most = found / together, people - sum(within) + found
        low = chi2.ppf(0.025, 2 * drawn) / 2 if found else 0.0
        high = chi2.ppf(0.975 if found else 0.95, 2 * drawn + 2) / 2
        scale = together / self.reach
        drawn, low, high = (int(np.clip(round(v * scale), found, most)) for v in (drawn, low, high))
        more = min(round(others / self.reach), people)
        return Overlap(people, drawn, low, high, apart, more, featured=alone)


def add_hashes(hashes: Bits) -> tuple[int, int, int]:
    """Return the number of rows, and sums of hashes and of their squares, which stand for all."""
    whole = np.atleast_2d(hashes)[-1]
    return (
        len(whole),
        int(whole.sum(dtype=np.uint64)),
        int((whole * whole).sum(dtype=np.uint64)),
    )


def least_hashes(hashes: Bits, salt: int, below: float = 1.0) -> Array:
    """Return the least different hashes of a part, salted, as numbers in [0, ``below``)."""
    salted = with_salt(np.atleast_2d(hashes)[0], salt)
    if below < 1:
        salted = salted[salted < np.uint64(below * 2.0**64)]
    return np.unique(as_uniform(salted))[:SKETCH_SIZE]


def matching_hashes(
    hashes: Bits, salt: int, known: Array, reach: float, n_labels: int = 0
) -> tuple[Array, int, int, bool]:
    """Return the salted hashes of a part that are known, as often as they occur, and two numbers.

    These are of those that would be known with another label, whether or not they are with their
    own, and of all within reach. The last says whether the hashes compared are of features alone.
    """
    compared = np.atleast_2d(hashes)[0]
    salted = as_uniform(with_salt(compared, salt))
    is_known = np.isin(salted, known)
    with_another = np.zeros(len(compared), dtype=bool)
    for others in with_other_labels(compared, n_labels):
        with_another |= np.isin(as_uniform(with_salt(others, salt)), known)
    relabelled = int(np.count_nonzero(with_another))
    return salted[is_known], relabelled, int(np.count_nonzero(salted < reach)), hashes.ndim > 1


def _total(hashed: Hashed) -> tuple[int, str]:
    rows, first, second = (sum(part) for part in zip(*hashed.map(add_hashes), strict=True))
    return rows, f"{first % _WORD:016x}{second % _WORD:016x}"


def _words(digest: str) -> tuple[int, int]:
    return int(digest[:16], 16), int(digest[16:], 16)


def _smallest(parts: Sequence[NDArray]) -> Array:
    return np.unique(np.concatenate(parts))[:SKETCH_SIZE]
