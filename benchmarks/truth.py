"""Everything that a certificate says, on random problems, against independent linear programs.

    python benchmarks/truth.py --problems 100     # of each kind

People are few and uneven on purpose: groups of one person, groups with one label, cells without
anybody, weights, bounds of zero. H is a short list of random classifiers, so that the truth can be
had: fairness definitions are averages over rows (tests/by_hand.py), optima come from scipy's
linprog over predictions person by person. Nothing of that uses the library. Each problem is solved
at nu = 1e-6 and at the default nu, and stopped after one, two and three rounds. Columns:

impossible   problems that no mixture of H can meet, by the program
raised       fits that ended in an error
error        least error, least slack or least total slack off by more than nu + 1e-6
stated       error or violation that raw predictions do not confirm to 1e-9; status that is false
lower        a lower value above the optimum, or multipliers that do not prove it
conflict     rows in conflict that are no contradiction or have a part that is; `possible` if false
price        loosening a bound by 0.01 that saves more than is said
stopped      a stopped fit that says impossible, or states a lower value above the optimum
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from _machine import machine, markdown_table, parse
from _number_problems import NUMBERS
from _problems import DEGENERATE, KINDS
from _truth import check
from _truth_of_learners import LEARNERS
from _truth_of_pools import AGAIN, OTHERS

COLUMNS = ("impossible", "raised", "error", "stated", "lower", "conflict", "price", "stopped")


def solved_and_checked(kinds: dict[str, Any]) -> dict[str, Any]:
    """Return the checks of kinds of problems."""
    return {name: partial(lambda make, rng: check(make(rng)), make) for name, make in kinds.items()}


#: New kinds come last: the number of a kind is part of its seeds.
CHECKS = {
    **solved_and_checked({**KINDS, **NUMBERS}),
    **OTHERS,
    **AGAIN,
    **LEARNERS,
    **solved_and_checked(DEGENERATE),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=100, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", help="a part of the names of kinds")
    asked = parse(parser, problems=1)
    start = time.process_time()
    table = []
    print(machine(), flush=True)
    all_counts: Counter[str] = Counter()
    for number, (name, checked) in enumerate(CHECKS.items()):
        if asked.only and asked.only not in name:
            continue
        counts: Counter[str] = Counter()
        for seed in range(asked.first, asked.first + asked.problems):
            try:
                found = checked(np.random.default_rng([seed, number]))
            except Exception as error:
                print(f"{name}, seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
                found = {"raised"}
            if found - {"impossible", "raised"}:
                print(f"{name}, seed {seed}: {sorted(found)}", file=sys.stderr, flush=True)
            counts.update(found)
        all_counts += counts
        table.append((name, asked.problems, *(counts[column] for column in COLUMNS)))
    n = sum(row[1] for row in table)
    table.append(("all", n, *(all_counts[column] for column in COLUMNS)))
    print(markdown_table(("kind", "tried", *COLUMNS), table))
    print(f"{n} problems, {time.process_time() - start:.0f} CPU seconds.")


if __name__ == "__main__":
    main()
