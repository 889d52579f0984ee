"""What is minimised, against losses written from raw arrays."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, random_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome

import equipoise as eq
from equipoise import BalancedError, Costs
from equipoise.game import Lagrangian
from equipoise.game.objectives import loss_table

crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    columns=st.integers(1, 2),
    n_groups=st.integers(2, 3),
    weighted=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
)


def costs(crowd: Crowd, H: np.ndarray, fp, fn) -> np.ndarray:
    return H * (crowd.y == 0) * fp + (1 - H) * (crowd.y == 1) * fn


def balanced(crowd: Crowd, H: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """Mean over parts of the error rate in each, as a loss for each person."""
    w, wrong = crowd.error_weight, np.abs(H - crowd.y)
    scale = sum(part * w.sum() / (w[part].sum() * len(parts)) for part in parts)
    return wrong * scale


def check(crowd: Crowd, objective, loss) -> None:
    """The objective is this loss, and the fit is the optimum of it."""
    cells = cells_of(crowd)
    game = Lagrangian.from_moments(eq.DemographicParity().moments(cells), cells, objective)
    expected = crowd.error(loss)
    np.testing.assert_allclose([game.error(cells.sum(h)) for h in crowd.H], expected, atol=1e-12)
    rows = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.25)
    best = by_hand.least_error(expected, rows)
    if best is not None:
        clf = fitted(crowd, eq.DemographicParity(0.25), objective)
        assert clf.certificate_.error == pytest.approx(best.value, abs=2e-4)
        assert outcome(clf, crowd).error(loss)[0] == pytest.approx(best.value, abs=2e-4)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(crowd=crowds, fp=st.floats(0, 5), fn=st.floats(0.1, 5))
def test_costs(crowd: Crowd, fp: float, fn: float) -> None:
    check(crowd, Costs(fp, fn), lambda crowd, H: costs(crowd, H, fp, fn))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(crowd=crowds, a=st.floats(0, 5), other=st.floats(0.1, 5))
def test_costs_by_group(crowd: Crowd, a: float, other: float) -> None:
    in_a = crowd.columns["sex"] == "a"
    objective = Costs({"a": a, "else": other}, {"a": 2.0, "else": 1.0}, on="sex")
    fp, fn = np.where(in_a, a, other), np.where(in_a, 2.0, 1.0)
    check(crowd, objective, lambda crowd, H: costs(crowd, H, fp, fn))


@pytest.mark.parametrize("over", ["label", "group", "both"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(crowd=crowds)
def test_balanced_error(over: str, crowd: Crowd) -> None:
    labels = [crowd.y == 0, crowd.y == 1]
    groups = [members > 0 for members in by_hand.groups(crowd).values()]
    parts = {
        "label": labels,
        "group": groups,
        "both": [group & label for group in groups for label in labels],
    }[over]
    check(crowd, BalancedError(over), lambda crowd, H: balanced(crowd, H, parts))


def test_balanced_error_is_the_mean_of_both_error_rates() -> None:
    crowd = random_crowd(3)
    cells = cells_of(crowd)
    game = Lagrangian.from_moments(eq.DemographicParity().moments(cells), cells, BalancedError())
    for h in crowd.H:
        fpr, fnr = h[crowd.y == 0].mean(), 1 - h[crowd.y == 1].mean()
        assert game.error(cells.sum(h)) == pytest.approx((fpr + fnr) / 2, abs=1e-12)


def test_expected_costs_where_groups_are_uncertain() -> None:
    crowd = random_crowd(3, soft=True, weighted=True)
    assert crowd.probability is not None
    fn = crowd.probability @ [3.0, 1.0]
    objective = Costs(1.0, {"g0": 3.0, "g1": 1.0})
    check(crowd, objective, lambda crowd, H: costs(crowd, H, 1.0, fn))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: Costs(-1), "false_positive cost is -1"),
        (lambda: Costs(1, float("inf")), "false_negative cost is inf"),
        (lambda: Costs(0, {"a": 0}), "both costs are 0"),
        (lambda: Costs(1, {"a": -2}), "false_negative cost is -2"),
    ],
)
def test_bad_costs(bad, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bad()


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Costs({"a": 1}), "false_positive has no cost for the group 'b'"),
        (Costs({"z": 1, "else": 1}), "has a cost for 'z', which is no group here"),
        (BalancedError("people"), "over is 'people'"),
        (lambda a, y, h: 2.0, r"from 2\.0 to 2\.0; expected losses"),
    ],
)
def test_objectives_that_do_not_fit_the_data(objective, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_table(objective, cells_of(random_crowd(0)))


def test_something_else_is_no_objective() -> None:
    with pytest.raises(TypeError, match="objective is 'error'; expected None"):
        loss_table("error", cells_of(random_crowd(0)))
