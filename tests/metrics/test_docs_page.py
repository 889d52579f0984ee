"""docs/metrics.md runs as printed."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_page_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
