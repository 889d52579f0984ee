"""Regression on random finite problems: the game against an independent linear program.

    python benchmarks/regression.py --problems 1000

Parity at thresholds, bounded group losses and minimax, impossible bounds included. Where a bound
can be met, the deviation is what the game loses or exceeds; elsewhere, that of its least slack.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from _machine import machine

from equipoise import BoundedGroupLoss, DemographicParity, MinimaxGroupLoss

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from finite_regression import play
from regression_problems import FiniteRegression, least_bound, least_loss


def deviations(seed: int) -> list[float]:
    """Return how far the game is from the program, bound by bound."""
    problem, found = FiniteRegression.random(seed), []
    if seed % 4 == 3:
        rows = problem.rows()
        least = least_bound(rows)
        asked = [(BoundedGroupLoss(b), b) for b in (0.5 * least, 1.05 * least, 1.5 * least)]
        found.append(abs(play(problem, MinimaxGroupLoss()).worst_rate[1] - least))
    else:
        reference = ("overall", "pairwise")[seed // 2 % 2]
        rows = problem.rows(reference)
        asked = [(DemographicParity(b, reference=reference), b) for b in (0.01, 0.05, 0.2)]
    for constraint, bound in asked:
        last, best = play(problem, constraint), least_loss(problem.errors(), rows, bound)
        if best is None:
            found.append(abs(last.least_slack - (least_bound(rows) - bound)))
        else:
            found.append(max(last.error - best, last.violation))
    return found


def main() -> None:
    """Print the worst deviation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=1000)
    problems, start = parser.parse_args().problems, time.process_time()
    print(machine(), flush=True)
    found = [each for seed in range(problems) for each in deviations(seed)]
    seconds = time.process_time() - start
    print(
        f"{len(found)} bounds of {problems} problems: worst deviation {max(found):.1e}, "
        f"{sum(each > 1e-7 for each in found)} above 1e-7, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
