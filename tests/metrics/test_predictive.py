"""Predictive values against counts of people, and their intervals."""

import numpy as np
import pytest
from scipy.stats import binomtest

from equipoise.metrics.audit import Audit
from equipoise.metrics.predictive import predictive_values

RNG = np.random.default_rng(0)
Y, H, A = RNG.integers(0, 2, 500), RNG.integers(0, 2, 500), RNG.choice(["F", "M"], 500)


def found(y, h, group, **options):
    audit = Audit.read(y, h, group, **options)
    masks = np.array(list(audit.cells.groups().values()))
    return predictive_values(audit, masks, 0.95), list(audit.cells.groups())


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
