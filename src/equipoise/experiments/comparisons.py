"""Comparisons: a reduction against a baseline, on the same people, at the same violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from equipoise.cells.table import Array
from equipoise.experiments.measurements import Row, number
from equipoise.experiments.methods import Method
from equipoise.experiments.panels import NOTIONS, Panel, Part
from equipoise.experiments.tasks import Result
from equipoise.plotting import convex_envelope, pareto

#: Those that are judged.
REDUCTIONS = ("exponentiated gradient", "column generation", "plug-in")

#: Samples behind a standard error, which is then known to about a twentieth of itself.
N_DRAWS = 200

#: Columns of the table of comparisons, in order.
COLUMNS = (
    *("problem", "learner", "notion", "seed", "reduction", "baseline", "setting", "published"),
    *("reduction_error", "baseline_error", "difference", "standard_error"),
    *("reduction_violation", "baseline_violation", "excess", "excess_standard_error"),
    *("train_difference",),
)


def compare_panel(
    panel: Panel, seed: int, results: Mapping[str, Result], methods: Mapping[str, Method]
) -> list[Row]:
    """Compare every reduction with every baseline of one panel and one split.

    Of the reduction the classifiers on its training Pareto frontier count, the unconstrained one
    (eps = infinity) among them. Its error is read off their convex envelope at the violation that
    the baseline has on the people tested on; where even the fairest violates more, that one is
    taken. The standard error of the difference of errors is over samples of the people in which
    all of this is done anew: it covers errors, violations and the choice from the envelope. So
    does that of the excess, by which the fairest violates more than the baseline.
    """
    first = next(iter(results.values()))
    people = Part(np.empty((len(first.y_test), 0)), first.y_test, first.A_test)
    decisions = np.vstack([result.test for result in results.values()])
    samples = resample(decisions, people, NOTIONS[panel.notion].given_label, N_DRAWS)
    curves, start = {}, 0
    for name, result in results.items():
        part = slice(start, start := start + len(result.test))
        curves[name] = Contender.of(result.rows, samples[part])
    rows: list[Row] = []
    for reduction in (name for name in REDUCTIONS if name in results):
        ours = curves[reduction]
        if "unconstrained" in curves:
            ours = ours.with_more(curves["unconstrained"])
        ours = ours.some(ours.efficient())
        for name, curve in curves.items():
            if name in (*REDUCTIONS, "unconstrained"):
                continue
            about: Row = {**asdict(panel), "seed": seed, "reduction": reduction, "baseline": name}
            rows += [about | row for row in compare(ours, curve, methods[name].published)]
    return rows


@dataclass(frozen=True, eq=False)
class Contender:
    """The classifiers of a method: rows on train and test data, and samples of the latter."""

    train: list[Row]
    test: list[Row]
    samples: Samples

    @classmethod
    def of(cls, rows: Sequence[Row], samples: Samples) -> Contender:
        """Take the rows of a result apart."""
        train, test = ([row for row in rows if row["part"] == p] for p in ("train", "test"))
        return cls(train, test, samples)

    def with_more(self, other: Contender) -> Contender:
        """Return the classifiers of both."""
        mine, theirs = self.samples, other.samples
        both = Samples(
            np.vstack([mine.violation, theirs.violation]), np.vstack([mine.error, theirs.error])
        )
        return Contender(self.train + other.train, self.test + other.test, both)

    def some(self, chosen: Sequence[int]) -> Contender:
        """Return some of the classifiers."""
        chosen = list(chosen)
        train, test = [self.train[i] for i in chosen], [self.test[i] for i in chosen]
        return Contender(train, test, self.samples[chosen])

    def efficient(self) -> list[int]:
        """Return the numbers of those on the training Pareto frontier."""
        return pareto(*trade_off(self.train).T).tolist()


def compare(ours: Contender, theirs: Contender, published: float | None = None) -> Iterator[Row]:
    """Yield a row for each setting of a baseline: those that are efficient, and the published."""
    on_train, on_test = trade_off(ours.train), trade_off(ours.test)
    fairest = int(convex_envelope(*on_test.T)[0])
    envelopes = ours.samples.envelopes()
    efficient = set(theirs.efficient())
    for place, (learned, tested) in enumerate(zip(theirs.train, theirs.test, strict=True)):
        is_published = tested["setting"] == published
        if place not in efficient and not is_published:
            continue
        drawn = theirs.samples[place]
        errors = [np.interp(v, *e) for v, e in zip(drawn.violation, envelopes, strict=True)]
        excess = ours.samples.violation[fairest] - drawn.violation
        error, at = number(tested, "error"), number(tested, "violation")
        seen = number(learned, "violation")
        ours_at = envelope_error(on_test, at)
        yield {
            "setting": tested["setting"],
            "published": int(is_published),
            "reduction_error": ours_at,
            "baseline_error": error,
            "difference": ours_at - error,
            "standard_error": float(np.std(np.array(errors) - drawn.error)),
            "reduction_violation": max(at, on_test[fairest, 0]),
            "baseline_violation": at,
            "excess": max(on_test[fairest, 0] - at, 0.0),
            "excess_standard_error": float(np.std(excess)),
            "train_difference": envelope_error(on_train, seen) - number(learned, "error")
            if seen >= on_train[:, 0].min()
            else None,
        }


def envelope_error(points: Array, violation: float) -> float:
    """Return the error that mixing (violation, error) points has within a violation.

    >>> round(envelope_error(np.array([[0.0, 0.3], [0.2, 0.2]]), 0.05), 4)
    0.275
    """
    corners = points[convex_envelope(*points.T)]
    return float(np.interp(violation, *corners.T))


def trade_off(rows: Sequence[Row]) -> Array:
    """Return violation and error of each row, of shape (rows, 2)."""
    return np.array([(row["violation"], row["error"]) for row in rows], dtype=float)


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
