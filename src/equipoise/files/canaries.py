"""Canary rows: made-up rows in a model file, and what each of its classifiers says of them.

A library of another version may read a file and then fail, or decide otherwise without a word.
`load` asks the classifiers about the canary rows again and compares. The rows are drawn from the
types of the columns, and texts from the categories that encoders know; none of them is a person.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from equipoise.cells.table import Array
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.exceptions import ModelFileError
from equipoise.files.manifest import other_versions, walk
from equipoise.oracles.decisions import decisions
from equipoise.oracles.scores import has_probabilities, probability, score_with_cut
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import is_missing

#: Rows, of which the last few have missing values where the model takes them.
_ROWS, _WITH_MISSING = 16, 4
#: The sizes of numbers, row by row.
_SCALES = (1.0, 10.0, 1e3, 1e5)
#: By how much a score may differ, as a share of one plus its size: processors round differently.
TOLERANCE = 1e-6
_WORDS = ("a", "b", "c")


class NoCanariesError(ValueError):
    """There are no rows that could be made up for a model; the text says why."""


class Answers(NamedTuple):
    """Answers of classifiers or regressors, one row of each array for each of them."""

    decided: NDArray[np.int64]  #: Decisions 0 to V - 1; of regressors there are none.
    score: Array  #: Scores, predictions or chances; NaN of a classifier that only decides.
    cut: Array  #: The threshold on the scores; NaN where there is none.
    chances: Array  #: Those of the last label, by the unconstrained classifier where it knows any.


def record(model: Any, foreign: Sequence[Any]) -> dict[str, Any]:
    """Return canary rows and the answers to them, as plain data and arrays.

    ``foreign`` are the objects of other libraries in the model. Raises `NoCanariesError`.
    """
    rows = _answerable(model, draw(model, foreign))
    answers = ask(model, table_of(rows))
    return {"rows": rows, **answers._asdict()}


def draw(model: Any, foreign: Sequence[Any]) -> dict[str, Any]:
    """Return made-up rows of the kind that a model takes, the same ones each time."""
    schema = _schema(model)
    rng = np.random.default_rng(0)
    if "types" not in schema:
        dtype = np.dtype(schema["dtype"])
        columns = [_numbers(rng, dtype) for _ in range(schema["width"])]
        return {"table": schema["table"], "values": np.column_stack(columns)}
    known = _categories(foreign)
    values = {}
    for name, kind in schema["types"].items():
        if name in known or kind in ("String", "Object", "Categorical", "Enum"):
            values[name] = _texts(rng, known.get(name, _WORDS))
        elif kind == "Boolean":
            values[name] = rng.integers(0, 2, _ROWS).astype(bool)
        elif kind.lower().rstrip("0123456789") in ("int", "uint", "float"):
            values[name] = _numbers(rng, np.dtype(kind.lower()))
        else:
            raise NoCanariesError(f"the column {name!r} is of type {kind}")
    return {"table": schema["table"], "types": schema["types"], "values": values}


def _schema(model: Any) -> dict[str, Any]:
    """Return the kind of table and the types of the columns that a model takes."""
    if not isinstance(model, Pipeline) and (schema := getattr(model, "schema_in_", None)):
        return schema
    for part in walk([model]):
        if (width := getattr(part, "n_features_in_", None)) is None:
            continue
        if (names := getattr(part, "feature_names_in_", None)) is None:
            return {"table": "array", "dtype": "float64", "width": int(width)}
        return {"table": "pandas", "types": {str(name): "Float64" for name in names}}
    raise NoCanariesError("nothing in the model says how many columns it takes")


def _numbers(rng: np.random.Generator, dtype: np.dtype) -> NDArray:
    """Return a column of numbers of many sizes; the last ones may be missing."""
    scale = np.resize(_SCALES, _ROWS)
    values = np.abs(rng.normal(size=_ROWS)) * scale * rng.choice([1, 1, 1, -1], _ROWS)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
    if dtype.kind == "b":
        return values > 0
    values[_missing(rng)] = np.nan
    return values.astype(dtype if dtype.kind == "f" else float)


def _texts(rng: np.random.Generator, words: Sequence[Any]) -> NDArray:
    values = np.array([words[at] for at in rng.integers(len(words), size=_ROWS)], dtype=object)
    values[_missing(rng)] = None
    return values


def _missing(rng: np.random.Generator) -> NDArray[np.bool_]:
    return (np.arange(_ROWS) >= _ROWS - _WITH_MISSING) & (rng.random(_ROWS) < 0.5)


def _categories(foreign: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the categories that encoders know, by the name of the column."""
    known: dict[str, list[Any]] = {}
    for part in walk(foreign):
        for _, transformer, names in getattr(part, "transformers_", ()):
            for encoder in walk([transformer]):
                _add_categories(known, encoder, names)
        _add_categories(known, part, getattr(part, "feature_names_in_", ()))
    return known


def _add_categories(known: dict[str, list[Any]], encoder: Any, names: Any) -> None:
    lists = getattr(encoder, "categories_", None)
    if not isinstance(lists, (list, tuple)) or len(lists) != len(names):
        return
    for name, values in zip(names, lists, strict=True):
        present = [value for value in np.asarray(values).tolist() if not is_missing(value)]
        if isinstance(name, str) and present:
            known.setdefault(name, present)


def table_of(rows: Mapping[str, Any]) -> Any:
    """Return rows, as they are kept in a file, as the kind of table that the model learned from."""
    kind, values = rows["table"], rows["values"]
    if "types" not in rows:
        return csr_array(values) if kind == "sparse" else values
    try:
        library = importlib.import_module(kind) if kind in ("pandas", "polars", "pyarrow") else None
    except ImportError:
        library = None
    if library is None:
        raise NoCanariesError(f"the model takes tables of {kind}, which is not installed")
    series = []
    for name, column in values.items():
        listed = column.tolist()
        if kind == "pandas" and column.dtype == object:  # where a missing text is NaN
            listed = [np.nan if value is None else value for value in listed]
        dtype = _dtype(rows["types"][name], column)
        # The name of the parameter that old versions know, too.
        series.append(nw.new_series(name, listed, dtype, native_namespace=library))
    return series[0].to_frame().with_columns(*series[1:]).to_native()


def _dtype(kind: str, column: NDArray) -> Any:
    """Return the type of a column of a data frame; None as the library takes it."""
    if kind in ("Categorical", "Enum"):
        return nw.Categorical
    return None if column.dtype == object else getattr(nw, kind)


def _answerable(model: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that the model answers: it may refuse missing values, or large numbers."""
    table = table_of(rows)
    everything = np.arange(_ROWS)
    without_missing = everything[:-_WITH_MISSING]
    answered = next(
        (some for some in (everything, without_missing) if not _refusal(model, table, some)), None
    )
    if answered is None:
        alone = [at for at in without_missing if not _refusal(model, table, np.array([at]))]
        answered = np.array(alone, dtype=np.intp)
        if refusal := _refusal(model, table, answered if alone else without_missing):
            raise NoCanariesError(f"the model answers no row that was made up for it: {refusal}")
    if "types" not in rows:
        return rows | {"values": rows["values"][answered]}
    return rows | {"values": {name: column[answered] for name, column in rows["values"].items()}}


def _refusal(model: Any, table: Any, some: NDArray[np.intp]) -> str:
    """Return the error that a model raises about some rows, in words; empty if it answers."""
    try:
        ask(model, take_rows(table, some))
    except Exception as error:  # whatever a learner raises
        return _in_words(error)
    return ""


def _in_words(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:200] if text else 'no text'}"


def ask(model: Any, table: Any) -> Answers:
    """Return what each classifier of a model says about some rows.

    >>> from sklearn.dummy import DummyClassifier
    >>> always = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    >>> answers = ask(RandomizedClassifier([always], [1.0]), np.zeros((2, 1)))
    >>> answers.decided.tolist(), answers.score.tolist()
    ([[1, 1]], [[1.0, 1.0]])
    """
    with warnings.catch_warnings(action="ignore"):
        if isinstance(model, Pipeline):
            for _, step in model.steps[:-1]:
                table = table if step in (None, "passthrough") else step.transform(table)
            model = model.steps[-1][1]
        members, n = _members(model), _num_samples(table)
        n_decisions = len(getattr(model, "classes_", ()))
        if not n_decisions:
            predicted = RandomizedRegressor(members, np.ones(len(members))).predict_members(table)
            nothing = np.zeros((0, n), dtype=np.int64)
            return Answers(nothing, predicted.T, np.full(len(members), np.nan), np.zeros(0))
        decided = np.array(list(decisions(members, table, n_decisions)), dtype=np.int64)
        scored = [_score(member, table, n_decisions) for member in members]
        score = np.array([values for values, _ in scored])
        cut = np.array([cut for _, cut in scored])
        free = _unconstrained(model)
        knows = free is not None and has_probabilities(free)
        chances = probability(free, table, n_decisions - 1) if knows else np.zeros(0)
        return Answers(decided, score, cut, chances)


def _members(model: Any) -> list[Any]:
    """Return the classifiers or regressors of a model, each once."""
    if isinstance(model, (RandomizedClassifier, RandomizedRegressor)):
        return list(model.members)
    kept = vars(model)
    members = [candidate.classifier for candidate in kept.get("candidates_", ())]
    for name in ("classifier_", "regressor_"):
        members += kept[name].members if name in kept else []
    if "pool_" in kept:
        members += kept["pool_"].classifiers
    if (free := _unconstrained(model)) is not None:
        members.append(free)
    return list({id(member): member for member in members}.values())


def _unconstrained(model: Any) -> Any:
    """Return the classifier that says how likely the label is; None if there is none."""
    for name in ("unconstrained_", "_unconstrained"):
        if (classifier := getattr(vars(model).get(name), "classifier", None)) is not None:
            return classifier
    return None


def _score(member: Any, table: Any, n_decisions: int) -> tuple[Array, float]:
    """Return the scores of rows and the cut on them; of many labels the chances one by one."""
    if n_decisions == 2:
        if (scored := score_with_cut(member, table)) is not None:
            return np.asarray(scored.score, dtype=float), scored.cut
    elif has_probabilities(member):
        chances = [probability(member, table, label) for label in range(n_decisions)]
        return np.concatenate(chances), np.nan
    labels = 1 if n_decisions == 2 else n_decisions
    return np.full(labels * _num_samples(table), np.nan), np.nan


def check(model: Any, kept: Mapping[str, Any], written: Mapping[str, str]) -> int:
    """Return the number of rows compared; raise `ModelFileError` if the model answers otherwise.

    ``written`` are the versions that wrote the file. Nothing is compared where the library of the
    tables that the model takes is not installed.
    """
    try:
        table = table_of(kept["rows"])
    except NoCanariesError:
        return 0
    before = Answers(*(np.asarray(kept[name]) for name in Answers._fields))
    try:
        now = ask(model, table)
    except Exception as error:  # whatever a library of another version raises
        raise ModelFileError(
            "asked about rows that it answered when it was saved, the model raises "
            f"{_in_words(error)}. {other_versions(written)}"
        ) from error
    if difference := _difference(before, now):
        raise ModelFileError(f"{difference}. {other_versions(written)}")
    return _num_samples(table)


def _difference(before: Answers, now: Answers) -> str:
    """Return in words how answers differ from earlier ones; empty if they do not."""
    if [part.shape for part in before] != [part.shape for part in now]:
        return "the model has not the classifiers that it had when it was saved"
    # A learner that had probabilities alone may have margins now: other scores, with another cut.
    other_kind = (before.cut != now.cut) & np.isfinite(before.cut)
    same = _is_same(before.score, now.score) | other_kind[:, None]
    for then, today, equal in (
        (before.score, now.score, same),
        (before.chances, now.chances, _is_same(before.chances, now.chances)),
    ):
        if not equal.all():
            return (
                "the model does not answer as it did when it was saved: of the rows made up to "
                f"find this out, one had {then[~equal][0]:.9g} and has {today[~equal][0]:.9g} now"
            )
    differ = now.decided != before.decided
    if differ.shape == now.score.shape:  # next to its cut, a score may fall on either side
        differ &= ~_is_same(now.score, np.broadcast_to(now.cut[:, None], now.score.shape))
    if differ.any():
        return "the model does not decide as it did when it was saved, on rows made up for that"
    return ""


def _is_same(before: Array, now: Array) -> NDArray[np.bool_]:
    """Whether numbers are the same but for rounding."""
    near = np.abs(now - before) <= TOLERANCE * (1.0 + np.abs(before))
    return near | (now == before) | (np.isnan(now) & np.isnan(before))
