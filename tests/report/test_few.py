"""What is written for others counts nobody in a group of few, and nothing gives them away."""

import json
from dataclasses import replace

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, FairRegressor, Frontier
from equipoise.metrics.few import left_out
from equipoise.oracles import Plugin
from equipoise.report.card import model_card
from equipoise.report.evaluate import frontier_points, model_for_readers, model_points
from equipoise.report.page import render
from equipoise.report.regression import regression_card, render_regression
from equipoise.report.summary import report_of
from equipoise.rows import People

N, FEW = 500, 4


def draw(n=N, seed=0, few=FEW, cut=0.5):
    """People of whom a few are X; weights tell every sum from all others."""
    rng = np.random.default_rng(seed)
    A = rng.choice(["F", "M"], n, p=[0.45, 0.55]).astype(object)
    A[:few] = "X"
    X = np.column_stack([(A == "M") + rng.normal(size=n), rng.normal(size=n)])
    y = (X.sum(axis=1) + rng.normal(size=n) > cut).astype(int)
    y[:few] = np.arange(few) % 2
    return X, y, A, rng.uniform(0.5, 2.0, n)


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [number for entry in value for number in numbers(entry)]
    return [float(value)] if type(value) in (int, float) else []


def with_other_few(X, y, A, weight, count):
    """The same people, but for those who are X: others, and ``count`` of them."""
    kept, rng = A != "X", np.random.default_rng(count)
    return (
        np.concatenate([rng.normal(3.0, 1.0, size=(count, 2)), X[kept]]),
        np.concatenate([rng.permutation(np.arange(count) % 2), y[kept]]),
        np.concatenate([np.full(count, "X", dtype=object), A[kept]]),
        np.concatenate([rng.uniform(5.0, 9.0, count), weight[kept]]),
    )


def plain(point):
    """A point as data, without what is judged of everybody."""
    measured = [
        replace(entry, verdict="", rows=[replace(row, verdict="") for row in entry.rows])
        for entry in point.measured
    ]
    measured = [replace(entry, hidden=0, larger_for_few=False, headline=None) for entry in measured]
    return replace(point, measured=measured, promise=None)


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
@pytest.mark.parametrize("count", [0, 1, 9])
@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.05), EqualizedOdds(eps=0.1)])
def test_nothing_depends_on_the_few_of_new_people(constraint, count):
    """Whoever the few are, and however many, others read the same numbers."""
    X, y, A, weight = draw(few=0)
    model = FairClassifier(LogisticRegression(), constraint)
    model.fit(X, y, sensitive_features=A, sample_weight=weight)
    frontier = Frontier(LogisticRegression(), type(constraint)(), bounds=[0.05, 0.1])
    frontier.fit(X, y, sensitive_features=A, sample_weight=weight)
    new = draw(seed=1)
    told = []
    for X, y, A, weight in (new, with_other_few(*new, count)):
        people = {"test": People(X, y, {"sex": A}, sample_weight=weight)}
        shown = [*model_points(model, people, level=0.95, file="m")]
        points, free = frontier_points(frontier, people, level=0.95, file="m")
        told.append([plain(point) for point in (*shown, *points, free)])
    first, second = (
        numbers(json.loads(json.dumps([vars(p) for p in some], default=vars))) for some in told
    )
    assert len(first) > 100
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    whole = model_points(model, people, level=0.95, file="m", suppress_below=0)[0]
    assert whole.on("test").people == len(A)
    assert told[1][0].on("test").people == np.sum(A != "X")


@pytest.mark.parametrize("kind", [FairClassifier, Frontier])
def test_no_number_of_everybody_stands_beside_those_without_the_few(kind):
    """A total with the few and one without would give them away by subtraction."""
    X, y, A, weight = draw()
    how = {"bounds": [0.05]} if kind is Frontier else {}
    model = kind(LogisticRegression(), DemographicParity(eps=0.05), **how)
    model.fit(X, y, sensitive_features=A, sample_weight=weight)
    about = {"sensitive_features": A, "sample_weight": weight}
    contents = report_of(model, X, y, **about)
    certificate = model.at(0.05).certificate_ if kind is Frontier else model.certificate_
    found = np.array(numbers(json.loads(json.dumps(contents.to_dict()))))
    secrets = [certificate.error, certificate.lower, certificate.upper, certificate.free_error]
    secrets += [certificate.by_lot.share, certificate.switched.total().people]
    secrets += [np.average(y, weights=weight), N, FEW]
    whole = numbers(
        json.loads(json.dumps(report_of(model, X, y, **about, suppress_below=0).to_dict()))
    )
    for secret in secrets:
        if abs(secret) > 1e-9:
            assert np.abs(np.array(whole) - secret).min() < 1e-9 or secret == FEW
            assert np.abs(found - secret).min() > 1e-9 * abs(secret)
    assert contents.data.rows == contents.data.train_rows == N - FEW
    page, card = render(contents).decode(), model_card(contents)
    for text in (page, card):
        assert left_out(10) in text
        for secret in (certificate.error, certificate.lower, certificate.free_error):
            assert f"{secret:.6f}" not in text
        assert f"{N} people" not in text
    assert "X" not in {row.group for row in contents.points[0].groups["training"]}


def test_other_groups_stay_as_they_are():
    """No victim: whoever is not in the group of few is shown with the same numbers."""
    X, y, A, _ = draw()
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model.fit(X, y, sensitive_features=A)
    shown = report_of(model, X, y, sensitive_features=A).points[0]
    whole = report_of(model, X, y, sensitive_features=A, suppress_below=0).points[0]
    before = {row.group: row for row in whole.groups["training"]}
    after = {row.group: row for row in shown.groups["training"]}
    assert set(before) - set(after) == {"X"}
    for group in "FM":
        assert after[group].count == before[group].count
        for rate, value in before[group].rates.items():
            assert after[group].rates[rate] == pytest.approx(value)
    moved = {(row.group, row.label): row for row in shown.switched["training"]}
    for row in whole.switched["training"]:
        if row.group in "FM":
            again = moved[row.group, row.label]
            assert (again.people, again.gained) == pytest.approx((row.people, row.gained))


def test_the_verdict_is_of_everybody():
    """All of the few are selected: that is said, and of whom is not."""
    X, y, A, _ = draw(2000, few=0, cut=2.0)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model.fit(X, y, sensitive_features=A)
    X, y, A, _ = draw(2000, seed=1, few=9, cut=2.0)
    X[:9] = 9.0
    people = {"test": People(X, y, {"sex": A})}
    whole, shown = (
        model_points(model, people, level=0.95, file="m", suppress_below=limit)[0].on("test")
        for limit in (0, 10)
    )
    assert whole.verdict == "exceeded, on the evidence of 9 people"
    assert whole.headline.text.endswith("X above overall")
    assert not whole.larger_for_few
    assert shown.verdict == "exceeded, on the evidence of fewer than 10 people"
    assert shown.larger_for_few
    assert not any(" X " in row.text for row in (*shown.rows, shown.headline))
    contents = report_of(
        model, X, y, sensitive_features=A, X_test=X, y_test=y, sensitive_features_test=A
    )
    for text in (render(contents).decode(), model_card(contents)):
        assert "a group of fewer than 10 people" in text
        assert "X above" not in text


def test_few_people_of_a_label_are_no_group_of_few():
    """Rates given a label are shown for the whole group: none is a victim of another."""
    X, y, A, _ = draw(few=0)
    y[np.flatnonzero((A == "F") & (y == 1))[3:]] = 0
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05))
    model.fit(X, y, sensitive_features=A)
    contents = report_of(model, X, y, sensitive_features=A)
    assert not contents.leaves_out
    rows = {row.group: row for row in contents.points[0].groups["training"]}
    assert rows["F"].rates["true_positive_rate"].estimate is not None
    assert rows["M"].rates["true_positive_rate"].estimate is not None


def test_several_labels_leave_the_few_out_too():
    X, y, A = three_labels()
    A = A.astype(object)
    A[:FEW] = "X"
    model = FairClassifier(LogisticRegression(), DemographicParity(0.1), oracle=Plugin(cv=2))
    model.fit(X, y, sensitive_features=A)
    contents = report_of(model, X, y, sensitive_features=A)
    kept = A != "X"
    names = np.unique(y)
    assert contents.data.base_rate == pytest.approx([np.mean(y[kept] == name) for name in names])
    overall = contents.points[0].groups["training"][0]
    chance = model.predict_proba(X[kept]).mean(axis=0)
    for name, share in zip(names, chance, strict=True):
        assert overall.count == kept.sum()
        assert overall.rates[f"selection_rate[{name}]"].estimate == pytest.approx(share)
    assert {row.people for row in contents.points[0].switched["training"]} <= {
        int(kept.sum()),
        *(int(np.sum(group == A)) for group in np.unique(A[kept])),
    }


def test_a_regressor_leaves_the_few_out_of_everything():
    X, y, A, weight = draw()
    y = X.sum(axis=1) + weight
    reg = FairRegressor(LinearRegression(), DemographicParity(0.2), thresholds=4)
    reg.fit(X, y, sensitive_features=A)
    contents = report_of(reg, X, y, sensitive_features=A)
    kept = A != "X"
    groups = {row.group: row for row in contents.points[0].groups["training"]}
    assert set(groups) == {"overall", "F", "M"}
    expected = reg.by_group(X[kept], y[kept], sensitive_features=A[kept])
    assert groups["overall"].loss == pytest.approx(expected[0].loss)
    assert contents.points[0].loss == groups["overall"].loss
    assert contents.rows == {"training": kept.sum()}
    found = np.array(numbers(json.loads(json.dumps(contents.to_dict()))))
    for secret in (reg.certificate_.error, reg.certificate_.lower, reg.constant_loss_, N):
        assert np.abs(found - secret).min() > 1e-9
    for text in (render_regression(contents).decode(), regression_card(contents)):
        assert left_out(10) in text
        assert "X above" not in text
    whole = report_of(reg, X, y, sensitive_features=A, suppress_below=0)
    assert {row.group for row in whole.points[0].groups["training"]} == {"overall", "F", "M", "X"}
    assert not whole.leaves_out


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EquipoiseWarning")
def test_a_page_of_nobody_is_still_a_page():
    """Every group has fewer people: nothing can be shown, and that is said."""
    X, y, A, _ = draw(18, few=0)
    A[:9], A[9:] = "F", "M"
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.3))
    model.fit(X, y, sensitive_features=A)
    contents = report_of(model, X, y, sensitive_features=A)
    assert contents.points[0].measured == []
    assert contents.data.rows == 0
    for text in (render(contents).decode(), model_card(contents)):
        assert left_out(10) in text


def test_a_limit_below_zero_is_refused():
    X, y, A, _ = draw(200)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.1))
    model.fit(X, y, sensitive_features=A)
    with pytest.raises(ValueError, match="suppress_below is -1; expected a number of people"):
        report_of(model, X, y, sensitive_features=A, suppress_below=-1)


def test_nothing_is_measured_twice_where_nobody_is_left_out():
    X, y, A, _ = draw(few=0)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.1))
    model.fit(X, y, sensitive_features=A)
    people = {"training": People(X, y, {"sex": A})}
    (whole, others), _ = model_for_readers(model, people, 0.95, "m", [0, 10])
    assert others[0] is whole[0]
    (whole, others), _ = model_for_readers(model, people, 0.95, "m", [0, N])
    assert others[0].groups == {}
    assert whole[0].groups["training"]
