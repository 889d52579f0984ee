"""Decisions of classifiers: kinds of these, and their predictions, checked, on guarded rows."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from equipoise.cells.codes import blocks
from equipoise.cells.table import Array
from equipoise.rows.distinct import DistinctRows
from equipoise.rows.tables import Batched, take_rows

if TYPE_CHECKING:
    from equipoise.oracles.cell_probabilities import CellProbabilities

T = TypeVar("T")
#: What NumPy, Cython, SciPy and Python say to those who write where they may not.
_REFUSED = re.compile(r"read-?only|not writ(e)?able", re.IGNORECASE)
#: Costs this small, relative to the largest, are rounding: nobody is selected for them.
ROUNDING = 1e-12


#: Trees decide on a row whatever others are asked about, and take long: of classifiers of these
#: classes equal rows are asked about once, so many at a time.
_ENSEMBLES = frozenset(
    {
        *("LGBMClassifier", "XGBClassifier", "RandomForestClassifier", "ExtraTreesClassifier"),
        *("GradientBoostingClassifier", "HistGradientBoostingClassifier"),
    }
)
_ASKED_AT_ONCE = 1 << 17


class Guard:
    """Calls learners on views that cannot be written to, or on copies where they must write.

    Nothing is copied for a learner that only reads. scikit-learn's own estimators copy a read-only
    array where they would work in place. Whoever else tries to write gets an error, is called
    once more on copies, and on copies from then on.

    Examples
    --------
    >>> def centre(X):  # works in place
    ...     X -= X.mean()
    ...     return X.tolist()
    >>> rows = np.array([0.0, 2.0])
    >>> Guard()(centre, rows), rows.tolist()
    ([-1.0, 1.0], [0.0, 2.0])
    """

    _copies = False

    def __call__(self, function: Callable[..., T], *tables: Any) -> T:
        """Return ``function(*tables)``; it is called twice if it writes, so it must start anew."""
        if not self._copies:
            try:
                with _copy_on_write():
                    return function(*map(read_only, tables))
            except (ValueError, TypeError, BufferError) as error:
                if not _REFUSED.search(str(error)):
                    raise
            self._copies = True
        return function(*map(fresh, tables))


def read_only(table: Any) -> Any:
    """Return the table over the same memory, without the right to change it.

    Arrays and sparse matrices refuse to be written to. A write to a data frame goes to a copy that
    pandas makes then. Tables of other kinds are returned as they are.
    """
    if isinstance(table, np.ndarray):
        view = table.view()
        view.flags.writeable = False
        return view
    if issparse(table):
        if table.format in ("lil", "dok"):  # of lists and dictionaries
            return table.copy()
        other = copy(table)
        for name, part in vars(table).items():
            if isinstance(part, np.ndarray):
                vars(other)[name] = read_only(part)
            elif isinstance(part, tuple) and all(isinstance(x, np.ndarray) for x in part):
                vars(other)[name] = tuple(map(read_only, part))
        return other
    if nw.dependencies.is_pandas_dataframe(table):
        return table.copy(deep=False)
    return table.clone() if nw.dependencies.is_polars_dataframe(table) else table


def fresh(table: Any) -> Any:
    """Return a copy of a table, in the same layout."""
    if isinstance(table, np.ndarray):
        return np.array(table, order="K", subok=True)
    if issparse(table) or nw.dependencies.is_pandas_dataframe(table):
        return table.copy()
    return table


def _copy_on_write() -> AbstractContextManager:
    """Let pandas before 3 copy frames when they are written to, as later ones always do."""
    pandas = sys.modules.get("pandas")
    if pandas is None or int(pandas.__version__.partition(".")[0]) >= 3:
        return nullcontext()
    return pandas.option_context("mode.copy_on_write", True)


@dataclass(eq=False, repr=False)
class ThresholdedClassifier:
    """A trained learner whose decision is ``score > threshold`` instead of its own.

    The score is the learner's ``decision_function``, or the probability of class 1.
    """

    classifier: Any
    threshold: float

    def __repr__(self) -> str:
        return f"<{type(self.classifier).__name__} cut at {self.threshold:.4g}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return (scores(self.classifier, X) > self.threshold).astype(np.int64)


def scores(classifier: Any, X: Any) -> Array:
    """Return the scores of a binary classifier, higher for class 1."""
    if hasattr(classifier, "decision_function"):
        return np.asarray(Guard()(classifier.decision_function, X), dtype=float)
    return np.asarray(Guard()(classifier.predict_proba, X), dtype=float)[:, 1]


def learner_of(classifier: Any) -> Any:
    """Return the trained learner behind a classifier, its own threshold or not."""
    return classifier.classifier if isinstance(classifier, ThresholdedClassifier) else classifier


def as_learned(classifier: Any) -> Any:
    """Return a classifier of an oracle as the learner itself decides: with its own cut.

    Of a plug-in classifier it is the model of the label, where one model knows all labels.

    >>> from sklearn.dummy import DummyClassifier
    >>> learner = DummyClassifier().fit([[0], [1]], [0, 1])
    >>> as_learned(ThresholdedClassifier(learner, 0.7)) is learner
    True
    """
    if isinstance(classifier, ThresholdedClassifier):
        return as_learned(classifier.classifier)
    if isinstance(classifier, TransformedClassifier):
        inner = as_learned(classifier.classifier)
        same = inner is classifier.classifier
        return classifier if same else TransformedClassifier(classifier.transformer, inner)
    if isinstance(classifier, PluginClassifier):
        model = getattr(classifier.probabilities.label, "model", None)
        return model if hasattr(model, "predict") else classifier
    return classifier


@dataclass(eq=False, repr=False)
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

    transformer: Any
    classifier: Any

    def __repr__(self) -> str:
        return f"<{self.classifier!r} after {type(self.transformer).__name__}>"

    def predict(self, X: Any) -> NDArray:
        """Decide 0 or 1 for each row."""
        return self.classifier.predict(Guard()(self.transformer.transform, X))


def select(probabilities: Array, costs: Array) -> NDArray:
    """Return whose expected cost is negative, from the probabilities of the cells (n, C).

    Of more than two decisions it is the number of the cheapest one.
    """
    rounding = -ROUNDING * np.abs(costs).max(initial=0.0)
    if len(costs) == probabilities.shape[1]:
        return probabilities @ costs < rounding
    each = probabilities @ np.reshape(costs, (probabilities.shape[1], -1))
    return np.where(each.min(axis=1) < rounding, each.argmin(axis=1) + 1, 0)


@dataclass(eq=False, repr=False)
class PluginClassifier:
    """Selects those whose expected cost is negative; of several decisions, takes the cheapest.

    Parameters
    ----------
    probabilities : CellProbabilities
        Shared by all classifiers of an oracle.
    costs : array of shape (C (V - 1),)
    slopes : array of shape (C,), optional
        What the costs of two decisions change by as the chance of label 1 goes from 0 to 1.
    """

    probabilities: CellProbabilities
    costs: Array
    slopes: Array | None = None

    def __repr__(self) -> str:
        what = "threshold on" if self.slopes is None else "curved threshold on"
        n_cells = len(self.probabilities.table.label)
        if len(self.costs) > n_cells:
            what = "least expected cost by"
        return f"<{what} the probabilities of {n_cells} cells>"

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the decision, 0 to V - 1, for each row."""
        return self.select(self.probabilities(X)).astype(np.int64)

    def select(self, probabilities: Array) -> NDArray:
        """Return who is selected, from the probabilities of the cells of shape (n, C)."""
        if self.slopes is None:
            return select(probabilities, self.costs)
        return self.expected_costs(probabilities) < -ROUNDING * self.largest_cost

    def expected_costs(self, probabilities: Array) -> Array:
        """Return the expected cost of selecting each row, from the probabilities of the cells."""
        expected = probabilities @ self.costs
        if self.slopes is not None:
            chance = probabilities[:, self.probabilities.table.label == 1].sum(axis=1)
            expected += chance * (probabilities @ self.slopes)
        return expected

    @property
    def largest_cost(self) -> float:
        """The largest cost or slope of a cell: the unit in which expected costs are told."""
        known = self.costs if self.slopes is None else np.append(self.costs, self.slopes)
        return float(np.abs(known).max(initial=0.0))


def decisions(classifiers: Sequence[Any], X: Any, n_decisions: int = 2) -> Iterator[NDArray]:
    """Yield whom each classifier selects, or its decisions 0 to V - 1, one after the other.

    Plug-in classifiers share their probabilities, which are computed once for all of them, and
    classifiers behind the same fitted transformers the output of these. Several ensembles of trees
    are asked about each distinct row once. Rows on disk are read once, in batches.

    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> [h.tolist() for h in decisions([yes, no], [[0], [1]])]
    [[True, True], [False, False]]
    """
    if isinstance(X, Batched):
        yield from _from_batches(classifiers, X, n_decisions)
        return
    known: dict[int, Array] = {}
    transformed: dict[tuple[int, ...], Any] = {}
    distinct: dict[tuple[int, ...], DistinctRows | None] = {}
    parts = [_split(classifier) for classifier in classifiers]
    left = Counter(_key(transformers) for transformers, _ in parts)
    for transformers, classifier in parts:
        key = _key(transformers)
        if (rows := transformed.pop(key, None)) is None:
            rows = reduce(lambda rows, step: Guard()(step.transform, rows), transformers, X)
        left[key] -= 1
        if left[key]:  # others come after the same transformers
            transformed[key] = rows
        if isinstance(classifier, PluginClassifier):
            shared = classifier.probabilities
            if id(shared) not in known:
                known[id(shared)] = shared(rows)
            yield classifier.select(known[id(shared)])
        elif _is_ensemble(classifier) and (left[key] or key in distinct):
            if key not in distinct:
                distinct[key] = _distinct(rows)
            yield _of_distinct(classifier, rows, distinct[key], n_decisions)
        else:
            yield predictions(classifier, rows, n_decisions)


def _is_ensemble(classifier: Any) -> bool:
    return type(learner_of(classifier)).__name__ in _ENSEMBLES


def _distinct(rows: Any) -> DistinctRows | None:
    """Return the distinct rows of an array or data frame of numbers; None of other tables."""
    native = nw.from_native(rows, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and all(
        kind.is_numeric() for kind in native.schema.values()
    ):
        rows = native.to_numpy()
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    found = DistinctRows.of(rows)
    return None if found is None else found.sorted_by_few(rows)


def _of_distinct(
    classifier: Any, rows: Any, distinct: DistinctRows | None, n_decisions: int
) -> NDArray:
    """Return the decisions on rows, each distinct one of which is asked about once."""
    if distinct is None:
        return predictions(classifier, rows, n_decisions)
    parts = [
        predictions(classifier, take_rows(rows, distinct.first[part]), n_decisions)
        for part in blocks(len(distinct.first), _ASKED_AT_ONCE)
    ]
    return np.concatenate(parts)[distinct.number]


def _key(transformers: list[Any]) -> tuple[int, ...]:
    return tuple(map(id, transformers))


def _split(classifier: Any) -> tuple[list[Any], Any]:
    """Return the transformers that rows go through, and the classifier of what comes out."""
    if isinstance(classifier, TransformedClassifier):
        transformers, last = _split(classifier.classifier)
        return [classifier.transformer, *transformers], last
    if isinstance(classifier, ThresholdedClassifier):
        transformers, last = _split(classifier.classifier)
        return transformers, ThresholdedClassifier(last, classifier.threshold)
    if type(classifier) is Pipeline:
        *transformers, last = (step for _, step in classifier.steps)
        return [step for step in transformers if step not in (None, "passthrough")], last
    return [], classifier


def _from_batches(classifiers: Sequence[Any], rows: Batched, n_decisions: int) -> NDArray:
    dtype = bool if n_decisions == 2 else np.intp
    found = np.empty((len(classifiers), len(rows)), dtype=dtype)
    start = 0
    for batch in rows.batches():
        for decided, some in zip(found, decisions(classifiers, batch, n_decisions), strict=True):
            decided[start : start + len(batch)] = some
        start += len(batch)
    return found


def predictions(classifier: Any, X: Any, n_decisions: int = 2) -> NDArray:
    """Return the decisions of a classifier trained on labels 0 to V - 1, checked.

    Of two, it is who is selected: an array of bools.
    """
    h = np.asarray(Guard()(classifier.predict, X))
    if h.ndim == 2 and h.shape[1] == 1:
        h = h[:, 0]
    if n_decisions > 2:
        is_decision = h.dtype.kind in "iuf" and bool(np.isin(h, np.arange(n_decisions)).all())
    elif h.dtype.kind in "iu":  # many times as fast as comparing, and without a copy
        is_decision = bool(np.bitwise_or.reduce(h, axis=None) in (0, 1))
    else:
        is_decision = h.dtype == bool or bool(((h == 0) | (h == 1)).all())
    if h.ndim != 1 or not is_decision:
        seen, most = np.unique(h), n_decisions - 1
        shown = ", ".join(map(str, seen[:4])) + (", ..." if len(seen) > 4 else "")
        raise ValueError(
            f"{type(classifier).__name__}.predict returned an array of shape {h.shape} with values "
            f"{shown}; expected one {'0 or 1' if n_decisions == 2 else f'of 0 to {most}'} per row. "
            "equipoise needs a classifier, not a regressor or a model of scores."
        )
    return h.astype(bool if n_decisions == 2 else np.intp, copy=False)
