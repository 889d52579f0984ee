"""Bounds of rates with people of unknown group, against every way that they could belong."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from equipoise.metrics import group_table
from equipoise.metrics.audit import Audit
from equipoise.metrics.unknown import UnknownPeople, rate_bounds, share_unknown

RATES = {
    "selection_rate": lambda y, h: (h == 1, np.ones(len(y), dtype=bool)),
    "true_positive_rate": lambda y, h: (h == 1, y == 1),
    "false_positive_rate": lambda y, h: (h == 1, y == 0),
    "error_rate": lambda y, h: (h != y, np.ones(len(y), dtype=bool)),
    "base_rate": lambda y, h: (y == 1, np.ones(len(y), dtype=bool)),
}


def people(seed: int, n: int = 16) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 2, n),
        rng.integers(0, 2, n),
        rng.choice(["F", "M"], n),
        rng.random(n) < 0.4,
    )


def every_way(sex: np.ndarray, hidden: np.ndarray) -> list[np.ndarray]:
    """Return all assignments of the hidden to groups."""
    at = np.flatnonzero(hidden)
    ways = []
    for drawn in product(["F", "M"], repeat=len(at)):
        way = sex.copy()
        way[at] = drawn
        ways.append(way)
    return ways


def odds_apart(yes: np.ndarray, inside: np.ndarray, hidden: np.ndarray) -> float:
    """Return the odds ratio between answer and hiding among some people; 0/0 is no constraint."""
    a, b = (yes & inside & hidden).sum(), (~yes & inside & hidden).sum()
    c, d = (yes & inside & ~hidden).sum(), (~yes & inside & ~hidden).sum()
    if a == b == 0:
        return 1.0
    up, down = a * d, b * c
    return np.inf if min(up, down) == 0 else max(up / down, down / up)


@pytest.mark.parametrize("seed", range(8))
def test_the_worst_case_is_that_of_all_assignments(seed: int) -> None:
    y, h, sex, hidden = people(seed)
    column = np.where(hidden, None, sex)
    audit = Audit.read(y, h, {"sex": column}, missing="ignore")
    for found in UnknownPeople.of(audit, odds=2.0).groups:
        for name, of in RATES.items():
            yes, event = of(y, h)
            rates, within = [], []
            for way in every_way(sex, hidden):
                inside = (way == found.group) & event
                if inside.any():
                    rates.append(yes[inside].mean())
                    if odds_apart(yes, inside, hidden) <= 2.0:
                        within.append(rates[-1])
            assert found.worst[name] == pytest.approx((min(rates), max(rates)))
            # Whole people are fewer ways than parts of them.
            if within:
                assert found.within_odds[name].low <= min(within) + 1e-12
                assert found.within_odds[name].high >= max(within) - 1e-12
            assert found.worst[name].low <= found.within_odds[name].low + 1e-12
            assert found.worst[name].high >= found.within_odds[name].high - 1e-12
    assert share_unknown(audit.cells) == pytest.approx(hidden.mean())


@pytest.mark.parametrize("seed", range(40))
def test_under_an_odds_ratio_the_bounds_are_those_of_a_fine_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 12)
    k = rng.integers(1, n)
    yes, no, odds = rng.integers(0, 8), rng.integers(0, 8), rng.choice([1.0, 1.5, 2.0, 5.0])
    a, b = np.meshgrid(np.linspace(0, yes, 401), np.linspace(0, no, 401))
    allowed = (a * (n - k) <= odds * k * b + 1e-9) & (a * (n - k) * odds >= k * b - 1e-9)
    rates = ((k + a) / (n + a + b))[allowed]
    found = rate_bounds(k, n, yes, no, odds)
    assert found.low <= rates.min() + 1e-12
    assert found.high >= rates.max() - 1e-12
    assert found == pytest.approx((rates.min(), rates.max()), abs=0.01)


def test_a_person_known_in_one_feature_may_be_in_few_combinations() -> None:
    sex, race = ["F", "F", "M", "M", "F"], ["b", "w", "b", "w", None]
    audit = Audit.read([1] * 5, [1, 0, 1, 0, 1], {"sex": sex, "race": race}, missing="ignore")
    rows = UnknownPeople.of(audit).groups
    found = {row.group: row.worst["selection_rate"] for row in rows}
    assert found["F", "w"] == (0.0, 0.5)  # she is known, selected, and perhaps w
    assert found["F", "b"] == (1.0, 1.0)
    assert found["M", "b"] == (1.0, 1.0)
    assert found["M", "w"] == (0.0, 0.0)


def test_weights_count() -> None:
    audit = Audit.read(
        [0, 0, 0], [1, 0, 1], {"sex": ["F", "F", None]}, sample_weight=[1, 1, 2], missing="ignore"
    )
    (found,) = UnknownPeople.of(audit).groups
    assert found.worst["selection_rate"] == (0.5, 0.75)


def test_where_everybody_is_known_there_is_nothing_to_bound() -> None:
    audit = Audit.read([0, 1], [1, 0], {"sex": ["F", "M"]}, missing="ignore")
    assert UnknownPeople.of(audit) is None


@pytest.mark.parametrize("odds", [0.5, float("nan"), True, "2", None])
def test_odds_ratios_that_are_none_are_refused(odds: object) -> None:
    with pytest.raises(ValueError, match="expected a number >= 1"):
        group_table([0, 1], [0, 1], sensitive_features=["a", "b"], unknown_odds=odds)


def test_a_table_of_groups_tells_who_is_unknown() -> None:
    sex = ["F", "F", "M", "M", None]
    with pytest.raises(ValueError, match="missing='ignore'"):
        group_table([0] * 5, [1] * 5, sensitive_features=sex)
    table = group_table([0, 1, 0, 1, 1], [1, 0, 1, 1, 1], sensitive_features=sex, missing="ignore")
    assert table["count"].tolist() == [4, 2, 2]  # overall: all whose group is known
    assert table.unknown.share == pytest.approx(0.2)
    assert table.difference("selection_rate", method="to_overall") == pytest.approx(0.25)
    assert "the group of 20.0% of the people is unknown" in str(table)
    assert "selected of F: 50.0% to 66.7% whatever" in str(table)
    frame = table.unknown.to_pandas()
    assert frame.loc[0, "selection_rate_high"] == pytest.approx(2 / 3)
    assert frame.loc[1, "if"] == "odds ratio 2"


def test_strata_are_bounded_by_themselves() -> None:
    table = group_table(
        [0] * 4,
        [1, 0, 1, 1],
        sensitive_features=["F", None, "F", None],
        control_features=["a", "a", "b", "b"],
        missing="ignore",
    )
    found = {row.stratum: row.worst["selection_rate"] for row in table.unknown.groups}
    assert found == {"a": (0.5, 1.0), "b": (1.0, 1.0)}
