"""How many people a proof takes, said before it or after it failed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint
from equipoise.faces import paragraph
from equipoise.guarantees.tested_rows import TestedRows

#: Draws from the normal distribution that give the share of proofs that succeed.
_DRAWS = 20_000

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
        factor = f"{self.factor:,.0f}" if self.factor >= 10 else f"{self.factor:.2g}"
        more = f", {rounded(self.people - there)} more" if self.factor > 1 else ""
        times = f" ({factor} times as many as there are{more})" if there >= 2 else ""
        return (
            f"A proof at {100 * self.confidence:.6g} % succeeds in {100 * self.power:.6g} % of "
            f"cases with about {rounded(self.people)} people{times}, "
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
) -> Needed:
    """Return how many people a proof of a constraint takes, before any are collected.

    Half of them are learned from and half are the people of the proof, as ``proof="split"`` has it.

    Parameters
    ----------
    constraint : Constraint
        With the bounds that are to be proven.
    counts : mapping
        People of each group, or of each group with label 0 and 1, as a pair. Shares of the
        population do as well.
    rates : float or mapping
        The selection rate that is expected of each group, or of its people with label 0 and 1, as
        a pair; a number is that of all. Rates of the fairest classifier that would do: what they
        leave below the bounds is the room for the proof.
    confidence, power : float
        Of the proof, and the share of proofs that are to succeed.

    Examples
    --------
    >>> from equipoise import DemographicParity
    >>> rule = DemographicParity(0.05, reference="pairwise")
    >>> found = people_needed(rule, {"F": 0.5, "M": 0.5}, 0.35)
    >>> rounded(found.people), rounded(found.limiting_people)
    ('8,700', '2,200')
    """
    read_probability(confidence, "confidence")
    read_probability(power, "power")
    cells, selected = _table(counts, rates)
    rows = TestedRows.of(constraint, cells)
    total = float(cells.count.sum())
    found = needed_for(rows, selected, ratio=1.0, confidence=confidence, power=power)
    given = sum(float(np.sum(count)) for count in counts.values())
    people = 2 * total * found.factor
    return replace(found, people=people, proof_people=people / 2, factor=people / given)


def needed_for(
    rows: TestedRows, s: Array, *, ratio: float, confidence: float, power: float = 0.8
) -> Needed:
    """Return how many people it takes to prove the rows for a classifier with shares s (C,).

    Parameters
    ----------
    rows : TestedRows
        Over as many people as the proof had.
    s : array of shape (C,)
        Measured on the people learned from; never on those of a proof that failed, which is an
        unlucky number.
    ratio : float
        People of the proof for each that was learned from: both samples vary.
    """
    moved, room = rows.moved(s), rows.moments.c - rows.gamma(s)
    error = np.sqrt(np.square(moved).sum(axis=1))
    z = float(norm.ppf(confidence))
    noise = np.random.default_rng(0).standard_normal((_DRAWS, moved.shape[1])) @ moved.T
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (z * error + np.sqrt(1 + ratio) * noise) / np.maximum(room, 0.0)
        hardest = int(((z + norm.ppf(power) * np.sqrt(1 + ratio)) * error / room).argmax())
    if (room <= 0).any():
        hardest, root = int(room.argmin()), np.inf
    else:
        root = max(float(np.quantile(each.max(axis=1), power)), 0.0)
    factor, people = root**2, float(rows.cells.count.sum())
    return Needed(
        people=people * (1 + 1 / ratio) * factor,
        proof_people=people * factor,
        factor=factor,
        limiting=rows.moments.rows[hardest].sentence(),
        limiting_people=float(rows.smallest[hardest]) * factor,
        fewest=rows.fewest(hardest),
        room=float(room[hardest]),
        confidence=confidence,
        power=power,
    )


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
