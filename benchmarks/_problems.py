"""Random problems of few and uneven people, each with its inequalities written by hand.

Groups of one person, groups with one label, cells without anybody, weights, bounds of zero. H is a
short list of random classifiers. The inequalities are averages over rows (tests/by_hand.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import BalancedError, Costs, SelectionRate, constraints, rate
from equipoise.constraints import Constraint

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import by_hand
from by_hand import PARITIES, Crowd, Inequalities, Kind
from listed import fitted, outcome

#: The name of an inequality that was written as an expression.
WRITTEN = "written"


@dataclass(frozen=True)
class Case:
    """A problem: people with a list of predictions, a constraint, its inequalities by hand."""

    crowd: Crowd
    constraint: Constraint
    rows: Callable[[Crowd], Inequalities]
    objective: Any = None
    loss: Callable[[Crowd, Any], Any] | None = None

    def solve(self, **parameters: Any) -> Any:
        """Return a fit."""
        return fitted(self.crowd, self.constraint, self.objective, **parameters)

    def outcome(self, fit: Any) -> Crowd:
        """Return the people as a fit decides on them."""
        return outcome(fit, self.crowd)

    def by_lot(self, after: Crowd) -> float:
        """Return the share of people decided on by lot."""
        drawn = (after.H[0] > 1e-9) & (after.H[0] < 1 - 1e-9)
        if drawn.ndim == 2:
            drawn = drawn.any(axis=1)
        return float(self.crowd.error_weight @ drawn / self.crowd.error_weight.sum())

    def any_decisions(self) -> float:
        """Return the least slack that any decisions whatsoever need."""
        return by_hand.any_decisions(self.crowd, self.rows)


def uneven_crowd(
    rng: np.random.Generator, columns: int = 1, labels: int = 2, **parts: bool
) -> Crowd:
    """Draw a few people of uneven groups, and a few classifiers that lean towards some of them."""
    n, n_groups = int(rng.integers(6, 40)), int(rng.integers(2, 5))
    share = rng.dirichlet(np.full(n_groups, 0.8))
    names = ["sex", "race"][:columns]
    codes = [np.append([0, 1], rng.choice(n_groups, n - 2, p=share)) for _ in names]
    y = np.append([0, 1], rng.random(n - 2) < rng.uniform(0.2, 0.8)).astype(int)
    lean = rng.normal(size=(int(rng.integers(1, 13)), n_groups))
    noise = rng.normal(size=(len(lean), n))
    H = (lean[:, codes[-1]] + noise + rng.uniform(0, 2) * (y - 0.5) > 0).astype(float)
    if rng.random() < 0.5:
        H = np.vstack([H, np.zeros(n), np.ones(n)])
    if labels > 2:
        y = np.append(np.arange(labels), rng.choice(labels, n - labels))
        wish = rng.normal(size=(len(H), n_groups, labels))[:, codes[-1]]
        wish += rng.normal(size=wish.shape) + rng.uniform(0, 3) * np.eye(labels)[y]
        H = np.eye(labels)[wish.argmax(axis=2)]
        if rng.random() < 0.5:
            same = np.repeat(np.eye(labels)[:, None, :], n, axis=1)
            H = np.concatenate([H, same])
    sensitive = {
        name: np.array(list("abcd"))[code] for name, code in zip(names, codes, strict=True)
    }
    probability = rng.dirichlet(np.full(n_groups, 0.7), n) if parts.get("soft") else None
    return Crowd(
        y=y,
        H=np.unique(H, axis=0),
        columns={} if parts.get("soft") else sensitive,
        control=rng.choice(["old", "young"], n) if parts.get("control") else None,
        weight=rng.choice([0.1, 1.0, 7.0], n) if parts.get("weighted") else None,
        counts="error" if parts.get("error_only") else "both",
        probability=probability,
        utility=rng.uniform(size=(n, 2)) if parts.get("utility") else None,
    )


def a_bound(rng: np.random.Generator) -> float:
    """Draw a bound."""
    return float(rng.choice([0.0, 0.01, 0.05, 0.1, 0.2]))


def has_everywhere(crowd: Crowd, group: str, kind: Kind) -> bool:
    """Whether a group of the only column has people in every event, so that it can be compared."""
    if list(crowd.columns) != ["sex"]:
        return False
    inside = crowd.columns["sex"] == group
    return all((inside * event).any() for _, event in by_hand.events(crowd, kind.labels))


def parity_of(name: str, columns: int = 1, how: str = "intersections", **parts: bool) -> Any:
    """Return a maker of problems with a parity of the catalogue."""

    def make(rng: np.random.Generator) -> Case:
        crowd, eps = uneven_crowd(rng, columns, **parts), a_bound(rng)
        form = {"reference": str(rng.choice(["overall", "pairwise"])), "ratio": 1.0}
        if rng.random() < 0.3 and has_everywhere(crowd, "a", PARITIES[name]):
            form["reference"] = "a"
        form["ratio"] = 0.8 if name == "FourFifthsRule" else float(rng.choice([1.0, 0.8, 0.5]))
        kind = getattr(constraints, name)(eps, groups=how, **form)
        return Case(crowd, kind, lambda c: by_hand.parity(c, PARITIES[name], eps, how=how, **form))

    return make


def several_labels(name: str, labels: int = 3, **parts: bool) -> Any:
    """Return a maker of problems with a parity of the catalogue, of more than two labels."""

    def make(rng: np.random.Generator) -> Case:
        crowd, eps = uneven_crowd(rng, labels=labels, **parts), a_bound(rng)
        form = {"reference": str(rng.choice(["overall", "pairwise"]))}
        form["ratio"] = float(rng.choice([1.0, 0.8]))
        kinds = by_hand.several_labels(name, labels)

        def rows(c: Crowd) -> Inequalities:
            return {w: v for kind in kinds for w, v in by_hand.parity(c, kind, eps, **form).items()}

        return Case(crowd, getattr(constraints, name)(eps, **form), rows)

    return make


def weights_of_zero(name: str) -> Any:
    """Return a maker of problems in which some people, or all of a group, count nothing."""

    def make(rng: np.random.Generator) -> Case:
        case = parity_of(name)(rng)
        weight = rng.choice([0.0, 0.0, 1.0, 7.0], case.crowd.n)
        weight[[*first_of(case.crowd.columns["sex"]), *first_of(case.crowd.y)]] = 1.0
        if rng.random() < 0.3 and case.constraint.get_params()["reference"] == "overall":
            weight[case.crowd.columns["sex"] == "a"] = 0.0
            weight[first_of(np.where(case.crowd.columns["sex"] == "a", -1, case.crowd.y))] = 1.0
        return replace(case, crowd=replace(case.crowd, weight=weight))

    return make


def first_of(values: Any) -> list[int]:
    """Return the number of the first row of each value."""
    return np.unique(values, return_index=True)[1].tolist()


def everybody_twice(rng: np.random.Generator) -> Case:
    """Return a problem in which people and classifiers are there more than once."""
    case = parity_of("EqualizedOdds")(rng)
    crowd, times = case.crowd, int(rng.integers(2, 4))
    rows = rng.permutation(np.tile(np.arange(crowd.n), times))
    columns = {name: values[rows] for name, values in crowd.columns.items()}
    H = np.vstack([crowd.H, crowd.H])[:, rows]
    return replace(case, crowd=replace(crowd, y=crowd.y[rows], H=H, columns=columns))


def utility_by_person(rng: np.random.Generator) -> Case:
    """Return a problem with a utility of each person and decision."""
    crowd, eps = uneven_crowd(rng, utility=True), a_bound(rng)
    kind = Kind("utility parity", by_hand.personal, (None,))
    constraint = constraints.UtilityParity(eps, utility="utility", reference="pairwise")
    return Case(crowd, constraint, lambda c: by_hand.parity(c, kind, eps, reference="pairwise"))


def utility_by_table(rng: np.random.Generator) -> Case:
    """Return a problem with a utility of label and decision."""
    crowd, eps, g = uneven_crowd(rng), a_bound(rng), rng.random((2, 2))

    def value(c: Crowd) -> Any:
        return (1 - c.H) * g[c.y, 0] + c.H * g[c.y, 1]

    constraint = constraints.UtilityParity(eps, utility=g.tolist(), reference="overall")
    return Case(
        crowd, constraint, lambda c: by_hand.parity(c, Kind("utility parity", value, (None,)), eps)
    )


def treatment(rng: np.random.Generator) -> Case:
    """Return a problem of treatment equality with a tau."""
    crowd, eps, tau = uneven_crowd(rng), a_bound(rng), float(rng.choice([0.5, 1.0, 2.0]))
    constraint = constraints.TreatmentEquality(eps, tau=tau)
    return Case(crowd, constraint, lambda c: by_hand.treatment(c, tau, eps))


def group_error(rng: np.random.Generator) -> Case:
    """Return a problem with a bound on the error of each group."""
    crowd, bound = uneven_crowd(rng, weighted=True), float(rng.uniform(0.1, 0.6))
    constraint = constraints.BoundedGroupError(bound)
    return Case(crowd, constraint, lambda c: by_hand.group_error(c, bound, "bounded group error"))


def selection(rng: np.random.Generator) -> Case:
    """Return a problem with a floor and a cap on the selection rate of each group."""
    crowd, (floor, cap) = uneven_crowd(rng), np.sort(rng.uniform(0.1, 0.9, 2)).round(2).tolist()
    constraint = SelectionRate(floor, cap, group="each")
    return Case(crowd, constraint, lambda c: by_hand.selection_rate(c, floor, cap, "each"))


def several(rng: np.random.Generator) -> Case:
    """Return a problem with three constraints together."""
    crowd, eps = uneven_crowd(rng), a_bound(rng)
    floor, most = float(rng.choice([0.2, 0.4, 0.6])), float(rng.choice([0.3, 0.5]))
    kinds = constraints.EqualizedOdds(eps) & SelectionRate(at_least=floor)
    return Case(
        crowd,
        kinds & constraints.BoundedGroupError(most),
        lambda c: (
            by_hand.parity(c, PARITIES["EqualizedOdds"], eps)
            | by_hand.selection_rate(c, floor, None)
            | by_hand.group_error(c, most, "bounded group error")
        ),
    )


def expression(rng: np.random.Generator) -> Case:
    """Return a problem with an inequality between rates."""
    crowd, eps = uneven_crowd(rng), a_bound(rng)
    written = rate("selection", sex="a") - rate("error", sex="b") <= eps

    def rows(c: Crowd) -> Inequalities:
        a, b = ((c.columns["sex"] == v).astype(float) for v in "ab")
        found = c.rate(c.H, a) - c.rate(np.abs(c.H - c.y), b)
        return {WRITTEN: (found, eps)}

    return Case(crowd, written, rows)


def by_group(rng: np.random.Generator) -> Case:
    """Return a problem with a bound for each group."""
    crowd = uneven_crowd(rng)
    eps = {str(a): a_bound(rng) for a in np.unique(crowd.columns["sex"])}
    constraint = constraints.DemographicParity(eps, reference="overall")
    kind = PARITIES["DemographicParity"]
    return Case(
        crowd, constraint, lambda c: by_hand.parity(c, kind, lambda words, a, b: eps[str(a)])
    )


def small_merged(rng: np.random.Generator) -> Case:
    """Return a problem whose small groups are merged."""
    crowd, eps = uneven_crowd(rng), a_bound(rng)
    values, counts = np.unique(crowd.columns["sex"], return_counts=True)
    small = set(values[counts < 4].tolist())
    constraint = constraints.DemographicParity(eps, min_size=4, small="merge")

    def rows(c: Crowd) -> Inequalities:
        merged = ["small groups together" if v in small else str(v) for v in c.columns["sex"]]
        names, size = np.unique(merged, return_counts=True)
        left = names[size >= 4]
        kind = PARITIES["DemographicParity"]
        found = by_hand.parity(replace(c, columns={"sex": np.array(merged)}), kind, eps)
        return {w: v for w, v in found.items() if any(f": {g} " in w for g in left)}

    return Case(crowd, constraint, rows)


def with_objective(objective: Any, loss: Callable[[Crowd, Any], Any]) -> Any:
    """Return a maker of problems with demographic parity and another objective."""

    def make(rng: np.random.Generator) -> Case:
        case = parity_of("DemographicParity", weighted=True)(rng)
        return replace(case, objective=objective, loss=loss)

    return make


def unequal_costs(c: Crowd, H: Any) -> Any:
    """A false positive costs 1, a false negative 3."""
    return H * (1 - c.y) * 1.0 + (1 - H) * c.y * 3.0


def balanced(c: Crowd, H: Any) -> Any:
    """Half of each error rate, as a loss of each person."""
    share = np.array([c.error_weight[c.y == v].sum() for v in (0, 1)]) / c.error_weight.sum()
    return np.abs(H - c.y) / (2 * share[c.y])


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    **{name: parity_of(name) for name in PARITIES},
    "equalized odds within strata": parity_of("EqualizedOdds", control=True),
    "parity, weights": parity_of("DemographicParity", weighted=True),
    "odds, weights of errors only": parity_of("EqualizedOdds", weighted=True, error_only=True),
    "parity, weights and strata": parity_of("DemographicParity", weighted=True, control=True),
    "two columns, intersections": parity_of("DemographicParity", columns=2),
    "two columns, margins": parity_of("DemographicParity", columns=2, how="margins"),
    "two columns, both": parity_of("EqualOpportunity", columns=2, how="both"),
    "groups guessed": parity_of("DemographicParity", soft=True),
    "UtilityParity by person": utility_by_person,
    "UtilityParity by table": utility_by_table,
    "TreatmentEquality with tau": treatment,
    "BoundedGroupError": group_error,
    "SelectionRate": selection,
    "three together": several,
    "rate(...) <= bound": expression,
    "a bound for each group": by_group,
    "small groups merged": small_merged,
    "DemographicParity, 3 labels": several_labels("DemographicParity"),
    "EqualizedOdds, 3 labels, weights": several_labels("EqualizedOdds", weighted=True),
    "EqualOpportunity, 4 labels, strata": several_labels("EqualOpportunity", 4, control=True),
    "AccuracyEquality, 3 labels": several_labels("AccuracyEquality"),
    "Costs": with_objective(Costs(false_negative=3.0), unequal_costs),
    "BalancedError": with_objective(BalancedError(), balanced),
}
#: The same, of what counts nothing or is there more than once.
DEGENERATE: dict[str, Callable[[np.random.Generator], Case]] = {
    "parity, weights of zero": weights_of_zero("DemographicParity"),
    "odds, weights of zero": weights_of_zero("EqualizedOdds"),
    "people and classifiers twice": everybody_twice,
}
