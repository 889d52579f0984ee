"""Samples of people vary as they should."""

import numpy as np
import pytest
from made import crowd

from equipoise.experiments.resampling import resample


def test_samples_vary_as_the_binomial_distribution_says():
    people = crowd()
    decided = np.where(np.random.default_rng(1).random(4000) < 0.2, 1 - people.y, people.y)
    samples = resample(decided[None].astype(float), people, True, n_draws=400)
    expected = np.sqrt(0.2 * 0.8 / 4000)
    assert samples.error.std() == pytest.approx(expected, rel=0.12)
    assert samples.error.mean() == pytest.approx((decided != people.y).mean(), abs=0.002)
    rates = [decided[(people.y == y) & (a == people.A)].mean() for y in (0, 1) for a in (0, 1)]
    assert samples.violation.mean() < 4 * np.ptp(rates)  # of the order of what is there
