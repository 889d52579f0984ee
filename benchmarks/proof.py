"""Is a bound that was proven kept by people who were not seen? ACSIncome is the truth.

    python benchmarks/proof.py                              the main table: about an hour, one core
    python benchmarks/proof.py --problems dp-sex --resamples 20             about half a minute
    python benchmarks/proof.py --problems dp-sex --people 2000 --bound 0.1
    python benchmarks/proof.py --problems eo-sex --people needed            the n of `people_needed`
    python benchmarks/proof.py --table FILE                 the table of results kept with --keep

Every resample draws people from the population, fits, and proves; the truth is then computed over
the whole population. "found": a classifier was returned; "without lot": one that decides nothing
regardless of who it is. "broken": it was, and exceeds a bound in the population; of all resamples,
of which a proof at 95 % may break 5 %. "lot": the mean share of decisions made regardless of who
it is. "slack": bound less true value of the worst row. "error": above the least error of the
population within the bounds. All ± one standard error.

split: half to learn from, half for the proof; score test, fixed sequence. cross_fit: two halves,
each tested on the other. margin: tested on those learned from. naive: a plain fit to the bound, on
all people. Clopper-Pearson and Hoeffding: the split, with an interval for each rate and Bonferroni
over rates and rows, on the same path. fairlearn: ExponentiatedGradient with the same bounds, on
some of the resamples, since it takes seconds.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _machine import machine, markdown_table
from _population import Array, Fit, Population, acs_income, fit
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from equipoise.constraints import (
    BoundedGroupError,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    FourFifthsRule,
)
from equipoise.game.lagrangian import Lagrangian
from equipoise.guarantees.people_needed import people_needed
from equipoise.guarantees.proof import Decided, walk
from equipoise.guarantees.tested_rows import TestedRows

DELTA = 0.05
PROBLEMS: dict[str, tuple[type[Constraint], float, str]] = {
    "dp-sex": (DemographicParity, 0.05, "sex"),
    "eo-sex": (EqualizedOdds, 0.10, "sex"),
    "dp-race": (DemographicParity, 0.05, "race"),
    "eo-race": (EqualizedOdds, 0.10, "race"),
    "four-fifths": (FourFifthsRule, 0.0, "sex"),
    "group-error": (BoundedGroupError, 0.25, "sex"),
}
METHODS = ("split", "cross_fit", "margin", "clopper", "hoeffding", "naive", "fairlearn")
LEARNERS: dict[str, Any] = {
    "logistic": None,
    "tree": DecisionTreeClassifier(max_leaf_nodes=200, random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
}


#: Excess over the worst bound, error, share of decisions made regardless of who it is.
Found = tuple[float, float, float]


class Truth(NamedTuple):
    """Error and rows over the whole population."""

    game: Lagrangian
    shares: Array

    def of(self, h: Array, regardless: float = 0.0) -> Found:
        """Return by how much the worst bound is exceeded, the error, and a share that is kept."""
        s = h @ self.shares
        excess = float((self.game.gamma(s) - self.game.c).max())
        return excess, float(self.game.error(s)), regardless

    def at(self, h: Array, decided: Decided, at: int) -> Found | None:
        """Return the same of a candidate, None for number -1."""
        return self.of(h[at], float(decided.regardless[at])) if at >= 0 else None


def constraint_of(problem: str, bound: float | None) -> Constraint:
    kind, default, _ = PROBLEMS[problem]
    value = default if bound is None else bound
    if kind is BoundedGroupError:
        return BoundedGroupError(value)
    return kind(value, reference="pairwise")  # type: ignore[call-arg]


def clopper(rows: TestedRows, s: Array) -> Array:
    """Return 0 where each row is proven by intervals of its rates, with Bonferroni, and 1 else."""
    n, a = rows.people, rows.coefficients
    x, level = rows.rates(s) * n, DELTA / len(a) / (a != 0).sum(axis=1)
    low = beta.ppf(level[:, None], np.maximum(x, 1e-9), n - x + 1)
    high = beta.ppf(1 - level[:, None], x + 1, np.maximum(n - x, 1e-9))
    return (np.where(a > 0, a * high, a * low).sum(axis=1) > rows.bounds).astype(float)


def hoeffding(rows: TestedRows, s: Array) -> Array:
    """Return the same with Hoeffding's intervals."""
    a = rows.coefficients
    level = DELTA / len(a) / (a != 0).sum(axis=1)
    half = np.sqrt(np.log(1 / level)[:, None] / (2 * rows.people))
    reach = (a * rows.rates(s) + np.abs(a) * half).sum(axis=1)
    return (reach > rows.bounds).astype(float)


def proven(rows: TestedRows, decided: Decided, test: Any = None, joint: bool = False) -> int:
    """Return the number of the candidate proven, -1 if none is."""

    def compare(t: int) -> Array:
        among, others = decided.among(rows, [t])
        return np.asarray(test(among, others[0]))

    tests = decided.tests(rows, joint) if test is None else compare
    return walk(len(decided.shares), tests, DELTA).last


def resample(
    population: Population,
    truth: Truth,
    constraint: Constraint,
    n: int,
    methods: list[str],
    learner: Any,
    rng: np.random.Generator,
) -> dict[str, Found | None]:
    """Return excess and error of what each method found in one sample, None for nothing."""
    halves = [population.draw(n // 2, rng) for _ in range(2)]
    found: dict[str, Found | None] = {}
    if {"split", "clopper", "hoeffding", "cross_fit"} & set(methods):
        first = fit(population, halves[0], constraint, n // 2, learner)
        (h, reach), (cells, shares) = first.candidates(), population.table(halves[1])
        rows, decided = TestedRows.of(constraint, cells), Decided(h @ shares, reach)
        for name, test in (("split", None), ("clopper", clopper), ("hoeffding", hoeffding)):
            if name in methods:
                found[name] = truth.at(h, decided, proven(rows, decided, test))
    if "cross_fit" in methods:
        second = fit(population, halves[1], constraint, n // 2, learner)
        found["cross_fit"] = cross_fitted(population, truth, constraint, halves, [first, second])
    if {"margin", "naive"} & set(methods):
        together = halves[0] + halves[1]
        full = fit(population, together, constraint, n, learner)
        cells, shares = population.table(together)
        if "margin" in methods:
            h, reach = full.candidates()
            decided = Decided(h @ shares, reach)
            at = proven(TestedRows.of(constraint, cells), decided, joint=True)
            found["margin"] = truth.at(h, decided, at)
        if "naive" in methods:
            found["naive"] = truth.of(full.naive()[0])
    if "fairlearn" in methods:
        found["fairlearn"] = truth.of(by_fairlearn(population, halves, constraint, rng))
    return found


def cross_fitted(
    population: Population,
    truth: Truth,
    constraint: Constraint,
    halves: list[Array],
    fits: list[Fit],
) -> Found | None:
    """Return what the average of two fits does, each tested on the other's people."""
    n = sum(half.sum() for half in halves)
    fits = [each.for_people(2.0) for each in fits]
    most = min(each.path.again(each.pool, each.nu).taus[0] for each in fits)
    both = [each.candidates(most) for each in fits]
    T = min(len(h) for h, _ in both)
    cells, _ = population.table(halves[0] + halves[1])
    s = np.zeros((T, cells.n_cells))
    for half, (h, _) in zip(halves, both[::-1], strict=True):
        table, shares = population.table(half)
        if table.n_cells != cells.n_cells:
            return None
        s += h[-T:] @ shares * (half.sum() / n)
    h, reach = (np.mean([each[-T:] for each in one], axis=0) for one in zip(*both, strict=True))
    decided = Decided(s, reach)
    return truth.at(h, decided, proven(TestedRows.of(constraint, cells), decided, joint=True))


def by_fairlearn(
    population: Population, halves: list[Array], constraint: Constraint, rng: np.random.Generator
) -> Array:
    """Return the chance that fairlearn's classifier selects each unit.

    Its bound is on the distance of a group from everybody: half of the difference between groups.
    """
    import fairlearn.reductions as fairlearn
    from sklearn.linear_model import LogisticRegression

    people = (halves[0] + halves[1]).astype(int)
    unit, label = np.nonzero(people)
    rows = rng.permutation(np.repeat(np.arange(len(unit)), people[unit, label]))
    bound = float(constraint.get_params()["eps"]) / 2
    kind = {"demographic parity": "DemographicParity", "equalized odds": "EqualizedOdds"}
    rule = getattr(fairlearn, kind[constraint.name])(difference_bound=bound)
    eg = fairlearn.ExponentiatedGradient(LogisticRegression(C=10), rule, eps=bound, max_iter=30)
    unit, label = unit[rows], label[rows]
    eg.fit(population.X[unit], label, sensitive_features=population.group[unit])
    return np.asarray(eg._pmf_predict(population.X)[:, 1])


def least_error(
    population: Population, truth: Truth, constraint: Constraint, learner: Any
) -> float:
    """Return the least error within the bounds that is found when everybody is known."""
    everybody = fit(
        population, population.people, constraint, population.people.sum(), learner, 1e-4
    )
    return truth.of(everybody.naive()[0])[1]


def needed_people(population: Population, truth: Truth, constraint: Constraint) -> int:
    """Return the number of people that `people_needed` names, given shares and one rate for all."""
    groups = np.unique(population.group)
    counts = {g: population.people[population.group == g].sum(axis=0) for g in groups}
    if constraint.name == "equalized odds":
        rates: Any = dict.fromkeys(groups, (0.2, 0.65))
    else:
        rates = dict.fromkeys(groups, 0.35)
        counts = {g: float(count.sum()) for g, count in counts.items()}
    return int(people_needed(constraint, counts, rates).people)


def line(name: str, got: list[Any], least: float) -> list[object]:
    """Return a line of the table."""
    ok = np.array([value for value in got if value is not None]).reshape(-1, 3)
    told: list[object] = [name, len(got)]
    for happened in (np.ones(len(ok)), ok[:, 2] < 1e-6, ok[:, 0] > 1e-8):
        share = float(happened.sum()) / len(got)
        told.append(f"{share:.3f} ± {np.sqrt(share * (1 - share) / len(got)):.3f}")
    if not len(ok):
        return [*told, "", "", ""]
    means = ok.mean(axis=0) - [0.0, least, 0.0]
    spread = ok.std(axis=0) / np.sqrt(len(ok))
    slack, error = (
        f"{m:+.4f} ± {e:.4f}" for m, e in zip(means[:2] * [-1, 1], spread, strict=False)
    )
    return [*told, f"{means[2]:.3f}", slack, error]


HEADER = ["method", "resamples", "found", "without lot", "broken", "lot", "slack", "error"]


def table_of(kept: dict[str, Any]) -> str:
    """Return the table of one problem."""
    lines = [
        line(name, [found[name] for found in kept["found"] if name in found], kept["least"])
        for name in METHODS
        if any(name in found for found in kept["found"])
    ]
    about = f"{kept['constraint']}, {kept['by']}, {kept['people']:,} people, {kept['learner']}"
    least = f"least error {kept['least']:.4f}"
    return f"\n**{about}** ({least})\n\n{markdown_table(HEADER, lines)}"


def joined(files: list[str]) -> list[dict[str, Any]]:
    """Return the results kept in files, those of one problem with several seeds together."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for file in files:
        kept = json.loads(Path(file).read_text())
        key = tuple(kept[name] for name in ("constraint", "by", "people", "learner"))
        if key in found:
            found[key]["found"] += kept["found"]
        else:
            found[key] = kept
    return list(found.values())


def run(problem: str, options: argparse.Namespace, populations: dict[str, Population]) -> None:
    by = PROBLEMS[problem][2]
    population = populations.setdefault(by, acs_income(by))
    constraint, learner = constraint_of(problem, options.bound), LEARNERS[options.learner]
    cells, shares = population.table(population.people)
    truth = Truth(Lagrangian.from_moments(constraint.moments(cells), cells), shares)
    n = (
        needed_people(population, truth, constraint)
        if options.people == "needed"
        else int(options.people)
    )
    rng = np.random.default_rng([options.seed, n])
    kept: dict[str, Any] = {
        "problem": problem,
        "constraint": repr(constraint),
        "by": by,
        "people": n,
        "learner": options.learner,
        "found": [],
        "least": least_error(population, truth, constraint, learner),
    }
    for number in range(options.resamples):
        methods = [
            name for name in options.methods if name != "fairlearn" or number < options.fairlearn
        ]
        if "eps" not in constraint.get_params() or constraint.name not in (
            "demographic parity",
            "equalized odds",
        ):
            methods = [name for name in methods if name != "fairlearn"]
        kept["found"].append(resample(population, truth, constraint, n, methods, learner, rng))
        if options.keep and (number % 25 == 24 or number == options.resamples - 1):
            name = f"{problem}_{n}_{options.learner}_{options.bound}_{options.seed}.json"
            Path(options.keep, name).write_text(json.dumps(kept))
    print(table_of(kept), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS)[:4])
    parser.add_argument("--people", default="10000", help="a number, or 'needed'")
    parser.add_argument("--bound", type=float)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--fairlearn", type=int, default=20, help="resamples for fairlearn")
    parser.add_argument("--learner", choices=LEARNERS, default="logistic")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="a folder for the results of every resample")
    parser.add_argument("--table", nargs="+", help="print the tables of files kept, and do no work")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    if options.table:
        for kept in joined(options.table):
            print(table_of(kept))
        return
    populations: dict[str, Population] = {}
    for problem in options.problems:
        run(problem, options, populations)


if __name__ == "__main__":
    main()
