"""Predictive values against counts of people, and their intervals."""

import numpy as np
import pytest
from scipy.stats import binomtest

from equipoise import metrics
from equipoise.metrics.audit import Audit
from equipoise.metrics.intervals import rate_intervals
from equipoise.metrics.predictive import PREDICTIVE

RNG = np.random.default_rng(0)
Y, H, A = RNG.integers(0, 2, 500), RNG.integers(0, 2, 500), RNG.choice(["F", "M"], 500)


def found(y, h, group, **options):
    audit = Audit.read(y, h, group, **options)
    masks = np.array(list(audit.cells.groups().values()))
    values = {rate.column: rate_intervals(audit, rate, masks, 0.95, None) for rate in PREDICTIVE}
    return values, list(audit.cells.groups())


def test_they_are_shares_of_labels_among_decisions():
    values, groups = found(Y, H, A)
    for at, group in enumerate(groups):
        inside = group == A
        good = Y[inside & (H == 1)]
        missed = Y[inside & (H == 0)]
        expected = {"precision": good, "false_omission_rate": missed}
        for name, labels in expected.items():
            ends = binomtest(int(labels.sum()), len(labels)).proportion_ci(0.95, method="wilson")
            told = [values[name][end][at] for end in range(3)]
            assert told == pytest.approx([labels.mean(), ends.low, ends.high])
        false = [values["false_discovery_rate"][end][at] for end in range(3)]
        precise = [values["precision"][end][at] for end in (0, 2, 1)]
        assert false == pytest.approx([1 - end for end in precise])


def test_weights_and_probabilities_count():
    weight, h = RNG.uniform(1, 3, 500), RNG.random(500)
    values, groups = found(Y, h, A, sample_weight=weight)
    for at, group in enumerate(groups):
        inside = group == A
        expected = np.average(Y[inside], weights=(weight * h)[inside])
        assert values["precision"][0][at] == pytest.approx(expected)


def test_where_nobody_is_selected_nothing_is_known():
    values, _ = found(Y, np.zeros(500), A)
    assert np.isnan(values["precision"][0]).all()
    assert values["false_omission_rate"][0] == pytest.approx(
        [Y[group == A].mean() for group in ("F", "M")]
    )


ASKED = {rate.column: getattr(metrics, rate.column) for rate in PREDICTIVE}


def by_hand(y, h, name):
    """A predictive value of decisions, or of probabilities, from raw arrays."""
    weight = 1.0 - h if name == "false_omission_rate" else h
    return np.average(y == (name != "false_discovery_rate"), weights=weight)


@pytest.mark.parametrize("h", [H, RNG.random(500)], ids=["decisions", "probabilities"])
def test_functions_and_tables_have_them(h):
    table = metrics.group_table(Y, h, metrics=ASKED, sensitive_features=A, interval="analytic")
    drawn = metrics.group_table(
        Y, h, metrics=ASKED, sensitive_features=A, interval="bootstrap", n_draws=200
    )
    for name, function in ASKED.items():
        assert function(Y, h) == pytest.approx(by_hand(Y, h, name))
        assert table.overall[name] == pytest.approx(by_hand(Y, h, name))
        for group in ("F", "M"):
            expected = by_hand(Y[group == A], h[group == A], name)
            for found in (table.row(group), drawn.row(group)):
                assert found[name] == pytest.approx(expected)
                assert found[f"{name}_low"] < expected < found[f"{name}_high"]
        # By the bootstrap it is about as wide.
        width = [
            each.row("F")[f"{name}_high"] - each.row("F")[f"{name}_low"] for each in (table, drawn)
        ]
        assert 0.6 < width[0] / width[1] < 1.7
    told = metrics.confidence_interval(metrics.precision, Y, h)
    assert told == pytest.approx(
        [table.overall[f"precision{end}"] for end in ("", "_low", "_high")]
    )


def test_labels_of_one_kind_in_a_group_are_still_known():
    y, h = np.array(["no", "no", "yes", "yes"]), np.array(["no", "yes", "yes", "yes"])
    table = metrics.group_table(y, h, metrics=ASKED, sensitive_features=list("aabb"))
    assert table.row("a") == {
        "count": 2,
        "precision": 0.0,
        "false_discovery_rate": 1.0,
        "false_omission_rate": 0.0,
    }
    assert np.isnan(table.row("b")["false_omission_rate"])  # nobody is turned down
    assert np.isnan(metrics.precision([0, 1], [0, 0]))


def test_of_three_labels_each_decision_has_them():
    y, h = np.array(list("xyzxyz")), np.array(list("xyxxzz"))
    table = metrics.group_table(y, h, metrics=metrics.precision, sensitive_features=list("aaaaaa"))
    assert table.row("a")["precision[x]"] == pytest.approx(2 / 3)
    assert table.row("a")["precision[z]"] == pytest.approx(1 / 2)
    assert metrics.precision(y, h, pos_label="z") == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match="Say with pos_label"):
        metrics.precision(y, h)
