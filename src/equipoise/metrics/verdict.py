"""Verdicts: whether a bound is exceeded, and how sure that is.

Terminal, page, card and exit code take the verdict from here, so that they give the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from equipoise.game.lagrangian import is_met
from equipoise.metrics.summaries import FEW


class Answer(StrEnum):
    """Whether a bound is exceeded, the worst first."""

    EXCEEDED = "exceeded"
    PERHAPS = "exceeded, perhaps by chance"
    NO_INTERVAL = "exceeded, no interval"
    MET = "met"
    SURELY_MET = "met, also within the interval"
    NOT_KNOWN = "not known"


class Verdict(NamedTuple):
    """An answer, and the number of people that it rests on.

    >>> print(Verdict(Answer.EXCEEDED, 900), Verdict(Answer.EXCEEDED, 15), sep=chr(10))
    exceeded
    exceeded, on the evidence of 15 people
    """

    answer: Answer
    people: int

    @property
    def is_exceeded(self) -> bool:
        """Whether a bound is exceeded by more than chance explains."""
        return self.answer is Answer.EXCEEDED

    @property
    def is_known(self) -> bool:
        """Whether there was something to compare."""
        return self.answer is not Answer.NOT_KNOWN

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, limit: int = 0) -> str:
        """Return the answer, and the number of people where they are few.

        ``limit`` hides the number of people where it is smaller.

        >>> Verdict(Answer.EXCEEDED, 4).in_words(limit=10)
        'exceeded, on the evidence of fewer than 10 people'
        """
        if not self.is_exceeded or self.people >= FEW:
            return self.answer.value
        number = f"fewer than {limit}" if self.people < limit else f"{self.people:,}"
        people = "person" if number == "1" else "people"
        return f"{self.answer.value}, on the evidence of {number} {people}"


def verdict_on(excess: Sequence[float | None], people: float) -> Verdict:
    """Return the verdict on an excess over a bound, (estimate, low, high), None where unknown.

    An interval wholly above zero is exceeded, however few the people: the interval counts them.

    >>> intervals = ((0.1, 0.05, 0.2), (0.1, -0.1, 0.2), (-0.1, -0.2, 0.1), (-0.1, -0.2, 0.0))
    >>> [verdict_on(interval, 900).answer.value for interval in intervals]
    ['exceeded', 'exceeded, perhaps by chance', 'met', 'met, also within the interval']
    >>> verdict_on((0.1, None, None), 900).answer.value, verdict_on((None,) * 3, 0).answer.value
    ('exceeded, no interval', 'not known')
    """
    estimate, low, high = (None if e is None or math.isnan(e) else e for e in excess)
    count = int(people)
    if estimate is None:
        return Verdict(Answer.NOT_KNOWN, count)
    if is_met(estimate):
        sure = high is not None and is_met(high)
        return Verdict(Answer.SURELY_MET if sure else Answer.MET, count)
    if low is None:
        return Verdict(Answer.NO_INTERVAL, count)
    return Verdict(Answer.EXCEEDED if low > 0 else Answer.PERHAPS, count)


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on several bounds, of which the worst counts.

    Of equal answers it is the one that rests on most people.

    >>> print(worst_verdict([Verdict(Answer.MET, 900), Verdict(Answer.PERHAPS, 40)]))
    exceeded, perhaps by chance
    >>> print(worst_verdict([]))
    not known
    """
    order = list(Answer)
    nothing = Verdict(Answer.NOT_KNOWN, 0)
    return min(verdicts, key=lambda one: (order.index(one.answer), -one.people), default=nothing)
