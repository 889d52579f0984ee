"""Fixtures that several test files share."""

from __future__ import annotations

import pytest
import sklearn
from hypothesis import HealthCheck, settings
from people import People, SpyLearner, make_people

# --doctest-modules would import each conftest.py as a module of the same name, which is an error.
# Type checkers read the client; nobody runs it.
collect_ignore_glob = ["conftest.py", "*/conftest.py", "docs/typed_client.py"]

# The same examples every time, however slowly a busy machine draws and tries them.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def people() -> People:
    """400 people in two groups, of which the second is selected far more often."""
    return make_people()


@pytest.fixture
def spy() -> type[SpyLearner]:
    """Return a learner class that remembers what it was fitted to."""
    return SpyLearner.fresh()


@pytest.fixture
def routing():
    """Switch scikit-learn's metadata routing on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield
