"""Rates against scikit-learn and raw arrays."""

from __future__ import annotations

import numpy as np
import pytest
from raw_rates import SEEDS, mean, people
from sklearn.metrics import accuracy_score, recall_score, zero_one_loss

from equipoise import metrics


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_agree_with_scikit_learn(seed):
    y, h, _, w = people(seed)
    for weight in (None, w):
        keywords = {"sample_weight": weight}
        assert metrics.error_rate(y, h, **keywords) == pytest.approx(
            zero_one_loss(y, h, **keywords)
        )
        assert metrics.accuracy_score(y, h, **keywords) == pytest.approx(
            accuracy_score(y, h, **keywords)
        )
        recall, specificity = (recall_score(y, h, pos_label=label, **keywords) for label in (1, 0))
        assert metrics.true_positive_rate(y, h, **keywords) == pytest.approx(recall)
        assert metrics.false_negative_rate(y, h, **keywords) == pytest.approx(1 - recall)
        assert metrics.true_negative_rate(y, h, **keywords) == pytest.approx(specificity)
        assert metrics.false_positive_rate(y, h, **keywords) == pytest.approx(1 - specificity)


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_probabilities_are_expectations(seed):
    y, h, _, w = people(seed, randomized=True)
    everybody = np.ones(len(y), bool)
    assert metrics.selection_rate(y, h, sample_weight=w) == pytest.approx(mean(h, everybody, w))
    assert metrics.true_positive_rate(y, h, sample_weight=w) == pytest.approx(mean(h, y == 1, w))
    error = np.where(y == 1, 1 - h, h)
    assert metrics.error_rate(y, h, sample_weight=w) == pytest.approx(mean(error, everybody, w))


def test_a_rate_that_nobody_can_have_is_nan():
    assert np.isnan(metrics.true_positive_rate([0, 0], [0, 1]))
    assert metrics.false_positive_rate([0, 0], [0, 1]) == 0.5


def test_rates_work_inside_fairlearns_metric_frame():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    y, h, A, w = people(0)
    names = ["selection_rate", "true_positive_rate", "false_positive_rate", "true_negative_rate"]
    frames = [
        fairlearn.MetricFrame(
            metrics={name: getattr(module, name) for name in names},
            y_true=y,
            y_pred=h,
            sensitive_features=A,
            sample_params={name: {"sample_weight": w} for name in names},
        )
        for module in (metrics, fairlearn)
    ]
    np.testing.assert_allclose(frames[0].by_group, frames[1].by_group, atol=1e-12)
    np.testing.assert_allclose(frames[0].overall, frames[1].overall, atol=1e-12)
