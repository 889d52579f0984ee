"""The code of pages of docs/ runs as printed, and does what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def run(page):
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S):
        exec(code, names)
    return names


def test_checkpoints():
    names = run("checkpoints.md")
    errors = [[point.error for point in names[name].points_] for name in ("frontier", "again")]
    assert errors[0] == errors[1]


def test_rows_on_disk():
    pytest.importorskip("pyarrow")
    pytest.importorskip("xgboost", minversion="3.0")
    names = run("cheaper_calls.md")
    women = names["group"] == "F"
    selected = names["decisions"]
    assert set(np.unique(selected)) == {0, 1}
    # Decisions are drawn, which adds to the gap; three standard errors are allowed for it.
    gap = abs(selected[women].mean() - selected.mean())
    assert gap <= 0.02 + 3 * np.sqrt(0.25 / women.sum())
