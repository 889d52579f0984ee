"""What is not linear in the decisions is refused."""

from __future__ import annotations

import pytest

import equipoise as eq


@pytest.mark.parametrize("refused", [eq.PredictiveParity, eq.Calibration])
def test_what_is_not_linear_is_refused(refused) -> None:
    with pytest.raises(ValueError, match="require the event to depend on h"):
        refused(eps=0.02)
