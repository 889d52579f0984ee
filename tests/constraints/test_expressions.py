"""The readable form: what it compiles to, and errors that point at the offending part."""

from __future__ import annotations

import pickle

import by_hand
import numpy as np
import pytest
from by_hand import Crowd, random_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from sklearn.base import clone

from equipoise import rate
from equipoise.constraints import Constraint

RATES = {
    "selection": lambda c: (c.H, np.ones(c.n)),
    "rejection": lambda c: (1 - c.H, np.ones(c.n)),
    "error": lambda c: (np.abs(c.H - c.y), np.ones(c.n)),
    "accuracy": lambda c: (1 - np.abs(c.H - c.y), np.ones(c.n)),
    "tpr": lambda c: (c.H, c.y == 1),
    "fpr": lambda c: (c.H, c.y == 0),
    "fnr": lambda c: (1 - c.H, c.y == 1),
    "tnr": lambda c: (1 - c.H, c.y == 0),
}


def by_rows(crowd: Crowd, name: str, members: np.ndarray | float = 1.0) -> np.ndarray:
    value, event = RATES[name](crowd)
    return crowd.rate(value, event * members)


def gamma(constraint: Constraint, crowd: Crowd) -> tuple[np.ndarray, np.ndarray]:
    cells = cells_of(crowd)
    moments = constraint.moments(cells)
    return np.array([moments.M @ moments.mu(cells.sum(h)) for h in crowd.H]), moments.c


crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    n_classifiers=st.just(6),
    columns=st.just(2),
    control=st.booleans(),
    weighted=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    crowd=crowds,
    one=st.sampled_from([*RATES]),
    other=st.sampled_from([*RATES]),
    factor=st.floats(-2, 2),
    constant=st.floats(-1, 1),
)
def test_any_linear_expression(crowd, one, other, factor, constant) -> None:
    a = crowd.columns["sex"] == "a"
    ab = a & (crowd.columns["race"] == "b")
    left = rate(one, sex="a") + factor * rate(other) - constant
    right = rate(other, sex="a", race="b") / 2 + 0.1
    expected = by_rows(crowd, one, a) + factor * by_rows(crowd, other)
    expected = expected - constant - by_rows(crowd, other, ab) / 2 - 0.1
    values, c = gamma(left <= right, crowd)
    np.testing.assert_allclose(values[:, 0] - c[0], expected, atol=1e-12)
    values, c = gamma(left >= right, crowd)
    np.testing.assert_allclose(values[:, 0] - c[0], -expected, atol=1e-12)
    values, c = gamma(abs(left - right) <= 0.3, crowd)
    np.testing.assert_allclose(values - c, np.column_stack([expected, -expected]) - 0.3, atol=1e-12)


def test_conditions_by_list_mapping_label_and_control_feature() -> None:
    crowd = random_crowd(1, n_groups=3, control=True)
    sex = crowd.columns["sex"]
    for condition, members in [
        (rate("error", sex=["a", "c"]), sex != "b"),
        (rate("error", {"sex": ("a", "c")}), sex != "b"),
        (rate("error", label=1), crowd.y == 1),
        (rate("error", stratum="old", sex="b"), (crowd.control == "old") & (sex == "b")),
    ]:
        values, c = gamma(condition <= 0.25, crowd)
        np.testing.assert_allclose(values[:, 0], by_rows(crowd, "error", members), atol=1e-12)
        assert c.tolist() == [0.25]


def test_names_have_synonyms() -> None:
    crowd = random_crowd(1)
    for name, same in [("recall", "tpr"), ("selection_rate", "selection"), ("TPR", "tpr")]:
        a, b = (gamma(rate(n) <= 0.5, crowd)[0] for n in (name, same))
        np.testing.assert_allclose(a, b)


def test_numbers_on_the_left_and_chains() -> None:
    crowd = random_crowd(1)
    values, c = gamma((0.1 <= rate("selection")) & (rate("selection") <= 0.3), crowd)  # noqa: SIM300
    assert c.tolist() == [-0.1, 0.3]
    np.testing.assert_allclose(values[:, 0], -values[:, 1])
    with pytest.raises(TypeError, match="neither true nor false"):
        0.1 <= rate("selection") <= 0.3  # noqa: B015


def test_a_fit_meets_what_was_written() -> None:
    crowd = random_crowd(7, n_classifiers=30, n=80)
    constraint = (rate("tpr", sex="a") - rate("tpr", sex="b") <= 0.02) & (rate("selection") <= 0.5)
    after = outcome(fitted(crowd, constraint), crowd)
    a = crowd.columns["sex"] == "a"
    gap = by_rows(after, "tpr", a) - by_rows(after, "tpr", ~a)
    assert gap[0] <= 0.02 + 1e-6
    assert after.H.mean() <= 0.5 + 1e-6
    rows = {
        "gap": (by_rows(crowd, "tpr", a) - by_rows(crowd, "tpr", ~a), 0.02),
        "cap": (crowd.H.mean(axis=1), 0.5),
    }
    best = by_hand.least_error(crowd.error(), rows)
    assert after.error()[0] == pytest.approx(best.value, abs=2e-4)


def test_written_as_it_is_read() -> None:
    written = rate("tpr", sex="F") - 0.5 * rate("fpr", sex="M") + 0.1 <= rate("selection")
    text = "rate('tpr', sex='F') - 0.5 * rate('fpr', sex='M') + 0.1 <= rate('selection')"
    assert repr(written) == text
    assert repr(clone(written)) == text
    assert repr(pickle.loads(pickle.dumps(written))) == text
    assert repr(abs(rate("tpr") - rate("fpr")) <= 0.1) == "abs(rate('tpr') - rate('fpr')) <= 0.1"


# --- mistakes ------------------------------------------------------------------------------------


def pointed_at(error: pytest.ExceptionInfo) -> str:
    """Return the part of the expression that is underlined."""
    _, text, mark = str(error.value).split("\n")
    return text[mark.index("^") : mark.rindex("^") + 1]


@pytest.mark.parametrize(
    ("expression", "part", "message"),
    [
        (lambda: rate("tpr", gender="a") <= 0.1, "gender='a'", "no column is called 'gender'"),
        (
            lambda: rate("tpr", sex="a") - rate("tpr", sex="zz") <= 0.1,
            "sex='zz'",
            "'sex' is never 'zz'; its values are 'a', 'b'",
        ),
        (
            lambda: rate("tpr", sex="a") - rate("tpr", sex="b", label=0) <= 0.1,
            "rate('tpr', sex='b', label=0)",
            "nobody in the data is of this kind",
        ),
    ],
)
def test_errors_point_at_the_offending_part(expression, part: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        expression().moments(cells_of(random_crowd(0)))
    assert pointed_at(error) == part


def test_a_misspelt_rate_is_pointed_at_and_put_right() -> None:
    with pytest.raises(ValueError, match=r"no rate has this name.*Did you mean 'tpr'") as error:
        rate("trp", sex="a")
    assert pointed_at(error) == "'trp'"


@pytest.mark.parametrize(
    "name", ["ppv", "precision", "npv", "calibration", "fdr", "predictive_parity"]
)
def test_rates_given_the_prediction_are_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ValueError, match="event of the moment would depend on the prediction"):
        rate(name, sex="a")


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda a, b: a / b >= 0.8, r"a ratio of rates is not linear.*write a >= 0\.8 \* b"),
        (lambda a, b: a * b <= 0.1, "a product of rates is not linear"),
        (lambda a, b: a == b, r"write abs\(a - b\) <= 0"),
        (lambda a, b: a < 0.1, "a strict inequality has no best classifier"),
        (lambda a, b: a > b, "a strict inequality has no best classifier"),
        (lambda a, b: abs(a - b) >= 0.1, "from below it is not convex"),
        (lambda a, b: abs(a) + abs(b) <= 0.1, "an absolute value can only be compared"),
        (lambda a, b: 2 * abs(a) <= 0.1, "an absolute value can only be compared"),
        (lambda a, b: a <= "0.1", "expected a rate or a finite number"),
        (lambda a, b: a - a + 1 <= float("nan"), "expected a rate or a finite number"),
        (lambda a, b: a - "x" <= 1, "expected a rate or a finite number"),
    ],
)
def test_what_is_not_linear_is_refused(mistake, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        mistake(rate("tpr", sex="a"), rate("tpr", sex="b"))


def test_a_rate_by_itself_is_no_constraint() -> None:
    with pytest.raises(TypeError, match="expected a Constraint"):
        fitted(random_crowd(0), rate("tpr"))
    with pytest.raises(TypeError, match="expected the name of a rate"):
        rate(3)
    assert isinstance(rate("tpr") <= 1, Constraint)
