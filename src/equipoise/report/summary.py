"""The summary of a fit, in Python: from a fitted frontier or model and people to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from equipoise.constraints import Constraint
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.estimators.regression.regressor import FairRegressor
from equipoise.files.manifest import date_made, versions
from equipoise.metrics.few import FEW_LIMIT, cells_of_few, check_limit
from equipoise.report.contents import (
    ColumnContents,
    ConstraintContents,
    DataContents,
    ReportContents,
    base_rate,
)
from equipoise.report.evaluate import fitted_cells, model_for_readers, points_for_readers
from equipoise.report.regression import regression_contents
from equipoise.rows.people import People


def report_of(
    model: Any,
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
    suppress_below: int = FEW_LIMIT,
) -> Any:
    """Return the contents of a report page about a fitted frontier, classifier or regressor.

    Parameters
    ----------
    model : Frontier, FairClassifier or FairRegressor
        A fitted one.
    X, y, sensitive_features, control_features, sample_weight
        The data of the fit. Groups must be known: a table of probabilities has no group table.
    X_test, y_test, ..., sample_weight_test : optional
        Other people, passed in the same way. The page says how many of them were learned from.
    title, source, label : str
        What the page is called, and where the data and the label are from.
    file : str
        The name of the model file that commands on the page refer to; see `equipoise.save`.
    level : float, default=0.95
        Level of all intervals.
    notes : sequence of str
        What readers of the page should know.
    suppress_below : int, default=10
        People in groups of fewer are left out of every number, and the page says so; 0 leaves
        nobody out.

    Returns
    -------
    ReportContents or RegressionContents
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
    kinds = (Frontier, FairRegressor, RegressionFrontier)
    if not isinstance(model, kinds) and not hasattr(model, "tallies_"):
        raise TypeError(
            f"model is a {type(model).__name__}; expected a fitted Frontier, FairClassifier or "
            "ExponentiatedGradient: a page tells what a certificate says."
        )
    if len({X_test is None, y_test is None, sensitive_features_test is None}) > 1:
        raise ValueError(
            "people to test on are given in part; expected X_test, y_test and "
            "sensitive_features_test together, or none of them."
        )
    people = {"training": _people(X, y, sensitive_features, control_features, sample_weight)}
    if X_test is not None:
        people["test"] = _people(
            X_test, y_test, sensitive_features_test, control_features_test, sample_weight_test
        )
    data = _data_contents(model, people, source, label)
    limits = [check_limit(suppress_below)]
    (contents,) = summarize(model, people, data, file=file, level=level, limits=limits)
    return replace(contents, title=contents.title if title is None else title, notes=list(notes))


def summarize(
    model: Any,
    people: Mapping[str, People],
    data: DataContents,
    *,
    file: str,
    level: float,
    limits: Sequence[int],
    seed: int | None = None,
) -> list[Any]:
    """Return the contents of a report about a fitted model, measured on these people.

    There is one for each of the ``limits``: people in groups of fewer are left out of it, 0 for
    nobody. The people are asked about once.
    """
    seed = model.random_state if seed is None else seed
    if isinstance(model, (FairRegressor, RegressionFrontier)):
        about = dict[str, Any](source=data.source, label=data.label, file=file, seed=seed)
        return [regression_contents(model, people, suppress_below=k, **about) for k in limits]
    if (learned := model.people_) is not None:
        data = replace(data, fingerprint=learned.digest)
    traced = isinstance(model, Frontier)
    constraint = model.constraint if traced else model.constraint_
    asked = _constraint_contents(constraint, len(model.classes_))
    contents = ReportContents(
        kind="frontier" if traced else "model",
        title=f"{asked.name} in {data.source}",
        data=data,
        constraint=asked,
        learner=repr(model.estimator),
        objective="" if model.objective is None else repr(model.objective),
        level=level,
        file=file,
        versions=versions(),
        date=date_made(),
        seed=seed,
    )
    found: list[Any]
    if isinstance(model, Frontier):
        found, tables = points_for_readers(model, people, level, file, limits)
    else:
        shown, tables = model_for_readers(model, people, level, file, limits)
        found = [([point], free) for point, free in shown]
    known = {**tables, "fit": fitted_cells(model)}
    return [
        replace(
            contents,
            data=data.without_few(tables, limit),
            points=points,
            unconstrained=free,
            suppress_below=limit,
            leaves_out=any(cells_of_few(cells, limit).any() for cells in known.values()),
        )
        for limit, (points, free) in zip(limits, found, strict=True)
    ]


def _constraint_contents(constraint: Constraint, n_decisions: int) -> ConstraintContents:
    """Return the words of a constraint's class: what it asks, its formula, how it misleads."""
    asks, formula = constraint.asks, constraint.formula
    if n_decisions > 2 and constraint.of_several is not None:
        asks, formula = constraint.of_several
    return ConstraintContents(
        name=constraint.name,
        code=repr(constraint),
        asks=asks,
        formula=formula,
        explanation=[constraint.misleads] if constraint.misleads else [],
    )


def _people(X: Any, y: Any, sensitive: Any, control: Any, weight: Any) -> People:
    weight = None if weight is None else np.asarray(weight, dtype=float)
    return People(X, np.asarray(y), sensitive, control, weight)


def _data_contents(
    model: Any, people: Mapping[str, People], source: str, label: str
) -> DataContents:
    train, test = people["training"], people.get("test")
    cells = fitted_cells(model)
    classes = getattr(model, "classes_", ())  # a regressor has none
    weights = [some.sample_weight for some in people.values()]
    y = np.concatenate([np.asarray(some.y) for some in people.values()])
    weighted = all(weight is not None for weight in weights)
    weight = np.concatenate(weights) if weighted else None
    return DataContents(
        source=source,
        rows=len(y),
        train_rows=len(train.y),
        test_rows=0 if test is None else len(test.y),
        label=label,
        labels=tuple(map(str, classes)),
        base_rate=base_rate(y, classes, weight) if len(classes) else np.nan,
        sensitive=list(cells.sensitive),
        control=list(cells.control),
        weight=None if weights[0] is None else "given",
        columns=_columns(train.X),
    )


def _columns(X: Any) -> list[ColumnContents]:
    """Return names and kinds of the features; those of an array have no names."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        kinds = {
            name: "number" if kind.is_numeric() else "category"
            for name, kind in frame.schema.items()
        }
    else:
        kinds = {f"column {at}": "number" for at in range(np.shape(X)[1])}
    return [ColumnContents(name, "feature", kind) for name, kind in kinds.items()]
