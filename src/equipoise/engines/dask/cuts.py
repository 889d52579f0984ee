"""Cuts: where scores are cut at least cost, when no place has all scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.engines.dask.shard import Shard, Task
from equipoise.engines.dask.shards import Shards
from equipoise.oracles.decisions import scores
from equipoise.oracles.thresholds import own_threshold

_BINS = 1 << 14
#: When no more distinct scores than these are left, all come to the driver and are sorted there.
_FEW = 1 << 12
_ROUNDS = 12


def best_threshold(shards: Shards, classifier: Any, task: Task) -> float:
    """Return the threshold that `equipoise.oracles.thresholds.tuned` would, had it all rows.

    Scores are sorted into bins on the workers. What a cut inside a bin can cost at the least
    follows from sums over bins; only the range of bins where it could be the least of all is looked
    at again, in finer bins, until few scores are left.
    """
    own = own_threshold(classifier)
    asked = (classifier, task, own)
    tables = shards.map(_overview, *asked)
    at_own, total = (sum(table[i] for table in tables) for i in (0, 1))
    low, high = min(table[2] for table in tables), max(table[3] for table in tables)
    inside, rounding = sum(table[4] for table in tables), 1e-9 * total
    above = least = 0.0
    for _ in range(_ROUNDS):
        if inside <= _FEW or not low < high:
            break
        edges = np.linspace(low, high, _BINS + 1)
        parts = shards.map(_binned, *asked, edges)
        sums, gains = (np.sum([part[i] for part in parts], axis=0) for i in (0, 1))
        over = above + np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)
        least = min(least, float((over + sums).min()))
        open_bins = np.flatnonzero(over + gains <= least + rounding)
        if not len(open_bins):
            return own if at_own <= least + rounding else np.inf
        first, last = int(open_bins[0]), int(open_bins[-1])
        if last - first > _BINS * 0.9:
            break  # no cut is much better than others, all over the range
        above, (low, high) = float(over[last]), (edges[first], edges[last + 1])
        inside = sum(part[2][first : last + 1].sum() for part in parts)
    few = shards.map(_distinct, *asked, low, high)
    return _choose(shards, asked, few, above, at_own, rounding)


def _choose(
    shards: Shards, asked: tuple, parts: list[Any], above: float, at_own: float, rounding: float
) -> float:
    """Sort the scores that are left; of cuts that cost the same take the nearest to the own one."""
    own = asked[2]
    score = np.concatenate([part[0] for part in parts])
    cost = np.concatenate([part[1] for part in parts])
    ranked, inverse = np.unique(score, return_inverse=True)
    summed = np.bincount(inverse, weights=cost, minlength=len(ranked))
    total = above + np.cumsum(summed[::-1])[::-1]
    least = min(float(total.min(initial=0.0)), 0.0)
    if at_own <= least + rounding:
        return own
    cuts = np.append(ranked[total <= least + rounding], [np.inf] if least + rounding >= 0 else [])
    cut = float(cuts[np.argmin(np.abs(cuts - own))])
    if cut == np.inf:
        return cut
    lower = max(shards.map(_next_below, *asked, cut))
    middle = lower + (cut - lower) / 2 if lower > -np.inf else lower
    return float(middle if middle < cut else lower)


# What follows runs on the workers.


def _scored(shard: Shard, classifier: Any, task: Task) -> tuple[Array, Array]:
    """Return scores and signed costs of the rows that weigh something."""
    if not len(shard):
        return np.zeros(0), np.zeros(0)
    label, weight = shard.examples(task)
    heavy = weight > 0
    score = scores(classifier, shard.X)[heavy]
    return score, np.where(label == 1, -weight, weight)[heavy]


def _overview(shard: Shard, classifier: Any, task: Task, own: float) -> tuple[float, ...]:
    score, signed = _scored(shard, classifier, task)
    low, high = score.min(initial=np.inf), score.max(initial=-np.inf)
    return float(signed[score > own].sum()), float(np.abs(signed).sum()), low, high, len(score)


def _binned(
    shard: Shard, classifier: Any, task: Task, own: float, edges: Array
) -> tuple[NDArray, NDArray, NDArray]:
    score, signed = _scored(shard, classifier, task)
    inside = (score >= edges[0]) & (score <= edges[-1])
    score, signed = score[inside], signed[inside]
    n = len(edges) - 1
    bins = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, n - 1)
    return (
        np.bincount(bins, weights=signed, minlength=n),
        np.bincount(bins, weights=np.minimum(signed, 0.0), minlength=n),
        np.bincount(bins, minlength=n),
    )


def _distinct(
    shard: Shard, classifier: Any, task: Task, own: float, low: float, high: float
) -> tuple[Array, NDArray]:
    """Return the scores in a range with the sum of costs of each, thinned out where many."""
    score, signed = _scored(shard, classifier, task)
    inside = (score >= low) & (score <= high)
    ranked, inverse = np.unique(score[inside], return_inverse=True)
    summed = np.bincount(inverse, weights=signed[inside], minlength=len(ranked))
    if len(ranked) > _FEW:  # neighbours taken together: a cut between these is not considered
        starts = np.unique(np.linspace(0, len(ranked) - 1, _FEW).astype(int))
        return ranked[starts], np.add.reduceat(summed, starts)
    return ranked, summed


def _next_below(shard: Shard, classifier: Any, task: Task, own: float, cut: float) -> float:
    score, _ = _scored(shard, classifier, task)
    return float(score.max(initial=-np.inf, where=score < cut))
