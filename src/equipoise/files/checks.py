"""What must hold of a model that was read, whatever its file says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from equipoise.estimators.frontier import Frontier
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.exceptions import ModelFileError
from equipoise.files.kinds import is_model
from equipoise.game.mixture import Mixture
from equipoise.game.rounds import Pool


def check_model(model: Any, parts: Iterable[Any]) -> None:
    """Raise unless this is a fitted model, all of whose mixtures are probabilities.

    Parameters
    ----------
    model : object
    parts : iterable
        The objects of this package's own that it consists of.

    Examples
    --------
    >>> check_model({"weights": [1.0]}, [])
    Traceback (most recent call last):
    equipoise.exceptions.ModelFileError: it holds a dict; expected a model.
    """
    if not is_model(model):
        raise ModelFileError(f"it holds a {type(model).__name__}; expected a model.")
    for part in parts:
        if isinstance(part, RandomizedClassifier):
            _check_mixture(part)
        elif isinstance(part, Mixture):
            _check_weights(part.weights, len(part.indices))
        elif isinstance(part, Pool) and len(part.s) != len(part.classifiers):
            raise ModelFileError("a pool has not one row of shares for each classifier.")
    inner = model.steps[-1][1] if hasattr(model, "steps") else model
    if isinstance(inner, RandomizedClassifier):
        return
    check_is_fitted(inner)
    expected = "pool_" if isinstance(inner, Frontier) else "classes_"
    for name in (expected, *inner.get_params(deep=False)):
        if not hasattr(inner, name):
            raise ModelFileError(f"the {type(inner).__name__} has no {name}.")


def _check_mixture(mixture: RandomizedClassifier) -> None:
    if not all(hasattr(member, "predict") for member in mixture.members):
        raise ModelFileError("a member of a mixture does not predict.")
    if np.shape(mixture.classes_) != (2,):
        raise ModelFileError(f"a mixture has the classes {mixture.classes_!r}; expected two.")
    _check_weights(mixture.weights, len(mixture.members))


def _check_weights(weights: Any, members: int) -> None:
    given = np.asarray(weights, dtype=float)
    if given.shape != (members,) or not members:
        raise ModelFileError(f"a mixture of {members} members has weights of shape {given.shape}.")
    if not (given >= 0).all() or not abs(given.sum() - 1.0) <= 1e-6:
        raise ModelFileError(
            f"a mixture has the weights {given.tolist()[:10]}; expected numbers >= 0 that add up "
            "to 1."
        )
