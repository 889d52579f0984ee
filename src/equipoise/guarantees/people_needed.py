"""How many people a proof takes, said before it or after it failed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint
from equipoise.faces import paragraph
from equipoise.guarantees.exact_test import most_likely_rates
from equipoise.guarantees.tested_rows import Strata, TestedRows

#: The share of people who are of the proof, by default; the others are learned from.
PROOF_SHARE = 0.7
#: Simulated proofs for one number of people, and numbers of people that are tried at most.
_DRAWS, _TRIES = 300, 9
#: Rows that take less than this share of the people that the hardest one takes are not simulated.
_EASY = 0.4
#: Standard errors that the goal bet takes more than a test with known variances.
_BET = 0.11

Rates = float | Mapping[Hashable, float | Sequence[float]]


@dataclass(frozen=True)
class Needed:
    """How many people a proof takes.

    Attributes
    ----------
    people : float
        In all, those to learn from and those of the proof; infinite where no number is enough.
    proof_people : float
        Those of the proof among them.
    factor : float
        Times as many as there are.
    limiting : str
        The inequality that takes most of them, in words.
    limiting_people : float
        People of its smallest stratum in the proof, when there are enough.
    fewest : str
        Who these people are, in words.
    room : float
        What it is expected to stay below its bound.
    confidence, power : float
        Of the proof, and the share of proofs of so many people that succeed.
    """

    people: float
    proof_people: float
    factor: float
    limiting: str
    limiting_people: float
    fewest: str
    room: float
    confidence: float
    power: float

    def __str__(self) -> str:
        if not np.isfinite(self.factor):
            return (
                f"No number of people is enough: {self.limiting} is expected to be exceeded by "
                f"{max(-self.room, 0.0):.3g}. Loosen this bound, or use a more flexible learner."
            )
        # Of shares it is not known how many there are.
        there = self.people / self.factor if self.factor > 0 else 0.0
        succeeds = f"succeeds in {100 * self.power:.6g} % of cases"
        if there >= 2 and self.factor <= 1:
            return f"By these rates, a proof {succeeds} with as many people."
        factor = f"{self.factor:,.0f}" if self.factor >= 10 else f"{self.factor:.2g}"
        more = f" ({factor} times as many as there are, {rounded(self.people - there)} more)"
        return (
            f"A proof at {100 * self.confidence:.6g} % {succeeds} with about "
            f"{rounded(self.people)} people{more if there >= 2 else ''}, "
            f"{rounded(self.proof_people)} of them in the proof and the others to "
            f"learn from; {rounded(self.limiting_people)} {self.fewest} in the proof, for "
            f"{self.limiting!r}."
        )

    def _repr_html_(self) -> str:
        return paragraph(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data for JSON, where infinity becomes None."""
        found = asdict(self)
        finite = {
            k: v if not isinstance(v, float) or np.isfinite(v) else None for k, v in found.items()
        }
        return {**finite, "text": str(self)}


def rounded(people: float) -> str:
    """Return a number of people with two digits that count, rounded up.

    >>> rounded(1234.5), rounded(87.2)
    ('1,300', '88')
    """
    unit = 10 ** max(int(np.floor(np.log10(max(people, 1.0)))) - 1, 0)
    return f"{int(np.ceil(people / unit) * unit):,}"


def people_needed(
    constraint: Constraint,
    counts: Mapping[Hashable, float | Sequence[float]],
    rates: Rates,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
    proof_share: float = PROOF_SHARE,
) -> Needed:
    """Return how many people a proof of a constraint takes, before any are collected.

    The number is that of a closed form with the standard errors at the bound, and then of the test
    itself on simulated counts.

    Parameters
    ----------
    constraint : Constraint
        With the bounds that are to be proven.
    counts : mapping
        People of each group, or of each group with label 0 and 1, as a pair. Shares of the
        population do as well.
    rates : float or mapping
        The selection rate that is expected of each group in the population, or of its people with
        label 0 and 1, as a pair; a number is that of all. Rates of the fairest classifier that
        would do: what they leave below the bounds is the room for the proof.
    confidence, power : float
        Of the proof, and the share of proofs that are to succeed.
    proof_share : float, default=0.7
        The share of people who are of the proof; see `FairClassifier`.

    Examples
    --------
    >>> from equipoise import DemographicParity
    >>> rule = DemographicParity(0.05, reference="pairwise")
    >>> found = people_needed(rule, {"F": 0.5, "M": 0.5}, 0.35)
    >>> rounded(found.people), rounded(found.proof_people)
    ('4,500', '3,200')
    """
    read_probability(confidence, "confidence")
    read_probability(power, "power")
    read_probability(proof_share, "proof_share")
    cells, selected = _table(counts, rates)
    rows = TestedRows.of(constraint, cells)
    found = needed_for(rows, selected, confidence=confidence, power=power)
    given = sum(float(np.sum(count)) for count in counts.values())
    people = found.proof_people / proof_share
    return replace(found, people=people, factor=people / given)


def needed_for(
    rows: TestedRows,
    s: Array,
    *,
    confidence: float,
    power: float = 0.8,
    ratio: float = 0.0,
) -> Needed:
    """Return how many people it takes to prove the rows for a classifier with shares s (C,).

    Parameters
    ----------
    rows : TestedRows
        Over as many people as the proof had.
    s : array of shape (C,)
        Known, or measured on the people learned from; never on those of a proof that failed, which
        is an unlucky number.
    ratio : float, default=0
        People of the proof for each that ``s`` was measured on; 0 where it is known. What was
        measured varies, too.
    """
    share = rows.cells.mass
    rates = np.clip(s / share, 0.0, 1.0)
    counts = share[:, None] * np.stack([1 - rates, rates], axis=1)
    room = rows.moments.c - rows.gamma(s)
    error = rows.standard_errors(s) * np.sqrt(rows.cells.n_examples)
    each = np.zeros(rows.n_rows)
    for k, strata in enumerate(rows.strata):
        at_bound = error[k]
        if strata is not None:
            at_bound = _error_at_bound(strata, counts)
            error[k] = _error(strata, counts)
        z = norm.ppf(confidence) + (0.0 if rows.is_exact[k] else _BET)
        spread = z * at_bound + norm.ppf(power) * np.sqrt(1 + ratio) * error[k]
        each[k] = (spread / room[k]) ** 2 if room[k] > 0 else np.inf
    hardest = int((each if np.isfinite(each).all() else -room).argmax())
    people = float(each.max(initial=0.0))
    if np.isfinite(people) and rows.is_exact.all():
        near = np.flatnonzero(each >= _EASY * people)
        people = _simulated(rows, near, counts, people, confidence, power, ratio)
    there = float(rows.cells.count.sum())
    return Needed(
        people=people * (1 + (1 / ratio if ratio else 0.0)),
        proof_people=people,
        factor=people / there,
        limiting=rows.moments.rows[hardest].sentence(),
        limiting_people=float(rows.smallest[hardest]) / there * people,
        fewest=rows.fewest(hardest),
        room=float(room[hardest]),
        confidence=confidence,
        power=power,
    )


def _at(strata: Strata, counts: Array) -> tuple[Array, Array, Array]:
    """Return rates, shares of all people and coefficients of the strata of a row."""
    x, n = strata.sums(counts)
    first = n[0] / n.sum()
    return x / np.maximum(n, 1e-300), n, strata.a + first * strata.slope


def _error(strata: Strata, counts: Array) -> float:
    """Return the standard error of a row, times the root of the number of people."""
    p, n, a = _at(strata, counts)
    return float(np.sqrt((a**2 * p * (1 - p) / n).sum()))


def _error_at_bound(strata: Strata, counts: Array) -> float:
    """Return the same at the most likely rates that are at the bound."""
    p, n, a = _at(strata, counts)
    at_bound = most_likely_rates(p * n * 1e6, n * 1e6, a, strata.c)
    return float(np.sqrt((a**2 * at_bound * (1 - at_bound) / n).sum()))


def _simulated(
    rows: TestedRows,
    near: NDArray[np.intp],
    counts: Array,
    people: float,
    confidence: float,
    power: float,
    ratio: float,
) -> float:
    """Return the least number of people with whom enough simulated proofs succeed, to 5 %."""
    strata = [rows.strata[k] for k in near]
    fewest = min(float(_at(one, counts)[1].min()) for one in strata if one is not None)
    people = max(people, 2 / fewest)
    low, high = 0.0, np.inf
    for _ in range(_TRIES):
        if _succeeding(strata, counts, people, confidence, ratio) >= power:
            high = people
            people = people / 1.15 if low == 0.0 else np.sqrt(low * people)
        else:
            low = people
            people = people * 1.25 if high == np.inf else np.sqrt(high * people)
        if high <= 1.05 * low:
            break
    return high if np.isfinite(high) else people


def _succeeding(
    strata: Sequence[Strata | None], counts: Array, people: float, confidence: float, ratio: float
) -> float:
    """Return the share of simulated proofs in which all of some rows are proven."""
    rng = np.random.default_rng(0)
    level = 1 - confidence
    share = counts.sum(axis=1)
    n = np.maximum(np.round(people * share), 0).astype(int)
    rate = np.where(share > 0, counts[:, 1] / np.maximum(share, 1e-300), 0.0)
    noise = np.sqrt(ratio * rate * (1 - rate) / np.maximum(n, 1))
    rates = np.clip(rate + noise * rng.standard_normal((_DRAWS, len(n))), 0.0, 1.0)
    selected = rng.binomial(n, rates)
    tables = np.stack([n - selected, selected], axis=-1).astype(float)
    passed = np.ones(_DRAWS, dtype=bool)
    for one in strata:
        if one is not None:
            sums = np.array([np.stack(one.sums(table)) for table in tables[passed]])
            distinct, number = np.unique(sums, axis=0, return_inverse=True)
            proven = np.array([one.is_likely_proven(x, m, level) for x, m in distinct])
            passed[passed] = proven[number.ravel()]
    return float(passed.mean())


def read_probability(value: Any, name: str) -> float:
    """Return a probability; an error if it is no number between zero and one."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name} is {value!r}; expected a number between 0 and 1.")
    return float(value)


def _table(
    counts: Mapping[Hashable, float | Sequence[float]], rates: Rates
) -> tuple[CellTable, Array]:
    """Return cells of these groups with a million people in all, and their selected shares."""
    pairs = {group: _pair(count, f"counts[{group!r}]") for group, count in counts.items()}
    if not isinstance(rates, Mapping):
        rates = dict.fromkeys(counts, rates)
    if missing := [group for group in counts if group not in rates]:
        raise ValueError(f"rates has no {missing[0]!r}; expected a rate for each group of counts.")
    given = {group: _pair(rates[group], f"rates[{group!r}]", same=True) for group in counts}
    if not all(0 <= rate <= 1 for pair in given.values() for rate in pair):
        raise ValueError(f"rates are {rates!r}; expected numbers from 0 to 1.")
    there = [(group, label) for group in counts for label in (0, 1) if pairs[group][label] > 0]
    size = np.array([pairs[group][label] for group, label in there])
    names = np.empty(len(there), dtype=object)
    names[:] = [group for group, _ in there]
    people = np.maximum(np.round(size / size.sum() * 1e6), 1.0)
    label = [label for _, label in there]
    table, code = CellTable.from_sums(label, {"group": names}, {}, count=people)
    selected = np.zeros(table.n_cells)
    selected[code] = [given[group][label] for group, label in there]
    return table, selected * table.mass


def _pair(value: Any, name: str, same: bool = False) -> tuple[float, float]:
    """Return the numbers for label 0 and 1; one number is of both, or of people without label."""
    each = [float(v) for v in np.atleast_1d(value)]
    if len(each) > 2 or not each or not all(v >= 0 for v in each):
        raise ValueError(f"{name} is {value!r}; expected a number >= 0, or two: label 0 and 1.")
    if len(each) == 2:
        return each[0], each[1]
    return (each[0], each[0]) if same else (each[0], 0.0)
