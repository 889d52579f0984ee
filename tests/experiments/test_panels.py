"""Splits of the data sets."""

import numpy as np

from equipoise.experiments.panels import load_split


def test_splits_are_three_to_one_and_keep_the_group_among_the_features():
    split = load_split("adult", "codes", seed=1)
    assert (len(split.train), len(split.test)) == (36631, 12211)
    same = (split.train.A[:, None] == split.train.X).all(axis=0)
    assert same.any()
    other = load_split("adult", "codes", seed=2)
    assert (split.test.y != other.test.y).any()


def test_scaling_looks_at_training_people_only():
    split = load_split("adult", "indicators", seed=0, rows=2000)
    assert np.abs(split.train.X.mean(axis=0)).max() < 1e-9
    assert np.abs(split.test.X.mean(axis=0)).max() > 1e-3
