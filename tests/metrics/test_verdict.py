"""Verdicts: one function, whose answer does not depend on how few the people are."""

import numpy as np
import pytest

from equipoise.metrics.verdict import Answer, Verdict, verdict_on, worst_verdict


@pytest.mark.parametrize("people", [1, 9, 15, 29, 30, 5000])
def test_an_interval_above_the_bound_is_exceeded_however_few_the_people(people):
    verdict = verdict_on((0.42, 0.14, 0.44), people)
    assert verdict.is_exceeded
    assert str(verdict).startswith("exceeded")
    assert ("on the evidence of" in str(verdict)) is (people < 30)


def test_what_is_nan_or_none_is_not_known():
    for nothing in (None, float("nan")):
        assert verdict_on((nothing,) * 3, 900).answer is Answer.NOT_KNOWN
        assert verdict_on((0.1, nothing, nothing), 900).answer is Answer.NO_INTERVAL
        assert verdict_on((-0.1, nothing, nothing), 900).answer is Answer.MET


def test_the_worst_of_several_counts():
    rng = np.random.default_rng(0)
    for _ in range(200):
        ends = np.sort(rng.normal(size=(5, 3)))[:, [1, 0, 2]]
        people = rng.integers(1, 100, 5)
        every = [verdict_on(interval, n) for interval, n in zip(ends, people, strict=True)]
        worst = worst_verdict(every)
        assert worst.is_exceeded == bool((ends[:, 1] > 0).any())
        assert (worst.answer in (Answer.MET, Answer.SURELY_MET)) == bool((ends[:, 0] <= 0).all())
        if worst.is_exceeded:
            assert worst.people == people[ends[:, 1] > 0].max()


def test_few_people_are_not_counted_for_others():
    verdict = Verdict(Answer.EXCEEDED, 4)
    assert str(verdict) == "exceeded, on the evidence of 4 people"
    assert verdict.in_words(limit=10) == "exceeded, on the evidence of fewer than 10 people"
    assert str(Verdict(Answer.EXCEEDED, 1)).endswith("of 1 person")
