"""Objectives of the Lagrangian: costs, balanced errors, losses of one's own, costs of persons."""

from __future__ import annotations

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, random_crowd
from finite_problems import FiniteProblem, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from people import make_people
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

import equipoise as eq
from equipoise import BalancedError, Costs, DemographicParity, FairClassifier, load, save
from equipoise.cells import Cells
from equipoise.game import Lagrangian, PersonCosts
from equipoise.game.objectives import loss_table

steady = settings(deadline=None, derandomize=True, max_examples=40)
seeds = st.integers(0, 10**6)


def objective_error(problem: FiniteProblem, loss: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the library's error of every classifier, and its costs at lambda = 0, row by row."""
    cells = Cells.from_columns(problem.y, {"group": problem.group}, weight=problem.weight)
    moments = DemographicParity(eps=0.1).moments(cells)
    lagrangian = Lagrangian.from_moments(moments, cells, loss)  # type: ignore[arg-type]
    s = np.array([cells.sum(h) for h in problem.H])
    return lagrangian.error(s), cells.spread(lagrangian.costs(np.zeros(len(moments.rows))))


@steady
@given(seeds, st.floats(0, 20), st.floats(0.01, 20))
def test_costs_of_false_positives_and_false_negatives(seed: int, fp: float, fn: float) -> None:
    problem = random_problem(seed)
    wrong = np.where(problem.y == 1, fn * (problem.H == 0), fp * (problem.H == 1))
    expected = (problem.w * wrong).sum(axis=1) / problem.w.sum()
    error, costs = objective_error(problem, Costs(false_positive=fp, false_negative=fn))
    assert error == pytest.approx(expected, abs=1e-11)
    assert costs == pytest.approx(np.where(problem.y == 1, -fn, fp))


@steady
@given(seeds)
def test_general_g_err(seed: int) -> None:
    # Footnote to equation (2), and to the costs of section 3.2: g_err in place of 1{h != y}.
    problem = random_problem(seed)
    table = np.random.default_rng(seed).uniform(size=(5, 2, 2))
    names = sorted(set(problem.group.tolist()))

    def g_err(sensitive: dict, label: int, prediction: int) -> float:
        return table[names.index(sensitive["group"]), label, prediction]

    number = np.array([names.index(a) for a in problem.group])
    losses = table[number, problem.y, problem.H]
    error, costs = objective_error(problem, g_err)
    expected = (problem.w * losses).sum(axis=1) / problem.w.sum()
    assert error == pytest.approx(expected, abs=1e-12)
    difference = table[number, problem.y, 1] - table[number, problem.y, 0]
    assert costs == pytest.approx(difference, abs=1e-12)


def test_without_an_objective_it_is_the_error_rate() -> None:
    problem = random_problem(2)
    assert objective_error(problem, None)[0] == pytest.approx(problem.error(), abs=1e-12)


@pytest.mark.parametrize("cost", [-1.0, np.nan, np.inf])
def test_costs_must_be_finite_and_not_negative(cost: float) -> None:
    with pytest.raises(ValueError, match=r"false_negative cost is .* expected a finite number"):
        Costs(false_negative=cost)


def test_costs_must_not_both_be_zero() -> None:
    with pytest.raises(ValueError, match="both costs are 0"):
        Costs(0, 0)


@pytest.mark.parametrize("unit", [1e-3, 0.2, 5.0, 1e6])
def test_g_err_may_have_any_unit(unit: float) -> None:
    """The same classifier, and numbers in the user's unit, as with Costs."""
    X, y, A = make_people(500)
    costs = {0: 1.0, 1: 4.0}
    fits = [
        FairClassifier(LogisticRegression(), DemographicParity(eps=0.02), objective=objective)
        for objective in (lambda a, y, h: unit * costs[y] * (h != y), Costs(1.0, 4.0))
    ]
    own, known = (fit.fit(X, y, sensitive_features=A) for fit in fits)
    np.testing.assert_allclose(own.predict_proba(X), known.predict_proba(X), atol=1e-9)
    for name in ("error", "lower", "gap", "nu", "free_error"):
        expected = unit * getattr(known.certificate_, name)
        np.testing.assert_allclose(
            getattr(own.certificate_, name), expected, rtol=1e-6, atol=1e-5 * unit
        )


@pytest.mark.parametrize("worst", [-1.0, np.inf, np.nan])
def test_g_err_is_finite_and_not_negative(worst: float) -> None:
    cells = Cells.from_columns([0, 1], {"sex": ["F", "M"]})
    with pytest.raises(ValueError, match="expected finite losses >= 0"):
        loss_table(lambda a, y, h: worst * (h != y), cells)
    with pytest.raises(TypeError, match="objective is 'accuracy'"):
        loss_table("accuracy", cells)  # type: ignore[arg-type]


pd = pytest.importorskip("pandas")

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
        (lambda a, y, h: 1e-6 * (h != y), "largest loss of the objective is 1e-06"),
        (lambda a, y, h: 2.0, "every classifier is optimal"),
    ],
)
def test_objectives_that_do_not_fit_the_data(objective, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_table(objective, cells_of(random_crowd(0)))


def test_something_else_is_no_objective() -> None:
    with pytest.raises(TypeError, match="objective is 'error'; expected None"):
        loss_table("error", cells_of(random_crowd(0)))


class Rule:
    """A fitted classifier: those above a cut of one feature, or below it."""

    def __init__(self, column: int, cut: float, sign: int) -> None:
        self.column, self.cut, self.sign = column, cut, sign
        self.classes_ = np.array([0, 1])

    def predict(self, X):
        return (self.sign * (np.asarray(X)[:, self.column] - self.cut) > 0).astype(int)


RULES = [Rule(column, cut, sign) for column in (0, 1) for cut in (-0.5, 0.3) for sign in (1, -1)]


def people_with_costs(seed: int):
    rng = np.random.default_rng(seed)
    n = 60
    X, y, A = rng.normal(size=(n, 2)), rng.integers(0, 2, n), rng.choice(["F", "M"], n)
    costs = pd.DataFrame({"cost_0": rng.random(n) * y, "cost_1": rng.random(n)})
    return X, y, A, costs, rng.integers(1, 5, n).astype(float)


@pytest.mark.parametrize("constraint_weights", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_costs_of_persons_are_least_among_mixtures_of_a_list(seed, weighted, constraint_weights):
    """A linear program over eight classifiers, from raw arrays."""
    X, y, A, costs, w = people_with_costs(seed)
    clf = FairClassifier(
        RULES,
        DemographicParity(0.05),
        objective=PersonCosts("cost"),
        constraint_weights=constraint_weights,
        nu=1e-7,
    ).fit(X, y, sensitive_features=A, utilities=costs, sample_weight=w if weighted else None)
    weight = w if weighted else np.ones(len(y))
    counts = weight if constraint_weights else np.ones(len(y))
    H = np.array([rule.predict(X) for rule in RULES])
    each = np.where(H == 1, costs["cost_1"], costs["cost_0"])
    gaps = np.array(
        [np.average(H[:, a == A], axis=1, weights=counts[a == A]) for a in ("F", "M")]
    ) - np.average(H, axis=1, weights=counts)
    best = linprog(
        np.average(each, axis=1, weights=weight),
        A_ub=np.vstack([gaps, -gaps]),
        b_ub=np.full(4, 0.05),
        A_eq=np.ones((1, len(RULES))),
        b_eq=[1.0],
    )
    assert best.status in (0, 2)
    if best.status == 0:
        assert clf.certificate_.error == pytest.approx(best.fun, abs=1e-6)
        mixed = clf.predict_proba(X)[:, 1]
        paid = mixed * costs["cost_1"] + (1 - mixed) * costs["cost_0"]
        assert np.average(paid, weights=weight) == pytest.approx(best.fun, abs=1e-6)
        measured = clf.report(X, y, sensitive_features=A, utilities=costs)["test"]
        assert measured.error.estimate == pytest.approx(paid.mean(), abs=1e-9)


def test_costs_of_persons_equal_to_error_are_the_error():
    X, y, A, _, _ = people_with_costs(5)
    costs = np.column_stack([y, 1 - y])
    fits = [
        FairClassifier(LogisticRegression(), DemographicParity(0.05), objective=objective).fit(
            X, y, sensitive_features=A, utilities=costs
        )
        for objective in (None, PersonCosts("utility"))
    ]
    np.testing.assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_costs_of_persons_that_are_not_there():
    X, y, A, costs, w = people_with_costs(0)
    clf = FairClassifier(RULES, DemographicParity(0.05), objective=PersonCosts("loss"))
    with pytest.raises(ValueError, match=r"no utility is called 'loss': there are none.*loss_0"):
        clf.fit(X, y, sensitive_features=A)
    for keywords in ({}, {"constraint_weights": False}):
        with pytest.raises(ValueError, match="no utility is called 'loss'; fit was given 'cost'"):
            clf.set_params(**keywords).fit(
                X, y, sensitive_features=A, utilities=costs, sample_weight=w
            )


def test_costs_of_persons_are_kept_in_a_model_file(tmp_path):
    X, y, A, costs, _ = people_with_costs(1)
    clf = FairClassifier(LogisticRegression(), DemographicParity(0.2), objective=PersonCosts())
    clf.fit(X, y, sensitive_features=A, utilities=costs)
    save(clf, tmp_path / "model.eqp")
    assert load(tmp_path / "model.eqp").objective == PersonCosts()
