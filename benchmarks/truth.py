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
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _machine import machine, markdown_table
from _number_problems import NUMBERS
from _problems import KINDS, WRITTEN, Case, a_bound, parity_of, uneven_crowd

from equipoise import (
    FairClassifier,
    Frontier,
    constraints,
)
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Status

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import by_hand
from by_hand import PARITIES, Inequalities
from listed import Listed, arguments, outcome, rows_of

#: The linear programs' own tolerance.
SOLVER = 1e-6
COLUMNS = ("impossible", "raised", "error", "stated", "lower", "conflict", "price", "stopped")


def least_error(errors: Any, rows: Inequalities, loosen: float = 0.0) -> float | None:
    """Return the least error of a mixture, None if there is none."""
    found = by_hand.least_error(errors, rows, loosen)
    return None if found is None else float(found.value)


def named(rows: Inequalities, certificate: Certificate) -> Inequalities:
    """Return the inequalities in the order of a certificate."""
    if WRITTEN in rows:
        return {str(certificate.rows[0]): rows[WRITTEN]}
    return {str(row): rows[str(row)] for row in certificate.rows}


def solved(case: Case, **parameters: Any) -> Any:
    """Return a fit to the problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.solve(**parameters)


class Truth:
    """What is true of a problem, from raw arrays."""

    def __init__(self, case: Case) -> None:
        self.case, self.rows = case, case.rows(case.crowd)
        self.errors = case.crowd.error(case.loss)
        self.slack = by_hand.least_slack(self.rows) if self.rows else 0.0
        self.optimum = least_error(self.errors, self.rows)
        self.is_possible = self.slack < SOLVER

    def proves(self, found: Certificate) -> float:
        """Return the lower value that the multipliers of a certificate prove."""
        rows = named(self.rows, found)
        values = np.array([v for v, _ in rows.values()]).reshape(len(rows), len(self.errors))
        return float((self.errors + found.multipliers @ (values - found.bound[:, None])).min())


def check_numbers(truth: Truth, clf: FairClassifier) -> Iterable[str]:
    """Yield what a fit, complete or stopped, states against the raw predictions."""
    found, case = clf.certificate_, truth.case
    after = case.outcome(clf)
    rows = named(case.rows(after), found)
    values = np.array([float(value[0]) for value, _ in rows.values()])
    asked = np.array([bound for _, bound in rows.values()])
    violation = float((values - found.bound).max(initial=0.0))
    stated = [(found.error, after.error(case.loss)[0]), (found.violation, violation)]
    stated += list(zip(found.gamma, values, strict=True))
    share = case.by_lot(after)
    is_met = (values - asked).max(initial=0.0) <= 1e-7
    if (
        any(abs(a - b) > 1e-9 for a, b in stated)
        or share > (0.0 if found.by_lot is None else found.by_lot.share) + 1e-9
        or (found.status is Status.MET) != is_met
    ):
        yield "stated"
    if found.lower > truth.proves(found) + 1e-9:
        yield "lower"


def check_complete(truth: Truth, clf: FairClassifier) -> Iterable[str]:
    """Yield what a complete fit states against the program."""
    found, nu = clf.certificate_, clf.nu_
    if truth.is_possible and truth.optimum is not None:
        leeway = SOLVER * (1 + found.multipliers.sum())
        if abs(found.error - truth.optimum) > nu + leeway or found.status is not Status.MET:
            yield "error"
        if not found.lower - leeway <= truth.optimum <= found.upper + leeway:
            yield "lower"
        yield from check_prices(truth, found)
    elif abs(found.least_slack - truth.slack) > nu / 10 + SOLVER:
        yield "error"
    elif found.status is Status.IMPOSSIBLE:
        if found.proven_slack > truth.slack + SOLVER:
            yield "stated"
        yield from check_conflict(truth, found, nu)


def check_prices(truth: Truth, found: Certificate) -> Iterable[str]:
    """Yield a price that is too small; a row without a price saves no more than the gap."""
    said = {str(row): most for row, most in found.shadow_prices(0.01)}
    rows = named(truth.rows, found)
    for name, (values, bound) in rows.items():
        other = least_error(truth.errors, rows | {name: (values, bound + 0.01)})
        if other is not None and found.error - other > said.get(name, found.gap) + SOLVER:
            yield "price"
            return


def check_conflict(truth: Truth, found: Certificate, nu: float) -> Iterable[str]:
    """Yield a conflict that is none or has parts, a total slack that is not least."""
    rows = named(truth.rows, found)
    if found.measure == "error":  # of losses none is stated
        total = by_hand.least_slack(rows, np.eye(len(rows)))
        if abs(found.total_slack - total) > nu / 10 + SOLVER:
            yield "error"
    conflict = {str(row): rows[str(row)] for row in found.conflict}
    parts = [{k: v for k, v in conflict.items() if k != name} for name in conflict]
    is_irreducible = all(by_hand.least_slack(part) < 1e-7 for part in parts if part)
    if not conflict or by_hand.least_slack(conflict) < 1e-8 or not is_irreducible:
        yield "conflict"
    any_decisions = truth.case.any_decisions()
    if abs(any_decisions) > SOLVER / 10 and found.possible != (any_decisions < SOLVER):
        yield "conflict"


def check_stopped(truth: Truth, clf: FairClassifier) -> Iterable[str]:
    """Yield what a stopped fit says that is not so."""
    found = clf.certificate_
    if clf.n_iter_ < clf.max_iter or found.is_optimal():
        return
    says_more = found.status is Status.IMPOSSIBLE or "impossible" in str(found)
    leeway = SOLVER * (1 + found.multipliers.sum())
    known = np.inf if truth.optimum is None or found.least_slack > 0 else truth.optimum
    if says_more or found.lower > known + leeway:
        yield "stopped"


def check(case: Case) -> set[str]:
    """Return the columns in which a problem counts."""
    truth = Truth(case)
    wrong = set() if truth.is_possible else {"impossible"}
    for nu in (1e-6, None):
        clf = solved(case, nu=nu)
        wrong |= {*check_numbers(truth, clf), *check_complete(truth, clf)}
    for max_iter in (1, 2, 3):
        clf = solved(case, nu=None, max_iter=max_iter)
        wrong |= {*check_numbers(truth, clf), *check_stopped(truth, clf)}
    return wrong


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


#: Checks of their own.
OTHERS: dict[str, Callable[[np.random.Generator], set[str]]] = {
    "MinimaxGroupError": check_minimax,
    "TreatmentEquality, tau open": check_open_tau,
    "Frontier and its at(eps)": check_frontier,
}
CHECKS = {
    **{
        name: partial(lambda make, rng: check(make(rng)), make)
        for name, make in {**KINDS, **NUMBERS}.items()
    },
    **OTHERS,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=100, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", help="a part of the names of kinds")
    asked, start, table = parser.parse_args(), time.process_time(), []
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
