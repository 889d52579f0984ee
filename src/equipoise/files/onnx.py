"""ONNX: the probabilities of a randomized classifier as one graph, for runtimes without Python.

The graph computes what ``predict_proba`` does: every member's decision, weighted. The draw is left
to the caller, who knows the person: compare the second probability with a number in [0, 1) that is
the same for the same person each time, such as `equipoise.rows.hashing.draw_uniform` of their
key. Of more than two decisions, take the first whose probability and those before it add up to more
than that number. That is another draw than the one of ``predict``, with the same probability.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from equipoise.atomic_files import new_file
from equipoise.cells.table import Array
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.files.onnx_graph import Graph, inputs_of
from equipoise.files.onnx_probes import LARGEST, Probe, columns_of, frame_of, nudged, probes
from equipoise.guarantees.proof import check_proven
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import is_missing

#: Numbers that differ by less than this, relatively, may fall on other sides of a threshold.
NEAR = 1e-6


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
        Share of the rows of X whose probabilities may differ. LightGBM's thresholds are rounded to
        single precision, so a value within 1e-7 of itself of one can fall on its other side.

    Raises
    ------
    ValueError
        If onnxruntime does not give the probabilities of ``predict_proba`` for the rows of X, or
        for rows made from them: missing values, unseen categories, extremes and the like.
    TypeError
        If a member or a column cannot be converted.
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
    >>> bool(np.allclose(pmf, clf.predict_proba(X), rtol=0, atol=1e-12))
    True
    """
    mixture = _mixture(model)
    graph = Graph(X, len(mixture.classes_))
    mixture.predict_proba(
        take_rows(X, np.arange(min(_num_samples(X), 1)))
    )  # are these its columns?
    selected = graph.number(0.0)
    for number, (member, weight) in enumerate(zip(mixture.members, mixture.weights, strict=True)):
        graph.prefix = f"member{number}_"
        weighted = graph.node("Mul", graph.decision(member), graph.number(weight))
        selected = graph.node("Add", selected, weighted)
    low, high = graph.number(0.0), graph.number(1.0)
    selected = graph.node("Min", graph.node("Max", selected, low), high)
    others = graph.node("ReduceSum", selected, graph.constant(np.array([1])))
    first = graph.node("Sub", high, graph.node("Min", others, high))
    pmf = graph.node("Concat", first, selected, axis=1)
    properties = {"classes": ", ".join(map(str, mixture.classes_.tolist()))}
    asked = probes(X, mixture.predict_proba)
    instead = _instead(X)
    unanswered = _unanswered(Runtime(graph.finish(pmf, properties), mixture, instead), asked)
    if unanswered:
        pmf = graph.without(pmf, _limits(X, unanswered))
        properties["unanswered"] = "; ".join(f"{p.what} of {p.column}" for p in unanswered)
    runtime = Runtime(graph.finish(pmf, properties), mixture, instead)
    _check_rows(runtime, mixture, X, allowed)
    for probe in asked:
        if probe not in unanswered:
            _check_probe(runtime, probe)
    return runtime.proto


def _mixture(model: Any) -> RandomizedClassifier:
    if isinstance(model, RandomizedClassifier):
        return model
    if isinstance(model, GridSearch) and hasattr(model, "best_estimator_"):
        return RandomizedClassifier([model.best_estimator_], [1.0], model.classes_)
    if hasattr(model, "classifier_"):
        check_proven(model)
        return model.classifier_
    raise TypeError(
        f"got a {type(model).__name__}; expected a fitted FairClassifier, ExponentiatedGradient, "
        "GridSearch or RandomizedClassifier; of a Frontier, frontier.at(eps=...). Regressors "
        "are not exported: deploy their model files."
    )


_INSTEAD = "Use another learner or transformer, or deploy the model file."


def _instead(X: Any) -> str:
    """Return advice for a conversion that fails; columns of whole numbers are named."""
    whole = [name for name, column in columns_of(X).items() if column.kind == "int"]
    if not whole:
        return _INSTEAD
    types = ", ".join(f"{name!r}: float" for name in whole[:4])
    more = ", ..." if len(whole) > 4 else ""
    return (
        "Columns of whole numbers are a common cause: fit again with floating-point ones, "
        f"X.astype({{{types}{more}}}). Or use another learner or transformer, or deploy the model "
        "file."
    )


class Runtime:
    """A graph as onnxruntime runs it."""

    def __init__(self, proto: Any, mixture: RandomizedClassifier, instead: str) -> None:
        import onnxruntime

        self.proto, self.n_decisions = proto, len(mixture.classes_)
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4  # errors are raised; no need to print them as well
        try:
            self.session = onnxruntime.InferenceSession(
                proto.SerializeToString(), quiet, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises many kinds
            raise TypeError(
                f"onnxruntime cannot run the graph of {_kinds_of(mixture)}: "
                f"{str(error).splitlines()[0]} {instead}"
            ) from error

    def run(self, rows: Any) -> Array:
        """Return the probabilities; NaN for all rows if onnxruntime raises an error."""
        inputs = inputs_of(rows)
        try:
            return self.session.run(None, inputs)[0]
        except Exception:  # onnxruntime raises many kinds, such as for unknown categories
            return np.full((len(next(iter(inputs.values()))), self.n_decisions), np.nan)

    def compare(self, rows: Any, expected: Array) -> tuple[Array, NDArray[np.intp]]:
        """Return the probabilities of the graph, and the rows where they differ."""
        got = self.run(rows)
        same = np.isclose(got, expected, rtol=0.0, atol=1e-9)
        return got, np.flatnonzero(~same.all(axis=1))


def _unanswered(runtime: Runtime, asked: list[Probe]) -> list[Probe]:
    """Return the missing and excessive numbers that the model refuses or the graph gets wrong."""
    return [
        probe
        for probe in asked
        if probe.kind == "float"
        and probe.what in LARGEST
        and (isinstance(probe.expected, str) or len(runtime.compare(probe.rows, probe.expected)[1]))
    ]


def _limits(X: Any, unanswered: list[Probe]) -> dict[str, NDArray]:
    """Return for each input of numbers which columns may not be missing, and the largest number."""
    numbers = [name for name, column in columns_of(X).items() if column.kind == "float"]
    limits = {name: np.array([0.0, np.inf]) for name in numbers}
    for probe in unanswered:
        limit, largest = limits[probe.column], LARGEST[probe.what]
        limit[0], limit[1] = max(limit[0], np.isnan(largest)), np.fmin(limit[1], largest)
    if frame_of(X) is not None:
        return {name: limit[:, None] for name, limit in limits.items()}
    return {"X": np.column_stack(list(limits.values()))}


def _check_rows(runtime: Runtime, mixture: RandomizedClassifier, X: Any, allowed: float) -> None:
    """Refuse a graph that gives other probabilities than the mixture for the user's rows."""
    expected = mixture.predict_proba(X)
    got, differ = runtime.compare(X, expected)
    if len(differ) > allowed * len(got):
        at = int(differ[0])
        raise ValueError(
            f"onnxruntime gives other probabilities than predict_proba for {len(differ)} of "
            f"{len(got)} rows, first for row {at}: {_told(got[at])} and not {_told(expected[at])}. "
            f"{_cause(mixture, take_rows(X, differ))}"
        )


def _check_probe(runtime: Runtime, probe: Probe) -> None:
    """Refuse a graph that decides otherwise on rows made for the purpose."""
    if not isinstance(probe.expected, str):
        got, differ = runtime.compare(probe.rows, probe.expected)
        if len(differ):
            at = int(differ[0])
            raise ValueError(
                f"{probe.column} with {probe.what}: onnxruntime gives {_told(got[at])}, and "
                f"predict_proba {_told(probe.expected[at])}. {_advice(probe.kind, probe.what)}"
            )
    elif not np.isnan(runtime.run(probe.rows)).all():
        raise ValueError(
            f"{probe.column} with {probe.what}: the model raises an error ({probe.expected}), but "
            f"the graph would decide. {_advice(probe.kind, probe.what)}"
        )


def _told(pmf: Array) -> str:
    """Return a row's probability of being selected; of more than two decisions, of each."""
    shown = pmf[1:] if len(pmf) == 2 else pmf
    return ", ".join(f"{value:.6g}" for value in shown)


def _advice(kind: str, what: str) -> str:
    """Return advice about values of some kind in a column of numbers or texts."""
    if kind == "text":
        return (
            "A graph is given missing texts as empty ones. Fill them in before the fit, such as "
            "X.fillna('unknown'), and let encoders ignore what they do not know: "
            "OneHotEncoder(handle_unknown='ignore')."
        )
    if what == "missing values":
        return "Fill them in by a first step, such as SimpleImputer(), and fit again."
    return _INSTEAD


def _kinds_of(mixture: RandomizedClassifier) -> str:
    found = dict[str, None]()
    for member in mixture.members:
        inner = getattr(member, "classifier", member)
        steps = inner.steps if isinstance(inner, Pipeline) else [("", inner)]
        found[" after ".join(type(step).__name__ for _, step in reversed(steps))] = None
    return ", ".join(found)


def _cause(mixture: RandomizedClassifier, X: Any) -> str:
    """Say why these rows differ."""
    for name, (kind, values) in columns_of(X).items():
        missing = sum(map(is_missing, values.tolist()))
        if missing == len(values) or (missing and kind == "text"):
            return f"{missing} of them have no value in {name}. {_advice(kind, 'missing values')}"
    pmf = mixture.predict_proba(X)
    near = np.zeros(len(pmf), dtype=bool)
    for factor in (1.0 - NEAR, 1.0 + NEAR):
        near |= (mixture.predict_proba(nudged(X, factor)) != pmf).any(axis=1)
    if near.all():
        return (
            "They are next to a threshold: the model itself decides otherwise where its numbers "
            "change by a millionth, and trees in ONNX compute in single precision. Allow a share "
            "of such rows with allowed=..., if you can bear it."
        )
    return (
        f"{int((~near).sum())} of them are not next to a threshold: the converter of "
        f"{_kinds_of(mixture)} does not do what the model does. {_instead(X)}"
    )
