"""Free memory, and the error before work that needs more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, FairClassifier, memory


def test_free_memory_is_the_least_of_machine_and_container(tmp_path, monkeypatch):
    machine = tmp_path / "meminfo"
    machine.write_text("MemTotal:  9000 kB\nMemAvailable:   2000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", machine)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.free_memory() == 2000 * 1024
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert memory.free_memory() == 600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free_memory() == 2000 * 1024


def test_free_memory_without_a_way_to_know(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "absent")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "absent")
    assert memory.free_memory() == np.inf


class Untouched(DecisionTreeClassifier):
    """Fails where it is trained: an error must come before."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("work has started")


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (DemographicParity(0.1), "100 groups in 200 cells would take .* Merge rare values"),
        (
            DemographicParity(0.1, reference="pairwise"),
            "9,900 inequalities between pairs of 100 groups would take",
        ),
    ],
)
def test_too_many_groups_are_refused_before_work(constraint, expected, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 50_000.0 if "100" in expected[:3] else 1e6)
    X = np.arange(400.0)[:, None]
    group = np.arange(400) % 100
    y = (np.arange(400) // 100) % 2
    with pytest.raises(MemoryError, match=expected):
        FairClassifier(Untouched(), constraint).fit(X, y, sensitive_features=group)
