"""Metrics of more than two labels: every number again from raw arrays."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.exceptions import EmptyCellWarning
from equipoise.metrics import (
    accuracy_score,
    demographic_parity_difference,
    demographic_parity_violation,
    equal_opportunity_difference,
    equalized_odds_difference,
    error_rate,
    group_table,
    selection_rate,
)
from equipoise.metrics.audit import Tally
from equipoise.metrics.decisions import Decisions

rng = np.random.default_rng(0)
N = 400
NAMES = np.array(["accept", "decline", "refer"])
Y, A = rng.choice(NAMES, N), rng.choice(["F", "M"], N)
PMF = rng.dirichlet(np.ones(3), N)
W = rng.uniform(0.5, 3.0, N)
RIGHT = PMF[np.arange(N), np.searchsorted(NAMES, Y)]


def mean(values, who):
    return np.average(values[who], weights=W[who])


def test_a_table_has_the_rates_of_every_decision():
    table = group_table(Y, PMF, sensitive_features=A, sample_weight=W, interval="analytic")
    for group, who in (("overall", A != ""), ("F", A == "F"), ("M", A == "M")):
        row = table.row(group)
        assert row["count"] == who.sum()
        assert row["error_rate"] == pytest.approx(mean(1 - RIGHT, who))
        for v, name in enumerate(NAMES):
            expected = {
                "base_rate": mean(name == Y, who),
                "selection_rate": mean(PMF[:, v], who),
                "true_positive_rate": mean(PMF[:, v], who & (name == Y)),
                "false_positive_rate": mean(PMF[:, v], who & (name != Y)),
            }
            for rate, value in expected.items():
                column = f"{rate}[{name}]"
                assert row[column] == pytest.approx(value)
                assert row[f"{column}_low"] < value < row[f"{column}_high"]
    of_women, of_men = (mean(PMF[:, 2], sex == A) for sex in "FM")
    found = table.difference("selection_rate[refer]")
    assert found == pytest.approx(abs(of_women - of_men))
    shown = str(table).splitlines()[0]
    assert shown.index("selection_rate[accept]") < shown.index("selection_rate[refer]")


def test_decisions_as_labels_and_one_against_the_rest():
    decided = NAMES[PMF.argmax(axis=1)]
    table = group_table(Y, decided, sensitive_features=A)
    alone = group_table(Y, decided, sensitive_features=A, pos_label="refer")
    for rate in ("base_rate", "selection_rate", "true_positive_rate", "false_positive_rate"):
        np.testing.assert_allclose(table[f"{rate}[refer]"], alone[rate])
    assert table.overall["error_rate"] == pytest.approx((decided != Y).mean())
    assert error_rate(Y, decided) == pytest.approx((decided != Y).mean())
    assert accuracy_score(Y, PMF, sample_weight=W) == pytest.approx(np.average(RIGHT, weights=W))
    assert selection_rate(Y, decided, pos_label="refer") == (decided == "refer").mean()
    some = group_table(
        Y,
        decided,
        sensitive_features=A,
        metrics={"chosen": selection_rate, "wrong": error_rate, "half": lambda y, h: 0.5},
    )
    each = [f"chosen[{name}]" for name in NAMES]
    assert list(some.columns) == ["count", *each, "wrong", "half"]
    assert some.row("F")["wrong"] == pytest.approx((decided != Y)[A == "F"].mean())


def test_a_label_that_only_predictions_have_is_a_decision():
    table = group_table(list("abca"), list("abcd"), sensitive_features=list("xxyy"))
    assert table.row("y")["selection_rate[d]"] == 0.5
    assert np.isnan(table.row("y")["true_positive_rate[d]"])


def test_differences_are_the_largest_of_all_decisions():
    def gaps(given):
        return max(
            abs(
                mean(PMF[:, v], (A == "F") & given(v, y))
                - mean(PMF[:, v], (A == "M") & given(v, y))
            )
            for v in range(3)
            for y in NAMES
            if given(v, y).any()
        )

    how = {"sensitive_features": A, "sample_weight": W}
    everybody = np.ones(N, dtype=bool)
    found = demographic_parity_difference(Y, PMF, **how)
    assert found == pytest.approx(gaps(lambda v, y: everybody))
    found = equalized_odds_difference(Y, PMF, **how)
    assert found == pytest.approx(gaps(lambda v, y: y == Y))
    found = equal_opportunity_difference(Y, PMF, **how)
    assert found == pytest.approx(gaps(lambda v, y: (y == Y) & (NAMES[v] == y)))
    overall = [
        abs(mean(PMF[:, v], a == A) - mean(PMF[:, v], everybody)) for v in range(3) for a in "FM"
    ]
    assert demographic_parity_violation(Y, PMF, **how) == pytest.approx(max(overall))
    with pytest.warns(EmptyCellWarning, match="belongs to y with label c"):
        equal_opportunity_difference(list("abcab"), list("abcab"), sensitive_features=list("xxxyy"))


def test_sums_over_cells_tell_the_same_as_people():
    people = Decisions.read(Y, PMF, A, sample_weight=W)
    tally = Tally.of_people(people.cells, PMF)
    far = Decisions(tally.cells, np.empty(0), (tally.s, tally.squares))
    masks = np.array([people.cells.sensitive["group"] == sex for sex in "FM"])
    from equipoise.constraints.rates import FPR, SELECTION, TPR

    for v in range(3):
        for rate in (SELECTION, TPR, FPR):
            found = far.against_rest(v).rate(rate, masks)
            np.testing.assert_allclose(found, people.against_rest(v).rate(rate, masks))
    found = far.errors().rate(SELECTION, masks)
    np.testing.assert_allclose(found, people.errors().rate(SELECTION, masks))


def test_groups_of_whom_some_are_unknown():
    hidden = np.where(np.arange(N) % 10 == 0, None, A).astype(object)
    table = group_table(Y, PMF, sensitive_features=hidden, missing="ignore")
    women, maybe = hidden == "F", hidden == None  # noqa: E711
    found = next(row for row in table.unknown.groups if row.group == "F").worst
    k, n, yes = PMF[women, 1].sum(), women.sum(), PMF[maybe, 1].sum()
    low, high = found["selection_rate[decline]"]
    assert high == pytest.approx((k + yes) / (n + yes))
    assert low == pytest.approx(k / (n + maybe.sum() - yes))
    assert any(text.startswith("decline of F: ") for text in table.unknown.sentences())
    assert "error_rate" in found


@pytest.mark.parametrize(
    ("y_pred", "says"),
    [
        (PMF[:, :2], "has the shape .400, 2., and y_true 3 labels: 'accept'"),
        (PMF + 0.5 * np.eye(3)[rng.integers(3, size=N)] * (np.arange(N) % 2)[:, None], "no prob"),
        (PMF[:10], "y_true has 400 entries but y_pred has 10"),
    ],
)
def test_what_are_no_decisions(y_pred, says):
    with pytest.raises(ValueError, match=says):
        group_table(Y, y_pred, sensitive_features=A)
