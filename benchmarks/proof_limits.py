"""What could any proof find with so few people? The power of a test that knows the best case.

    python benchmarks/proof_limits.py           some seconds

The best case: decisions have the same rate in every group and label of ACSIncome, so that the true
violation is 0. The people of the proof are drawn, one decision each, and every row is tested at
5 %, as a proof does. No learner comes in, so this is the most that a proof of classifiers which
look at everybody can find, whatever they are, of people whose decisions vary like that. "all":
everybody is used for the proof, none for the fit. "first": with what share of decisions made
regardless of who it is the half proves in 95 % of cases.
"""

from __future__ import annotations

import numpy as np
from _machine import machine, markdown_table
from _population import acs_income
from proof import PROBLEMS, constraint_of

from equipoise.cells.table import CellTable
from equipoise.constraints import Constraint
from equipoise.guarantees.tested_rows import TestedRows

RUNS, RATE = 300, 0.35
SHARES = np.arange(0.0, 0.81, 0.1)


def power(
    constraint: Constraint, shares: np.ndarray, n: int, regardless: float = 0.0
) -> tuple[float, float]:
    """Return the share of samples that prove all rows, and the people of the smallest stratum."""
    rng, proven, smallest = np.random.default_rng(0), 0, []
    group, label = np.divmod(np.arange(len(shares)), 2)
    for count in rng.multinomial(n, shares, size=RUNS):
        cells, code = CellTable.from_sums(label, {"group": group}, {}, count=count.astype(float))
        drawn = np.zeros(cells.n_cells)
        drawn[code] = rng.binomial(count, RATE) / n
        rows = TestedRows.of(constraint, cells).among(0.0, 1.0 - regardless)
        proven += rows.p_values(drawn[None]).max() <= 0.05
        smallest.append(rows.smallest.min())
    return proven / RUNS, float(np.mean(smallest))


def main() -> None:
    print(machine(), f"{RUNS} samples; the rate is {RATE}.\n", sep="\n")
    lines = []
    for problem in ("dp-sex", "eo-sex", "dp-race", "eo-race"):
        population = acs_income(PROBLEMS[problem][2])
        people = [
            population.people[population.group == g].sum(axis=0)
            for g in np.unique(population.group)
        ]
        shares = np.concatenate(people) / population.people.sum()
        constraint = constraint_of(problem, None)
        half, smallest = power(constraint, shares, 5000)
        most, _ = power(constraint, shares, 10_000)
        first = next(r for r in SHARES if power(constraint, shares, 5000, r)[0] >= 0.95)
        lines.append(
            [problem, f"{smallest:.0f}", f"{half:.3f}", f"{most:.3f}", f"{100 * first:.0f} %"]
        )
    header = ["10,000 people", "smallest stratum of half", "half", "all", "first"]
    print(markdown_table(header, lines))


if __name__ == "__main__":
    main()
