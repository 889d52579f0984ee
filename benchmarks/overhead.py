"""What the reduction adds, in time and memory, to a learner that costs almost nothing.

A million rows, 2 and 20 groups, equalized odds. The learner is a decision stump: a weighted
histogram of each feature to fit it, one comparison to predict. It is run with two features, where
it costs next to nothing, and with six. Both libraries run with their own defaults, on the same
data, each in a fresh process of one thread.

- Time is CPU time, the median of the repeats, in a process that has made its data, as a user's
  would. "total / learner" is the time of the whole ``fit`` over that of as many calls of the
  learner alone: its ``fit`` and ``predict``, afterwards and in the same process.
- Memory is the peak of the resident set during ``fit`` minus the resident set just before it, in a
  process that has done nothing but load its data and warm up on a few rows. "with scores" is the
  same for a learner that gives scores, whose threshold is then tuned: the scores are sorted.
- Error and violation are computed from the expected predictions, without either library.
- Then, for equipoise alone, with the fewest features: where its own time in a fit goes, medians of
  the repeats, and what single passes of NumPy over as many rows take; and "total / learner" for
  learners that take longer on the same rows and are called as often.

Run ``python benchmarks/overhead.py``; ``--quick`` for a small version.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

import _raw
import numpy as np
from _clock import Clock
from _machine import machine, markdown_table
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

LIBRARIES = ("equipoise", "fairlearn")
EPS = 0.02
_BLOCK = 1 << 16
#: Functions whose time is shown apart, and what they do; what is in none of them is "the rest".
PASSES = (
    ("equipoise.rows.people:People.read", "once: people are read and sorted into cells"),
    ("equipoise.cells.rows:Cells.relabel_rows", "a call: labels and weights for the learner"),
    ("equipoise.oracles.refit:predictions", "a call: decisions are checked"),
    ("equipoise.cells.rows:Cells.sum", "a call: decisions are added up by cell"),
    ("equipoise.game.mixture:_solve", "a round: linear programs"),
    ("equipoise.engines.memory:MemoryEngine.compare", "once: members asked again, and compared"),
    ("equipoise.engines.memory:MemoryEngine.hashed", "once: rows are hashed"),
    ("equipoise.rows.fingerprint:Fingerprint.of", "once: fingerprint of the hashes"),
)
LEARNER = (("overhead:Stump.fit", "learner"), ("overhead:Stump.predict", "learner"))
#: Learners of so many seconds a call are spoken of, besides the stump.
LONGER = (0.023, 0.1, 1.0)


class Stump(ClassifierMixin, BaseEstimator):
    """The best threshold on one of the features, which lie in [0, 1), for the weighted error.

    It works in blocks of rows, so that it needs no memory to speak of, and keeps the time that it
    takes.
    """

    n_bins = 64
    seconds: ClassVar[float] = 0.0
    calls: ClassVar[int] = 0

    def fit(self, X: NDArray, y: NDArray, sample_weight: NDArray) -> Self:
        start = time.process_time()
        # Selecting from a bin on costs the weight of label 0 there, and saves that of label 1.
        cost = np.zeros((X.shape[1], self.n_bins))
        X, y, sample_weight = np.asarray(X), np.asarray(y), np.asarray(sample_weight)
        for first in range(0, len(X), _BLOCK):
            rows = slice(first, first + _BLOCK)
            signed = np.where(y[rows] == 1, -sample_weight[rows], sample_weight[rows])
            for feature in range(X.shape[1]):
                bins = (X[rows, feature] * self.n_bins).astype(np.intp)
                cost[feature] += np.bincount(bins, weights=signed, minlength=self.n_bins)
        from_bin_on = np.pad(np.cumsum(cost[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
        self.feature_, bin_ = np.unravel_index(from_bin_on.argmin(), from_bin_on.shape)
        self.threshold_ = bin_ / self.n_bins
        self.classes_ = np.array([0, 1])
        Stump.seconds += time.process_time() - start
        Stump.calls += 1
        return self

    def predict(self, X: NDArray) -> NDArray[np.int64]:
        start = time.process_time()
        selected = (np.asarray(X)[:, self.feature_] >= self.threshold_).astype(np.int64)
        Stump.seconds += time.process_time() - start
        return selected


class ScoredStump(Stump):
    """A stump that also gives scores, so that its threshold can be tuned."""

    def decision_function(self, X: NDArray) -> NDArray[np.float64]:
        start = time.process_time()
        scores = np.asarray(X)[:, self.feature_] - self.threshold_
        Stump.seconds += time.process_time() - start
        return scores


@dataclass(frozen=True)
class Measured:
    """What one process measured of one ``fit``; times a call are in seconds."""

    calls: int
    seconds: float
    seconds_in_learner: float
    learner_alone: float
    bytes_per_row: float
    error: float
    violation: float
    bytes_with_scores: float = float("nan")

    @property
    def ratio(self) -> float:
        return self.seconds / (self.calls * self.learner_alone)

    @property
    def overhead_per_call(self) -> float:
        return (self.seconds - self.seconds_in_learner) / self.calls


def make_data(n: int, n_groups: int, n_features: int) -> dict[str, NDArray]:
    """Features of falling quality, of which the best one also tells the groups apart."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, n_groups, n)
    merit = rng.normal(size=n)
    advantage = group / (n_groups - 1) - 0.5
    y = (merit + 0.5 * advantage + 0.5 * rng.normal(size=n) > 0.5).astype(np.int64)
    noise = [(1 + feature) / 2 * rng.normal(size=n) for feature in range(n_features)]
    X = merit[:, None] + np.column_stack(noise)
    X[:, 0] += advantage
    return {"X": 1 / (1 + np.exp(-X)), "y": y, "group": group}


def _load(file: Path) -> dict[str, NDArray]:
    with np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


def reductions(learner: Stump) -> dict[str, Callable[[], Any]]:
    """Return how to make each library's classifier, with its own defaults."""
    import fairlearn.reductions as fairlearn

    from equipoise import EqualizedOdds, FairClassifier
    from equipoise.oracles import Refit

    return {
        "equipoise": lambda: FairClassifier(
            learner, EqualizedOdds(eps=EPS), oracle=Refit(threshold="tuned")
        ),
        "fairlearn": lambda: fairlearn.ExponentiatedGradient(
            learner, fairlearn.EqualizedOdds(difference_bound=EPS), eps=EPS
        ),
    }


def measure(
    library: str, data: Callable[[], dict[str, NDArray]], learner: Stump | None = None
) -> Measured:
    """Fit once, in this process."""
    warnings.simplefilter("ignore")  # fairlearn's own, about pandas
    make = reductions(learner or Stump())[library]
    few = make_data(500, 2, 2)
    make().fit(few["X"], few["y"], sensitive_features=few["group"])
    X, y, group = data().values()
    Stump.calls, Stump.seconds = 0, 0.0
    before = _memory("VmRSS")
    start = time.process_time()
    fitted = make().fit(X, y, sensitive_features=group)
    seconds, calls, seconds_in_learner = time.process_time() - start, Stump.calls, Stump.seconds
    extra = _memory("VmHWM") - before
    expected = _raw.expected_predictions(_raw.members(fitted), X)
    return Measured(
        calls=calls,
        seconds=seconds,
        seconds_in_learner=seconds_in_learner,
        learner_alone=_alone(X, y),
        bytes_per_row=extra / len(y),
        error=_raw.error(expected, y),
        violation=_raw.equalized_odds(expected, y, group),
    )


def measure_passes(n: int, n_groups: int, n_features: int) -> dict[str, float]:
    """Return the CPU seconds of each pass of one fit, those of the learner left out."""
    from overhead import Stump as Watched  # not that of __main__

    X, y, group = make_data(n, n_groups, n_features).values()
    make = reductions(Watched())["equipoise"]
    make().fit(X[:500], y[:500], sensitive_features=group[:500])
    clock = Clock()
    with clock.watching((*PASSES, *LEARNER)):
        start = time.process_time()
        make().fit(X, y, sensitive_features=group)
        total = time.process_time() - start
    each = {name: clock.seconds.get(name, 0.0) for _, name in PASSES}
    return each | {"the rest": total - sum(clock.seconds.values())}


def _alone(X: NDArray, y: NDArray, repeats: int = 9) -> float:
    """Return the seconds that one ``fit`` and ``predict`` of the learner take by themselves."""
    weight, taken = np.random.default_rng(0).uniform(0.5, 1.5, len(y)), []
    for _ in range(repeats):
        Stump.seconds = 0.0
        Stump().fit(X, y, weight).predict(X)
        taken.append(Stump.seconds)
    return float(np.median(taken))


def _memory(field: str) -> float:
    """Read the resident set of this process, now (VmRSS) or at its peak (VmHWM), in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux
        return float("nan")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024.0


def measure_apart(library: str, *arguments: object) -> Measured:
    """Measure in a fresh process of one thread."""
    return Measured(**_apart(library, *arguments))


def passes_apart(n: int, n_groups: int, n_features: int) -> dict[str, float]:
    """Measure the passes of ours in a fresh process of one thread."""
    return _apart("passes", "--rows", n, "--groups", n_groups, "--features", n_features)


def _apart(what: str, *arguments: object) -> dict[str, Any]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, __file__, "--measure", what, *map(str, arguments)],
        env=os.environ | one_thread,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


Results = dict[tuple[int, int, str], Measured]


def benchmark(
    n: int, groups: list[int], features: list[int], repeats: int, libraries: Sequence[str]
) -> Results:
    """Measure libraries for each number of groups and of features."""
    results = {}
    for n_groups, n_features in product(groups, features):
        size = ("--rows", n, "--groups", n_groups, "--features", n_features)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "data.npz"
            np.savez(file, **make_data(n, n_groups, n_features))
            for library in libraries:
                timed = [measure_apart(library, *size) for _ in range(repeats)]
                middle = sorted(timed, key=lambda run: run.seconds)[repeats // 2]
                memory, with_scores = (
                    measure_apart(library, "--load", file, *more).bytes_per_row
                    for more in ((), ("--scores",))
                )
                results[n_groups, n_features, library] = replace(
                    middle, bytes_per_row=memory, bytes_with_scores=with_scores
                )
    return results


def each_table(results: Results) -> str:
    return markdown_table(
        [
            *("groups", "features", "library", "calls", "CPU s", "learner alone, ms a call"),
            *("learner inside, ms a call", "overhead, ms a call", "total / learner"),
            *("extra bytes a row", "with scores", "error", "violation"),
        ],
        [
            [
                *(*key, run.calls, f"{run.seconds:.3f}"),
                f"{1e3 * run.learner_alone:.1f}",
                f"{1e3 * run.seconds_in_learner / run.calls:.1f}",
                *(f"{1e3 * run.overhead_per_call:.1f}", f"{run.ratio:.2f}"),
                *(f"{run.bytes_per_row:.0f}", f"{run.bytes_with_scores:.0f}"),
                *(f"{run.error:.4f}", f"{run.violation:.4f}"),
            ]
            for key, run in results.items()
        ],
    )


def ratio_table(results: Results) -> str:
    rows = []
    for size in dict.fromkeys(key[:2] for key in results):
        ours, theirs = (results[*size, library] for library in LIBRARIES)
        ratios = (
            theirs.seconds / ours.seconds,
            theirs.overhead_per_call / ours.overhead_per_call,
            theirs.bytes_per_row / ours.bytes_per_row,
        )
        rows.append([*size, *(f"{ratio:.1f}" for ratio in ratios)])
    return markdown_table(["groups", "features", "time", "overhead a call", "extra memory"], rows)


def pass_table(n: int, groups: list[int], n_features: int, repeats: int) -> str:
    """Measure and lay out the passes of ours, in milliseconds a fit."""
    columns = []
    for n_groups in groups:
        runs = [passes_apart(n, n_groups, n_features) for _ in range(repeats)]
        columns.append({name: np.median([run[name] for run in runs]) for name in runs[0]})
    header = ["ms a fit", *(f"{n_groups} groups" for n_groups in groups)]
    rows = [[name, *(f"{1e3 * each[name]:.1f}" for each in columns)] for name in columns[0]]
    rows.append(["all", *(f"{1e3 * sum(each.values()):.1f}" for each in columns)])
    return markdown_table(header, rows)


def single_passes(n: int) -> str:
    """Say what single passes of NumPy over so many rows take, at the least."""
    numbers, flags = np.random.default_rng(0).random(n), np.arange(n) % 3 == 0
    passes = {
        "add up numbers": numbers.sum,
        "copy numbers": numbers.copy,
        "numbers to bools": lambda: numbers.astype(bool),
        "count bools": lambda: np.count_nonzero(flags),
    }
    found = []
    for name, one in passes.items():
        taken = []
        for _ in range(9):
            start = time.perf_counter()
            one()
            taken.append(time.perf_counter() - start)
        found.append(f"{name} {1e3 * min(taken):.2f} ms")
    return "A pass of NumPy over as many rows: " + ", ".join(found) + "."


def longer_table(results: Results, n_features: int) -> str:
    """Lay out "total / learner" for learners that take longer on the same rows."""
    rows = []
    for (n_groups, features, library), run in results.items():
        if (features, library) == (n_features, "equipoise"):
            own = run.seconds / run.calls - run.learner_alone
            each = (run.learner_alone, *LONGER)
            rows.append([n_groups, f"{1e3 * own:.1f}", *(f"{1 + own / s:.2f}" for s in each)])
    header = ["groups", "own ms a call", "the stump", *(f"{1e3 * s:.0f} ms" for s in LONGER)]
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 20])
    parser.add_argument("--features", type=int, nargs="+", default=[2, 6])
    parser.add_argument("--repeats", type=int, default=5, help="processes for each figure")
    parser.add_argument("--quick", action="store_true", help="4,000 rows, once")
    parser.add_argument("--alone", action="store_true", help="leave fairlearn out")
    parser.add_argument("--measure", choices=[*LIBRARIES, "passes"], help=argparse.SUPPRESS)
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--scores", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        size = (asked.rows, asked.groups[0], asked.features[0])
        if asked.measure == "passes":
            print(json.dumps(measure_passes(*size)))
            return
        data = partial(_load, asked.load) if asked.load else partial(make_data, *size)
        learner = ScoredStump() if asked.scores else Stump()
        print(json.dumps(vars(measure(asked.measure, data, learner))))
        return
    rows, repeats = asked.rows, asked.repeats
    if asked.quick:
        rows = 4000
        repeats = 1
        asked.groups = [2]
        asked.features = [2]
    libraries = LIBRARIES[:1] if asked.alone else LIBRARIES
    results = benchmark(rows, asked.groups, asked.features, repeats, libraries)
    print(f"{machine()}\n\n{rows:,} rows, equalized odds within {EPS}.\n")
    print(f"{each_table(results)}\n")
    if not asked.alone:
        print(f"fairlearn / equipoise:\n\n{ratio_table(results)}\n")
    few = min(asked.features)
    print(f"equipoise, {few} features:\n\n{pass_table(rows, asked.groups, few, repeats)}\n")
    print(f"{single_passes(rows)}\n")
    print(f"total / learner, by the learner's time a call:\n\n{longer_table(results, few)}")


if __name__ == "__main__":
    main()
