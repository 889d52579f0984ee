"""Comparisons: a reduction against a baseline, on the same people, at the same violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from equipoise.cells.table import Array
from equipoise.experiments.measurements import Row, number
from equipoise.experiments.methods import Method
from equipoise.experiments.panels import NOTIONS, Panel, Part
from equipoise.experiments.resampling import Samples, resample
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
