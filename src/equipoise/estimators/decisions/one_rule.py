"""One rule: a single deterministic classifier in place of a mixture, where one does as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyClassifier

from equipoise.cells.table import Array
from equipoise.engines import engine_for
from equipoise.estimators.base import Problem
from equipoise.estimators.results import fingerprint_of, unconstrained
from equipoise.game.cuts import Criteria, directions_of, find_cut
from equipoise.game.lagrangian import TOLERANCE, Lagrangian
from equipoise.game.least_random import Lottery
from equipoise.game.mixture import Mixture
from equipoise.game.rounds import Round
from equipoise.oracles.agreement import check_shares
from equipoise.oracles.cut import LinearCut, scored, scores_of
from equipoise.oracles.decisions import PluginClassifier, decisions, select
from equipoise.oracles.plugin import SharedProbabilities
from equipoise.oracles.specs import BestOf, OracleSpec, Refit
from equipoise.rows.people import People
from equipoise.rows.validation import check_two_labels

#: With the deployed model, a rule may exceed the bounds by so much more than the mixture does.
_UNSTABLE = 0.005
#: What is aimed at instead where the first rule found does not pass.
_AIM = 0.001
#: Directions of a plug-in cut besides the error's and the constant: the inequalities of largest
#: multipliers, and as many single cells.
_MOST_DIRECTIONS = 8
#: Scores of so many other classifiers of a refit pool.
_MOST_OTHERS = 4
#: Searches along lines look at so many people, at more where that leads to no rule; the last few
#: look at all.
_SAMPLE = 3_000
_LARGE_SAMPLE = 50_000
_LAST_LINES = 40
#: Searches that are followed by others are short.
_SHORT = {"lines": 100, "retries": 4}
#: Cells up to which prices may also change with the chance of the label.
_MOST_CURVED = 32


class Basis(NamedTuple):
    """Scores through which a rule can cut.

    Attributes
    ----------
    B : array of shape (n, q)
        As they were measured: out of fold, where the oracle measures so.
    starts : list of arrays of shape (q,)
    mixed : array of shape (n,)
        How often the mixture selects each person.
    make : callable
        From theta to the classifier that is deployed.
    deployed, mixed_deployed : arrays, or None
        B and ``mixed`` with the model that is deployed, where that is another.
    """

    B: Array
    starts: list[Array]
    mixed: Array
    make: Callable[[Array], Any]
    deployed: Array | None = None
    mixed_deployed: Array | None = None


def check_one_rule(deterministic: Any, people: People, spec: OracleSpec) -> None:
    """Raise where no rule could be searched for, before any work is done."""
    if not isinstance(deterministic, (bool, np.bool_)):
        raise ValueError(f"deterministic is {deterministic!r}; expected True or False.")
    if not deterministic:
        return
    if not engine_for(people.X).is_local:
        raise ValueError(
            f"deterministic=True cuts through the scores of single rows, but X is a "
            f"{type(people.X).__name__}, whose rows are on other machines. Fit a sample of them in "
            "memory, or use deterministic=False."
        )
    if isinstance(spec, BestOf) or (isinstance(spec, Refit) and spec.cv is not None):
        raise ValueError(
            f"deterministic=True with oracle={spec!r}: scores out of fold come from models that "
            "are not kept. Use Plugin(), whose probabilities out of fold are, or Refit(cv=None)."
        )


def check_data_again(frontier: Any, deterministic: Any, people: People) -> None:
    """Raise unless a fitted frontier can search for one rule on these people, those of its fit."""
    if people.X is None or people.y is None:
        raise ValueError(
            "deterministic=True looks at single people, and a frontier keeps none. Pass the data "
            "of fit again: at(eps, deterministic=True, X=X, y=y, sensitive_features=A)."
        )
    if not deterministic:
        raise ValueError("X and y are for deterministic=True; without it at takes eps alone.")
    check_two_labels(frontier.classes_, "deterministic=True")
    check_one_rule(deterministic, people, frontier._oracle_spec)
    if "recertified" in frontier.shares_:
        raise ValueError(
            "this frontier was certified on other data than its members were learned from; one "
            "rule is searched for on the latter. Call at of the frontier that was fitted."
        )
    check_same_people(frontier, people)


def check_same_people(frontier: Any, people: People) -> None:
    """Raise unless people are those that a frontier was measured on."""
    cells, known = frontier._open_new(people).cells, frontier.cells_
    if cells.count.tolist() != known.count.tolist() or not np.allclose(cells.mass, known.mass):
        raise ValueError(
            f"got {cells.n_examples} people in {cells.n_cells} cells of other sizes than in the "
            f"fit, which had {known.n_examples} in {known.n_cells}; expected its data again."
        )
    digest = None if frontier.people_ is None else frontier.people_.digest
    if digest is None or "recertified" in frontier.shares_:  # its digest is that of more people
        return
    found = fingerprint_of(engine_for(people.X), people, frontier.classes_)
    if found is not None and found.digest != digest:
        raise ValueError(
            "got as many people as the fit had, but others, or with other features; expected its "
            "data again."
        )


def with_one_rule(problem: Problem, found: Round, least_random: Round) -> Round:
    """Return the round with one deterministic rule, or the least random one with the reason.

    The rule is added to the pool of the problem. It keeps the bounds as the mixture does, errs at
    most ``nu`` more, and with the deployed model keeps the bounds about as well as the mixture.
    """
    is_as_good = least_random.error <= found.error + problem.nu / 4
    if len(found.mixture.indices) == 1 or (len(least_random.mixture.indices) == 1 and is_as_good):
        return least_random
    game = problem.lagrangian.relaxed(found.loosening)
    with config_context(assume_finite=True):  # members have seen these rows before
        bases = _bases(problem, found, game)
        if not bases:
            return _by_lot(least_random, "a member gives no scores that could be cut elsewhere")
        tried = _search([_Trial(problem, found, game, basis) for basis in bases])
    if tried.reason:
        return _by_lot(least_random, tried.reason)
    pool = problem.pool
    number = pool.add(tried.rule, tried.s)
    mixture = Mixture(np.array([number]), np.ones(1), found.mixture.multipliers, np.zeros(1))
    lower, multipliers = found.lower, found.multipliers
    if len(found.queries):  # one more classifier in the pool: no lower value is above its own
        lower, multipliers = game.lower(pool.s, np.array(found.queries))
    found = replace(found, lower=lower, multipliers=multipliers)
    return found.mixing(game, pool.s, mixture, by_lot=Lottery(0.0, True))


def _by_lot(found: Round, reason: str) -> Round:
    if len(found.mixture.indices) == 1:  # dearer, but within nu: one rule all the same
        return found
    share = "some" if found.by_lot is None else f"{found.by_lot.share:.2%}"
    return replace(
        found,
        why_by_lot=f"one rule was asked for, but {share} of the people are decided at random: "
        f"{reason}.",
    )


class Tried(NamedTuple):
    """A rule, its selected shares, its error, and why it will not do, if it will not."""

    rule: Any
    s: Array
    error: float
    reason: str


def _search(trials: list[_Trial]) -> Tried:
    """Return the nearest rule to the mixture that will do; otherwise the first that was tried.

    The first scores are tried as they are. Where that does not lead to a rule as good as the
    mixture, the last ones are: for people as they were measured and with the deployed model, then
    without the latter.
    """
    first, last = trials[0], trials[-1]
    plans = [(first, False)]
    if last.basis.deployed is not None:
        plans += [(last, True)] if last is first else [(last, True), (last, False)]
    found = list[Tried]()
    for trial, stacked in plans:
        found.append(trial.run(stacked))
        if not found[-1].reason and found[-1].error <= trial.aim:
            return found[-1]
    sound = [tried for tried in found if not tried.reason]
    return min(sound, key=lambda tried: tried.error) if sound else found[0]


class _Trial:
    """Searches for a rule near one mixture, and what is asked of the rule."""

    def __init__(self, problem: Problem, found: Round, game: Lagrangian, basis: Basis) -> None:
        self.problem, self.game, self.basis = problem, game, basis
        self.mean = found.mixture.shares(problem.pool.s)
        self.bound = np.maximum(game.c, game.gamma(self.mean))
        self.aim = float(game.error(self.mean)) + problem.nu / 4
        self.most_error = float(game.error(self.mean)) + problem.nu

    def run(self, stacked: bool) -> Tried:
        """Return the rule nearest to the mixture, also with the deployed model if ``stacked``."""
        B = self.basis.B
        mixed = self.basis.mixed
        criteria = self.criteria(mixed)
        if stacked and self.basis.deployed is not None and self.basis.mixed_deployed is not None:
            B = np.vstack([B, self.basis.deployed])
            mixed = np.append(mixed, self.basis.mixed_deployed)
            criteria = criteria.stacked(self.criteria(self.basis.mixed_deployed, _AIM))
        rng = np.random.default_rng(0)
        tries = {} if self.basis.deployed is None else _SHORT
        if len(B) <= _SAMPLE:
            return self.tried(find_cut(B, self.basis.starts, criteria, rng, self.aim, **tries))
        for size in (_SAMPLE, _LARGE_SAMPLE):
            rows = np.sort(rng.choice(len(B), min(size, len(B)), replace=False))
            sample = criteria.of_sample(rows, mixed)
            theta = find_cut(B[rows], self.basis.starts, sample, rng, self.aim, **tries)
            theta = find_cut(B, [theta], criteria, rng, self.aim, lines=_LAST_LINES, retries=0)
            tried = self.tried(theta)
            if not tried.reason:
                break
        return tried

    def tried(self, theta: Array) -> Tried:
        """Return the rule that cuts at theta, and the reason against it."""
        rule = self.basis.make(theta)
        s = self.shares(rule)
        return Tried(rule, s, float(self.game.error(s)), self.reason(rule, s))

    def criteria(self, mixed: Array, slack: float = 0.0) -> Criteria:
        """Return the criteria of rules; ``slack`` loosens bounds, from the mixture's on."""
        cells: Any = self.problem.engine.cells
        slopes, low, high = directions_of(self.game, self.mean)
        weight = cells.row_weights()
        gain = [weight * (1.0 - 2.0 * mixed), cells.signed_costs(self.game.error_slope)]
        gain += [cells.signed_costs(slope) for slope in slopes]
        values = np.array([mixed @ each for each in gain[2:]])
        offset = np.append([weight @ mixed, self.game.error_offset], np.zeros(len(slopes)))
        if slack:
            low, high = np.minimum(low, values) - slack, np.maximum(high, values) + slack
        error = float(self.game.error(self.mean))
        return Criteria(np.column_stack(gain), offset, low, high, error)

    def shares(self, rule: Any) -> Array:
        """Return the selected shares of a rule, measured as those of the pool are."""
        if isinstance(rule, PluginClassifier):
            shared: SharedProbabilities = self.problem.oracle.shared
            return shared.cells.sum(rule.select(shared.measured))
        return self.problem.engine.shares([rule])[0]

    def excess(self, selected: Array) -> float:
        """Return by how much decisions, or their probabilities, exceed the worst bound."""
        cells: Any = self.problem.engine.cells
        return float((self.game.gamma(cells.sum(selected)) - self.bound).max(initial=-np.inf))

    def reason(self, rule: Any, s: Array) -> str:
        """Return why a rule will not do; nothing if it will."""
        over = float((self.game.gamma(s) - self.bound).max(initial=-np.inf))
        if over > TOLERANCE:
            return f"the single rule nearest to the mixture exceeds a bound by {over:.2g}"
        dearer = float(self.game.error(s)) - self.most_error
        if dearer > 0:
            return (
                f"the single rule nearest to the mixture errs {dearer + self.problem.nu:.4f} more "
                f"than it, and nu = {self.problem.nu:.4f} is allowed"
            )
        if self.basis.deployed is None or self.basis.mixed_deployed is None:
            return ""
        mixed = max(self.excess(self.basis.mixed_deployed), 0.0)
        over = self.excess(rule.select(rule.probabilities(self.problem.people.X)))
        if over <= mixed + _UNSTABLE:
            return ""
        return (
            "the single rule nearest to the mixture is fragile. It keeps the bounds out of fold, "
            f"but on the same people the model that is deployed exceeds them by {over:.4f}, and "
            f"the mixture by {mixed:.4f}"
        )


def _bases(problem: Problem, found: Round, game: Lagrangian) -> list[Basis]:
    """Return the scores that members of the mixture cut, and more; none if a member has none."""
    if problem.oracle.shared is not None:
        return _of_probabilities(problem, problem.oracle.shared, found, game)
    basis = _of_scores(problem, found)
    return [] if basis is None else [basis]


def _of_probabilities(
    problem: Problem, shared: SharedProbabilities, found: Round, game: Lagrangian
) -> list[Basis]:
    """Return the probabilities of cells times prices, and times prices that change.

    The former are the error, inequalities, and a constant. The latter have a price of each cell,
    and what it changes by with the chance of the label.
    """
    pool, mixture, E = problem.pool, found.mixture, _prices(problem, found, game)
    members = mixture.members(pool.classifiers)
    costs = [_costs_of(member, len(E)) for member in members]
    mean = sum(w * c / np.abs(c).sum() for w, c in zip(mixture.weights, costs, strict=True))
    cells, measured, deployed = shared
    again = [cells.sum(select(measured, c)) for c in costs]
    check_shares(pool.s[mixture.indices], again, members)
    now = deployed(problem.people.X)

    def mixed(probabilities: Array) -> Array:
        each = [select(probabilities, c) for c in costs]
        return mixture.weights @ np.array(each, dtype=float)

    def curved(probabilities: Array) -> Array:
        chance = probabilities[:, cells.label == 1].sum(axis=1)
        return np.column_stack([probabilities, chance[:, None] * probabilities])

    straight = Basis(
        measured @ E,
        [np.linalg.lstsq(E, -c, rcond=None)[0] for c in [mean, *costs]],
        mixed(measured),
        lambda theta: PluginClassifier(deployed, -(E @ theta)),
        now @ E,
        mixed(now),
    )
    if len(E) > _MOST_CURVED:
        return [straight]
    starts = [np.append(-c, np.zeros(len(E))) for c in [mean, *costs]]
    return [
        straight,
        straight._replace(
            B=curved(measured),
            starts=starts,
            make=lambda theta: PluginClassifier(deployed, *np.split(-theta, 2)),
            deployed=curved(now),
        ),
    ]


def _prices(problem: Problem, found: Round, game: Lagrangian) -> Array:
    """Return prices of cells that rules combine: of the error, inequalities, cells, a constant."""
    slopes = directions_of(game, found.mixture.shares(problem.pool.s))[0]
    rows = np.column_stack([found.multipliers, found.mixture.multipliers]).max(axis=1)
    prices = [
        np.abs(np.asarray(game.gamma_slope).T * rows).sum(axis=1) @ np.abs(slope)
        for slope in slopes
    ]
    few = np.sort(np.argsort(-np.array(prices), kind="stable")[:_MOST_DIRECTIONS])
    cells = np.eye(len(game.error_slope))[: _MOST_DIRECTIONS if len(few) < _MOST_DIRECTIONS else 0]
    columns = [-game.error_slope, *slopes[few], *cells, np.ones(len(game.error_slope))]
    return np.column_stack([column / max(np.abs(column).max(), 1e-300) for column in columns])


def _costs_of(member: Any, n_cells: int) -> Array:
    """Return the costs of a plug-in member; those of a constant select everybody or nobody."""
    if isinstance(member, PluginClassifier):
        return member.costs
    return np.full(n_cells, 1.0 - 2.0 * float(member.predict(np.zeros((1, 1)))[0]))


def _of_scores(problem: Problem, found: Round) -> Basis | None:
    """Return the scores of members, of the unconstrained classifier, of others; and a constant."""
    pool, mixture = problem.pool, found.mixture
    own = mixture.indices.tolist()
    game = problem.lagrangian.relaxed(found.loosening)
    near = np.argsort(game.value(pool.s, found.multipliers), kind="stable").tolist()
    parts, starts = list[Any](), list[tuple[int, float]]()
    for place, h in enumerate(dict.fromkeys([*own, unconstrained(problem), *near])):
        member = pool.classifiers[h]
        if isinstance(member, DummyClassifier):
            continue
        cut = scored(member)
        if cut is None and h in own:
            return None
        if cut is None or (place > len(own) and len(parts) > len(own) + _MOST_OTHERS):
            continue
        starts.append((len(parts), cut[1]))
        parts.append(cut[0])
    if not parts:  # constants alone
        return None
    X = problem.people.X
    raw = scores_of(parts, X)
    scale = np.maximum(np.abs(raw).mean(axis=0), 1e-300)
    B = np.column_stack([raw / scale, np.ones(len(raw))])
    eye = np.eye(len(scale) + 1)
    thetas = [eye[k] - eye[-1] * np.clip(cut / scale[k], -1e6, 1e6) for k, cut in starts]
    mixed = mixture.weights @ np.array(
        list(decisions(mixture.members(pool.classifiers), X)), dtype=float
    )
    return Basis(
        B,
        [np.mean(thetas[: len(own)], axis=0), *thetas],
        mixed,
        lambda theta: LinearCut(parts, theta[:-1] / scale, theta[-1]),
    )
