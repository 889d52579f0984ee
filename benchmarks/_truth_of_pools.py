"""What is true where one pool answers several questions, and where a bound is found first."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _problems import Case, a_bound, first_of, parity_of, uneven_crowd
from _truth import SOLVER, Truth, check_numbers, check_prices, least_error, solved

from equipoise import Costs, Frontier, constraints
from equipoise.game.evidence import Scope, Status

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import by_hand
from by_hand import PARITIES
from listed import Listed, arguments, outcome, rows_of


def check_minimax(rng: np.random.Generator) -> set[str]:
    """Check the least of the largest group error, and the least error at that level."""
    crowd = uneven_crowd(rng, weighted=bool(rng.integers(2)))
    rows = by_hand.group_error(crowd, 0.0, "minimax group error")
    case = Case(crowd, constraints.MinimaxGroupError(), lambda c: rows)
    level, wrong = by_hand.least_slack(rows), set()
    for nu in (1e-6, None):
        clf = solved(case, nu=nu)
        found, after = clf.certificate_, outcome(clf, crowd)
        low, high = found.worst_rate
        values = by_hand.group_error(after, 0.0, "minimax group error").values()
        best = least_error(crowd.error(), rows, high)
        if abs(high - level) > clf.nu_ + SOLVER or found.error > best + clf.nu_ + SOLVER:
            wrong.add("error")
        if max(value[0] for value, _ in values) > high + 1e-7:
            wrong.add("stated")
        if abs(found.error - after.error()[0]) > 1e-9:
            wrong.add("stated")
        if low > level + SOLVER:
            wrong.add("lower")
    return wrong


def check_open_tau(rng: np.random.Generator) -> set[str]:
    """Check that no tau of a fine grid does better than the one found."""
    crowd, eps = uneven_crowd(rng), a_bound(rng)
    case = Case(crowd, constraints.TreatmentEquality(eps), lambda c: {})
    taus = np.tan(np.linspace(0, np.pi / 2, 401)[1:-1])
    each = [by_hand.least_error(crowd.error(), by_hand.treatment(crowd, t, eps)) for t in taus]
    clf = solved(case, nu=1e-6)
    found, tau = clf.certificate_, clf.constraint_.tau
    best = min((one.value for one in each if one is not None), default=None)
    if found.feasible:
        own = by_hand.treatment(outcome(clf, crowd), tau, eps + 1e-7)
        is_kept = all(value[0] <= bound for value, bound in own.values())
        return set() if is_kept and (best is None or found.error <= best + 1e-3) else {"error"}
    return {"impossible"} if best is None else {"impossible", "error"}


def check_frontier(rng: np.random.Generator) -> set[str]:
    """Check the points of a frontier, and the classifiers at bounds between them."""
    case = parity_of("EqualizedOdds", weighted=True)(rng)
    crowd, form, wrong = case.crowd, case.constraint.get_params(), set()
    form = {name: form[name] for name in ("reference", "ratio")}
    frontier = Frontier(
        [Listed(h) for h in crowd.H], case.constraint, bounds=[0.02, 0.1, 0.3], nu=1e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frontier.fit(rows_of(crowd), crowd.y, **arguments(crowd))
        models = [frontier.at(eps) for eps in (0.02, 0.1, 0.3, 0.06, 0.007)]
    for eps, clf in zip((0.02, 0.1, 0.3, 0.06, 0.007), models, strict=True):
        rows = by_hand.parity(crowd, PARITIES["EqualizedOdds"], eps, **form)
        truth = Truth(
            replace(
                case,
                rows=lambda c, eps=eps: by_hand.parity(c, PARITIES["EqualizedOdds"], eps, **form),
            )
        )
        wrong |= set(check_numbers(truth, clf))
        found = clf.certificate_
        if found.status is Status.IMPOSSIBLE and by_hand.least_slack(rows) < 1e-8:
            wrong.add("stated")
        if eps in (0.02, 0.1, 0.3) and truth.is_possible and truth.optimum is not None:
            leeway = 1e-6 + SOLVER * (1 + found.multipliers.sum())
            wrong |= {"error"} if abs(found.error - truth.optimum) > leeway else set()
    return wrong


def take(crowd: Any, rows: Any, H: Any = None) -> Any:
    """Return some people of a crowd, in any order and as often as named, and their classifiers."""
    parts = ("control", "weight", "probability", "utility")
    some = {name: value[rows] for name in parts if (value := getattr(crowd, name)) is not None}
    columns = {name: values[rows] for name, values in crowd.columns.items()}
    H = crowd.H if H is None else H
    return replace(crowd, y=crowd.y[rows], H=H[:, rows], columns=columns, **some)


def check_answer(truth: Truth, clf: Any, is_settled: bool = True) -> Iterable[str]:
    """Yield what a classifier states that is not so, if its class are the classifiers of a truth.

    What nobody has searched for to the end, ``is_settled``, is not impossible.
    """
    found = clf.certificate_
    yield from check_numbers(truth, clf)
    leeway = SOLVER * (1 + found.multipliers.sum())
    says_impossible = found.status is Status.IMPOSSIBLE or "impossible" in str(found)
    if says_impossible and not is_settled:
        yield "stopped"
    if says_impossible and found.proven_slack > truth.slack + SOLVER:
        yield "stated"
    if found.least_slack == 0 and truth.optimum is not None:
        if found.lower > truth.optimum + leeway:
            yield "lower"
        if found.is_optimal() and abs(found.error - truth.optimum) > clf.nu_ + leeway:
            yield "error"
    if found.status is Status.MET:
        yield from check_prices(truth, found)


def check_stopped_frontier(rng: np.random.Generator) -> set[str]:
    """Check a frontier that was stopped, at bounds traced or not, before and after `refine`."""
    case = parity_of(str(rng.choice(["EqualizedOdds", "AccuracyEquality"])), weighted=True)(rng)
    crowd, eps = case.crowd, [0.0, 0.05, 0.3]
    given = (rows_of(crowd), crowd.y)
    frontier = Frontier([Listed(h) for h in crowd.H], case.constraint, bounds=eps)
    frontier.set_params(nu=1e-6, max_iter=int(rng.integers(1, 6)))
    wrong: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frontier.fit(*given, **arguments(crowd))
        is_settled = frontier.n_iter_ < frontier.max_iter
        for bound in (*eps, 0.007, 0.1, float(rng.random())):
            wrong |= set(check_answer(at_bound(case, bound), frontier.at(bound), is_settled))
        frontier.max_iter = 200
        bound = float(rng.choice([0.0, 0.01, 0.05]))
        refined = frontier.refine(bound, *given, **arguments(crowd))
        wrong |= set(check_answer(at_bound(case, bound), refined))
        for bound in (0.02, 0.3):
            truth = at_bound(case, bound)
            wrong |= set(check_answer(truth, frontier.at(bound), is_settled))
    return wrong


def at_bound(case: Case, eps: float, crowd: Any = None) -> Truth:
    """Return the truth of a problem of parity at another bound, of other people if given."""
    crowd, given = case.crowd if crowd is None else crowd, case.constraint.get_params()
    form = {name: given[name] for name in ("reference", "ratio")}
    kind = PARITIES[type(case.constraint).__name__]
    rows = lambda c: by_hand.parity(c, kind, eps, **form)  # noqa: E731
    return Truth(replace(case, crowd=crowd, rows=rows))


def check_other_questions(rng: np.random.Generator) -> set[str]:
    """Check what the pool of a frontier answers for other people, constraints and costs."""
    case = parity_of("EqualizedOdds", weighted=bool(rng.integers(2)))(rng)
    crowd, loss = case.crowd, lambda c, H: H * (1 - c.y) * 1.0 + (1 - H) * c.y * 3.0
    frontier = Frontier([Listed(h) for h in crowd.H], case.constraint, bounds=[0.02, 0.1])
    frontier.set_params(nu=1e-6, max_iter=int(rng.integers(1, 30)))
    form = {name: case.constraint.get_params()[name] for name in ("reference", "ratio")}
    another = constraints.AccuracyEquality(**form)
    everyone = first_of(crowd.y) + first_of(crowd.columns["sex"])  # labels and groups are there
    people = np.append(everyone, rng.integers(crowd.n, size=crowd.n))
    wrong: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frontier.fit(rows_of(crowd), crowd.y, **arguments(crowd))
        H = np.array([h.predict(rows_of(crowd)) for h in frontier.pool_.classifiers], dtype=float)
        pool = replace(case, crowd=replace(crowd, H=H))
        other = take(crowd, people, H)
        again = frontier.recertify(people[:, None], other.y, **arguments(other))
        asked = [
            (frontier.with_constraint(another), replace(pool, constraint=another), None),
            (frontier.with_objective(Costs(false_negative=3.0)), replace(pool, loss=loss), None),
            (again, pool, people),
        ]
        for answers, stated, rows in asked:
            for eps in (0.0, 0.02, 0.1, float(rng.random())):
                clf = answers.at(eps)
                truth = at_bound(stated, eps, None if rows is None else other)
                truth.case = Rows(truth.case, rows)
                wrong |= set(check_answer(truth, clf))
                wrong |= {"stated"} if clf.certificate_.scope is not Scope.POOL else set()
    return wrong


class Rows:
    """A case whose people are some rows of the one that was fitted; all of them where None."""

    def __init__(self, case: Case, rows: Any) -> None:
        self.case, self.numbers = case, rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.case, name)

    def outcome(self, clf: Any) -> Any:
        """Return the people as a classifier decides on them."""
        rows = rows_of(self.crowd) if self.numbers is None else self.numbers[:, None]
        return self.crowd.with_predictions(clf.predict_proba(rows)[:, 1])


#: Checks of their own.
OTHERS: dict[str, Callable[[np.random.Generator], set[str]]] = {
    "MinimaxGroupError": check_minimax,
    "TreatmentEquality, tau open": check_open_tau,
    "Frontier and its at(eps)": check_frontier,
}
#: The same, of what was stopped or asked anew.
AGAIN: dict[str, Callable[[np.random.Generator], set[str]]] = {
    "Frontier stopped, and refined": check_stopped_frontier,
    "other questions to a pool": check_other_questions,
}
