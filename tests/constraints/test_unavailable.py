"""What is not linear in the decisions is refused."""

from __future__ import annotations

import pytest

from equipoise.constraints import Calibration, PredictiveParity


@pytest.mark.parametrize("refused", [PredictiveParity, Calibration])
def test_what_is_not_linear_is_refused(refused) -> None:
    with pytest.raises(ValueError, match="require the event to depend on h"):
        refused(eps=0.02)
