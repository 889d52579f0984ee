"""How often is proven what does not hold, where proofs are hard? Populations are known exactly.

    python benchmarks/proof_size.py                       about an hour on one core
    python benchmarks/proof_size.py --only tests needed   some of the tables
    python benchmarks/proof_size.py --quick               few runs: some seconds

tests: the size of the exact test by full enumeration of tables over nuisance rates; of the goal
bet and of the bet on units by simulation. small: candidates that all break a small bound. dense:
linear learners with many features, and 200 Nystroem features. people: each person ten times,
households, four distinct rows, and groups that people hide. needed: the share of proofs that
succeed with as many people as `people_needed` says. cpu: one walk of a proof.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, Frontier, people_needed
from equipoise.cells import Cells
from equipoise.guarantees.exact_test import exact_p, score_p
from equipoise.guarantees.goal_bet import goal_p, units_p
from equipoise.guarantees.tested_rows import Decided, TestedRows

LEVELS = (0.05, 0.1, 0.2)
PAIR = np.array([1.0, -1.0])
Draw = Callable[[int, np.random.Generator], tuple[NDArray, NDArray, NDArray]]


def share(number: int, runs: int) -> str:
    """Return a share with its standard error."""
    rate = number / max(runs, 1)
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / max(runs, 1)):.3f}"


def exact_sizes(n: tuple[int, int], c: float) -> list[float]:
    """Return the largest chance of a false proof over 200 nuisance rates, at every level."""
    x = np.stack(np.meshgrid(*(np.arange(m + 1.0) for m in n), indexing="ij"), axis=-1)
    score = score_p(x, n, PAIR, c)
    second = np.linspace(0, 1 - c, 200) ** 2
    second = second[second <= 1 - c]
    one = binom.pmf(np.arange(n[0] + 1)[:, None], n[0], second + c)
    other = binom.pmf(np.arange(n[1] + 1)[:, None], n[1], second)
    p = np.where(score < 0.01, 0.0, 1.0)  # clear ones count as proven
    for i, j in np.argwhere((score >= 0.01) & (score <= 0.26)):
        if (one[i] * other[j]).max() > 1e-7:
            p[i, j] = exact_p(x[i, j], n, PAIR, c)
    return [
        float(np.einsum("iu,ij,ju->u", one, (p <= level).astype(float), other).max())
        for level in LEVELS
    ]


def tests(runs: int, quick: bool) -> None:
    """Print the sizes of the three tests."""
    lines = []
    cases = [((60, 60), 0.1), ((40, 160), 0.05), ((100, 100), 0.2), ((300, 300), 0.0091)]
    for n, c in cases[:1] if quick else cases:
        sizes = [f"{size:.4f}" for size in exact_sizes(n, c)]
        lines.append([f"exact, {n[0]} and {n[1]}, bound {c}", "enumerated", *sizes])
    rng = np.random.default_rng(0)
    for n, p, c in [((20, 20), (0.1, 0.0), 0.1), ((300, 300), (0.0091, 0.0), 0.0091),
                    ((600, 600), (0.35, 0.3), 0.05), ((40, 4000), (0.5, 0.4), 0.1)]:  # fmt: skip
        x = [rng.random((runs, m)) < rate for m, rate in zip(n, p, strict=True)]
        sizes = [
            share((goal_p(x, PAIR, c, level, prior=p) <= level).sum(), runs) for level in LEVELS
        ]
        lines.append([f"goal bet, {n[0]} and {n[1]}, bound {c}", runs, *sizes])
    for name, mixed in (("households of one group", False), ("mixed households", True)):
        broken = dict.fromkeys(LEVELS, 0)
        for _ in range(few := max(runs // 4, 10)):
            size = rng.choice([1, 2, 3, 10], 1500, p=[0.4, 0.3, 0.2, 0.1])
            women = rng.binomial(size, 0.5) if mixed else size * (rng.random(1500) < 0.5)
            w = np.stack([women, size - women]).astype(float)
            luck = rng.random(1500)
            u = np.stack([w[0] * (luck < 0.35), w[1] * (luck < 0.3)])[None]
            for level in LEVELS:
                p = units_p(w, u, PAIR, 0.05, level, 10.0, is_disjoint=True, is_single=not mixed)
                broken[level] += int(p[0] <= level)
        lines.append([f"units, {name} of 1 to 10", few, *(share(b, few) for b in broken.values())])
    print(
        markdown_table(["test", "runs", *(f"level {level}" for level in LEVELS)], lines), flush=True
    )


class Rule:
    """Selects a share of group a, and nobody of group b."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def predict(self, X: Any) -> NDArray:
        """Return the decisions."""
        return ((np.asarray(X)[:, 0] < self.rate * 1e6) & (np.asarray(X)[:, 1] == 0)).astype(int)


def ranked(n: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray]:
    """Return people of two groups of the same size."""
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    group = np.arange(n) % 2
    return np.column_stack([rng.integers(0, 10**6, n), group]), y, group


def small(runs: int, quick: bool) -> None:
    """Print how often a candidate is proven although all break the bound: 300 people a group."""
    X, y, group = ranked(20_000, np.random.default_rng(5))
    lines = []
    for confidence, eps in ((0.95, 0.0092), (0.9, 0.0056), (0.8, 0.0025)):
        rules = [Rule(rate) for rate in (eps + 0.0001, 0.008 + eps, 0.02 + eps)]
        rule = DemographicParity(reference="pairwise")
        frontier = Frontier(rules, rule, bounds=[0.01, 0.02]).fit(X, y, sensitive_features=group)
        held = 0
        for seed in range(runs):
            Xp, yp, Ap = ranked(600, np.random.default_rng(seed))
            more = {"eps": eps, "confidence": confidence, "fallback": "lottery"}
            proof = frontier.prove(Xp, yp, sensitive_features=Ap, **more).proof_
            held += proof.holds and proof.regardless == 0
        lines.append([confidence, eps, runs, share(held, runs), f"{1 - confidence:.2f}"])
    head = ["confidence", "bound", "runs", "false proofs", "allowed"]
    print(markdown_table(head, lines), flush=True)


def dense_people(features: int) -> Draw:
    """Return a draw of people with so many features, of which two matter."""

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray]:
        group = (rng.random(n) < 0.25).astype(int)
        X = rng.normal(size=(n, features))
        X[:, 0] += group
        y = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 0.5 + 0.6 * group
        return X, y.astype(int), group

    return draw


def difference(model: FairClassifier, people: tuple[NDArray, NDArray, NDArray]) -> float:
    """Return the largest difference that the rule of a model bounds, in the population."""
    X, y, group = people
    h = model.predict(X).astype(float)
    kinds = (y == 0, y == 1) if isinstance(model.constraint, EqualizedOdds) else (y >= 0,)
    rates = [[h[k & (group == a)].mean() for a in (0, 1)] for k in kinds]
    return max(abs(first - second) for first, second in rates)


def counted(draw: Draw, learner: Any, rule: Any, n: int, runs: int, **more: Any) -> list[object]:
    """Return how many fits are proven, and how many of these break their bound."""
    truth = draw(100_000, np.random.default_rng(99))
    held = broken = 0
    for seed in range(runs):
        X, y, group = draw(n, np.random.default_rng(seed))
        model = FairClassifier(learner, rule, confidence=0.95, **more)
        model.fit(X, y, sensitive_features=group)
        if model.proof_.holds:
            held += 1
            broken += difference(model, truth) > rule.eps
    return [runs, share(held, runs), share(broken, runs)]


def dense(runs: int, quick: bool) -> None:
    """Print how often proofs of learners with many features are broken."""
    plain = LogisticRegression(max_iter=500)
    nystroem = make_pipeline(Nystroem(gamma=0.05, n_components=200, random_state=0), plain)
    cases = [("10", 10, plain), ("40", 40, plain), ("200 Nystroem", 40, nystroem)]
    lines = []
    for name, features, learner in cases[:1] if quick else cases:
        for rule in (
            DemographicParity(0.1, reference="pairwise"),
            EqualizedOdds(0.2, reference="pairwise"),
        ):
            for n in (1000,) if name.startswith("200") or quick else (1000, 4000):
                for design in ("split", "forward"):
                    found = counted(dense_people(features), learner, rule, n, runs, proof=design)
                    lines.append([name, type(rule).__name__, f"{n:,}", design, *found])
    print(
        markdown_table(["features", "rule", "people", "proof", "runs", "proven", "broken"], lines),
        flush=True,
    )


def usual(n: int, rng: np.random.Generator) -> tuple[NDArray, NDArray, NDArray]:
    """Return people with two features."""
    group = rng.choice(["F", "M"], n)
    X = np.column_stack([(group == "M") + rng.normal(size=n), rng.normal(size=n)])
    return X, (X.sum(axis=1) + rng.normal(size=n) > 0.5).astype(int), group


def people(runs: int, quick: bool) -> None:
    """Print how often proofs break of people who are not single people with a known group."""
    Xp, _, Ap = usual(200_000, np.random.default_rng(77))
    counts: dict[str, list[int]] = {}

    def note(name: str, proven: bool, gap: Callable[[], float], bound: float) -> None:
        held = counts.setdefault(name, [0, 0, 0])
        held[0] += 1
        held[1] += proven
        held[2] += proven and gap() > bound

    def gap(model: FairClassifier) -> float:
        h = model.predict(Xp)
        return abs(h[Ap == "M"].mean() - h[Ap == "F"].mean())

    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rule = DemographicParity(0.15, reference="pairwise")
        single = usual(1500, rng)
        X, y, A = (np.repeat(values, 10, axis=0) for values in single)
        copies = np.repeat(np.arange(1500), 10)
        for name, clusters in (("ten times, clusters=", copies), ("ten times, not said", None)):
            model = FairClassifier(LogisticRegression(), rule, confidence=0.95)
            model.fit(X, y, sensitive_features=A, clusters=clusters)
            proof = model.proof_
            # What is said of copies makes the sentence true: nothing is promised of them.
            note(name, proof.holds, lambda m=model: gap(m), rule.eps)
        size = rng.choice([1, 2, 3, 10], 1500, p=[0.4, 0.3, 0.2, 0.1])
        X, y, A = (np.repeat(values, size, axis=0) for values in single)
        X = X + 0.01 * rng.normal(size=X.shape)
        house = np.repeat(np.arange(1500), size)
        model = FairClassifier(LogisticRegression(), rule, confidence=0.95)
        model.fit(X, y, sensitive_features=A, clusters=house)
        note(
            "households of 1 to 10, clusters=", model.proof_.holds, lambda m=model: gap(m), rule.eps
        )
        B = rng.integers(0, 2, 8000)
        X = (rng.random((8000, 2)) < np.where(B, 0.7, 0.3)[:, None]).astype(float)
        y = (rng.random(8000) < 0.2 + 0.3 * X.sum(axis=1)).astype(int)
        rule = DemographicParity(0.05, reference="pairwise")
        model = FairClassifier(LogisticRegression(), rule, confidence=0.95, random_state=seed)
        model.fit(X, y, sensitive_features=B)
        table = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        p = np.array([[0.49, 0.21, 0.21, 0.09], [0.09, 0.21, 0.21, 0.49]])
        h = model.predict(table) if model.proof_.holds else np.zeros(4)
        note(
            "four distinct rows",
            model.proof_.holds,
            lambda h=h, p=p: abs(np.diff(p @ h)[0]),
            rule.eps,
        )
        X, y, A = usual(10_000, rng)
        hidden = A.astype(object)
        hidden[(A == "F") & (X.sum(axis=1) < 0) & (rng.random(len(y)) < 0.7)] = None
        rule = DemographicParity(0.06, reference="pairwise")
        for missing in ("worst", "ignore"):
            model = FairClassifier(LogisticRegression(), rule, confidence=0.95)
            model.fit(X, y, sensitive_features=hidden, missing=missing)
            note(
                f"17 % hide, missing={missing}",
                model.proof_.holds,
                lambda m=model: gap(m),
                rule.eps,
            )
    lines = [[name, n, share(held, n), share(bad, n)] for name, (n, held, bad) in counts.items()]
    print(markdown_table(["people", "runs", "proven", "broken for all"], lines), flush=True)


def needed(runs: int, quick: bool) -> None:
    """Print how many proofs of a fixed classifier succeed with as many people as are said."""
    rng = np.random.default_rng(0)
    lines = []
    cases = [(0.05, 0.0), (0.05, 0.002), (0.05, 0.01), (0.05, 0.02), (0.05, 0.05), (0.05, 0.35),
             (0.01, 0.001), (0.01, 0.005), (0.01, 0.01), (0.1, 0.02)]  # fmt: skip
    for eps, rate in cases[:2] if quick else cases:
        for part in (0.5, 0.1):
            start = time.process_time()
            rule = DemographicParity(eps, reference="pairwise")
            said = people_needed(rule, {"F": part, "M": 1 - part}, rates=rate)
            seconds = time.process_time() - start
            n = np.round(said.proof_people * np.array([part, 1 - part])).astype(int)
            x, times = np.unique(rng.binomial(n, rate, (runs, 2)), axis=0, return_counts=True)
            proven = [all(likely(row, n, a, eps) for a in (PAIR, -PAIR)) for row in x]
            lines.append(
                [eps, rate, part, *n, share(int(times[proven].sum()), runs), f"{seconds:.2f}"]
            )
    print(
        markdown_table(["bound", "rate", "share", "F", "M", "proven", "CPU s"], lines), flush=True
    )


def likely(x: NDArray, n: NDArray, a: NDArray, c: float) -> bool:
    """Return whether a row is proven at 5 %."""
    return bool(score_p(x, n, a, c) <= 0.08) and exact_p(x, n, a, c) <= 0.05


def cpu(runs: int, quick: bool) -> None:
    """Print the CPU time of 20 candidates, 20 rows and 10,000 people."""
    rng = np.random.default_rng(0)
    cells = Cells.from_columns(rng.integers(0, 2, 10_000), {"group": rng.integers(0, 5, 10_000)})
    rows = TestedRows.of(DemographicParity(0.08, reference="pairwise"), cells.table())
    start = time.process_time()
    for _ in range(20):
        h = (rng.random(10_000) < 0.3).astype(int)
        counts = np.bincount(2 * cells.code + h, minlength=2 * cells.n_cells).reshape(-1, 2)
        rows.p_values(Decided(counts), 0.05)
    seconds = time.process_time() - start
    print(
        f"20 candidates, {rows.n_rows} rows, 10,000 people: {seconds:.2f} CPU seconds", flush=True
    )


TABLES = {"tests": (tests, 2000), "small": (small, 500), "dense": (dense, 100),
          "people": (people, 100), "needed": (needed, 500), "cpu": (cpu, 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--quick", action="store_true", help="few runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    for name in options.only:
        table, runs = TABLES[name]
        print(f"\n**{name}**\n")
        table(3 if options.quick else options.runs or runs, options.quick)


if __name__ == "__main__":
    main()
