"""A model file."""

import pytest
from saving import fitted
from sklearn.linear_model import LogisticRegression

import equipoise


@pytest.fixture
def saved(people, tmp_path):
    equipoise.save(fitted(LogisticRegression(), people), tmp_path / "fair.equipoise")
    return tmp_path / "fair.equipoise"
