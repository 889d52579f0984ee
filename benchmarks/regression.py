"""Regression on random finite problems: the game against an independent linear program.

    python benchmarks/regression.py --problems 1000

Parity at thresholds, bounded group losses and minimax, impossible bounds included. Where a bound
can be met, the deviation is what the game loses or exceeds; elsewhere, that of its least slack.
Parity of classes with a constant, as every fit has one, is also played in the way of fits: one
bound after the other.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

from _machine import machine, parse

from equipoise import BoundedGroupLoss, DemographicParity, MinimaxGroupLoss

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from finite_regression import path, play
from regression_problems import FiniteRegression, least_bound, least_loss


class Deviation(NamedTuple):
    """How far the game is from the program at one bound, and whether it can be met."""

    size: float
    is_possible: bool


def deviations(seed: int) -> list[Deviation]:
    """Return how far the game is from the program, bound by bound."""
    problem, found = FiniteRegression.random(seed), []
    if seed % 4 == 3:
        rows = problem.rows()
        least = least_bound(rows)
        asked = [(BoundedGroupLoss(b), b) for b in (0.5 * least, 1.05 * least, 1.5 * least)]
        worst = play(problem, MinimaxGroupLoss()).worst_rate
        found.append(Deviation(abs(worst[1] - least), True))
    else:
        reference = ("overall", "pairwise")[seed // 2 % 2]
        rows = problem.rows(reference)
        asked = [(DemographicParity(b, reference=reference), b) for b in (0.01, 0.05, 0.2)]
    best = [least_loss(problem.errors(), rows, bound) for _, bound in asked]
    played = [play(problem, constraint) for constraint, _ in asked]
    for last, loss, (_, bound) in zip(played, best, asked, strict=True):
        if loss is None:
            found.append(Deviation(abs(last.least_slack - (least_bound(rows) - bound)), False))
        else:
            found.append(Deviation(max(abs(last.error - loss), last.violation), True))
    if seed % 4 != 3 and seed % 5:  # there is a constant
        one_by_one = path(problem, asked[0][0], [bound for _, bound in asked], nu=1e-8)
        for last, loss in zip(one_by_one, best, strict=True):
            found.append(Deviation(max(abs(last.error - loss), last.violation), True))
    return found


def main() -> None:
    """Print the worst deviation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=1000)
    problems = parse(parser, problems=5).problems
    start = time.process_time()
    print(machine(), flush=True)
    found = [each for seed in range(problems) for each in deviations(seed)]
    sizes, impossible = [each.size for each in found], sum(not each.is_possible for each in found)
    seconds = time.process_time() - start
    print(
        f"{len(found)} bounds of {problems} problems, {impossible} of them impossible: worst "
        f"deviation {max(sizes):.1e}, {sum(each > 1e-7 for each in sizes)} above 1e-7, "
        f"{seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
