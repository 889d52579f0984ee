"""An ONNX graph in the making: what the members of a mixture decide, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import BaseDecisionTree

from equipoise.files.onnx_probes import columns_of
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.cell_probabilities import CellProbabilities, OneAgainstRest
from equipoise.oracles.plugin import ROUNDING, PluginClassifier
from equipoise.oracles.thresholds import ThresholdedClassifier
from equipoise.oracles.transformed import TransformedClassifier
from equipoise.rows.validation import is_missing

#: Versions of the operators that the graph is made of, and of the format.
_OPSET, _ML_OPSET, _IR_VERSION = 19, 3, 9
_OUTPUT = "probabilities"
#: Libraries whose classifiers onnxmltools converts.
_BOOSTING = ("lightgbm", "xgboost")
#: Those of scikit-learn that round the rows to single precision themselves, as XGBoost does.
_READ_IN_SINGLE = (BaseDecisionTree, BaseForest, GradientBoostingClassifier)


class Graph:
    """An ONNX graph in the making; values are (n, 1) columns of doubles unless said otherwise.

    Parameters
    ----------
    X : array of numbers, or data frame
        Rows of the kind that the graph will be given.
    """

    def __init__(self, X: Any) -> None:
        self.onnx, self.skl2onnx = _libraries()
        self.inputs = {name: _onnx_type(values) for name, values in inputs_of(X).items()}
        #: The rows that classifiers are given: for each input its value here and its type.
        self.rows = {name: (name, kind) for name, kind in self.inputs.items()}
        self._transformed: dict[tuple[Any, ...], tuple[str, Any]] = {}
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
        if isinstance(member, TransformedClassifier):
            with self.through([member.transformer]):
                return self.decision(member.classifier)
        if isinstance(member, LabelAdapter):
            return self.label_is(member.classifier, member.classes[1])
        return self.label_is(member, 1)

    def above(self, classifier: Any, threshold: float) -> str:
        """Return 1 where the score of class 1 is above a threshold."""
        margins = hasattr(classifier, "decision_function")
        last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
        if margins and _library(last) in _BOOSTING:
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
        if isinstance(classifier, Pipeline):
            with self.through([step for _, step in classifier.steps[:-1]]):
                return self.convert(classifier.steps[-1][1], raw=raw)
        _refuse_categories(classifier)
        rows = self.rows
        if len(rows) > 1 and "StringTensorType" not in {type(k).__name__ for _, k in rows.values()}:
            joined = self.node("Concat", *(self.as_double(v) for v, _ in rows.values()), axis=1)
            rows = {"X": (joined, self._type("Double", len(rows)))}
        if isinstance(classifier, _READ_IN_SINGLE) or _library(classifier) == "xgboost":
            rows = {name: self._in_single(value, kind) for name, (value, kind) in rows.items()}
        options: dict[str, Any] = {"zipmap": False} | ({"raw_scores": True} if raw else {})
        outputs = self._part(classifier, rows, {id(classifier): options})
        if isinstance(classifier, (BaseDecisionTree, BaseForest)):
            _send_missing(self.nodes, getattr(classifier, "estimators_", [classifier]))
        return [output.name for output in outputs]

    @contextmanager
    def through(self, transformers: list[Any]) -> Iterator[None]:
        """Let classifiers be given transformed rows; members that share a transformer share it."""
        before, steps = self.rows, [step for step in transformers if step != "passthrough"]
        if steps:
            at = (*(value for value, _ in before.values()), *map(id, steps))
            if at not in self._transformed:
                (output,) = self._part(make_pipeline(*steps), before, None)
                width = output.type.tensor_type.shape.dim[1].dim_value or None
                self._transformed[at] = self.as_double(output.name), self._type("Double", width)
            self.rows = {"X": self._transformed[at]}
        yield
        self.rows = before

    def _part(self, part: Any, rows: dict[str, tuple[str, Any]], options: Any) -> Any:
        """Convert a part by skl2onnx and add it to the graph; return its outputs."""
        types = [(name, kind) for name, (_, kind) in rows.items()]
        prefix = f"{self.name()}_"
        proto = self.onnx.compose.add_prefix(_convert(self.skl2onnx, part, types, options), prefix)
        self.nodes += [
            self.onnx.helper.make_node("Identity", [value], [f"{prefix}{name}"])
            for name, (value, _) in rows.items()
        ]
        self.nodes += list(proto.graph.node)
        self.constants += proto.graph.initializer
        return proto.graph.output

    def _in_single(self, value: str, kind: Any) -> tuple[str, Any]:
        single = self.node("Cast", value, to=self.onnx.TensorProto.FLOAT)
        return single, self._type("Float", kind.shape[1])

    @staticmethod
    def _type(name: str, width: int | None) -> Any:
        from skl2onnx.common import data_types

        return getattr(data_types, f"{name}TensorType")([None, width])

    def without(self, output: str, refused: dict[str, NDArray]) -> str:
        """Return the output, NaN for rows that the model itself refuses.

        Parameters
        ----------
        output : str
        refused : mapping from input to array of shape (2, columns)
            For each column of an input 1 where NaN is refused, and the largest number that is not.
        """
        bad = self.number(0.0)
        for name, (missing, largest) in refused.items():
            missing_here = self.node(
                "And", self.node("IsNaN", name), self.constant(missing[None].astype(bool))
            )
            above = self.node("Greater", self.node("Abs", name), self.constant(largest[None]))
            some = self.as_double(self.node("Or", missing_here, above))
            worst = self.node("ReduceMax", some, self.constant(np.array([1])))
            bad = self.node("Max", bad, worst)
        is_bad = self.node("Cast", bad, to=self.onnx.TensorProto.BOOL)
        return self.node("Where", is_bad, self.number(np.nan), output)

    def finish(self, output: str, properties: dict[str, str]) -> Any:
        """Return the model whose output is this one."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        graph = helper.make_graph(
            [*self.nodes, helper.make_node("Identity", [output], [_OUTPUT])],
            "equipoise",
            [
                helper.make_tensor_value_info(name, _ELEMENT[type(kind).__name__], kind.shape)
                for name, kind in self.inputs.items()
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
    """Return what the graph is given, by the name of the input; a missing text is an empty one."""
    columns = columns_of(X)
    if not isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame):
        return {"X": np.column_stack([column.values for column in columns.values()])}
    return {
        name: (np.where(values == None, "", values) if kind == "text" else values)[:, None]  # noqa: E711
        for name, (kind, values) in columns.items()
    }


def _onnx_type(values: NDArray) -> Any:
    from skl2onnx.common import data_types

    kinds = {
        "i": data_types.Int64TensorType,
        "f": data_types.DoubleTensorType,
        "O": data_types.StringTensorType,
    }
    return kinds[values.dtype.kind]([None, values.shape[1]])


def _convert(skl2onnx: Any, part: Any, types: list[tuple[str, Any]], options: Any) -> Any:
    if _library(part) in _BOOSTING:
        _register_boosting(skl2onnx, part)
    try:
        return skl2onnx.convert_sklearn(
            part,
            initial_types=types,
            options=options,
            target_opset={"": _OPSET, "ai.onnx.ml": _ML_OPSET},
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


def _send_missing(nodes: list[Any], trees: list[Any]) -> None:
    """Send missing values where the trees send them, which skl2onnx leaves out."""
    ensemble = next(node for node in reversed(nodes) if node.op_type == "TreeEnsembleClassifier")
    found = {attribute.name: attribute.ints for attribute in ensemble.attribute}
    found["nodes_missing_value_tracks_true"][:] = [
        int(trees[tree].tree_.missing_go_to_left[node])
        for tree, node in zip(found["nodes_treeids"], found["nodes_nodeids"], strict=True)
    ]


def _refuse_categories(classifier: Any) -> None:
    """Refuse classifiers that were trained on categories of their own kind."""
    library = _library(classifier)
    if library == "lightgbm":
        categorical: Any = bool(classifier.booster_.pandas_categorical)
    elif library == "xgboost":
        categorical = "c" in (classifier.get_booster().feature_types or [])
    else:
        categorical = np.any(getattr(classifier, "is_categorical_", False))
    if categorical:
        raise TypeError(
            f"{type(classifier).__name__} was trained on categorical columns of a frame, which a "
            "graph cannot be given. Put a OneHotEncoder(handle_unknown='ignore') before it, in a "
            "pipeline, and fit again."
        )


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
