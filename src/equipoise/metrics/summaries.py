"""Summaries of a metric over groups: least, largest, difference, ratio, with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.constraints.groups import group_name
from equipoise.metrics.disparities import Method, ratios
from equipoise.metrics.intervals import Interval, normal_quantile, of_largest

#: Groups of fewer people are too small to say anything about.
FEW = 30
#: Groups that are named; the rest are counted.
_NAMED = 5
Summary = Literal["min", "max", "difference", "ratio"]
Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


class Between(float):
    """A difference or ratio that knows between which groups it is, and how many people they have.

    It is a number, and printed it is a sentence.

    Attributes
    ----------
    groups : tuple of two groups; "overall" is everybody
    people : tuple of two int

    Examples
    --------
    >>> apart = Between(0.25, ("F", "M"), (1200, 900))
    >>> apart
    0.2500 between F (1,200) and M (900)
    >>> apart > 0.2, round(apart, 1), apart.groups
    (True, 0.2, ('F', 'M'))
    """

    groups: tuple[Hashable, ...]
    people: tuple[int, ...]

    def __new__(
        cls, value: float, groups: Sequence[Hashable] = (), people: Sequence[int] = ()
    ) -> Between:
        """Make it a float that has groups and people."""
        made = super().__new__(cls, value)
        made.groups, made.people = tuple(groups), tuple(people)
        return made

    def __repr__(self) -> str:
        named = zip(self.groups, self.people, strict=True)
        text = " and ".join(f"{group_name(group)} ({people:,})" for group, people in named)
        return f"{float(self):.4f} between {text}" if text else f"{float(self):.4f}"


def pairs_of(n: int, method: Method) -> Pairs:
    """Return which of n values are compared: each two of them, or all others with the last."""
    if method == "between_groups":
        return np.triu_indices(n, k=1)
    return np.arange(n - 1), np.full(max(n - 1, 0), n - 1)


def summarise(summary: Summary, value: Array, pairs: Pairs) -> float:
    """Return the summary of the values of groups, all of them known.

    >>> value = np.array([0.2, 0.3, 0.6])
    >>> pairs = pairs_of(3, "between_groups")
    >>> [round(summarise(kind, value, pairs), 3) for kind in ("max", "difference", "ratio")]
    [0.6, 0.4, 0.333]
    """
    left, right = value[pairs[0]], value[pairs[1]]
    if summary == "difference":
        return float(np.abs(left - right).max(initial=0.0))
    if summary == "ratio":
        return float(ratios(left, right).min(initial=1.0))
    return float(value.min() if summary == "min" else value.max())


def named(
    summary: Summary, value: Array, pairs: Pairs, groups: Sequence[tuple[Hashable, int]]
) -> float:
    """Return the summary of values; a difference or ratio knows between which groups it is.

    >>> groups = [("F", 90), ("M", 80), ("X", 7)]
    >>> named("difference", np.array([0.2, 0.6, 0.3]), pairs_of(3, "between_groups"), groups)
    0.4000 between F (90) and M (80)
    """
    if not len(value):
        return float("nan")
    found, (left, right) = summarise(summary, value, pairs), (value[pairs[0]], value[pairs[1]])
    if summary in ("min", "max") or not len(left):
        return found
    at = (ratios(left, right) if summary == "ratio" else -np.abs(left - right)).argmin()
    two = [groups[pair[at]] for pair in pairs]
    return Between(found, [group for group, _ in two], [int(people) for _, people in two])


def summary_interval(
    summary: Summary, value: Array, drawn: Array, people: Array, pairs: Pairs, level: float
) -> Interval:
    """Return the summary of values (J,) with an interval from their resamples (n_draws, J).

    Limits that hold for all groups, or pairs of them, at once also hold for the worst.
    """
    estimate = summarise(summary, value, pairs)
    if summary in ("min", "max"):
        worst = np.min if summary == "min" else np.max
        low, high = (float(worst(ends)) for ends in joint_ends(value, drawn, level))
    else:
        ratio = summary == "ratio"
        if ratio:
            # A value of zero stands for half a person, else its logarithm has no bounds.
            least = 0.5 / (people + 1)
            value, drawn = np.log(np.maximum(value, least)), np.log(np.maximum(drawn, least))
        contrast, contrasts = (v[..., pairs[0]] - v[..., pairs[1]] for v in (value, drawn))
        low, high = of_largest(*joint_ends(contrast, contrasts, level), ratio)
    return Interval(estimate, min(low, estimate), max(high, estimate))


def joint_ends(value: Array, drawn: Array, level: float) -> tuple[Array, Array]:
    """Return limits of K values, given resamples (n_draws, K), that hold for all at once.

    As many standard errors wide as the largest of the K deviations is, at this level.
    """
    deviation = np.nan_to_num(drawn - value)  # a group that was not drawn says nothing
    error, wide = deviation.std(axis=0), normal_quantile(level)
    if (usable := error > 1e-15).any():
        largest = np.abs(deviation[:, usable] / error[usable]).max(axis=1)
        wide = max(wide, float(np.quantile(largest, level)))
    return value - wide * error, value + wide * error


def few_of_a_label(labels: Sequence[Hashable], count: NDArray) -> list[str]:
    """Return a sentence about labels that few people have, if there are some of several.

    It tells no numbers: how few they are is for the owner of the data.

    >>> few_of_a_label(["no", "yes"], np.array([400, 7]))
    []
    >>> few_of_a_label(["low", "mid", "top"], np.array([400, 300, 7]))[0][:45]
    "fewer than 30 people have the label 'top': to"
    """
    few = [repr(label) for label, n in zip(labels, count.tolist(), strict=True) if n < FEW]
    if len(labels) < 3 or not few:
        return []
    text = ", ".join(few[:_NAMED] + ["..."] * (len(few) > _NAMED))
    which = f"the label {text}" if len(few) == 1 else f"each of the labels {text}"
    return [
        f"fewer than {FEW} people have {which}: too few to learn from, and rates among them are "
        f"mostly chance. Merge such labels with others; min_size={FEW} of a constraint (--min-size "
        f"{FEW}) leaves comparisons of so few people out."
    ]


def few_people(features: Sequence[str], groups: Sequence[Hashable], count: NDArray) -> list[str]:
    """Return a sentence about groups of too few people to say anything about, if there are some.

    >>> few_people(["", "sex", "sex"], ["overall", "F", "M"], np.array([407, 7, 400]))
    ['F (7) has fewer than 30 people: too few to say anything about its rates.']
    """
    rows = zip(features, groups, count.tolist(), strict=True)
    few = [f"{group_name(group)} ({n})" for feature, group, n in rows if feature and n < FEW]
    if not few:
        return []
    if len(few) == 1:
        return [f"{few[0]} has fewer than {FEW} people: too few to say anything about its rates."]
    text = ", ".join(few[:_NAMED] + ["..."] * (len(few) > _NAMED))
    return [
        f"{len(few)} groups, {text}, have fewer than {FEW} people: too few to say anything about "
        "their rates."
    ]
