"""The proof: a fixed sequence of tests along a path, and what it says about people not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import Array
from equipoise.exceptions import NotProvenError
from equipoise.faces import facts, paragraph
from equipoise.guarantees.people_needed import Needed
from equipoise.guarantees.tested_rows import TestedRows

#: The share of decisions that may be drawn regardless of who it is without being asked for.
MOST_REGARDLESS = 0.05


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
        proven. One that is far above the level is that of the score test.
    design : "apart", "split" or "forward"
        Whose decisions were tested: those of people apart from the fit, of a part that the fit set
        aside, or of the people after those that each of several models was learned from.
    is_exact : bool
        Whether all tests are exact; otherwise they are valid at any number of people, but for
        ``design`` "forward", which is asymptotic.
    bound : float or None
        Of all rows, where they have the same.
    n_rows, people : int
        Inequalities, and people of the proof.
    limiting : str
        The inequality with the largest p-value, in words.
    limiting_people : int
        People of its smallest group.
    point, n_points : int
        Number of the point of the path returned, from 0 for the strictest, and their number.
    population : str
        Whom the proof is about, in words.
    regardless : float
        The share of decisions that are drawn regardless of who it is, since these people are too
        few to prove the bounds otherwise; 0 as a rule. A share above 0.05 has to be asked for with
        ``fallback="lottery"``.
    reused : bool
        Whether the same people had served another proof before.
    seen : str
        How many of the people were learned from, in words; empty where none are known to be.
    copies : float
        The share of people who equal somebody else in every value and in the label.
    needed : Needed or None
        Where nothing is proven, or only with decisions ``regardless``: how many people it takes.
    fingerprint : str
        A hash of the people of the proof; empty where rows cannot be hashed.
    """

    holds: bool
    confidence: float
    p_value: float
    design: str
    is_exact: bool
    bound: float | None
    n_rows: int
    people: int
    limiting: str
    limiting_people: int
    point: int
    n_points: int
    population: str = "the population that they come from"
    regardless: float = 0.0
    reused: bool = False
    seen: str = ""
    copies: float = 0.0
    needed: Needed | None = None
    fingerprint: str = field(default="", repr=False)

    @classmethod
    def of_walk(
        cls,
        rows: TestedRows,
        walked: Walk,
        regardless: Sequence[float],
        *,
        confidence: float,
        most_regardless: float = MOST_REGARDLESS,
        **more: Any,
    ) -> Proof:
        """Return the proof of a walk along a path with these shares of random decisions."""
        p, c = walked.reported, rows.moments.c
        worst = int(p.argmax()) if len(p) else 0
        holds = walked.last >= 0 and regardless[walked.last] <= most_regardless
        fewest = [t for t, share in enumerate(regardless) if share <= most_regardless]
        point = walked.last if holds else min(fewest, default=0)
        at = max(walked.last, 0)
        return cls(
            holds=holds,
            confidence=confidence,
            p_value=float(p.max(initial=0.0)),
            bound=float(c[0]) + 0.0 if len(c) and np.ptp(c) == 0 else None,  # no -0
            n_rows=rows.n_rows,
            limiting=rows.moments.rows[worst].sentence() if len(p) else "nothing",
            limiting_people=round(float(rows.smallest[worst])) if len(p) else 0,
            point=point,
            n_points=len(regardless),
            regardless=round(float(regardless[at]), 6) if walked.last >= 0 else 0.0,
            **more,
        )

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The proof as one paragraph: the promise, or that there is none."""
        at = "" if self.bound is None else f" at {self.bound:.6g}"
        which = {1: "the bound", 2: "both bounds"}
        bounds = which.get(self.n_rows, f"all {self.n_rows:,} bounds")
        sure = f"{100 * self.confidence:.6g} %"
        people = f"the {self.people:,} people of the proof"
        about = ""
        if self.limiting:
            word = "person" if self.limiting_people == 1 else "people"
            about = f"Limiting: {self.limiting}, {self.limiting_people:,} {word}."
        if self.holds:
            parts = [
                f"With probability {sure} over the draw of {people}, {bounds} "
                f"hold{'s' if self.n_rows == 1 else ''}{at} for {self.population}.",
                self._test(),
                about,
                self._price(),
            ]
        elif self.regardless:
            parts = [
                f"Not proven with probability {sure} unless {100 * self.regardless:.3g} % of "
                f"decisions are drawn regardless of who it is: {bounds}{at}, on {people}. "
                "fallback='lottery' accepts that.",
                about,
                "" if self.needed is None else str(self.needed),
            ]
        else:
            parts = [
                f"Not proven with probability {sure}: {bounds}{at}, on {people}.",
                about,
                "" if self.needed is None else str(self.needed),
            ]
        return " ".join(part for part in (*parts, self._reservations()) if part)

    def _test(self) -> str:
        if self.design == "forward":
            return (
                "Asymptotic: each of several models was tested on the people after those that it "
                "was learned from, and the models decide in equal parts; the sum of the tests is "
                "taken to be normal, and decisions count on average over their draw."
            )
        return f"The test is {'exact' if self.is_exact else 'valid at any number of people'}."

    def _price(self) -> str:
        """The share of random decisions that the proof takes, in words."""
        if not self.regardless:
            return ""
        text = (
            f"With these people that takes {100 * self.regardless:.3g} % of decisions drawn "
            "regardless of who it is, which count on average over their draw; the error counts "
            "them."
        )
        if self.needed is None or self.needed.factor <= 1:
            return text
        return f"{text} To do without random decisions, more people are needed. {self.needed}"

    def _reservations(self) -> str:
        parts = []
        if self.seen:
            parts.append(f"Of these people, {self.seen}; as far as they were, nothing is promised.")
        if self.copies:
            parts.append(
                f"{100 * self.copies:.3g} % of these people equal another one in every value and "
                "in the label; if they are copies of people, nothing is promised."
            )
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
            ("people of the proof", f"{self.people:,}", self.design),
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
