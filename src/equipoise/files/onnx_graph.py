"""An ONNX graph in the making: what the members of a mixture decide, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import BaseDecisionTree

from equipoise.files.onnx_converters import (
    BOOSTING,
    ML_OPSET,
    OPSET,
    convert,
    libraries,
    library,
    refuse_categories,
    send_missing,
)
from equipoise.files.onnx_probes import columns_of, frame_of
from equipoise.oracles.candidates import LabelAdapter
from equipoise.oracles.cell_probabilities import CellProbabilities, OneAgainstRest
from equipoise.oracles.cut import LinearCut
from equipoise.oracles.decisions import (
    ROUNDING,
    PluginClassifier,
    ThresholdedClassifier,
    TransformedClassifier,
)

_IR_VERSION = 9
_OUTPUT = "probabilities"
#: Those of scikit-learn that round the rows to single precision themselves, as XGBoost does.
_READ_IN_SINGLE = (BaseDecisionTree, BaseForest, GradientBoostingClassifier)
#: Those whose labels have no converter in double precision, but whose scores have.
_SCORES_ALONE = (LinearSVC, RidgeClassifier)


class Graph:
    """An ONNX graph in the making; values are (n, 1) columns of doubles unless said otherwise.

    It will be given rows like those of X, an array of numbers or a data frame, and gives the
    probabilities of V decisions.
    """

    def __init__(self, X: Any, n_decisions: int = 2) -> None:
        self.onnx, self.skl2onnx = libraries()
        self.others = np.arange(1, n_decisions)  #: The decisions but the first, 1 to V - 1.
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

    def always(self, values: NDArray) -> str:
        """Return these numbers for every row of the input."""
        length = self.node("Shape", next(iter(self.inputs)), start=0, end=1)
        shape = self.node("Concat", length, self.constant(np.array([1])), axis=0)
        return self.node("Expand", self.constant(values[None].astype(float)), shape)

    def decision(self, member: Any) -> str:
        """Return 1 where a member decides v, in column v - 1 of V - 1, and 0 elsewhere."""
        if isinstance(member, DummyClassifier):
            return self.always(member.predict(np.zeros((1, 1)))[0] == self.others)
        if isinstance(member, PluginClassifier):
            return self.cheapest(self.expected_costs(member), -ROUNDING * member.largest_cost)
        if isinstance(member, ThresholdedClassifier):
            return self.above(member.classifier, member.threshold)
        if isinstance(member, LinearCut):
            return self.above_zero(member)
        if isinstance(member, TransformedClassifier):
            with self.through([member.transformer]):
                return self.decision(member.classifier)
        if isinstance(member, LabelAdapter):
            return self.label_is(member.classifier, member.classes[1:])
        if isinstance(last_step(member), _SCORES_ALONE) and len(self.others) == 1:
            return self.above(member, 0.0)
        return self.label_is(member, self.others)

    def cheapest(self, costs: str, least: float) -> str:
        """Return 1 where a decision costs least and less than a number, in its column."""
        below = self.node("Less", costs, self.number(least))
        first = self.node("ArgMin", costs, axis=1)  # the first of equals, as NumPy's
        is_first = self.node("Equal", first, self.constant(self.others[None] - 1))
        return self.as_double(self.node("And", below, is_first))

    def expected_costs(self, member: PluginClassifier) -> str:
        """Return the expected cost of each decision but the first, of shape (n, V - 1)."""
        cells = self.cells(member.probabilities)
        table = member.costs.reshape(-1, len(self.others))
        cost = self.node("MatMul", cells, self.constant(table))
        if member.slopes is None:
            return cost
        labels = (member.probabilities.table.label == 1).astype(float)
        chance, slope = (
            self.node("MatMul", cells, self.constant(each[:, None]))
            for each in (labels, member.slopes)
        )
        return self.node("Add", cost, self.node("Mul", chance, slope))

    def above(self, classifier: Any, threshold: float) -> str:
        """Return 1 where the score of class 1 is above a threshold."""
        margins = hasattr(classifier, "decision_function")
        if margins and library(last_step(classifier)) in BOOSTING:
            # Their converters give probabilities only, of which the margins are the log-odds.
            margins, threshold = False, float(expit(threshold))
        both = self.as_double(self.convert(classifier, raw=margins)[1])
        score = self.node("Gather", both, self.constant(np.array([-1])), axis=1)
        return self.as_double(self.node("Greater", score, self.number(threshold)))

    def above_zero(self, cut: LinearCut) -> str:
        """Return 1 where a weighted sum of scores and an intercept is above zero."""
        each = []
        for classifier in cut.classifiers:
            margins = hasattr(classifier, "decision_function")
            if margins and library(last_step(classifier)) in BOOSTING:
                raise TypeError(
                    f"a cut through margins of {type(classifier).__name__} cannot be converted: "
                    "its converter gives probabilities only. Deploy the model file."
                )
            both = self.as_double(self.convert(classifier, raw=margins)[1])
            each.append(self.node("Gather", both, self.constant(np.array([-1])), axis=1))
        joined = self.node("Concat", *each, axis=1)
        total = self.node("MatMul", joined, self.constant(cut.coefficients[:, None]))
        total = self.node("Add", total, self.number(cut.intercept))
        return self.as_double(self.node("Greater", total, self.number(0.0)))

    def label_is(self, classifier: Any, wanted: NDArray) -> str:
        """Return 1 where the classifier predicts a label, in a column for each of these."""
        labels = self.convert(classifier, raw=False)[0]
        column = self.node("Reshape", labels, self.constant(np.array([-1, 1])))
        kind: Any = str if wanted.dtype.kind in "OU" else np.int64
        each = wanted.astype(kind).astype(object if kind is str else kind)
        return self.as_double(self.node("Equal", column, self.constant(each[None])))

    def cells(self, probabilities: CellProbabilities) -> str:
        """Return P(cell | x), of shape (n, C)."""
        if probabilities.aware:
            raise TypeError("plug-in members that read the group from X cannot be converted.")
        table = probabilities.table
        label = self.classes(probabilities.label)
        given = self.node("Concat", *map(self.classes, probabilities.group), axis=1)
        at = table.label.astype(np.int64)
        of_label = self.node("Gather", label, self.constant(at), axis=1)
        at = at * table.n_groups + table.group
        return self.node("Mul", of_label, self.node("Gather", given, self.constant(at), axis=1))

    def classes(self, probabilities: Any) -> str:
        """Return P(class | x), of shape (n, classes)."""
        if isinstance(probabilities, OneAgainstRest):
            second = self.constant(np.array([1]))
            each = (
                self.node("Gather", self.classes(p), second, axis=1) for p in probabilities.parts
            )
            joined = self.node("Concat", *each, axis=1)
            total = self.node("ReduceSum", joined, self.constant(np.array([1])))
            return self.node("Div", joined, total)
        known, n = probabilities.known, probabilities.n_classes
        if probabilities.model is None:
            row = np.zeros((1, n))
            row[:, known if len(known) else slice(None)] = 1.0 / (len(known) or n)
            return self.always(row[0])
        found = self.as_double(self.convert(probabilities.model, raw=False)[1])
        return self.node("MatMul", found, self.constant(np.eye(n)[known]))

    def convert(self, classifier: Any, *, raw: bool) -> list[str]:
        """Convert a classifier of another library; return its labels and its scores."""
        if isinstance(classifier, Pipeline):
            with self.through([step for _, step in classifier.steps[:-1]]):
                return self.convert(classifier.steps[-1][1], raw=raw)
        refuse_categories(classifier)
        rows = self.rows
        if len(rows) > 1 and "StringTensorType" not in {type(k).__name__ for _, k in rows.values()}:
            joined = self.node("Concat", *(self.as_double(v) for v, _ in rows.values()), axis=1)
            rows = {"X": (joined, _tensor("Double", len(rows)))}
        if isinstance(classifier, _READ_IN_SINGLE) or library(classifier) == "xgboost":
            rows = {name: self._in_single(value, kind) for name, (value, kind) in rows.items()}
        options = {"zipmap": False, "raw_scores": raw}
        if isinstance(classifier, LinearSVC):  # has no dictionaries to avoid
            del options["zipmap"]
        if not raw:
            del options["raw_scores"]
        outputs = self._part(classifier, rows, {id(classifier): options})
        if isinstance(classifier, (BaseDecisionTree, BaseForest)):
            send_missing(self.nodes, getattr(classifier, "estimators_", [classifier]))
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
                self._transformed[at] = self.as_double(output.name), _tensor("Double", width)
            self.rows = {"X": self._transformed[at]}
        yield
        self.rows = before

    def _part(self, part: Any, rows: dict[str, tuple[str, Any]], options: Any) -> Any:
        """Convert a part by skl2onnx and add it to the graph; return its outputs."""
        types = [(name, kind) for name, (_, kind) in rows.items()]
        prefix = f"{self.name()}_"
        proto = self.onnx.compose.add_prefix(convert(self.skl2onnx, part, types, options), prefix)
        self.nodes += [
            self.onnx.helper.make_node("Identity", [value], [f"{prefix}{name}"])
            for name, (value, _) in rows.items()
        ]
        self.nodes += list(proto.graph.node)
        self.constants += proto.graph.initializer
        return proto.graph.output

    def _in_single(self, value: str, kind: Any) -> tuple[str, Any]:
        single = self.node("Cast", value, to=self.onnx.TensorProto.FLOAT)
        return single, _tensor("Float", kind.shape[1])

    def without(self, output: str, refused: dict[str, NDArray]) -> str:
        """Return the output, NaN for rows that the model itself refuses.

        ``refused`` has for each column of an input 1 where NaN is refused, and the largest number
        that is not: shape (2, columns).
        """
        bad = self.number(0.0)
        for name, (missing, largest) in refused.items():
            matters = self.constant(missing[None].astype(bool))
            lacks = self.node("And", self.node("IsNaN", name), matters)
            above = self.node("Greater", self.node("Abs", name), self.constant(largest[None]))
            some = self.as_double(self.node("Or", lacks, above))
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
            [helper.make_tensor_value_info(_OUTPUT, double, [None, len(self.others) + 1])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        proto = helper.make_model(graph, opset_imports=opsets, producer_name="equipoise")
        proto.ir_version = _IR_VERSION
        helper.set_model_props(proto, properties)
        self.onnx.checker.check_model(proto)
        return proto


def last_step(classifier: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the one that is none."""
    return classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier


#: ONNX's numbers for the types of inputs.
_ELEMENT = {"DoubleTensorType": 11, "Int64TensorType": 7, "StringTensorType": 8}


def inputs_of(X: Any) -> dict[str, NDArray]:
    """Return the inputs of the graph by name; a missing text is an empty one."""
    columns = columns_of(X)
    if frame_of(X) is None:
        return {"X": np.column_stack([column.values for column in columns.values()])}
    return {
        name: (np.where(values == None, "", values) if kind == "text" else values)[:, None]  # noqa: E711
        for name, (kind, values) in columns.items()
    }


def _onnx_type(values: NDArray) -> Any:
    return _tensor({"i": "Int64", "f": "Double", "O": "String"}[values.dtype.kind], values.shape[1])


def _tensor(name: str, width: int | None) -> Any:
    from skl2onnx.common import data_types

    return getattr(data_types, f"{name}TensorType")([None, width])
