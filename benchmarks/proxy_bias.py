"""Groups that are guessed: how far the rates of `Probabilities` can be from the truth.

    python benchmarks/proxy_bias.py             a million people for each line, a few seconds

People belong to one of two groups. What is known is a proxy Z, and the true probability of the
group given Z: the best guess that there can be. Decisions depend on Z, and on the group beyond Z by
``effect``. The measured difference of selection rates counts everybody with their probability, as
`equipoise.Probabilities` does; the true one knows the groups. Their distance is
E[Cov(decision, group | Z)] (1 / P(A=1) + 1 / P(A=0)): none where decision and group are independent
given Z, and more the less the proxy says (Chen et al., "Fairness under unawareness", 2019).
"""

from __future__ import annotations

import argparse

import numpy as np
from _machine import markdown_table, parse

from equipoise import DemographicParity, Probabilities
from equipoise.metrics.audit import Tally
from equipoise.metrics.violations import Meter
from equipoise.rows.people import People

HEADER = ["proxy is right for", "effect of the group", "true", "measured", "bias", "by the formula"]
#: Half of the people have a proxy that says this of them, the other half the opposite.
CERTAINTIES = (0.95, 0.8, 0.6)
EFFECTS = (0.0, 0.1, 0.3)


def simulate(certainty: float, effect: float, n: int, seed: int = 0) -> tuple[float, float, float]:
    """Return the true and the measured difference of selection rates, and the bias foretold."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 2, n)
    p = np.where(Z == 1, certainty, 1 - certainty)
    group = rng.random(n) < p
    selected = rng.random(n) < 0.3 + 0.2 * Z + effect * group
    true = selected[group].mean() - selected[~group].mean()
    guess = Probabilities(np.column_stack([1 - p, p]), groups=["a", "b"])
    cells, _ = People(np.zeros((n, 1)), np.arange(n) % 2, guess).read()
    meter = Meter(cells.table(), DemographicParity(reference="pairwise"), None)
    entry = meter.measure("test", Tally.of_people(cells, selected.astype(float)), bound=0.0)
    largest = float(entry.excess.estimate)  # of both signs; the difference here is positive
    return true, largest, -effect * certainty * (1 - certainty) * 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    people = parse(parser, people=10_000).people
    rows = []
    for certainty in CERTAINTIES:
        for effect in EFFECTS:
            true, measured, foretold = simulate(certainty, effect, people)
            numbers = (effect, true, measured, measured - true, foretold)
            rows.append([f"{certainty:.0%}", *(f"{round(v, 3) + 0.0:.3f}" for v in numbers)])
    print(markdown_table(HEADER, rows))


if __name__ == "__main__":
    main()
