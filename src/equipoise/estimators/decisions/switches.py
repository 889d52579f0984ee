"""Switched decisions of a fitted mixture, counted where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context

from equipoise.engines.base import Engine
from equipoise.game.switches import Switched


def switched_of(engine: Engine, mixture: Any, unconstrained: Any) -> Switched | None:
    """Return whom a `equipoise.RandomizedClassifier` decides on differently, in one pass.

    ``unconstrained`` is an `UnconstrainedModel`, or None, to which nothing is compared.
    """
    if unconstrained is None:
        return None
    with config_context(assume_finite=True):  # the mixture has decided on these rows before
        switches = engine.compare(mixture.members, unconstrained.classifier).switches
    assert switches is not None
    moved = np.tensordot(mixture.weights, switches, 1)
    return Switched(engine.cells.table(), moved, engine.classes)
