"""An ONNX graph in the making: what the members of a mixture decide, node by node."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.cell_probabilities import CellProbabilities, OneAgainstRest
from equipoise.oracles.plugin import ROUNDING, PluginClassifier
from equipoise.oracles.thresholds import ThresholdedClassifier

#: Versions of the operators that the graph is made of, and of the format.
_OPSET, _ML_OPSET, _IR_VERSION = 19, 3, 9
_OUTPUT = "probabilities"
#: Libraries whose classifiers onnxmltools converts.
_BOOSTING = ("lightgbm", "xgboost")


class Graph:
    """An ONNX graph in the making; values are (n, 1) columns of doubles unless said otherwise.

    Parameters
    ----------
    X : array of numbers, or data frame
        Rows of the kind that the graph will be given.
    """

    def __init__(self, X: Any) -> None:
        self.onnx, self.skl2onnx = _libraries()
        self.inputs = inputs_of(X)
        self.types = {name: _onnx_type(column) for name, column in self.inputs.items()}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.prefix = ""
        self._made = 0

    def name(self) -> str:
        """Return a name that is not taken."""
        self._made += 1
        return f"{self.prefix}value{self._made}"

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation and return the name of its result."""
        output = self.name()
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: NDArray) -> str:
        """Add an array and return its name."""
        name = self.name()
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """Add a number and return its name."""
        return self.constant(np.array([[value]]))

    def as_double(self, value: str) -> str:
        """Return a value in double precision."""
        return self.node("Cast", value, to=self.onnx.TensorProto.DOUBLE)

    def always(self, value: float) -> str:
        """Return a column of this number, as long as the input."""
        length = self.node("Shape", next(iter(self.inputs)), start=0, end=1)
        shape = self.node("Concat", length, self.constant(np.array([1])), axis=0)
        return self.node("Expand", self.number(value), shape)

    def decision(self, member: Any) -> str:
        """Return what a member decides, 0 or 1."""
        if isinstance(member, DummyClassifier):
            row = np.zeros((1, 1))
            return self.always(float(member.predict(row)[0]))
        if isinstance(member, PluginClassifier):
            cost = self.node(
                "MatMul", self.cells(member.probabilities), self.constant(member.costs[:, None])
            )
            least = -ROUNDING * float(np.abs(member.costs).max(initial=0.0))
            return self.as_double(self.node("Less", cost, self.number(least)))
        if isinstance(member, ThresholdedClassifier):
            return self.above(member.classifier, member.threshold)
        if isinstance(member, LabelAdapter):
            return self.label_is(member.classifier, member.classes[1])
        return self.label_is(member, 1)

    def above(self, classifier: Any, threshold: float) -> str:
        """Return 1 where the score of class 1 is above a threshold."""
        margins = hasattr(classifier, "decision_function")
        if margins and _library(_last_step(classifier)) in _BOOSTING:
            # Their converters give probabilities only, of which the margins are the log-odds.
            margins, threshold = False, float(expit(threshold))
        both = self.as_double(self.convert(classifier, raw=margins)[1])
        score = self.node("Gather", both, self.constant(np.array([-1])), axis=1)
        return self.as_double(self.node("Greater", score, self.number(threshold)))

    def label_is(self, classifier: Any, wanted: Any) -> str:
        """Return 1 where the classifier predicts this label."""
        labels = self.convert(classifier, raw=False)[0]
        column = self.node("Reshape", labels, self.constant(np.array([-1, 1])))
        text = np.asarray(wanted).dtype.kind in "OU"
        value = np.array([[str(wanted)]], dtype=object) if text else np.array([[int(wanted)]])
        return self.as_double(self.node("Equal", column, self.constant(value)))

    def cells(self, probabilities: CellProbabilities) -> str:
        """Return P(cell | x), of shape (n, C)."""
        if probabilities.aware:
            raise TypeError("plug-in members that read the group from X cannot be converted.")
        table = probabilities.table
        label = self.classes(probabilities.label)
        given = self.node("Concat", *map(self.classes, probabilities.group), axis=1)
        of_label = self.constant(table.label.astype(np.int64))
        of_group = self.constant(table.label.astype(np.int64) * table.n_groups + table.group)
        return self.node(
            "Mul",
            self.node("Gather", label, of_label, axis=1),
            self.node("Gather", given, of_group, axis=1),
        )

    def classes(self, probabilities: Any) -> str:
        """Return P(class | x), of shape (n, classes)."""
        if isinstance(probabilities, OneAgainstRest):
            second = self.constant(np.array([1]))
            each = [
                self.node("Gather", self.classes(part), second, axis=1)
                for part in probabilities.parts
            ]
            joined = self.node("Concat", *each, axis=1)
            total = self.node("ReduceSum", joined, self.constant(np.array([1])))
            return self.node("Div", joined, total)
        known, n = probabilities.known, probabilities.n_classes
        if probabilities.model is None:
            row = np.zeros((1, n))
            row[:, known if len(known) else slice(None)] = 1.0 / (len(known) or n)
            return self.node("MatMul", self.always(1.0), self.constant(row))
        found = self.as_double(self.convert(probabilities.model, raw=False)[1])
        return self.node("MatMul", found, self.constant(np.eye(n)[known]))

    def convert(self, classifier: Any, *, raw: bool) -> list[str]:
        """Convert a classifier of another library; return its labels and its scores."""
        types, prefix, make_node = self.types, f"{self.name()}_", self.onnx.helper.make_node
        if single := list(types) == ["X"] and _library(classifier) == "xgboost":
            types = {"X": _single_precision(types["X"])}  # as XGBoost itself reads rows
        part = _convert(self.skl2onnx, classifier, types, raw)
        part = self.onnx.compose.add_prefix(part, prefix)
        if single:
            to = self.onnx.TensorProto.FLOAT
            self.nodes.append(make_node("Cast", ["X"], [f"{prefix}X"], to=to))
        else:
            self.nodes += [make_node("Identity", [n], [f"{prefix}{n}"]) for n in self.inputs]
        self.nodes += part.graph.node
        self.constants += part.graph.initializer
        return [output.name for output in part.graph.output]

    def finish(self, output: str, properties: dict[str, str]) -> Any:
        """Return the model whose output is this one."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        self.nodes.append(helper.make_node("Identity", [output], [_OUTPUT]))
        graph = helper.make_graph(
            self.nodes,
            "equipoise",
            [
                helper.make_tensor_value_info(name, _ELEMENT[type(kind).__name__], kind.shape)
                for name, kind in self.types.items()
            ],
            [helper.make_tensor_value_info(_OUTPUT, double, [None, 2])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        proto = helper.make_model(graph, opset_imports=opsets, producer_name="equipoise")
        proto.ir_version = _IR_VERSION
        helper.set_model_props(proto, properties)
        self.onnx.checker.check_model(proto)
        return proto


#: ONNX's numbers for the types of inputs.
_ELEMENT = {"DoubleTensorType": 11, "Int64TensorType": 7, "StringTensorType": 8}


def inputs_of(X: Any) -> dict[str, NDArray]:
    """Return what the graph is given, by the name of the input."""
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        columns = {name: native[name].to_numpy() for name in native.columns}
        return {name: _column(values)[:, None] for name, values in columns.items()}
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TypeError(
            f"X is an array of shape {array.shape} and type {array.dtype}; expected rows of "
            "numbers, or a data frame."
        )
    return {"X": array.astype(np.float64)}


def _column(values: NDArray) -> NDArray:
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    return values.astype(str).astype(object)


def _onnx_type(values: NDArray) -> Any:
    from skl2onnx.common import data_types

    kinds = {
        "i": data_types.Int64TensorType,
        "f": data_types.DoubleTensorType,
        "O": data_types.StringTensorType,
    }
    return kinds[values.dtype.kind]([None, values.shape[1]])


def _single_precision(kind: Any) -> Any:
    from skl2onnx.common.data_types import FloatTensorType

    return FloatTensorType(kind.shape)


def _convert(skl2onnx: Any, classifier: Any, types: dict[str, Any], raw: bool) -> Any:
    last = _last_step(classifier)
    if _library(last) in _BOOSTING:
        _register_boosting(skl2onnx, last)
    options = {id(last): {"zipmap": False, **({"raw_scores": True} if raw else {})}}
    try:
        return skl2onnx.convert_sklearn(
            classifier,
            initial_types=list(types.items()),
            options=options,
            target_opset={"": _OPSET, "ai.onnx.ml": _ML_OPSET},
        )
    except Exception as error:  # skl2onnx raises many kinds
        raise TypeError(
            f"skl2onnx cannot convert {type(last).__name__}: {str(error).splitlines()[0]}"
        ) from error


def _last_step(classifier: Any) -> Any:
    return classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier


def _library(classifier: Any) -> str:
    return type(classifier).__module__.partition(".")[0]


def _register_boosting(skl2onnx: Any, classifier: Any) -> None:
    """Tell skl2onnx how LightGBM's and XGBoost's classifiers are converted."""
    library = _library(classifier)
    try:
        if library == "lightgbm":
            from onnxmltools.convert.lightgbm.operator_converters import LightGbm as converters
        else:
            from onnxmltools.convert.xgboost.operator_converters import XGBoost as converters
    except ImportError as error:
        raise ImportError(
            f"members of {library} need onnxmltools, which cannot be imported ({error}): pip "
            "install 'equipoise[onnx]'."
        ) from None
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    skl2onnx.update_registered_converter(
        type(classifier),
        f"Equipoise{type(classifier).__name__}",
        calculate_linear_classifier_output_shapes,
        getattr(converters, f"convert_{library}"),
        options={"nocl": [True, False], "zipmap": [True, False, "columns"]},
    )


def _libraries() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime  # noqa: F401
        import skl2onnx
    except ImportError as error:
        raise ImportError(
            f"exporting to ONNX needs {error.name}, which is not installed: pip install "
            "'equipoise[onnx]'."
        ) from None
    return onnx, skl2onnx
