"""Resampling: errors and violations of many classifiers, had other people been tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.cells.table import Array
from equipoise.experiments.panels import Part
from equipoise.plotting import convex_envelope


@dataclass(frozen=True, eq=False)
class Samples:
    """Violations and errors of S classifiers on D samples of the people: two (S, D) arrays.

    All classifiers are measured on the same samples, so that differences between them vary as
    little as they should.
    """

    violation: Array
    error: Array

    def envelopes(self) -> list[tuple[Array, Array]]:
        """Return the violations and errors of the convex envelope in each sample."""
        pairs = zip(self.violation.T, self.error.T, strict=True)
        return [(v[c], e[c]) for v, e in pairs for c in [convex_envelope(v, e)]]

    def __getitem__(self, classifiers: Any) -> Samples:
        return Samples(self.violation[classifiers], self.error[classifiers])


def resample(
    decisions: Array, people: Part, given_label: bool, n_draws: int, seed: int = 0
) -> Samples:
    """Draw samples with replacement (each person Poisson(1) times) and measure on each.

    ``decisions`` are expectations for each classifier, of shape (S, n). The violation is that of
    equalized odds with ``given_label``, else of demographic parity.

    Examples
    --------
    >>> people = Part(np.zeros((400, 0)), np.arange(400) % 2, np.arange(400) // 200)
    >>> perfect_and_constant = np.array([people.y, np.ones(400)], dtype=float)
    >>> samples = resample(perfect_and_constant, people, given_label=False, n_draws=50)
    >>> samples.error.mean(axis=1).round(1).tolist()
    [0.0, 0.5]
    >>> samples.violation.max(axis=1).round(1).tolist()
    [0.1, 0.0]
    """
    counts = np.random.default_rng(seed).poisson(1.0, (len(people), n_draws)).astype(float)
    losses = np.where(people.y == 1, 1 - decisions, decisions)
    error = _rates(losses, counts, np.ones(len(people), dtype=bool))
    violation = np.zeros_like(error)
    events = [people.y == 0, people.y == 1] if given_label else [np.ones(len(people), dtype=bool)]
    for event in events:
        overall = _rates(decisions, counts, event)
        for group in np.unique(people.A):
            rate = _rates(decisions, counts, event & (group == people.A))
            violation = np.fmax(violation, np.abs(rate - overall))
    return Samples(violation, error)


def _rates(values: Array, counts: Array, rows: Array) -> Array:
    """Mean of values over some rows in each sample; NaN in a sample without any."""
    chosen = counts[rows]
    with np.errstate(invalid="ignore"):
        return (values[:, rows] @ chosen) / chosen.sum(axis=0)
