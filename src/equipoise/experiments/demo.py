"""The demonstration: ``python -m equipoise.experiments.demo``.

An ordinary model and fair ones on the Adult data, side by side and group by group, with the proof
of how good the fair ones are and a picture of all that can be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise.cells.table import Array
from equipoise.constraints import DemographicParity, EqualizedOdds
from equipoise.constraints.rates import GROUP_RATES
from equipoise.datasets import load_adult
from equipoise.estimators.frontier import Frontier
from equipoise.experiments.panels import Part
from equipoise.metrics import GroupTable, group_table
from equipoise.metrics.scorers import predictions
from equipoise.plotting import Curve, FrontierDisplay, new_figure

#: Bounds of the models that are shown, and of the frontier: up to where no constraint is left.
BOUNDS = (0.05, 0.01)
TRACED = np.geomspace(0.001, 0.2, 20)
#: "pairwise": the bound is on the difference between women and men.
CONSTRAINTS = {
    "DP": DemographicParity(reference="pairwise"),
    "EO": EqualizedOdds(reference="pairwise"),
}
WORDS = {"DP": "demographic parity", "EO": "equalized odds"}
RATES = {rate.words: rate.column for rate in GROUP_RATES[1:]}
ORDINARY = "ordinary"
#: Where the picture goes, unless a command says otherwise.
PICTURE = Path("outputs/frontier.png")


def load_people() -> tuple[Part, Part]:
    """Return the people to learn from and the people held out, as published.

    >>> learned, held_out = load_people()
    >>> len(learned), len(held_out)
    (32561, 16281)
    """
    adult = load_adult()
    train = adult.split == "train"
    scaler = StandardScaler().fit(adult.data[train])
    learned, held_out = (
        Part(scaler.transform(adult.data[rows]), adult.target[rows], adult.sensitive["sex"][rows])
        for rows in (train, ~train)
    )
    return learned, held_out


def side_by_side(models: Mapping[str, Any], people: Part) -> str:
    """Return a table: every rate for every group, one column a model.

    Randomized ones count with the probabilities of their draw.
    """
    selected = (probability_of_selection(model, people.X) for model in models.values())
    tables = [group_table(people.y, h, sensitive_features=people.A) for h in selected]
    lines = [_line("", "", list(models))]
    for words, column in RATES.items():
        for group in tables[0].groups[1:]:
            lines.append(_line(words, group, [f"{t.row(group)[column]:.1%}" for t in tables]))
            words = ""
        lines.append(_line("", *_last_row(tables, column)))
    return "\n".join(lines)


def probability_of_selection(model: Any, X: NDArray[Any]) -> Array:
    """Return how likely each person is to be selected: 0 or 1 by an ordinary classifier."""
    return np.asarray(predictions(model, X), dtype=float)


def _last_row(tables: Sequence[GroupTable], column: str) -> tuple[str, list[str]]:
    """Return the last row of a rate: everybody's, for errors; else the groups' difference."""
    if column == "error_rate":
        return "everybody", [f"{table.overall[column]:.1%}" for table in tables]
    return "difference", [f"{100 * table.difference(column):.1f}" for table in tables]


def _line(words: str, group: object, entries: Sequence[str]) -> str:
    return f"{words:<16}{group!s:<11}" + "".join(f"{entry:>10}" for entry in entries)


def trace(learner: Any, people: Part) -> dict[str, Frontier]:
    """Return the frontier of each constraint: the best model at every bound, from one pool."""
    return {
        name: Frontier(learner, constraint, bounds=TRACED).fit(
            people.X, people.y, sensitive_features=people.A
        )
        for name, constraint in CONSTRAINTS.items()
    }


def draw(frontiers: Mapping[str, Frontier], held_out: Part, path: Path) -> None:
    """Save the picture of the frontiers, on the people learned from and on those held out."""
    figure = new_figure(figsize=(10, 4.2))
    axes = figure.subplots(1, len(frontiers), sharey=True)
    for ax, (name, frontier) in zip(axes, frontiers.items(), strict=True):
        *measured, alone = frontier.evaluate(held_out.X, held_out.y, sensitive_features=held_out.A)
        curves = [
            Curve.from_points("people learned from", frontier.points_),
            Curve.from_points("people held out", measured, n=len(held_out)),
        ]
        shown = {"no constraint, held out": (alone.disparity, alone.error)}
        FrontierDisplay(curves, shown).plot(ax)
        ax.set_title(f"Adult: {WORDS[name]} ({name}) by sex")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def report(learned: Part, held_out: Part, path: Path) -> None:
    """Fit the models, print what they do to each group, and save the picture."""
    learner = LogisticRegression(C=0.01, max_iter=1000)
    print("Who earns more than 50,000 dollars a year? The Adult data, census of 1994.")
    print(f"Learner: logistic regression. {len(learned):,} people to learn from, ", end="")
    print(f"{len(held_out):,} held out.\n", flush=True)
    models: dict[str, Any] = {ORDINARY: learner.fit(learned.X, learned.y)}
    frontiers = trace(learner, learned)
    for name, frontier in frontiers.items():
        models |= {f"{name} {eps}": frontier.at(eps) for eps in BOUNDS}
        print(f"{name}: {len(frontier.points_)} bounds from {frontier.n_calls_} fits.", flush=True)
    print(_text("demo_legend"))
    for title, people in (("PEOPLE LEARNED FROM", learned), ("PEOPLE HELD OUT", held_out)):
        print(f"\n{title}\n{side_by_side(models, people)}")
    for name in frontiers:
        shown = f"{name} {BOUNDS[-1]}"
        print(f"\nCERTIFICATE of {shown}, for the people learned from")
        print(models[shown].certificate_)
    draw(frontiers, held_out, path)
    print(f"\n{_text('demo_closing')}\n")
    print(f"The frontier, the best error at every bound, is drawn in {path}")


def _text(name: str) -> str:
    return files("equipoise.experiments").joinpath(f"texts/{name}.txt").read_text("utf-8").rstrip()


if __name__ == "__main__":
    report(*load_people(), PICTURE)
