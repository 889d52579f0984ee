"""What is true of a random problem, and what in a fit to it is not."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from _problems import WRITTEN, Case

from equipoise import FairClassifier
from equipoise.game.certificate import Certificate
from equipoise.game.evidence import Status

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import by_hand
from by_hand import Inequalities

#: The linear programs' own tolerance.
SOLVER = 1e-6


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
