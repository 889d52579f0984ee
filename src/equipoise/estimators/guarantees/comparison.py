"""A or B: whether one classifier is to replace another, proven on the same people."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.codes import add_up
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, Mask
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint
from equipoise.estimators.base import overlap_of
from equipoise.estimators.guarantees.day import label_numbers
from equipoise.estimators.guarantees.strata import RowStrata
from equipoise.exceptions import EmptyCellWarning, SeenPeopleWarning
from equipoise.faces import Columns, Face, Records, columns_of, paragraph, table
from equipoise.guarantees.exact_test import exact_p
from equipoise.guarantees.goal_bet import goal_p, units_p
from equipoise.guarantees.people_needed import read_probability
from equipoise.guarantees.tested_rows import Units
from equipoise.metrics.audit import Tally
from equipoise.rows.hashing import hash_bits
from equipoise.rows.people import People
from equipoise.rows.validation import check_length, to_array

#: The share of the people who tell which bound A comes nearest to, or exceeds most.
_CHOOSING = 0.1
#: The variance that is expected of differences between two decisions on the same person.
_EXPECTED_VARIANCE = 0.1


class Claim(NamedTuple):
    """A statement about B, the number measured, its bound, and whether it is proven.

    ``people`` are those in the test.
    """

    text: str
    measured: float
    bound: float
    people: int
    proven: bool


@dataclass(frozen=True, repr=False)
class Comparison(Face):
    """Whether B may replace A; returned by `prove_better`. ``print`` it.

    Attributes
    ----------
    claims : list of Claim
        The comparison holds if all of them are proven. One alone is proven at this confidence, too;
        several that were picked because they are proven are not.
    confidence : float
    people : int
    population : str
        Whom the statement is about, if not the whole population.
    """

    claims: Records[Claim]
    confidence: float
    people: int
    population: str = ""

    @property
    def holds(self) -> bool:
        """Whether all claims are proven."""
        return all(claim.proven for claim in self.claims)

    @property
    def sentence(self) -> str:
        """The comparison as one sentence."""
        people = f"the {self.people:,} people of the comparison"
        if self.holds:
            texts = [claim.text for claim in self.claims[:2]]
            if bounds := len(self.claims[2:]):
                texts.append("B keeps its bound" if bounds == 1 else f"B keeps all {bounds} bounds")
            said = "; ".join(texts)
            return (
                f"With probability {100 * self.confidence:g} % over the draw of {people}, for "
                f"{self.population or 'the population that they come from'}: {said}."
            )
        said = "; ".join(
            f"{claim.text} (measured {claim.measured:+.4f}, to be below {claim.bound:+.4f})"
            for claim in self.claims
            if not claim.proven
        )
        return f"Not proven at {100 * self.confidence:g} % with {people}: {said}."

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__

    def _columns(self) -> Columns:
        return columns_of(self.claims)

    def _repr_html_(self) -> str:
        verdict = "Proven." if self.holds else "Not proven."
        return paragraph(self.sentence, strong=verdict) + table(self._columns())


def prove_better(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    control_features: Any = None,
    constraint: Constraint | None = None,
    tau: float = 0.01,
    delta: float = 0.0,
    clusters: Any = None,
    confidence: float = 0.95,
) -> Comparison:
    """Return whether B is proven to err no more than A by ``tau``, and to be fairer by ``delta``.

    Both decide on the same people, so that those on whom they agree count for little: it takes far
    fewer people than two measurements. The tests are valid at any number of people.

    Parameters
    ----------
    a, b : fitted classifier, or array-like of n decisions
        The classifier in use and the one that may replace it. Decisions of classifiers are those
        of ``predict``.
    X, y : table of n rows, array-like of n labels
        People whom neither learned from, drawn from the population that the statement is about.
        X may be None where a and b are decisions.
    sensitive_features, control_features
        As for ``fit``; without them errors alone are compared.
    constraint : Constraint, optional
        What is compared besides errors; by default that of b. B must be proven to keep all its
        bounds, and to be lower than A by ``delta`` in one of them: the one that A exceeds most, or
        comes nearest to, among a tenth of the people, who are not in that test.
    tau : float, default=0.01
        B's error rate is at most A's and tau.
    delta : float, default=0.0
        The value of that bound under B is at most that under A less delta.
    clusters : array-like of shape (n,), optional
        Households, or ids of persons with several rows. The statement is then about clusters that
        are no larger than those of a tenth of them, who are not in the tests.
    confidence : float, default=0.95
        The statement holds with at least this probability over the draw of the people. All its
        parts are tested at this confidence, and all must pass.

    Returns
    -------
    Comparison
        ``holds`` is whether everything is proven; ``print`` says it in one sentence.

    Notes
    -----
    People, or clusters, must be drawn independently, and everybody once. They count without
    weights. Bounds against "overall" are at the shares of groups among these people.
    Choose ``tau``, ``delta`` and the constraint before you look.

    The differences between two decisions on one person, -1, 0 or 1, are bet on
    (`equipoise.guarantees.goal_bet`); B's own bounds get the exact test where it applies.

    Examples
    --------
    >>> from equipoise import DemographicParity, prove_better
    >>> rng = np.random.default_rng(0)
    >>> sex, score = rng.choice(["F", "M"], 6000), rng.normal(size=6000)
    >>> y = score + rng.normal(size=6000) > 0
    >>> before = score + 0.3 * (sex == "M") > 0
    >>> after = score + 0.05 * (sex == "M") > 0
    >>> rule = DemographicParity(0.08, reference="pairwise")
    >>> result = prove_better(
    ...     before, after, None, y, sensitive_features=sex, constraint=rule, delta=0.05
    ... )
    >>> result.holds
    True
    >>> [claim.text for claim in result.claims][:2]  # doctest: +NORMALIZE_WHITESPACE
    ["B's error rate exceeds A's by at most 0.01",
     'demographic parity: F below M is lower under B than under A by at least 0.05']
    """
    alpha = 1 - read_probability(confidence, "confidence")
    limits = {"tau": tau, "delta": delta}
    for name, value in limits.items():
        if not is_number(value) or not -1 < value < 1:
            raise ValueError(f"{name} is {value!r}; expected a number between -1 and 1.")
    n = len(to_array(y, "y"))
    if X is None:
        X = np.zeros((n, 1))
    elif _are_equal(X):
        raise ValueError(
            f"all {n:,} rows of X are equal; expected people who differ. Pass X=None where a and b "
            "are decisions."
        )
    groups = np.zeros(n) if sensitive_features is None else sensitive_features
    people = People(X, y, groups, control_features, clusters=clusters)
    cells, classes = people.read_plain()
    before = _decisions(a, "a", people, classes, cells)
    after = _decisions(b, "b", people, classes, cells)
    test = _Test.of(people, len(cells.code), alpha)
    labels = cells.label[cells.code]
    difference = (after != labels).astype(float) - (before != labels)
    parts = [(np.ones(n, dtype=bool), difference)]
    proven = test.proves(parts, np.ones(1), float(tau), low=-1.0)
    text = f"B's error rate exceeds A's by at most {tau:g}"
    error = Claim(text, float(difference.mean()), float(tau), n, proven)
    claims = Records([error])
    if sensitive_features is not None:
        rule = getattr(b, "constraint_", None) if constraint is None else constraint
        if not isinstance(rule, Constraint):
            raise ValueError(
                "constraint is missing, and b has none; pass what is compared between groups, "
                "such as constraint=DemographicParity(0.05)."
            )
        compared = _Compared(rule, cells, before, after, test)
        claims += [compared.lower(float(delta)), *compared.kept()]
    return Comparison(claims, float(confidence), n, test.population)


def _decisions(
    model: Any, name: str, people: People, classes: NDArray, cells: Cells
) -> NDArray[np.intp]:
    """Return the decisions of a classifier, or those passed, as numbers of the labels."""
    n = len(cells.code)
    if not hasattr(model, "predict"):
        return label_numbers(to_array(model, name).reshape(-1), n, name, classes)
    overlap = overlap_of(model, people)
    if overlap is not None and not overlap.set_apart and overlap.low:
        warnings.warn(
            f"of the people of the comparison, {overlap} by {name}. A comparison speaks of people "
            "whom neither learned from.",
            SeenPeopleWarning,
            stacklevel=3,
        )
    values = to_array(model.predict(people.X), name)
    check_length(len(values), n, f"{name}.predict(X)")
    return label_numbers(values, n, name, classes)


def _are_equal(X: Any) -> bool:
    """Return whether there are several rows, and all are equal."""
    try:
        hashes = np.atleast_2d(hash_bits(X))[-1]
    except TypeError:  # rows that cannot be hashed
        return False
    return len(hashes) > 1 and len(np.unique(hashes)) == 1


def paired_p(outcomes: list[Array], a: Array, c: float, alpha: float) -> Array:
    """Return p-values that ``a . p <= c`` for differences from -1 to 1, mostly zero, (T, n_s)."""
    variance = np.full(len(a), _EXPECTED_VARIANCE)
    prior = np.zeros(len(a))
    return goal_p(outcomes, a, c, alpha, prior=prior, variance=variance, low=-1.0)


#: The people of each stratum of a row, and what is averaged over them.
Parts = list[tuple[Mask, Array]]


@dataclass(frozen=True)
class _Test:
    """Tests at a level, of people in a random order or of clusters.

    ``is_first`` are those who choose what is compared, and are not in that test.
    """

    order: NDArray[np.intp]
    is_first: Mask
    units: Units | None
    alpha: float

    @classmethod
    def of(cls, people: People, n: int, alpha: float) -> _Test:
        order = np.random.default_rng(0).permutation(n)
        units = Units.of(None, people.read_clusters(), n)
        if units is not None:
            return cls(order, units.unit < 0, units, alpha)
        is_first = np.zeros(n, dtype=bool)
        is_first[order[: int(_CHOOSING * n)]] = True
        return cls(order, is_first, None, alpha)

    @property
    def population(self) -> str:
        """Whom the tests are about, if not everybody."""
        return "" if self.units is None else self.units.population

    def proves(self, parts: Parts, a: Array, c: float, low: float = 0.0) -> bool:
        """Return whether ``a . p <= c`` is proven for outcomes from ``low`` to 1."""
        if self.units is not None:
            return self._units_p(self.units, parts, a, c, low) <= self.alpha
        outcomes = [values[self.order][inside[self.order]] for inside, values in parts]
        people = [values[None] for values in outcomes]
        if low < 0:
            return bool(paired_p(people, a, c, self.alpha)[0] <= self.alpha)
        if len(a) <= 2 and all(np.isin(values, (0, 1)).all() for values in outcomes):
            x = np.array([values.sum() for values in outcomes])
            return exact_p(x.round(), [len(values) for values in outcomes], a, c) <= self.alpha
        prior = np.full(len(a), 0.5)
        return bool(goal_p(people, a, c, self.alpha, prior=prior)[0] <= self.alpha)

    def _units_p(self, units: Units, parts: Parts, a: Array, c: float, low: float) -> float:
        if units.left_out > Units.MOST_LEFT_OUT:
            return 1.0
        n = int(units.unit.max(initial=-1)) + 1
        w, u = np.zeros((2, len(parts), n))
        for s, (inside, values) in enumerate(parts):
            counted = inside & (units.unit >= 0)
            w[s] = add_up(units.unit[counted], n)
            u[s] = add_up(units.unit[counted], n, (values[counted] - low) / (1 - low))
        bound = (c - low * a.sum()) / (1 - low)
        p = units_p(w, u[None], a, bound, self.alpha, units.cap, is_disjoint=True)
        return float(p[0])


class _Compared:
    """The rows of a constraint under two classifiers on the same people."""

    def __init__(
        self,
        constraint: Constraint,
        cells: Cells,
        before: NDArray[np.intp],
        after: NDArray[np.intp],
        test: _Test,
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", EmptyCellWarning)
            try:
                constraint.moments(cells.table())
            except EmptyCellWarning as warning:
                raise ValueError(f"nothing can be proven here: {warning}") from None
        table = np.eye(cells.n_decisions)[before]
        tally = Tally.of_people(cells, table[:, 1] if cells.n_decisions == 2 else table)
        self.strata = RowStrata.of_fit(constraint, tally)
        if not self.strata.rows:
            raise ValueError(
                f"there is nothing to compare: no decisions can exceed {constraint!r} with the "
                "groups of these people, such as one group alone."
            )
        self.cell = self.strata._known_cells(cells)[cells.code]
        self.before = before
        self.after = after
        self.test = test

    def coefficients(self, k: int) -> Array:
        """Return the coefficients of row k, one for each of its strata."""
        return self.strata.a[k, self.strata.a[k] != 0]

    def parts(self, k: int, decisions: NDArray[np.intp]) -> Parts:
        """Return the people in each stratum of row k, and their outcomes under decisions."""
        numbers = self.strata.strata[k, self.strata.a[k] != 0]
        return [
            (self.strata.inside[t, self.cell], self.strata.outcome[t, self.cell, decisions])
            for t in numbers
        ]

    def highest(self) -> int:
        """Return the row that A exceeds most, or comes nearest to, among those who choose."""
        excess = np.full(len(self.strata.rows), -np.inf)
        for k in range(len(excess)):
            parts = self.parts(k, self.before)
            outcomes = [values[inside & self.test.is_first] for inside, values in parts]
            if all(map(len, outcomes)):
                rates = [values.mean() for values in outcomes]
                excess[k] = self.coefficients(k) @ rates - self.strata.c[k]
        return int(excess.argmax())

    def lower(self, delta: float) -> Claim:
        """Return the claim that B is lower than A by delta in the row that A exceeds most."""
        k = self.highest()
        a = self.coefficients(k)
        pairs = zip(self.parts(k, self.before), self.parts(k, self.after), strict=True)
        parts = [(inside, after - before) for (inside, before), (_, after) in pairs]
        tested = [(inside & ~self.test.is_first, values) for inside, values in parts]
        proven = self.test.proves(tested, a, -delta, low=-1.0)
        measured = float(a @ [values[inside].mean() for inside, values in parts])
        text = f"{self.strata.rows[k]} is lower under B than under A by at least {delta:g}"
        people = sum(int(inside.sum()) for inside, _ in tested)
        return Claim(text, measured, -delta, people, proven)

    def kept(self) -> Iterator[Claim]:
        """Yield the claims that B keeps its bounds."""
        for k, row in enumerate(self.strata.rows):
            a = self.coefficients(k)
            c = float(self.strata.c[k])
            parts = self.parts(k, self.after)
            shift = float(self.strata.shift[k])
            measured = float(a @ [values[inside].mean() for inside, values in parts]) + shift
            people = sum(int(inside.sum()) for inside, _ in parts)
            proven = self.test.proves(parts, a, c)
            yield Claim(f"under B, {row.sentence()}", measured, c + shift, people, proven)
