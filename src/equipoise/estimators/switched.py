"""Switched decisions of a fitted mixture, counted where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import config_context

from equipoise.cells.table import Array
from equipoise.engines.base import Engine
from equipoise.game.switched import Switched


def switches_of(engine: Engine, classifiers: Sequence[Any], free: int) -> Array | None:
    """Return whom classifiers decide on otherwise than one of them; None of more than two labels.

    There, a decision that differs is neither gained nor lost.
    """
    if len(engine.classes) > 2:
        return None
    return engine.switches(classifiers, classifiers[free])


def switched_of(engine: Engine, mixture: Any, unconstrained: Any) -> Switched | None:
    """Return whom a `equipoise.RandomizedClassifier` decides on differently, in one pass.

    ``unconstrained`` is an `UnconstrainedModel`, or None, to which nothing is compared; nor is
    anything of more than two labels.
    """
    if unconstrained is None or len(engine.classes) > 2:
        return None
    with config_context(assume_finite=True):  # the mixture has decided on these rows before
        switches = engine.switches(mixture.members, unconstrained.classifier)
    gained, lost = np.tensordot(mixture.weights, switches, 1)
    return Switched(engine.cells.table(), gained, lost, engine.classes)
