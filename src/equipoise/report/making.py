"""Makes the contents of a report in Python: from a fitted frontier or model, and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.rows import Array
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.reductions import FairClassifier
from equipoise.files.versions import versions
from equipoise.report.contents import DataContents, ReportContents
from equipoise.report.described import constraint_contents
from equipoise.report.measured import frontier_points, model_point
from equipoise.rows.people import People


@dataclass(frozen=True, eq=False)
class _Given:
    """People as they were passed."""

    X: Any
    y: NDArray[Any]
    sensitive: Any
    control: Any
    weight: Array | None

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "sensitive_features": self.sensitive,
            "control_features": self.control,
            "sample_weight": self.weight,
        }


def report_of(
    model: Frontier | FairClassifier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    sensitive_features_test: Any = None,
    control_features_test: Any = None,
    sample_weight_test: Any = None,
    title: str | None = None,
    source: str = "data in memory",
    label: str = "y",
    file: str = "model.equipoise",
    level: float = 0.95,
    notes: Sequence[str] = (),
) -> ReportContents:
    """Return what a report page shows about a fitted frontier or classifier.

    Parameters
    ----------
    model : Frontier or FairClassifier
        A fitted one.
    X, y, sensitive_features, control_features, sample_weight
        The data of the fit. Groups must be known: a table of probabilities has no group table.
    X_test, y_test, ..., sample_weight_test : optional
        People held out, passed in the same way.
    title, source, label : str
        What the page is called, and where the data and the label are from.
    file : str
        The name of the model file that commands on the page refer to; see `equipoise.save`.
    level : float, default=0.95
        Level of all intervals.
    notes : sequence of str
        What readers of the page should know.

    Returns
    -------
    ReportContents
        For `write_report` and `write_model_card`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity
    >>> rng = np.random.default_rng(0)
    >>> A = rng.choice(["F", "M"], 800)
    >>> X = np.column_stack([(A == "M") + rng.normal(size=800), rng.normal(size=800)])
    >>> y = (X.sum(axis=1) + rng.normal(size=800) > 0.5).astype(int)
    >>> frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.02, 0.05])
    >>> frontier = frontier.fit(X[:400], y[:400], sensitive_features=A[:400])
    >>> contents = report_of(
    ...     frontier, X[:400], y[:400], sensitive_features=A[:400],
    ...     X_test=X[400:], y_test=y[400:], sensitive_features_test=A[400:],
    ... )
    >>> [(point.eps, [entry.data for entry in point.measured]) for point in contents.points]
    [(0.02, ['training', 'test']), (0.05, ['training', 'test'])]
    >>> [group.group for group in contents.points[0].groups["test"]]
    ['overall', 'F', 'M']
    """
    check_is_fitted(model)
    if (X_test is None) != (y_test is None) or (X_test is None) != (
        sensitive_features_test is None
    ):
        raise ValueError(
            "people held out are given in part; expected X_test, y_test and "
            "sensitive_features_test together, or none of them."
        )
    people = {"training": _given(X, y, sensitive_features, control_features, sample_weight)}
    if X_test is not None:
        people["test"] = _given(
            X_test, y_test, sensitive_features_test, control_features_test, sample_weight_test
        )
    traced = isinstance(model, Frontier)
    asked = constraint_contents(model.constraint if traced else model.constraint_)
    contents = ReportContents(
        kind="frontier" if traced else "model",
        title=f"{asked.name} in {source}" if title is None else title,
        data=_summary(model, people, source, label),
        constraint=asked,
        learner=repr(model.estimator),
        level=level,
        file=file,
        versions=versions(),
        notes=list(notes),
    )
    if isinstance(model, Frontier):
        points, alone = frontier_points(model, people, level=level, file=file)
        return replace(contents, points=points, unconstrained=alone)
    return replace(contents, points=[model_point(model, people, level=level, file=file)])


def _given(X: Any, y: Any, sensitive: Any, control: Any, weight: Any) -> _Given:
    weight = None if weight is None else np.asarray(weight, dtype=float)
    return _Given(X, np.asarray(y), sensitive, control, weight)


def _summary(
    model: Frontier | FairClassifier, people: dict[str, _Given], source: str, label: str
) -> DataContents:
    train, everybody = people["training"], list(people.values())
    cells, _ = People(train.X, train.y, **train.metadata).read()
    favourable = np.concatenate([some.y == model.classes_[1] for some in everybody])
    weight = None
    if all(some.weight is not None for some in everybody):
        weight = np.concatenate([some.weight for some in everybody if some.weight is not None])
    return DataContents(
        source=source,
        rows=sum(len(some.y) for some in everybody),
        train_rows=len(train.y),
        test_rows=len(people["test"].y) if "test" in people else 0,
        label=label,
        labels=(str(model.classes_[0]), str(model.classes_[1])),
        base_rate=float(np.average(favourable, weights=weight)),
        sensitive=list(cells.sensitive),
        control=list(cells.control),
        weight=None if train.weight is None else "given",
        features=_features(train.X),
        missing={},
    )


def _features(X: Any) -> dict[str, str]:
    """Return names and kinds of the features; those of an array have no names."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {
            name: "number" if kind.is_numeric() else "category"
            for name, kind in frame.schema.items()
        }
    return {f"column {at}": "number" for at in range(np.shape(X)[1])}
