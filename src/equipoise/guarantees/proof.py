"""The proof: a fixed sequence of tests along a path, and what it says about people not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.exceptions import NotProvenError
from equipoise.faces import facts, paragraph
from equipoise.guarantees.people_needed import Needed
from equipoise.guarantees.tested_rows import TestedRows

#: Why a proof is asymptotic, in words, by the way that it was made.
_DESIGNS = {
    "cross_fit": "two halves, each proven on the other, and their average deployed",
    "margin": "measured on the people learned from, which speaks for stiff learners only",
}


class Walk(NamedTuple):
    """A path walked to its first failure.

    ``last`` is the last point proven, -1 where there is none; ``p_values`` (T', K) are those of
    the points tested, the one that failed included.
    """

    last: int
    p_values: Array

    @property
    def reported(self) -> Array:
        """The p-values of the point proven, or of the first one where none is."""
        return self.p_values[max(self.last, 0)]


def walk(n_points: int, test: Callable[[int], Array], delta: float) -> Walk:
    """Test points one after the other, up to the first that is not proven.

    All rows of a point must be proven, each at ``delta``: the largest p-value counts, and none is
    divided among rows or points (an intersection-union test in a fixed sequence). That the point
    returned breaks a bound then has a probability of at most ``delta``: the first point of the path
    that breaks one is not passed with a larger one.

    Parameters
    ----------
    n_points : int
    test : callable
        Returns the p-values of the rows at the point of this number.
    delta : float

    Examples
    --------
    >>> p = np.array([[0.01], [0.04], [0.06], [0.001]])  # the last is not looked at
    >>> found = walk(len(p), lambda t: p[t], 0.05)
    >>> found.last, found.p_values.ravel().tolist()
    (1, [0.01, 0.04, 0.06])
    """
    seen: list[Array] = []
    for t in range(n_points):
        seen.append(test(t))
        if not seen[-1].max(initial=0.0) <= delta:
            return Walk(t - 1, np.array(seen))
    return Walk(n_points - 1, np.array(seen))


@dataclass(frozen=True, eq=False)
class Decided:
    """What the candidates of a path decide about the people of a proof.

    Attributes
    ----------
    shares : array of shape (T, C)
        Selected shares.
    reach : array of shape (T, 2)
        The least and the largest chance to be selected that constants leave to anybody.
    """

    shares: Array
    reach: Array

    @property
    def regardless(self) -> Array:
        """The share of decisions that are made by lot, regardless of who it is: shape (T,).

        One constant alone draws nobody.
        """
        low, high = self.reach.T
        return np.where((low >= 1.0) | (high <= 0.0), 0.0, 1.0 - (high - low))

    def tests(self, rows: TestedRows, joint: bool = False) -> Callable[[int], Array]:
        """Return the tests that give a candidate's p-values; see `TestedRows` for ``joint``."""
        p: dict[int, Array] = {}

        def test(t: int) -> Array:
            if t not in p:  # all that leave the same to the others, at once
                same = np.flatnonzero((self.reach == self.reach[t]).all(axis=1))
                among, others = self.among(rows, same)
                found = among.joint_p_values(others) if joint else among.p_values(others)
                p.update(zip(same.tolist(), found, strict=True))
            return p[t]

        return test

    def among(self, rows: TestedRows, same: Any) -> tuple[TestedRows, Array]:
        """Return rows and shares of the members that are not constant, of candidates alike."""
        low, high = self.reach[same[0]]
        others = (self.shares[same] - low * rows.cells.mass) / max(high - low, 1e-9)
        return rows.among(low, high), others


@dataclass(frozen=True)
class Proof:
    """What was proven about people who were not seen, with which probability.

    Attributes
    ----------
    holds : bool
        Whether the bounds are proven.
    confidence : float
        With at least this probability over the people of the proof, no bound that does not hold
        is called proven.
    p_value : float
        The largest of all rows: of the classifier returned, or of the fairest one where nothing is
        proven.
    method : "exact", "score" or "asymptotic"
        The weakest of the tests used. "asymptotic" where groups overlap, where people have weights,
        and for ``design`` "cross_fit" and "margin".
    design : "apart", "split", "cross_fit" or "margin"
        Whose decisions were tested: those of people apart from the fit, of a part that the fit set
        aside, of both halves, or of the people learned from.
    bound : float or None
        Of all rows, where they have the same.
    n_rows, people : int
        Inequalities, and people of the proof.
    limiting : str
        The inequality with the largest p-value, in words.
    limiting_people : int
        People of its smallest stratum.
    point, n_points : int
        Number of the point of the path returned, from 0 for the strictest, and their number.
    regardless : float
        The share of decisions that are made regardless of who it is, since these people are too
        few to prove the bounds otherwise; 0 as a rule.
    weighted, overlapping, reused : bool
        Whether people weigh differently (their numbers are then effective ones), whether groups of
        a row share people, and whether the same people had served another proof before.
    seen : str
        How many of the people were learned from, in words; empty where none are known to be.
    needed : Needed or None
        Where nothing is proven, or only with decisions ``regardless``: how many people it takes.
    fingerprint : str
        A hash of the people of the proof; empty where rows cannot be hashed.
    """

    holds: bool
    confidence: float
    p_value: float
    method: str
    design: str
    bound: float | None
    n_rows: int
    people: int
    limiting: str
    limiting_people: int
    point: int
    n_points: int
    regardless: float = 0.0
    weighted: bool = False
    overlapping: bool = False
    reused: bool = False
    seen: str = ""
    needed: Needed | None = None
    fingerprint: str = field(default="", repr=False)

    @classmethod
    def of_walk(
        cls, rows: TestedRows, walked: Walk, decided: Decided, *, confidence: float, **more: Any
    ) -> Proof:
        """Return the proof of a walk along a path."""
        p, c = walked.reported, rows.moments.c
        worst = int(p.argmax()) if len(p) else 0
        design = more.pop("design")
        return cls(
            holds=walked.last >= 0,
            confidence=confidence,
            p_value=float(p.max(initial=0.0)),
            method="asymptotic" if design in _DESIGNS else rows.method,
            design=design,
            bound=float(c[0]) + 0.0 if len(c) and np.ptp(c) == 0 else None,  # no -0
            n_rows=rows.n_rows,
            people=rows.cells.n_examples,
            limiting=rows.moments.rows[worst].sentence() if len(p) else "nothing",
            limiting_people=round(float(rows.smallest[worst])) if len(p) else 0,
            point=max(walked.last, 0),
            n_points=len(decided.shares),
            regardless=round(float(decided.regardless[max(walked.last, 0)]), 6),
            weighted=rows.is_weighted,
            overlapping=bool(rows.overlapping.any()),
            **more,
        )

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """What is promised, about whom, or that nothing is."""
        whose = "learned from" if self.design == "margin" else "of the proof"
        at = "" if self.bound is None else f" at {self.bound:.6g}"
        which = {1: "the bound", 2: "both bounds"}
        bounds = which.get(self.n_rows, f"all {self.n_rows:,} bounds")
        people, sure = f"the {self.people:,} people {whose}", f"{100 * self.confidence:.6g} %"
        about = ""
        if self.limiting:
            word = "person" if self.limiting_people == 1 else "people"
            about = f"Limiting: {self.limiting}, {self.limiting_people:,} {word}."
        if self.holds:
            parts = [
                f"With probability {sure} over the draw of {people}, {bounds} "
                f"hold{'s' if self.n_rows == 1 else ''}{at} for the population that they come "
                "from.",
                about,
                self._price(),
            ]
        else:
            parts = [
                f"Not proven with probability {sure}: {bounds}{at}, on {people}.",
                about,
                "" if self.needed is None else str(self.needed),
            ]
        return " ".join(part for part in (*parts, self._reservations()) if part)

    def _price(self) -> str:
        """What had to be given up for the proof."""
        if not self.regardless:
            return ""
        few = self.needed is not None and self.needed.factor > 1
        text = (
            f"With {'so few' if few else 'these'} people that takes {100 * self.regardless:.3g} % "
            "of decisions made by lot, regardless of who it is; the error counts them."
        )
        if self.needed is None:  # a file does not tell what is about few people
            return text
        # Where there are enough people, others may have more luck.
        without = "Without them" if few else "Most proofs with as many people do without"
        return f"{text} {without}: {self.needed}"

    def _reservations(self) -> str:
        reasons = [_DESIGNS[self.design]] if self.design in _DESIGNS else []
        reasons += ["groups that share people"] if self.overlapping else []
        reasons += ["weights, by effective numbers of people"] if self.weighted else []
        if self.method == "asymptotic" and not reasons:
            reasons = ["few people in a row that has no exact test"]
        parts = [f"Asymptotic: {'; '.join(reasons)}."] if reasons else []
        if self.seen:
            parts.append(f"Of these people, {self.seen}; as far as they were, nothing is promised.")
        if self.reused:
            parts.append(
                "The same people had served another proof before: the probability is that of each "
                "proof alone, not of the one that was chosen."
            )
        return " ".join(parts)

    def without_few(self, people: int) -> Proof:
        """Return the proof without its limiting row, where that is about fewer people."""
        if self.limiting_people >= people:
            return self
        return replace(self, limiting="", limiting_people=0, needed=None)

    def to_dict(self, suppress_below: int = 0) -> dict[str, Any]:
        """Return the proof as plain data for JSON, without a row about fewer people than this."""
        if self.limiting_people < suppress_below:
            return self.without_few(suppress_below).to_dict()
        needed = None if self.needed is None else self.needed.to_dict()
        return {**asdict(self), "needed": needed, "text": self.sentence}

    def _repr_html_(self) -> str:
        verdict = "Proven." if self.holds else "Not proven."
        numbers = [
            ("largest p-value", f"{self.p_value:.3g}", f"of {self.n_rows:,} bounds"),
            ("test", self.method, self.design.replace("_", "-")),
            ("people of the proof", f"{self.people:,}", "effective" if self.weighted else ""),
        ]
        return paragraph(self.sentence, strong=verdict) + facts(numbers)


def check_proven(model: Any) -> None:
    """Raise if the bounds of a model were put to the proof in vain, and it has no fallback."""
    proof: Proof | None = getattr(model, "proof_", None)
    if proof is None or proof.holds or getattr(model, "fallback", None) == "fairest":
        return
    raise NotProvenError(
        f"{proof.sentence} So there is no model to decide with. Ask for a looser bound or a lower "
        "confidence of new people, or accept the fairest classifier found, without proof: "
        "fallback='fairest'."
    )
