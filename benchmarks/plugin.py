"""The plug-in oracle on Adult: a frontier of 20 points for a few fits, and how good it is.

    python benchmarks/plugin.py [--seeds 3] [--plot docs/plugin.png] [--quick]

LightGBM (100 trees, one thread), demographic parity between the sexes, three quarters of Adult for
training and one for the test. Its cost is set against that of one unconstrained model
that is cross-fitted over the same five folds: six fits of P(Y | X), and predictions. Quality is
error on the test part at equal violation on the test part, against a frontier by refits and
fairlearn's ExponentiatedGradient; OxonFair and error-parity are added where they are installed
(``pip install 'equipoise[compare]'``). Violations are those of expected decisions, or of the
decisions themselves where a library does not tell its probabilities; the largest distance of a
group's selection rate from everybody's, from raw arrays.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import _raw
import numpy as np
from _machine import machine, markdown_table
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from equipoise import DemographicParity, Frontier
from equipoise.cells import Cells
from equipoise.datasets import load_adult
from equipoise.oracles.cross_fit import make_folds

BOUNDS = np.geomspace(0.001, 0.1, 20)
FEW = [0.005, 0.01, 0.02, 0.05, 0.1]


@dataclass(frozen=True)
class Part:
    X: NDArray
    y: NDArray
    A: NDArray


@dataclass
class Curve:
    """What one method did on one split: test violation and error of its points, and its cost."""

    name: str
    cpu: float = 0.0
    wall: float = 0.0
    bounds: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)

    def add(self, bound: float, selected: NDArray, test: Part) -> None:
        self.bounds.append(bound)
        self.violation.append(_raw.demographic_parity(selected, test.y, test.A))
        self.error.append(_raw.error(selected, test.y))

    def errors_at(self, violations: NDArray) -> NDArray:
        """Return the least error at these violations, mixtures of two points allowed."""
        order = np.argsort(self.violation)
        hull: list[tuple[float, float]] = []
        for point in zip(np.array(self.violation)[order], np.array(self.error)[order], strict=True):
            while len(hull) > 1 and _above(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        x, y = np.array(hull).T
        inside = (violations >= x[0]) & (violations <= x[-1])
        return np.where(inside, np.interp(violations, x, y), np.nan)


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def split(seed: int, quick: bool) -> tuple[Part, Part]:
    adult = load_adult()
    A = (np.asarray(adult.sensitive["sex"]) == "Male").astype(int)
    X, y = np.asarray(adult.data, dtype=float), np.asarray(adult.target)
    if quick:
        X, y, A = X[:4000], y[:4000], A[:4000]
    a, b, c, d, e, f = train_test_split(X, y, A, test_size=0.25, random_state=seed, stratify=A)
    return Part(a, c, e), Part(b, d, f)


def timed(curve: Curve, work: Callable[[], Any]) -> Any:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    curve.cpu += time.process_time() - cpu
    curve.wall += time.perf_counter() - wall
    return result


def cross_fitted(learner: Any, train: Part, test: Part) -> Curve:
    """One unconstrained model, with probabilities of everybody by models that had not seen them."""
    curve = Curve("cross-fitted, unconstrained")
    folds = make_folds(Cells.from_columns(train.y, {"A": train.A}), 5)

    def work() -> Any:
        out_of_fold = np.zeros(len(train.y))
        for rows, held_out in folds:
            model = clone(learner).fit(train.X[rows], train.y[rows])
            out_of_fold[held_out] = model.predict_proba(train.X[held_out])[:, 1]
        return clone(learner).fit(train.X, train.y)

    curve.add(np.inf, timed(curve, work).predict(test.X), test)
    return curve


def ours(name: str, learner: Any, train: Part, test: Part, **parameters: Any) -> Curve:
    curve = Curve(name)
    frontier = Frontier(learner, DemographicParity(), bounds=BOUNDS, **parameters)
    timed(curve, lambda: frontier.fit(train.X, train.y, sensitive_features=train.A))
    for eps in BOUNDS:
        curve.add(float(eps), frontier.at(eps).predict_proba(test.X)[:, 1], test)
    return curve


def fairlearn(learner: Any, train: Part, test: Part) -> Curve:
    from fairlearn.reductions import DemographicParity as Parity
    from fairlearn.reductions import ExponentiatedGradient

    curve = Curve(f"fairlearn, {len(FEW)} bounds")
    for eps in FEW:
        model = ExponentiatedGradient(clone(learner), Parity(difference_bound=eps))
        timed(curve, lambda m=model: m.fit(train.X, train.y, sensitive_features=train.A))
        expected = _raw.expected_predictions(_raw.members(model), test.X)
        curve.add(eps, expected, test)
    return curve


def error_parity(learner: Any, train: Part, test: Part) -> Curve:
    """Thresholds by group on one model, chosen on a third of the training data."""
    from error_parity import RelaxedThresholdOptimizer

    curve = Curve(f"error-parity, {len(FEW)} bounds")
    fit, hold = _halves(train)
    model = timed(curve, lambda: clone(learner).fit(fit.X, fit.y))
    larger = max(np.mean(train.A), 1 - np.mean(train.A))
    for eps in FEW:
        optimizer = RelaxedThresholdOptimizer(
            predictor=lambda X: model.predict_proba(X)[:, 1],
            constraint="demographic_parity",
            tolerance=eps / larger,  # it bounds the difference of the two groups
        )
        timed(curve, lambda o=optimizer: o.fit(hold.X, hold.y, group=hold.A))
        curve.add(eps, np.asarray(optimizer(test.X, group=test.A), dtype=float), test)
    return curve


def oxonfair(learner: Any, train: Part, test: Part) -> Curve:
    """Thresholds by group on one model, by grid search on a third of the training data."""
    from oxonfair import DataDict, FairPredictor
    from oxonfair import group_metrics as metrics

    curve = Curve(f"OxonFair, {len(FEW)} bounds")
    fit, hold = _halves(train)
    model = timed(curve, lambda: clone(learner).fit(fit.X, fit.y))
    larger = max(np.mean(train.A), 1 - np.mean(train.A))
    for eps in FEW:
        fair = FairPredictor(model, DataDict(hold.y, hold.X, hold.A))
        bound = eps / larger
        timed(curve, lambda f=fair, b=bound: f.fit(metrics.accuracy, metrics.demographic_parity, b))
        selected = np.asarray(fair.predict(DataDict(test.y, test.X, test.A)), dtype=float)
        curve.add(eps, selected.ravel(), test)
    return curve


def _halves(train: Part) -> tuple[Part, Part]:
    X, X_hold, y, y_hold, A, A_hold = train_test_split(
        train.X, train.y, train.A, test_size=1 / 3, random_state=0, stratify=train.A
    )
    return Part(X, y, A), Part(X_hold, y_hold, A_hold)


def curves_of(seed: int, quick: bool) -> list[Curve]:
    train, test = split(seed, quick)
    learner = LGBMClassifier(n_estimators=20 if quick else 100, n_jobs=1, verbose=-1)
    curves = [
        cross_fitted(learner, train, test),
        ours("plug-in", learner, train, test, oracle="plugin"),
        ours("refit", learner, train, test),
        fairlearn(learner, train, test),
    ]
    for name, method in (("error_parity", error_parity), ("oxonfair", oxonfair)):
        if find_spec(name):
            curves.append(method(learner, train, test))
    return curves


def cost_table(runs: list[list[Curve]]) -> str:
    rows = []
    for curves in zip(*runs, strict=True):
        cpu, wall = (np.mean([getattr(c, kind) for c in curves]) for kind in ("cpu", "wall"))
        ratios = [c.cpu / run[0].cpu for c, run in zip(curves, runs, strict=True)]
        spread = f"{np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        rows.append([curves[0].name, len(curves[0].bounds), f"{cpu:.1f}", f"{wall:.1f}", spread])
    return markdown_table(["method", "points", "CPU s", "wall s", "CPU / cross-fitted"], rows)


def quality_table(runs: list[list[Curve]]) -> str:
    """Test error of the plug-in minus that of the others, where their test violations are equal."""
    rows = []
    for number in range(2, len(runs[0])):
        means = []
        for run in runs:
            other = run[number]
            at = np.array(other.violation)
            means.append(np.nanmean(run[1].errors_at(at) - other.errors_at(at)))
        spread = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
        rows.append(
            [
                *(runs[0][number].name, f"{np.mean(means):+.4f}", f"{spread:.4f}"),
                ", ".join(f"{mean:+.4f}" for mean in means),
            ]
        )
    header = ["against", "error of the plug-in minus theirs", "standard error", "seed by seed"]
    return markdown_table(header, rows)


def landing_table(runs: list[list[Curve]]) -> str:
    rows = []
    for at, bound in enumerate(BOUNDS):
        found = np.array([run[1].violation[at] for run in runs])
        refit = np.array([run[2].violation[at] for run in runs])
        rows.append(
            [
                *(f"{bound:.4f}", f"{found.mean():.4f}", f"{np.abs(found - bound).max():.4f}"),
                *(f"{abs(found.mean() - bound):.4f}", f"{refit.mean():.4f}"),
            ]
        )
    header = ["bound", "test violation, mean", "largest distance", "distance of the mean", "refit"]
    return markdown_table(header, rows)


def plot(runs: list[list[Curve]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.add_subplot()
    colours = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
    for curves, colour, mark in zip(zip(*runs, strict=True), colours, "*os^Dv", strict=False):
        x, y = (np.mean([getattr(c, k) for c in curves], axis=0) for k in ("violation", "error"))
        line = "-" if len(x) == len(BOUNDS) else "none"
        ax.plot(x, y, color=colour, marker=mark, ms=5, ls=line, label=curves[0].name)
    ax.set_xlabel("violation of demographic parity on the test part")
    ax.set_ylabel("error on the test part")
    ax.set_title(f"Adult, LightGBM, means of {len(runs)} splits", fontsize=10)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="write the picture here")
    parser.add_argument("--quick", action="store_true", help="4,000 rows, 20 trees, one seed")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = [curves_of(seed, asked.quick) for seed in range(1 if asked.quick else asked.seeds)]
    print(f"{machine()}\n\n{len(runs)} splits.\n\n{cost_table(runs)}\n")
    print(f"{quality_table(runs)}\n\n{landing_table(runs)}")
    if asked.plot:
        plot(runs, asked.plot)


if __name__ == "__main__":
    main()
