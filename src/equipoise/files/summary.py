"""What a manifest says about a model, to be read by people and by other programs."""

from __future__ import annotations

import math
from typing import Any

from sklearn.pipeline import Pipeline

from equipoise.estimators.frontier import Frontier
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.estimators.randomized import RandomizedClassifier


def summarize(model: Any) -> dict[str, Any]:
    """Return kind, parameters, constraint, certificate, weights, classes and feature names.

    >>> from sklearn.dummy import DummyClassifier
    >>> summary = summarize(RandomizedClassifier([DummyClassifier()], [2.0]))
    >>> summary["kind"], summary["weights"], summary["classes"]
    ('RandomizedClassifier', [1.0], ['0', '1'])
    """
    inner = model.steps[-1][1] if isinstance(model, Pipeline) else model
    summary: dict[str, Any] = {"kind": type(inner).__name__}
    if inner is not model:
        summary["inside"] = [type(step).__name__ for _, step in model.steps[:-1]]
    if hasattr(inner, "get_params"):
        given = inner.get_params(deep=False)
        summary["parameters"] = {
            name: _short(value) for name, value in given.items() if name != "callback"
        }
        summary["constraint"] = repr(getattr(inner, "constraint_", inner.constraint))
    if hasattr(inner, "certificate_"):
        summary["certificate"] = inner.certificate_.to_dict()
    if (proof := getattr(inner, "proof_", None)) is not None:
        summary["proof"] = proof.to_dict()
    mixture = inner if isinstance(inner, RandomizedClassifier) else vars(inner).get("classifier_")
    if mixture is not None:
        summary["weights"] = mixture.weights.tolist()
        summary["members"] = [repr(member) for member in mixture.members]
    if isinstance(inner, Frontier):
        summary["points"] = [describe_point(point) for point in inner.points_]
        summary["unconstrained"] = describe_point(inner.unconstrained_)
        summary["members"] = [repr(member) for member in inner.pool_.classifiers]
    if (people := getattr(inner, "people_", None)) is not None:
        summary["people"] = {"rows": people.rows, "fingerprint": people.digest}
    if used := getattr(inner, "proofs_", None):
        summary["people_of_proofs"] = list(used)
    if few := small_cells(inner):
        summary["small_cells"] = few
    summary["classes"] = [str(value) for value in inner.classes_]
    names = getattr(model, "feature_names_in_", getattr(inner, "feature_names_in_", None))
    summary["feature_names"] = None if names is None else [str(name) for name in names]
    summary["n_features"] = getattr(inner, "n_features_in_", None)
    return summary


def small_cells(model: Any, below: int = 10) -> str:
    """Return what a file of the model tells about few people, empty if it tells nothing.

    The certificate, `Frontier.at` and intervals follow from the number of people in each cell and
    from how many of them are selected, so a file holds these exactly, however few they are.
    """
    tallies = getattr(model, "tallies_", {})
    cells = getattr(model, "cells_", None) or next((some.cells for some in tallies.values()), None)
    if cells is None or not (few := int((cells.count < below).sum())):
        return ""
    return (
        f"{few} of {cells.n_cells} cells (combinations of label, groups and control features) have "
        f"fewer than {below} people. The file holds the number of people in each, and the share "
        "of them that each classifier selects: who knows that somebody was learned from may tell "
        "their label. Fit with small groups merged before passing the file on."
    )


def describe_point(point: FrontierPoint) -> dict[str, Any]:
    """Return the numbers of a point."""
    names = ("eps", "error", "disparity", "lower", "gap", "price", "members")
    return {name: _number(getattr(point, name)) for name in names}


def _number(value: float) -> float | int | None:
    """Return a number of JSON's, which knows no infinity: None."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else None


def _short(value: Any, limit: int = 500) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."
