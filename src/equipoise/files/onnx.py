"""ONNX: the probabilities of a randomized classifier as one graph, for runtimes without Python.

The graph computes what ``predict_pmf`` does: every member's decision, weighted. The draw is left to
the caller, who knows the person: compare the second probability with a number in [0, 1) that is
the same for the same person each time, such as `equipoise.rows.hashing.hash_uniform` of their
key. That is another draw than the one of ``predict``, with the same probability.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.atomic_files import new_file
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.files.onnx_graph import Graph, inputs_of


def export_onnx(
    model: Any, path: str | Path, X: Any, *, overwrite: bool = False, allowed: float = 0.0
) -> None:
    """Write the probabilities of a mixture as an ONNX file, once onnxruntime agrees with them.

    Parameters
    ----------
    model : fitted FairClassifier, ExponentiatedGradient, GridSearch or RandomizedClassifier
        Its members are classifiers that skl2onnx can convert; those of LightGBM and XGBoost go
        through onnxmltools.
    path : str or Path
    X : array of numbers, or data frame
        Rows to check with, of the kind that the graph will be given. A frame becomes one input for
        each column, of shape (n, 1); an array becomes one input called ``X``.
    overwrite : bool, default=False
        Whether a file of this name is replaced.
    allowed : float, default=0
        Share of the rows of X whose probabilities may differ. Some operators compute in single
        precision, so a score next to a threshold can fall on its other side.

    Raises
    ------
    ValueError
        If onnxruntime does not give the probabilities of ``predict_pmf`` for the rows of X.
    TypeError
        If a member cannot be converted.
    """
    data = to_onnx(model, X, allowed=allowed).SerializeToString()
    with new_file(path, overwrite=overwrite) as partial:
        partial.write_bytes(data)


def to_onnx(model: Any, X: Any, *, allowed: float = 0.0) -> Any:
    """Return the probabilities of a mixture as an ONNX model; see `export_onnx`.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, FairClassifier
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 500)
    >>> X = np.column_stack([A + rng.normal(size=500), rng.normal(size=500)])
    >>> y = (X.sum(axis=1) + rng.normal(size=500) > 0.5).astype(int)
    >>> clf = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
    >>> graph = to_onnx(clf.fit(X, y, sensitive_features=A), X)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> (pmf,) = session.run(None, {"X": X})
    >>> bool(np.allclose(pmf, clf.predict_pmf(X), rtol=0, atol=1e-12))
    True
    """
    mixture = _mixture(model)
    graph = Graph(X)
    selected = graph.number(0.0)
    for number, (member, weight) in enumerate(zip(mixture.members, mixture.weights, strict=True)):
        graph.prefix = f"member{number}_"
        weighted = graph.node("Mul", graph.decision(member), graph.number(weight))
        selected = graph.node("Add", selected, weighted)
    low, high = graph.number(0.0), graph.number(1.0)
    selected = graph.node("Min", graph.node("Max", selected, low), high)
    both = graph.node("Concat", graph.node("Sub", high, selected), selected, axis=1)
    proto = graph.finish(both, {"classes": ", ".join(map(str, mixture.classes_.tolist()))})
    _check(proto, mixture, X, allowed)
    return proto


def _mixture(model: Any) -> RandomizedClassifier:
    if isinstance(model, RandomizedClassifier):
        return model
    if isinstance(model, GridSearch) and hasattr(model, "best_estimator_"):
        return RandomizedClassifier([model.best_estimator_], [1.0], model.classes_)
    if hasattr(model, "classifier_"):
        return model.classifier_
    raise TypeError(
        f"got a {type(model).__name__}; expected a fitted FairClassifier, ExponentiatedGradient, "
        "GridSearch or RandomizedClassifier. Of a Frontier, export frontier.at(eps=...)."
    )


def _check(proto: Any, mixture: RandomizedClassifier, X: Any, allowed: float) -> None:
    """Refuse a graph that gives other probabilities than the mixture does."""
    import onnxruntime

    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (got,) = session.run(None, inputs_of(X))
    expected = mixture.predict_pmf(X)
    differ = np.abs(got - expected).max(axis=1) > 1e-9
    if differ.mean() > allowed:
        at = int(np.flatnonzero(differ)[0])
        raise ValueError(
            f"onnxruntime gives other probabilities than predict_pmf for {int(differ.sum())} of "
            f"{len(differ)} rows, first for row {at}: {got[at, 1]:.6g} and not "
            f"{expected[at, 1]:.6g}. Scores next to a threshold may differ in single precision; "
            "allow a share of such rows with allowed=..., if you can bear it."
        )
