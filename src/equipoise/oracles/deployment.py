"""The check that what was measured is what is deployed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import Array
from equipoise.exceptions import DeploymentError
from equipoise.oracles.thresholds import learner_of
from equipoise.oracles.transformed import TransformedClassifier

#: Shares of the same decisions may be added up in another order.
_ROUNDING = 1e-9
_REMEDY = (
    "A certificate would speak of another classifier than the one deployed, so there is no result. "
    "Causes: predictions that draw at random or depend on earlier calls (fix random_state, or make "
    "predict a function of its rows); a transformer or learner that writes into its input past "
    "NumPy's protection (set copy=True); a checkpoint that was damaged, or written with another "
    "version of the learner (delete the folder)."
)


def check_shares(recorded: ArrayLike, again: ArrayLike, classifiers: Sequence[Any]) -> None:
    """Raise unless classifiers select, asked once more, what was recorded of them.

    Parameters
    ----------
    recorded, again : array of shape (P, C)
        Selected shares of each cell.
    classifiers : sequence of P classifiers

    Examples
    --------
    >>> check_shares([[0.25, 0.5]], [[0.25, 0.5 + 1e-12]], ["the same up to rounding"])
    """
    recorded, again = np.asarray(recorded), np.asarray(again)
    difference = np.abs(again - recorded).sum(axis=1)
    if (difference <= _ROUNDING).all():
        return
    worst = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
    raise DeploymentError(
        f"{_kind(classifiers[worst])} does not decide as recorded: by weight, "
        f"{recorded[worst].sum():.4%} of the rows were selected when it was measured, and "
        f"{again[worst].sum():.4%} when it was asked about the same rows again (differences of "
        f"all cells together: {difference[worst]:.2g}). {_REMEDY}"
    )


def check_probabilities(recorded: Array, again: Array, learner: Any) -> None:
    """Raise unless a learner's model gives the probabilities that were recorded of it."""
    if not (difference := float(np.abs(again - recorded).max(initial=0.0))) <= _ROUNDING:
        raise DeploymentError(
            f"{_kind(learner)} does not give the probabilities recorded: asked about the same rows "
            f"again, they differ by up to {difference:.2g}. {_REMEDY}"
        )


def _kind(classifier: Any) -> str:
    """Return the class of the learner behind a classifier."""
    if isinstance(classifier, TransformedClassifier):
        classifier = classifier.classifier
    learner = learner_of(classifier)
    steps = getattr(learner, "steps", None)
    inner = f" with {type(steps[-1][1]).__name__}" if steps else ""
    return f"{type(learner).__name__}{inner}"
