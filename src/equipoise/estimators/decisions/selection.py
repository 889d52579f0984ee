"""Exactly k people of a batch: by lot, each with their own probability, or by rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from equipoise.cells.codes import factorize, number_combinations
from equipoise.cells.table import Array
from equipoise.cells.values import GroupRules
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import shown
from equipoise.engines import engine_for
from equipoise.exceptions import TiedRowsWarning
from equipoise.faces import Columns, Face, columns_of, paragraph, table
from equipoise.rows.hashing import draw_uniform
from equipoise.rows.people import read_groups
from equipoise.rows.probabilities import split_probabilities
from equipoise.rows.validation import read_integer


class GroupCount(NamedTuple):
    """People of a group in a batch: how many, how many to expect selected, how many are."""

    people: int
    expected: float
    selected: int


@dataclass(frozen=True, eq=False)
class Selection(Face):
    """Who of a batch is selected, and all that is needed to select the same people again.

    By lot (systematic sampling) the people are laid end to end, group after group and within
    groups in the order of a hash, each with a stretch of the length of their probability; those
    are selected whose stretch has one of the points u, u + 1, u + 2, ... in it. So everybody's
    chance over u is exactly their probability.

    Attributes
    ----------
    selected : array of bool, shape (n,)
        Exactly k of them are True.
    probabilities : array of shape (n,)
        Everybody's chance of being selected, over u; they sum to k. By rank they are 0 and 1.
    u : float in [0, 1) or None
        The one number that was drawn. Log it: with the same people, model and k it selects the
        same ones. None by rank.
    factor : float
        What the model's probabilities were multiplied by, before those above 1 became 1. By rank:
        k as a multiple of how many the model selects, in expectation.
    groups : mapping from group to GroupCount
        Empty where no sensitive features were given.

    Examples
    --------
    >>> chance = np.array([0.5, 0.5, 0.25, 0.75])
    >>> group = np.array(["F", "F", "M", "M"])
    >>> print(select_by(chance, 2, [group], [np.arange(4) / 4], u=0.6))
    2 of 4 people are selected, with the model's probabilities as they are; u=0.6.
    F: 1 of 2, 1.0 to be expected
    M: 1 of 2, 1.0 to be expected
    """

    selected: NDArray[np.bool_] = field(repr=False)
    probabilities: Array = field(repr=False)
    u: float | None
    factor: float
    groups: dict[Any, GroupCount]

    def __str__(self) -> str:
        k, n = int(self.selected.sum()), len(self.selected)
        how = "the model's probabilities as they are"
        if not np.isclose(self.factor, 1.0, rtol=1e-9):
            how = f"{self.factor:.4g} times the model's probabilities"
            if (self.probabilities == 1).any() and self.factor > 1:
                how += ", at most 1"
        lines = [f"{k:,} of {n:,} people are selected, with {how}; u={self.u!r}."]
        if self.u is None:
            lines = [f"{k:,} of {n:,} people are selected by rank, nobody by lot."]
        lines += [
            f"{name}: {count.selected:,} of {count.people:,}, {count.expected:,.1f} to be expected"
            for name, count in self.groups.items()
        ]
        if not self.groups and self.u is not None:
            lines.append("No groups were given: how many of each are selected is left to chance.")
        return "\n".join(lines)

    def _columns(self) -> Columns:
        """Return the counts by group."""
        return {"group": list(map(group_name, self.groups)), **columns_of(self.groups.values())}

    def _repr_html_(self) -> str:
        first, *others = str(self).splitlines()
        if not self.groups:
            return paragraph(first) + paragraph(" ".join(others))
        return paragraph(first) + table(self._columns())


def select(
    mixture: Any,
    X: Any,
    k: int,
    *,
    sensitive_features: Any = None,
    key: Any = None,
    random_state: Any = None,
    u: float | None = None,
    score: Callable[[Any], Array] | None = None,
    by_rank: bool = False,
    rules: GroupRules | None = None,
    decision: int = 1,
) -> Selection:
    """Select exactly k rows; see `equipoise.FairClassifier.select`.

    ``score`` says in whose order people of a group are laid or, ``by_rank``, are selected; ties
    are in the order of the hash. ``rules`` are those of the fit; people whose group is unknown are
    laid out together. ``decision`` is the number of the one that people are selected for. Of rows
    on other machines a few numbers each are fetched.
    """
    k = read_integer(k, "k", least=0)
    if by_rank and (u is not None or random_state is not None):
        raise ValueError("by='rank' draws nothing; u and random_state are for by='lot'.")
    engine = engine_for(X)
    pmf = engine.answer(mixture.predict_proba, X, columns=len(mixture.classes_))
    chance = _fetched(pmf)[:, decision]
    columns = _read_groups(_fetched(sensitive_features), len(chance), rules or GroupRules())
    salt = mixture.random_state
    if key is not None:
        place = draw_uniform(chance[:, None], salt=salt, key=_fetched(key))
    else:
        place = _fetched(engine.answer(lambda rows: draw_uniform(rows, salt=salt), X))
    places = [place] if score is None else [place, _fetched(engine.answer(score, X))]
    if by_rank:
        selection = select_by_rank(chance, k, columns, places)
    else:
        selection = select_by(chance, k, columns, places, _read_u(u, random_state, place))
    _warn_of_ties(selection.selected, [chance, *places, *columns], key)
    return selection


def _warn_of_ties(selected: NDArray[np.bool_], values: Sequence[NDArray], key: Any) -> None:
    """Warn where equal rows are decided differently."""
    numbers = [factorize(column)[0] for column in values]
    order = np.lexsort(numbers)
    equal = np.logical_and.reduce([number[order][1:] == number[order][:-1] for number in numbers])
    start = np.flatnonzero(np.append(True, ~equal))
    people = np.diff(np.append(start, len(order)))
    among = np.add.reduceat(selected[order].astype(np.intp), start) if len(order) else people
    parted = (among > 0) & (among < people)
    if not parted.any():
        return
    remedy = "Pass key=..., whatever identifies a person."
    if key is not None:
        remedy = "Their key is the same, too: it should identify a person."
    warnings.warn(
        f"of {int(people[parted].sum()):,} people with equal rows {int(among[parted].sum()):,} are "
        f"selected: who of them depends on the order of the table. {remedy}",
        TiedRowsWarning,
        stacklevel=4,
    )


def read_decision(decision: Any, classes: NDArray) -> int:
    """Return the number of the decision to select for; of two it need not be named.

    >>> read_decision(None, np.array(["no", "yes"])), read_decision("b", np.array(["a", "b", "c"]))
    (1, 1)
    """
    known = classes.tolist()
    if decision is None and len(known) == 2:
        return 1
    if decision not in known:
        raise ValueError(
            f"decision is {decision!r}; expected the one of {shown(tuple(known))} that people are "
            "selected for."
        )
    return known.index(decision)


def _fetched(values: Any) -> Any:
    """Return values in memory, also those of a collection whose rows are on other machines."""
    return engine_for(values).fetched(values)


def select_by_rank(
    chance: Array, k: int, columns: Sequence[NDArray], places: Sequence[Array]
) -> Selection:
    """Select those of k who come first in their group: by chance, then by the last of ``places``.

    Every group has its share of whom the model selects, in expectation; of everybody where that
    is nobody.

    >>> chance, score = np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.7, 0.9, 0.4, 0.6])
    >>> select_by_rank(chance, 2, [np.array(["F", "F", "M", "M"])], [score]).selected.tolist()
    [False, True, False, True]
    """
    if k > len(chance):
        raise ValueError(f"k is {k:,} but there are {len(chance):,} people; expected at most them.")
    group, names = _number_groups(columns, len(chance))
    people = np.bincount(group, minlength=max(len(names), 1))
    usual = np.bincount(group, weights=chance, minlength=len(people)).astype(float)
    expected = _dealt(usual, people, k)
    numbers = np.floor(expected + 1e-9).astype(np.int64)
    by_rest = np.argsort(numbers - expected, kind="stable")
    numbers[by_rest[: k - int(numbers.sum())]] += 1
    order = np.lexsort((*(-place for place in places), -chance, group))
    rank = np.empty(len(chance), dtype=np.int64)
    rank[order] = np.arange(len(chance)) - np.repeat(np.cumsum(people) - people, people)
    selected = rank < numbers[group]
    counts = zip(names, people.tolist(), expected.tolist(), numbers.tolist(), strict=False)
    groups = {name: GroupCount(*each) for name, *each in counts}
    factor = float(k / usual.sum()) if usual.any() else np.inf
    return Selection(selected, selected.astype(float), None, factor, groups)


def _dealt(usual: Array, people: NDArray, k: int) -> Array:
    """Return k in proportion to ``usual``; what is more than a group's people goes to the others.

    >>> _dealt(np.array([3.0, 1.0]), np.array([4, 10]), 8)
    array([4., 4.])
    """
    dealt, full = np.zeros(len(usual)), np.zeros(len(usual), dtype=bool)
    while (rest := k - dealt.sum()) > 1e-9:
        shares = np.where(full, 0.0, usual)
        shares = shares if shares.any() else np.where(full, 0, people).astype(float)
        dealt = dealt + rest * shares / shares.sum()
        full = dealt >= people
        dealt = np.minimum(dealt, people)
    return dealt


def select_by(
    chance: Array, k: int, columns: Sequence[NDArray], places: Sequence[Array], u: float
) -> Selection:
    """Select exactly k people by their chances, groups end to end.

    Parameters
    ----------
    chance : array of shape (n,)
        In proportion to which people are selected, in [0, 1].
    k : int
    columns : sequence of arrays of shape (n,)
        What makes groups.
    places : sequence of arrays of shape (n,)
        In whose order people of a group are laid, the last one first.
    u : float in [0, 1)
    """
    probabilities, factor = proportional(chance, k)
    group, names = _number_groups(columns, len(chance))
    order = np.lexsort((*places, group))
    selected = np.zeros(len(chance), dtype=bool)
    selected[order] = systematic(probabilities[order], k, u)
    people, expected, found = (
        np.bincount(group, weights=each, minlength=len(names)).tolist()
        for each in (None, probabilities, selected)
    )
    groups = {
        name: GroupCount(*counts)
        for name, *counts in zip(names, people, expected, map(int, found), strict=False)
    }
    return Selection(selected, probabilities, u, factor, groups)


def _number_groups(columns: Sequence[NDArray], n: int) -> tuple[NDArray, list[Any]]:
    """Return the number of each row's group, in the order of the columns, and the groups' names."""
    if not columns:
        return np.zeros(n, dtype=np.intp), []
    codes, values = zip(*map(factorize, columns), strict=True)
    group, parts = number_combinations(codes, tuple(map(len, values)))
    each = (known[part].tolist() for known, part in zip(values, parts, strict=True))
    names = list(zip(*each, strict=True))
    return group, [name[0] for name in names] if len(columns) == 1 else names


def proportional(chance: Array, k: int) -> tuple[Array, float]:
    """Return ``min(1, factor * chance)``, which sums to k, and the factor.

    >>> proportional(np.array([0.9, 0.3, 0.3, 0.0]), 2)
    (array([1. , 0.5, 0.5, 0. ]), 1.6666666666666667)
    """
    n, possible = len(chance), int((chance > 0).sum())
    if k > n:
        raise ValueError(f"k is {k:,} but there are {n:,} people; expected at most so many.")
    if k > possible:
        raise ValueError(
            f"k is {k:,} but the model never selects {n - possible:,} of the {n:,} people; "
            f"expected k of at most {possible:,}. Select fewer, bring more people, use "
            "by='rank', which goes on with the next ones in rank, or fit with a higher selection "
            "rate, such as SelectionRate(at_least=...)."
        )
    if k == 0:
        return np.zeros(n), 0.0
    largest = np.sort(chance[chance > 0])[::-1]
    if k == possible:
        return (chance > 0).astype(float), float(1.0 / largest[-1])
    rest = np.cumsum(largest[::-1])[::-1]  # of all from this one on
    factors = (k - np.arange(k)) / rest[:k]  # if those before this one are certain
    certain = int(np.argmax(factors * largest[:k] <= 1.0))
    factor = float(factors[certain])
    result = np.minimum(factor * chance, 1.0)
    if certain:
        result[chance >= largest[certain - 1]] = 1.0
    return result, factor


def systematic(probabilities: Array, k: int, u: float) -> NDArray[np.bool_]:
    """Return exactly k of the people who are laid end to end, by one number u.

    Person i has the stretch from ``c_(i-1)`` to ``c_i``, the sums of probabilities, and is selected
    if it has a point ``j - u`` in it, j a whole number. Sums are of whole numbers, so that k is
    exact and everybody's chance over u is their probability to twelve digits or more.

    >>> systematic(np.array([0.5, 0.5, 0.25, 0.75]), 2, u=0.3).tolist()
    [False, True, False, True]
    """
    unit = 1 << (52 - int(k).bit_length())
    lengths = _whole(probabilities, k, unit)
    ends = np.cumsum(lengths) + int(u * unit)
    return ends // unit > (ends - lengths) // unit


def _whole(probabilities: Array, k: int, unit: int) -> NDArray[np.int64]:
    """Return probabilities in units, whole numbers that sum to k units; none above one."""
    exact = probabilities * unit
    units = np.floor(exact).astype(np.int64)
    by_rest = np.argsort(units - exact, kind="stable")
    while missing := k * unit - int(units.sum()):
        step = 1 if missing > 0 else -1
        open_ = (units < unit) & (exact > 0) if step > 0 else units > 1
        units[by_rest[open_[by_rest]][: abs(missing)]] += step
    return units


def _read_groups(sensitive_features: Any, n: int, rules: GroupRules) -> list[NDArray]:
    if sensitive_features is None:
        return []
    known, uncertain = split_probabilities(sensitive_features)
    if uncertain is not None:
        raise ValueError(
            "sensitive_features are Probabilities; expected the groups themselves, which people "
            "are laid out by. Leave them out to select without balance."
        )
    return list(read_groups(known, n, rules.missing, rules.bins)[0].values())


def _read_u(u: float | None, random_state: Any, place: Array) -> float:
    """Return the number in [0, 1): the one given, a fresh one, or one that these people have."""
    if u is not None:
        if random_state is not None:
            raise ValueError("got both u and random_state; pass u to repeat a selection.")
        if not isinstance(u, (int, float, np.number)) or not 0 <= u < 1:
            raise ValueError(f"u is {u!r}; expected a number from 0 to below 1, as logged.")
        return float(u)
    if isinstance(random_state, np.random.Generator):
        return float(random_state.random())
    if random_state is not None:
        return float(check_random_state(random_state).random_sample())
    digest = blake2b(np.sort(place).tobytes(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53
