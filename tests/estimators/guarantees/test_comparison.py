"""A or B: numbers against raw arrays, sizes by enumeration and simulation, power, and errors."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import (
    BoundedGroupError,
    DemographicParity,
    EqualizedOdds,
    FairClassifier,
    prove_better,
    rate,
)
from equipoise.estimators.guarantees.comparison import paired_p
from equipoise.exceptions import SeenPeopleWarning

RULE = DemographicParity(0.1, reference="pairwise")


def people(seed, n=4000, taken=0.2, given=0.0, flipped=0.02):
    """Decisions before and after men lose some and women get some, with labels by chance."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    y = rng.random(n) < 0.5
    before = rng.random(n) < np.where(sex == "M", 0.6, 0.4)
    u = rng.random(n)
    after = np.where(before, ~((sex == "M") & (u < taken)), (sex == "F") & (u < given))
    after = after ^ (rng.random(n) < flipped)
    return sex, y, before, after


def allowed(level, runs):
    """A share that a test of this level exceeds with a chance below 0.001."""
    return level + 3.1 * np.sqrt(level * (1 - level) / runs)


def test_numbers_are_those_of_raw_arrays():
    sex, y, before, after = people(0, taken=0.25, given=0.1)
    result = prove_better(
        before, after, None, y, sensitive_features=sex, constraint=RULE, tau=0.03, delta=0.02
    )
    error, lower, *kept = result.claims
    assert error.measured == pytest.approx(np.mean(after != y) - np.mean(before != y))
    assert (error.bound, error.people) == (0.03, 4000)
    assert lower.text.startswith("demographic parity: F below M is lower under B than under A")
    gaps = [h[sex == "M"].mean() - h[sex == "F"].mean() for h in (before, after)]
    assert lower.measured == pytest.approx(gaps[1] - gaps[0])
    assert (lower.bound, lower.people) == (-0.02, 3600)  # a tenth tells which bound it is
    gap = after[sex == "F"].mean() - after[sex == "M"].mean()
    assert [claim.measured for claim in kept] == pytest.approx([gap, -gap])
    assert [claim.bound for claim in kept] == [0.1, 0.1]
    assert result.holds
    assert str(result).startswith("With probability 95 % over the draw of the 4,000 people of the")
    assert result.to_pandas()["proven"].all()
    assert "Proven." in result._repr_html_()


def test_the_bound_that_a_exceeds_most_is_compared():
    """Errors of one half are far below their bound; a difference of 0.2 is above its own."""
    sex, y, before, after = people(0)
    rule = BoundedGroupError(0.9) & RULE
    result = prove_better(before, after, None, y, sensitive_features=sex, constraint=rule)
    assert result.claims[1].text.startswith("demographic parity: F below M is lower")
    assert len(result.claims) == 6


def test_what_is_not_proven_is_said():
    sex, y, before, after = people(0, taken=0.0, flipped=0.05)
    result = prove_better(before, after, None, y, sensitive_features=sex, constraint=RULE)
    assert not result.holds
    failed = [claim for claim in result.claims if not claim.proven]
    assert [claim.text in str(result) for claim in result.claims] == [
        claim in failed for claim in result.claims
    ]
    assert str(result).startswith("Not proven at 95 % with the 4,000 people")
    assert "Not proven." in result._repr_html_()


def test_errors_alone_need_no_groups():
    _, y, before, _ = people(0)
    assert prove_better(before, before, None, y, tau=0.01).holds
    assert not prove_better(before, before, None, y, tau=0.0).holds
    assert not prove_better(y, ~y, None, y).holds
    assert prove_better(~y, y, None, y, tau=-0.9).holds


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_no_more_false_proofs_than_stated_by_enumeration(alpha):
    """All outcomes of eight people, in one stratum and in two, at the bound itself."""
    steps = np.array([-1.0, 0.0, 1.0])
    paths = np.array(list(product(steps, repeat=8)))
    for up, down in [(0.1, 0.0), (0.4, 0.3), (0.55, 0.45), (0.15, 0.05)]:
        chance = np.prod(np.select([paths > 0, paths < 0], [up, down], 1 - up - down), axis=1)
        one = paired_p([paths], np.ones(1), 0.1, alpha)
        assert chance[one <= alpha].sum() <= alpha + 1e-12
        a = np.array([1.0, -1.0])
        two = paired_p([paths[:, :4], paths[:, 4:]], a, 0.0, alpha)
        assert chance[two <= alpha].sum() <= alpha + 1e-12


def test_no_more_false_proofs_than_stated_by_simulation():
    """B errs more by tau; the disparity falls by delta; B is at its bound."""
    runs, false = 80, np.zeros(3)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sex, y, before, _ = people(seed, n=400)
        worse = np.where((rng.random(400) < 0.05) & (before == y), ~y, before)  # half were right
        false[0] += prove_better(before, worse, None, y, tau=0.025).claims[0].proven
        lost = (sex == "M") & before & (rng.random(400) < 1 / 6)  # from 0.6 to 0.5
        result = prove_better(
            before, before & ~lost, None, y, sensitive_features=sex, constraint=RULE, delta=0.1
        )
        false[1] += result.claims[1].proven
        false[2] += all(claim.proven for claim in result.claims[2:])  # 0.5 and 0.4
    assert (false / runs <= allowed(0.05, runs)).all()
    assert false.sum() > 0


def test_it_finds_what_two_measurements_do_not():
    """Those on whom both agree count for little: errors are 20 %, and 5 % are decided anew."""
    paired = unpaired = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.random(5000) < 0.5
        before = y ^ (rng.random(5000) < 0.2)
        anew = rng.random(5000) < 0.05
        after = np.where(anew, y ^ (rng.random(5000) < 0.2), before)
        paired += prove_better(before, after, None, y, tau=0.01).holds
        difference = np.mean(after != y) - np.mean(before != y)
        unpaired += (0.01 - difference) / np.sqrt(2 * 0.2 * 0.8 / 5000) > 1.645
    assert paired >= 50
    assert unpaired <= 20


def features(seed, n=3000):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    X = pd.DataFrame({"skill": rng.normal(size=n) + (sex == "M"), "noise": rng.normal(size=n)})
    y = np.where(X["skill"] + rng.logistic(size=n) > 0.5, "yes", "no")
    return X, y, sex


def test_classifiers_decide_as_they_predict():
    X, y, sex = features(0)
    plain = LogisticRegression().fit(X, y)
    fair = FairClassifier(LogisticRegression(), RULE).fit(X, y, sensitive_features=sex)
    new, labels, groups = features(1)
    result = prove_better(plain, fair, new, labels, sensitive_features=groups, tau=0.1)
    raw = prove_better(
        plain.predict(new),
        fair.predict(new).tolist(),
        None,
        labels,
        sensitive_features=groups,
        constraint=RULE,
        tau=0.1,
    )
    assert result.claims == raw.claims
    with pytest.warns(SeenPeopleWarning, match="all of them were learned from by b") as said:
        prove_better(plain, fair, X, y, sensitive_features=sex)
    assert said[0].filename == __file__


@pytest.mark.parametrize(
    "rule", [EqualizedOdds(0.2), DemographicParity(0.1), BoundedGroupError(0.5), RULE]
)
def test_rows_of_every_kind(rule):
    rng = np.random.default_rng(0)
    A = rng.choice(["a", "b", "c"], 6000)
    y = rng.integers(0, 2, 6000)
    before = np.where(rng.random(6000) < 0.7, y, 1 - y)
    before = np.where((A == "a") & (rng.random(6000) < 0.4), 1, before)
    after = np.where((A == "a") & (before != y) & (rng.random(6000) < 0.9), y, before)
    result = prove_better(before, after, None, y, sensitive_features=A, constraint=rule, delta=0.01)
    assert all(claim.proven for claim in result.claims[:2])
    assert len(result.claims) == 2 + {EqualizedOdds: 12, BoundedGroupError: 3}.get(type(rule), 6)
    values = {
        "a above b": lambda h: h[A == "a"].mean() - h[A == "b"].mean(),
        "a above overall": lambda h: h[A == "a"].mean() - h.mean(),
    }
    for claim in result.claims[2:]:
        for text, value in values.items():
            if text in claim.text and "label" not in claim.text:
                assert claim.measured == pytest.approx(value(after))


def test_rows_of_a_cluster_count_once():
    """Everybody ten times, at the bound of the errors: rows that count alone break in a third."""
    false = np.zeros(2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(200), 10)
        y = rng.random(200) < 0.5
        before = rng.random(200) < 0.5
        after = np.where((rng.random(200) < 0.2) & (before == y), ~y, before)  # 0.1 err more
        a, b, labels = before[who], after[who], y[who]
        for number, clusters in enumerate((None, who)):
            result = prove_better(a, b, None, labels, tau=0.1, clusters=clusters)
            false[number] += result.holds
    assert false[0] / 60 > 0.2
    assert false[1] / 60 <= allowed(0.05, 60)


def test_clusters_are_compared_in_all_claims():
    sex, y, before, after = people(0, n=8000, taken=0.3)
    household = np.arange(8000) // 2
    result = prove_better(
        before,
        after,
        None,
        y,
        sensitive_features=sex,
        constraint=RULE,
        tau=0.05,
        delta=0.05,
        clusters=household,
    )
    assert result.holds
    assert "for clusters of at most 2 people: B's error rate" in str(result)
    plain = prove_better(
        before, after, None, y, sensitive_features=sex, constraint=RULE, tau=0.05, delta=0.05
    )
    measured = [[claim.measured for claim in one.claims] for one in (result, plain)]
    assert measured[0] == pytest.approx(measured[1])
    household = household.copy()
    household[:400] = 10_000  # a cluster that is larger than those that were looked at first
    large = prove_better(before, after, None, y, tau=0.5, clusters=household)
    assert not large.holds


def test_rows_of_three_strata_and_fractional_outcomes():
    """A bound on the mean of two groups' rates, and one that counts selection and errors."""
    rng = np.random.default_rng(0)
    A = rng.choice(["a", "b", "c"], 6000)
    y = rng.integers(0, 2, 6000)
    before, after = rng.random(6000) < 0.6, rng.random(6000) < 0.3
    selected = {group: rate("selection", group=group) for group in "abc"}
    three = selected["a"] - 0.5 * selected["b"] - 0.5 * selected["c"] <= 0.1
    both = selected["a"] + 0.5 * rate("error", group="a") <= 0.65
    less = selected["a"] + 0.5 * rate("error", group="a") <= 0.5
    for rule, proven in ((three, True), (both, True), (less, False)):
        result = prove_better(
            before, after, None, y, sensitive_features={"group": A}, constraint=rule, tau=0.1
        )
        assert result.claims[-1].proven == proven
    one = A == "a"
    expected = after[one].mean() + 0.5 * np.mean(after[one] != y[one])
    assert result.claims[-1].measured == pytest.approx(expected)


def test_what_it_takes():
    sex, y, before, after = people(0, n=300)
    named = {"sensitive_features": sex, "constraint": RULE}
    for wrong in (0, 1, 95, "x"):
        with pytest.raises(ValueError, match="confidence"):
            prove_better(before, after, None, y, confidence=wrong, **named)
    for wrong in (1, "x", None):
        with pytest.raises(ValueError, match="tau is"):
            prove_better(before, after, None, y, tau=wrong, **named)
        with pytest.raises(ValueError, match="delta is"):
            prove_better(before, after, None, y, delta=wrong, **named)
    with pytest.raises(ValueError, match="constraint is missing"):
        prove_better(before, after, None, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="one group alone"):
        prove_better(before, after, None, y, sensitive_features=["F"] * 300, constraint=RULE)
    with pytest.raises(ValueError, match="only one class"):
        prove_better(before, after, None, y | True, **named)
    with pytest.raises(ValueError, match="all 300 rows of X are equal"):
        prove_better(before, after, np.ones((300, 2)), y, **named)
    with pytest.raises(ValueError, match="b has 7"):
        prove_better(before, [7] * 300, None, y, **named)
    with pytest.raises(ValueError, match="a has 299"):
        prove_better(before[1:], after, None, y, **named)
    unknown = np.where(np.arange(300) < 5, None, sex)
    with pytest.raises(ValueError, match="missing"):
        prove_better(before, after, None, y, sensitive_features=unknown, constraint=RULE)
    with pytest.raises(ValueError, match="clusters has one value for everybody"):
        prove_better(before, after, None, y, clusters=["home"] * 300)
    labels = np.where(sex == "F", False, y)
    with pytest.raises(
        ValueError,
        match=r"nothing can be proven here: .* nobody in the data belongs to F given label 1",
    ):
        prove_better(
            before, after, None, labels, sensitive_features=sex, constraint=EqualizedOdds(0.1)
        )
