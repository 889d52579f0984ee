"""Classifiers behind a fitted transformer: trained on its output, they take its input."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from equipoise.oracles.read_only import Guard


class TransformedClassifier:
    """A classifier that transforms rows before it decides.

    A `sklearn.pipeline.Pipeline` would do the same, but its last step must be an estimator.

    Parameters
    ----------
    transformer : object with ``transform``
        Fitted; classifiers that share it also share its work, see
        `equipoise.oracles.decisions.decisions`.
    classifier : object with ``predict``
        Trained on transformed rows.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> scaler = StandardScaler().fit([[10.0], [30.0]])
    >>> stump = DecisionTreeClassifier().fit([[-1.0], [1.0]], [0, 1])
    >>> TransformedClassifier(scaler, stump).predict([[19.0], [21.0]])
    array([0, 1])
    """

    def __init__(self, transformer: Any, classifier: Any) -> None:
        self.transformer, self.classifier = transformer, classifier

    def __repr__(self) -> str:
        return f"<{self.classifier!r} after {type(self.transformer).__name__}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return self.classifier.predict(Guard()(self.transformer.transform, X))
