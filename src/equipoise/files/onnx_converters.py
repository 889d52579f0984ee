"""Conversion of classifiers and transformers of other libraries to ONNX, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from equipoise.exceptions import needing
from equipoise.rows.validation import is_missing

#: Versions of the operators that a graph is made of.
OPSET, ML_OPSET = 19, 3
#: Libraries whose classifiers onnxmltools converts.
BOOSTING = ("lightgbm", "xgboost")


def convert(skl2onnx: Any, part: Any, types: list[tuple[str, Any]], options: Any) -> Any:
    """Convert one part by skl2onnx, given the types of its inputs."""
    if library(part) in BOOSTING:
        _register_boosting(skl2onnx, part)
    try:
        return skl2onnx.convert_sklearn(
            part,
            initial_types=types,
            options=options,
            target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
            custom_conversion_functions={SimpleImputer: _convert_imputer},
            custom_shape_calculators={SimpleImputer: _shape_of_imputer},
        )
    except Exception as error:  # skl2onnx raises many kinds
        steps = part.steps if isinstance(part, Pipeline) else [("", part)]
        names = ", ".join(type(step).__name__ for _, step in steps)
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise TypeError(
            f"skl2onnx cannot convert {names}: {str(cause).splitlines()[0]} Use another learner or "
            "transformer, or deploy the model file."
        ) from error


def _shape_of_imputer(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    imputer = operator.raw_operator
    if any(isinstance(given.type, StringTensorType) for given in operator.inputs):
        raise TypeError(
            "it fills in texts, and ONNX has no missing text. Fill in texts before the fit, such "
            "as X.fillna('unknown')."
        )
    if imputer.add_indicator or not is_missing(imputer.missing_values):
        raise TypeError(
            "only missing_values=nan and add_indicator=False can be converted; add a column that "
            "tells what is missing before the fit."
        )
    kept = ~np.isnan(np.asarray(imputer.statistics_, dtype=float))
    if not kept.all():
        raise TypeError("a column of the fit had no value at all; drop it before the fit.")
    operator.outputs[0].type = DoubleTensorType([None, len(kept)])


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Fill in numbers in double precision, for which ONNX's own operator has no implementation."""
    statistics = np.asarray(operator.raw_operator.statistics_, dtype=float)
    given, missing, values = (scope.get_unique_variable_name(n) for n in ("x", "missing", "values"))
    container.add_initializer(values, 11, [1, len(statistics)], statistics)
    container.add_node("Cast", operator.inputs[0].full_name, given, to=11, op_version=13)
    container.add_node("IsNaN", given, missing, op_version=13)
    filled = operator.outputs[0].full_name
    container.add_node("Where", [missing, values, given], filled, op_version=16)


def send_missing(nodes: list[Any], trees: list[Any]) -> None:
    """Send missing values where the trees send them, which skl2onnx leaves out."""
    ensemble = next(node for node in reversed(nodes) if node.op_type == "TreeEnsembleClassifier")
    found = {attribute.name: attribute.ints for attribute in ensemble.attribute}
    found["nodes_missing_value_tracks_true"][:] = [
        int(trees[tree].tree_.missing_go_to_left[node])
        for tree, node in zip(found["nodes_treeids"], found["nodes_nodeids"], strict=True)
    ]


def refuse_categories(classifier: Any) -> None:
    """Refuse classifiers that were trained on categories of their own kind."""
    name = library(classifier)
    if name == "lightgbm":
        categorical: Any = bool(classifier.booster_.pandas_categorical)
    elif name == "xgboost":
        categorical = "c" in (classifier.get_booster().feature_types or [])
    else:
        categorical = np.any(getattr(classifier, "is_categorical_", False))
    if categorical:
        raise TypeError(
            f"{type(classifier).__name__} was trained on categorical columns of a frame, which a "
            "graph cannot be given. Put a OneHotEncoder(handle_unknown='ignore') before it, in a "
            "pipeline, and fit again."
        )


def library(classifier: Any) -> str:
    """Return the name of the library that a classifier is from."""
    return type(classifier).__module__.partition(".")[0]


def _register_boosting(skl2onnx: Any, classifier: Any) -> None:
    """Tell skl2onnx how LightGBM's and XGBoost's classifiers are converted."""
    name = library(classifier)
    try:
        if name == "lightgbm":
            from onnxmltools.convert.lightgbm.operator_converters import LightGbm as converters
        else:
            from onnxmltools.convert.xgboost.operator_converters import XGBoost as converters
    except ImportError as error:
        raise ImportError(
            f"members of {name} need onnxmltools, which cannot be imported ({error}): pip "
            "install 'equipoise[onnx]'."
        ) from None
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    skl2onnx.update_registered_converter(
        type(classifier),
        f"Equipoise{type(classifier).__name__}",
        calculate_linear_classifier_output_shapes,
        getattr(converters, f"convert_{name}"),
        options={"nocl": [True, False], "zipmap": [True, False, "columns"]},
    )


def libraries() -> tuple[Any, Any]:
    """Import onnx and skl2onnx, or say how to install them."""
    with needing("exporting to ONNX needs", "'equipoise[onnx]'"):
        import onnx
        import onnxruntime  # noqa: F401
        import skl2onnx
    return onnx, skl2onnx
