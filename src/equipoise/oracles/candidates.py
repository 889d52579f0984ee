"""The exact oracle: a short list of classifiers, searched in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.layered import AnyCells
from equipoise.cells.table import Array
from equipoise.game.rounds import Oracle, Response


class ExactOracle(Oracle):
    """A short list of classifiers, searched in full: a true argmin over H.

    Parameters
    ----------
    classifiers : sequence
        The members of H.
    s : array of shape (P, C)
        The selected shares of each.

    Examples
    --------
    >>> oracle = ExactOracle(["nobody", "everybody"], [[0.0, 0.0], [0.5, 0.5]])
    >>> oracle.best_response(np.array([1.0, -2.0])).classifier
    'everybody'
    """

    exact = True
    out_of_fold = False

    def __init__(self, classifiers: Sequence[Any], s: ArrayLike) -> None:
        self.classifiers, self.s = list(classifiers), np.asarray(s, dtype=float)
        if len(self.classifiers) != len(self.s):
            raise ValueError(
                f"got {len(self.classifiers)} classifiers but shares of {len(self.s)}."
            )

    @classmethod
    def from_predictions(
        cls, predictions: ArrayLike, cells: AnyCells, classifiers: Sequence[Any] | None = None
    ) -> ExactOracle:
        """Return the oracle over predictions (P, n); classifiers are row numbers by default."""
        predictions = np.atleast_2d(np.asarray(predictions))
        names = range(len(predictions)) if classifiers is None else classifiers
        return cls(names, [cells.sum(h) for h in predictions])

    def best_response(self, costs: Array) -> Response:
        """Return the classifier of least cost."""
        best = int(np.argmin(self.s @ costs))
        return Response(self.classifiers[best], self.s[best])


class LabelAdapter:
    """A fitted classifier of the user's, whose labels are translated to 0, 1, ..."""

    def __init__(self, classifier: Any, classes: NDArray) -> None:
        self.classifier, self.classes = classifier, classes

    def predict(self, X: Any) -> NDArray:
        """Return the decision, 0 to V - 1, for each row."""
        predicted = np.asarray(self.classifier.predict(X))
        if strange := set(np.unique(predicted).tolist()) - set(self.classes.tolist()):
            raise ValueError(
                f"candidate {type(self.classifier).__name__} predicts {sorted(map(str, strange))}, "
                f"which y does not contain; expected {self.classes.tolist()}."
            )
        if len(self.classes) == 2:
            return predicted == self.classes[1]
        return (predicted[:, None] == self.classes).argmax(axis=1)


def candidate_oracle(
    candidates: Sequence[Any], shares: Callable[[Sequence[Any]], Array], classes: NDArray
) -> ExactOracle:
    """Return the exact oracle over fitted classifiers, whose ``shares`` an engine knows.

    Parameters
    ----------
    candidates : sequence of fitted classifiers
        Of the user's own; they predict the labels of the user's y.
    shares : callable
        From classifiers that decide 0, 1, ... to their selected shares (P, C).
    classes : array of labels
        What 0, 1, ... stand for.
    """
    if not candidates:
        raise ValueError("estimator is an empty list; expected one or more fitted classifiers.")
    members = [LabelAdapter(candidate, classes) for candidate in candidates]
    return ExactOracle(members, shares(members))


class BestOfOracle(Oracle):
    """Several oracles over the same cells: the best of their answers counts.

    Parameters
    ----------
    *oracles : Oracle
        Their shares must be measured alike, all out of fold or all on the training data: else
        those who know their training data by heart would win.
    """

    exact = False

    def __init__(self, *oracles: Oracle) -> None:
        if len({oracle.out_of_fold for oracle in oracles}) != 1:
            how = [f"{type(o).__name__} (out_of_fold={o.out_of_fold})" for o in oracles]
            raise ValueError(
                f"got {', '.join(how) or 'no oracle'}; expected one or more that measure their "
                "shares alike, all out of fold or all on the training data."
            )
        self.oracles = oracles
        self.out_of_fold = oracles[0].out_of_fold

    def best_response(self, costs: Array) -> Response:
        """Ask all oracles and return the response of least cost; the first of equals."""
        responses = [oracle.best_response(costs) for oracle in self.oracles]
        return min(responses, key=lambda response: float(response.s @ costs))

    def start_from(self, classifier: Any) -> None:
        """Let all oracles start from this classifier, an earlier answer of one of them."""
        for oracle in self.oracles:
            oracle.start_from(classifier)
