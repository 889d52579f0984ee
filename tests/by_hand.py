"""Fairness definitions written from raw arrays, and linear programs over short lists.

Nothing here uses the library. A rate is an average over rows; a constraint is a dictionary from its
words to its value for each classifier and its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]
#: From the words of an inequality to (value for each classifier, bound).
Inequalities = dict[str, tuple[Array, float]]


@dataclass(frozen=True, eq=False)
class Crowd:
    """People, and predictions ``H`` (P, n) for them; of V > 2 labels, chances (P, n, V) of each.

    ``columns`` are the sensitive features; ``probability`` (n, G) makes one more, called "guess",
    with the groups "g0", "g1", ... ``counts`` says what sample weights are for.
    """

    y: NDArray[np.int64]
    H: Array
    columns: Mapping[str, NDArray] = field(default_factory=dict)
    control: NDArray | None = None
    weight: Array | None = None
    counts: str = "both"
    probability: Array | None = None
    utility: Array | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def error_weight(self) -> Array:
        return np.ones(self.n) if self.weight is None else self.weight

    @property
    def rate_weight(self) -> Array:
        return self.error_weight if self.counts == "both" else np.ones(self.n)

    def rate(self, value: Array, members: Array) -> Array:
        """Mean of ``value`` (P, n) over people who count by ``members`` (n,)."""
        weight = self.rate_weight * members
        return value @ weight / weight.sum()

    def counts_any(self, members: Array) -> bool:
        """Whether there is somebody who counts, with a weight above zero."""
        return bool((self.rate_weight * members).any())

    def error(self, loss: Callable[..., Array] | None = None) -> Array:
        """Mean loss; the share of wrong decisions by default."""
        value = wrong(self) if loss is None else loss(self, self.H)
        return value @ self.error_weight / self.error_weight.sum()

    def with_predictions(self, selected: Array) -> Crowd:
        """Return the same people, decided on with these probabilities."""
        return replace(self, H=selected if selected.ndim == self.H.ndim else selected[None])


def groups(crowd: Crowd, on: str | list[str] | None = None, how: str = "intersections") -> dict:
    """Return how much every person belongs to each group that occurs."""
    by_column: dict[str, dict[Hashable, Array]] = {
        name: {v: (values == v).astype(float) for v in sorted(set(values.tolist()))}
        for name, values in crowd.columns.items()
    }
    if crowd.probability is not None:
        guessed = {f"g{k}": p for k, p in enumerate(crowd.probability.T)}
        by_column = {"guess": guessed} | by_column
    names = list(by_column) if on is None else [on] if isinstance(on, str) else on
    chosen = {name: by_column[name] for name in names}
    if how == "slices":
        return {name: column[True] for name, column in chosen.items()}
    combined: dict[Any, Array] = {(): np.ones(crowd.n)}
    for column in chosen.values():
        combined = {(*k, v): m * c for k, m in combined.items() for v, c in column.items()}
    combined = {k: m for k, m in combined.items() if m.any()}
    if len(chosen) == 1:
        return {k[0]: m for k, m in combined.items()}
    margins = {f"{name}={v}": m for name, column in chosen.items() for v, m in column.items()}
    return {"intersections": combined, "margins": margins, "both": margins | combined}[how]


def in_words(group: Hashable) -> str:
    return " & ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def events(crowd: Crowd, labels: tuple[int | None, ...]) -> Iterator[tuple[str, Array]]:
    """Return every stratum with every condition on the label: its words and who is in it."""
    strata = [None] if crowd.control is None else sorted(set(crowd.control.tolist()))
    for stratum in strata:
        for label in labels:
            words = "" if stratum is None else f" within {stratum}"
            inside = np.ones(crowd.n) if stratum is None else (crowd.control == stratum)
            if label is not None:
                words += f" given label {label}"
                inside = inside * (crowd.y == label)
            yield words, np.asarray(inside, dtype=float)


class Kind(NamedTuple):
    """A parity: its name, what is averaged, given which labels."""

    name: str
    value: Callable[[Crowd], Array]
    labels: tuple[int | None, ...]


def selection(crowd: Crowd) -> Array:
    return crowd.H


def rejection(crowd: Crowd) -> Array:
    return 1 - crowd.H


def wrong(crowd: Crowd) -> Array:
    if crowd.H.ndim == 2:
        return np.abs(crowd.H - crowd.y)
    return 1 - np.take_along_axis(crowd.H, crowd.y[None, :, None], axis=2)[:, :, 0]


def given(decision: int) -> Callable[[Crowd], Array]:
    """Return how often each person gets one of several decisions."""
    return lambda crowd: crowd.H[:, :, decision]


def personal(crowd: Crowd) -> Array:
    assert crowd.utility is not None
    at_zero, at_one = crowd.utility.T
    return (1 - crowd.H) * at_zero + crowd.H * at_one


PARITIES = {
    "DemographicParity": Kind("demographic parity", selection, (None,)),
    "EqualizedOdds": Kind("equalized odds", selection, (0, 1)),
    "EqualOpportunity": Kind("equal opportunity", selection, (1,)),
    "FalsePositiveRateParity": Kind("false-positive-rate parity", selection, (0,)),
    "FalseNegativeRateParity": Kind("false-negative-rate parity", rejection, (1,)),
    "ErrorRateBalance": Kind("error-rate balance", wrong, (0, 1)),
    "AccuracyEquality": Kind("accuracy equality", wrong, (None,)),
    "FourFifthsRule": Kind("four-fifths rule", selection, (None,)),
}


def several_labels(name: str, V: int) -> list[Kind]:
    """Return the parities that make up one of the catalogue where there are V > 2 labels."""
    if name == "AccuracyEquality":
        return [PARITIES[name]]
    labels: dict[str, Callable[[int], tuple[int | None, ...]]] = {
        "DemographicParity": lambda v: (None,),
        "EqualizedOdds": lambda v: tuple(range(V)),
        "EqualOpportunity": lambda v: (v,),
    }
    words = PARITIES[name].name
    return [Kind(f"{words} of decision {v}", given(v), labels[name](v)) for v in range(V)]


def parity(
    crowd: Crowd,
    kind: Kind,
    eps: float | Callable[[str, Hashable, Hashable], float],
    *,
    reference: Hashable = "overall",
    ratio: float = 1.0,
    on: Any = None,
    how: str = "intersections",
) -> Inequalities:
    """Return ratio * mu_a - mu_b <= eps and ratio * mu_b - mu_a <= eps; all pairs both ways."""
    rows: Inequalities = {}
    value = kind.value(crowd)
    for words, inside in events(crowd, kind.labels):
        mu = {
            group: crowd.rate(value, members * inside)
            for group, members in groups(crowd, on, how).items()
            if crowd.counts_any(members * inside)
        }
        if not mu:
            continue
        overall = crowd.rate(value, inside)
        if reference == "pairwise":
            pairs = [(a, b, mu[a], mu[b]) for a, b in permutations(mu, 2)]
        elif reference == "overall":
            pairs = [(a, "overall", mu[a], overall) for a in mu]
        else:
            others = [a for a in mu if a != reference and reference in mu]
            pairs = [(a, reference, mu[a], mu[reference]) for a in others]
        for a, b, mu_a, mu_b in pairs:
            bound = eps(words, a, b) if callable(eps) else eps
            start = f"{kind.name}{words}: {in_words(a)}"
            rows[f"{start} above {in_words(b)}"] = (ratio * mu_a - mu_b, bound)
            rows[f"{start} below {in_words(b)}"] = (ratio * mu_b - mu_a, bound)
    return rows


def treatment(crowd: Crowd, tau: float, eps: float, how: str = "intersections") -> Inequalities:
    """Return |FN - tau FP| <= eps in every group."""
    rows: Inequalities = {}
    fn, fp = (1 - crowd.H) * crowd.y, crowd.H * (1 - crowd.y)
    for words, inside in events(crowd, (None,)):
        for group, members in groups(crowd, None, how).items():
            if crowd.counts_any(members * inside):
                gap = crowd.rate(fn, members * inside) - tau * crowd.rate(fp, members * inside)
                start = f"treatment equality{words}: false negatives of {in_words(group)}"
                rows[f"{start} above {tau:g} x false positives"] = (gap, eps)
                rows[f"{start} below {tau:g} x false positives"] = (-gap, eps)
    return rows


def group_error(crowd: Crowd, bound: float, name: str, how: str = "intersections") -> Inequalities:
    """Return the error rate of every group <= bound."""
    rows: Inequalities = {}
    for words, inside in events(crowd, (None,)):
        for group, members in groups(crowd, None, how).items():
            if crowd.counts_any(members * inside):
                error = crowd.rate(wrong(crowd), members * inside)
                rows[f"{name}{words}: error of {in_words(group)}"] = (error, bound)
    return rows


def selection_rate(
    crowd: Crowd, at_least: float | None, at_most: float | None, group: Hashable = None
) -> Inequalities:
    """Return a floor and a cap on the selection rate of everybody, each group, or one group."""
    rows: Inequalities = {}
    for words, inside in events(crowd, (None,)):
        found = {"everybody": np.ones(crowd.n)} if group is None else groups(crowd)
        for name, members in found.items():
            if group not in (None, "each", name) or not crowd.counts_any(members * inside):
                continue
            rate = crowd.rate(crowd.H, members * inside)
            start = f"selection rate{words}: {in_words(name)}"
            if at_least is not None:
                rows[f"{start} at least {at_least:g}"] = (-rate, -at_least)
            if at_most is not None:
                rows[f"{start} at most {at_most:g}"] = (rate, at_most)
    return rows


class Best(NamedTuple):
    """The optimum of a linear program: its value, and the weights of the classifiers."""

    value: float
    weights: Array


def least_error(error: Array, rows: Inequalities, loosen: float | Array = 0.0) -> Best | None:
    """Least error over mixtures within the constraints; None when there is none."""
    values = np.array([value for value, _ in rows.values()]).reshape(len(rows), len(error))
    bounds = np.array([bound for _, bound in rows.values()]) + loosen
    solution = linprog(error, values, bounds, np.ones((1, len(error))), [1.0])
    return Best(solution.fun, solution.x) if solution.status == 0 else None


def least_slack(rows: Inequalities, directions: Array | None = None) -> float:
    """Least sum of slacks z >= 0 with values <= bounds + directions z (uniform by default)."""
    values = np.array([value for value, _ in rows.values()])
    bounds = np.array([bound for _, bound in rows.values()])
    E = np.ones((len(rows), 1)) if directions is None else directions
    n, m = values.shape[1], E.shape[1]
    solution = linprog(
        np.append(np.zeros(n), np.ones(m)),
        np.column_stack([values, -E]),
        bounds,
        np.append(np.ones(n), np.zeros(m))[None, :],
        [1.0],
    )
    return solution.fun


def any_decisions(crowd: Crowd, rows_of: Callable[[Crowd], Inequalities]) -> float:
    """Least uniform slack over all decisions, person by person, written as one LP."""
    shape = crowd.H.shape[1:]
    size = int(np.prod(shape))
    at_zero = rows_of(crowd.with_predictions(np.zeros(shape)))
    each = rows_of(crowd.with_predictions(np.eye(size).reshape(size, *shape)))
    slopes = np.array([each[name][0] - value[0] for name, (value, _) in at_zero.items()])
    bounds = np.array([bound - value[0] for value, bound in at_zero.values()])
    one_each: dict[str, Any] = {}
    if len(shape) == 2:  # of several decisions everybody gets one
        once = np.kron(np.eye(crowd.n), np.ones(shape[1]))
        one_each = {
            "A_eq": np.column_stack([once, np.zeros(crowd.n)]),
            "b_eq": np.ones(crowd.n),
        }
    solution = linprog(
        np.append(np.zeros(size), 1.0),
        np.column_stack([slopes, -np.ones(len(slopes))]),
        bounds,
        bounds=[(0, 1)] * size + [(0, None)],
        **one_each,
    )
    return solution.fun


def random_crowd(
    seed: int,
    *,
    n: int = 40,
    n_classifiers: int = 12,
    columns: int = 1,
    n_groups: int = 2,
    control: bool = False,
    weighted: bool = False,
    counts: str = "both",
    soft: bool = False,
    slices: bool = False,
    utility: bool = False,
) -> Crowd:
    """Draw people in whom every combination of group, stratum and label occurs, and classifiers."""
    rng = np.random.default_rng(seed)
    names = ["sex", "race", "age"][:columns]
    values = [True, False] if slices else [f"{'abc'[k]}" for k in range(n_groups)]
    sizes = [2] + ([2] if control else []) + [len(values)] * columns
    grid = np.array(np.meshgrid(*map(np.arange, sizes), indexing="ij")).reshape(len(sizes), -1).T
    drawn = np.column_stack([rng.integers(0, size, max(n - len(grid), 0)) for size in sizes])
    people = np.vstack([grid, drawn])
    sensitive = {name: np.array(values)[people[:, -columns + at]] for at, name in enumerate(names)}
    n = len(people)
    lean = rng.normal(size=(n_classifiers, 1)) * people[:, -1] + 0.8 * people[:, 0]
    H = lean + rng.normal(size=(n_classifiers, n)) + rng.normal(size=(n_classifiers, 1)) > 0.5
    probability = None
    if soft:
        probability = rng.dirichlet(np.ones(n_groups) * 0.7, size=n)
        probability[-3:] = np.eye(n_groups)[rng.integers(0, n_groups, 3)]
        sensitive = dict(list(sensitive.items())[: columns - 1])
    return Crowd(
        y=people[:, 0],
        H=H.astype(float),
        columns=sensitive,
        control=np.array(["young", "old"])[people[:, 1]] if control else None,
        weight=rng.uniform(0.2, 3.0, n) if weighted else None,
        counts=counts,
        probability=probability,
        utility=rng.uniform(size=(n, 2)) if utility else None,
    )
