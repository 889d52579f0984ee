"""LightGBM with its features put into bins once."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone

from equipoise.atomic_files import TemporaryFolder
from equipoise.cells.labels import SoftLabels
from equipoise.cells.table import Array
from equipoise.oracles.trainers.base import (
    BoostingTrainer,
    CachedScores,
    PlainTrainer,
    Trained,
    has_fixed_seed,
    is_binnable,
)
from equipoise.rows.tables import take_rows

#: Parameters beyond those of the signature under which the path was checked to change nothing.
_KNOWN_EXTRAS = {"verbose", "verbosity", "max_bin", "deterministic", "force_row_wise"}
#: Rows of the small fit that fills in a classifier's attributes.
_PROBE_ROWS = 1000
#: With more features than these, LightGBM may bundle some: training without takes longer than
#: training and predicting then. A round number, see ``benchmarks/bundles.py``.
MOST_APART = 512
#: The line with which a tree begins in the text of a model.
_TREE = re.compile(r"^Tree=\d+\n", re.M)
#: Scores of two labels this near to each other, relative to them, may be the same.
_CLOSE = 1e-9


class SharedTrees(NamedTuple):
    """The first trees of a booster: as text, their number, and their scores of the rows."""

    text: str
    n_trees: int
    scores: Array


class LightGBMTrainer(BoostingTrainer):
    """Bin the features once; then only swap labels and weights.

    Bins depend on the features alone, so the trees are those of a plain fit with
    ``enable_bundle=False``. Scores of the training rows come from the booster, which has them
    anyway. Where there are many features, LightGBM may bundle some, as it does in a plain fit: then
    the booster's scores are not quite those of its trees, and the trees are asked.
    """

    learner = "LGBMClassifier"

    def __init__(self, estimator: Any, X: Any) -> None:
        super().__init__(estimator, X)
        self._base: SharedTrees | None = None

    @classmethod
    def suits(cls, estimator: Any, X: Any) -> bool:
        """Whether the learner is an LGBMClassifier of plain settings, on a table of numbers."""
        return is_plain(estimator, X, cls.learner, (None, "binary"))

    def fit(self, label: NDArray, weight: Array) -> Trained:
        """Train on the bins, with these labels and weights."""
        import lightgbm

        with self._lock:
            form, bins, bundled = self._prepared(label)
            if not can_split(bins):
                return PlainTrainer(self.estimator, self.X).fit(label, weight)
            # set_weight takes weights of one for none at all, and would leave the last ones.
            bins.set_field("weight", None)
            bins.set_label(label).set_weight(weight)
            n_trees = self.estimator.n_estimators
            base = self._shared(n_trees)
            if base is not None:
                n_trees -= base.n_trees
                bins.set_init_score(base.scores)
            booster = lightgbm.train(dict(bins.params), bins, n_trees, keep_training_booster=True)
            text = booster.model_to_string()
            classifier = copy(form)
            # Read back from text, as lightgbm.train itself does: the trees without the data.
            classifier._Booster = lightgbm.Booster(
                model_str=text if base is None else joined(base.text, text)
            )
            classifier._Booster.params = booster.params
            if bundled:
                return Trained(classifier, classifier, self.X)
            # LightGBM before 4.7 has no decision_function: its scores are the probabilities.
            raw = hasattr(classifier, "decision_function")
            scores = _training_scores(booster, raw)
        decisions = ((expit(scores) if raw else scores) > 0.5).astype(np.int64)
        local = CachedScores(decisions, **{"margins" if raw else "probabilities": scores})
        return Trained(classifier, local, self.X)

    def fit_soft(self, examples: SoftLabels) -> Trained:
        """Train on the bins, with soft labels.

        The loss is LightGBM's own for "multiclass". Trees differ from those grown on copies of
        rows in what is counted by rows: ``min_child_samples``, draws of rows, and the bins
        of features of many values.
        """
        import lightgbm

        labels = examples.labels
        if not 3 <= len(labels) <= len(examples.saved):  # of two labels the loss is another one
            return super().fit_soft(examples)
        with self._lock:
            _, bins, bundled = self._prepared(labels[:2])
            if not can_split(bins):
                return super().fit_soft(examples)
            classifier, params = self._form(labels)
            saved = examples.saved[:, labels]
            start = np.log(saved.sum(axis=0) / saved.sum())
            bins.set_field("weight", None)
            n_trees = self.estimator.n_estimators
            base = self._shared(n_trees)
            # The first classifier may have met fewer labels than are in use now, or more.
            if base is None or base.scores.shape != saved.shape:
                base = None
                bins.set_init_score(np.tile(start, (len(saved), 1)))
            else:
                n_trees -= base.n_trees
                start = np.zeros_like(start)
                bins.set_init_score(base.scores)
            booster = lightgbm.train(
                params | {"objective": _soft_objective(saved)},
                bins,
                n_trees,
                keep_training_booster=True,
            )
            scores = _training_scores(booster, raw=True).reshape(saved.shape)
            text = _as_multiclass(booster, start)
            classifier._Booster = lightgbm.Booster(
                model_str=text if base is None else joined(base.text, text)
            )
            classifier._Booster.params = params
        if bundled:
            return Trained(classifier, classifier, self.X)
        decided = labels[scores.argmax(axis=1)]
        # Sums in another order: the trees themselves are asked where two labels are as good as one.
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        if len(close := np.flatnonzero(first - second <= _CLOSE * (1.0 + np.abs(first)))):
            decided[close] = classifier.predict(take_rows(self.X, close))
        return Trained(classifier, classifier, self.X, decided)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_base": None}  # made again in another process

    def _shared(self, n_trees: int) -> SharedTrees | None:
        """Return the trees that members share, made once; None before there are any.

        To be called with the lock.
        """
        number = self._n_shared(n_trees)
        if not number:
            return None
        if self._base is None:
            booster = self._first.booster_
            scores = booster.predict(self.X, raw_score=True, num_iteration=number)
            self._base = SharedTrees(booster.model_to_string(num_iteration=number), number, scores)
        return self._base

    def _prepare(self, label: NDArray) -> tuple[Any, Any, bool]:
        """Return a classifier without its trees, the bins, and whether features share bins."""
        import lightgbm

        form, params = self._form(np.arange(2))
        bins = lightgbm.Dataset(self.X, label=np.zeros(self.X.shape[0]), params=params).construct()
        return form, bins, _are_bundled(bins)

    def _form(self, labels: NDArray[np.intp]) -> tuple[Any, dict[str, Any]]:
        """Return a classifier of these labels without its trees, and its parameters."""
        form, params = form_of(self.estimator, self.X, labels)
        return form, params | ({"enable_bundle": False} if self.X.shape[1] <= MOST_APART else {})


def joined(base: str, rest: str) -> str:
    r"""Return the model text of the trees of two boosters, one after the other.

    >>> one = "tree\nversion=v4\ntree_sizes=9\n\nTree=0\n\n\nend of trees\n\nparameters:"
    >>> joined(one, one).splitlines()[2:9]
    ['tree_sizes=9 9', '', 'Tree=0', '', '', 'Tree=1', '']
    """
    header = base[: base.index("tree_sizes=")]
    trees = [*_trees_of(base), *_trees_of(rest)]
    numbered = [f"Tree={number}\n{tree}" for number, tree in enumerate(trees)]
    sizes = " ".join(str(len(tree)) for tree in numbered)
    ending = rest[rest.index("end of trees") :]
    return f"{header}tree_sizes={sizes}\n\n{''.join(numbered)}{ending}"


def _trees_of(text: str) -> list[str]:
    """Return the trees of a model text, without the lines of their numbers."""
    return _TREE.split(text[: text.index("end of trees")])[1:]


def is_plain(estimator: Any, X: Any, kind: str, objectives: tuple[str | None, ...]) -> bool:
    """Whether the learner is of a kind, of plain settings, on a table of numbers."""
    if (type(estimator).__module__, type(estimator).__name__) != ("lightgbm.sklearn", kind):
        return False
    known = _KNOWN_EXTRAS.union(signature(type(estimator).__init__).parameters)
    return (
        is_binnable(X)
        and X.shape[0] >= 2
        and known.issuperset(estimator.get_params())
        and estimator.boosting_type == "gbdt"
        and estimator.objective in objectives
        and estimator.class_weight is None
        and has_fixed_seed(estimator)
    )


def form_of(estimator: Any, X: Any, targets: NDArray) -> tuple[Any, dict[str, Any]]:
    """Return the learner fitted, without its trees, to some targets, and its parameters."""
    rows = min(X.shape[0], _PROBE_ROWS)
    form = clone(estimator)
    form.n_estimators = 1
    form.fit(getattr(X, "iloc", X)[:rows], targets[np.arange(rows) % len(targets)])
    params = {k: v for k, v in form.booster_.params.items() if k != "num_iterations"}
    form.n_estimators = estimator.n_estimators
    return form, params


def can_split(bins: Any) -> bool:
    """Whether some feature can be split; where none can, there is nothing to save."""
    return any(map(bins.feature_num_bin, range(bins.num_feature())))


def _soft_objective(saved: Array) -> Callable[[Array, Any], tuple[Array, Array]]:
    """Return first and second derivatives of the loss of soft labels, as LightGBM scales them."""
    weight, K = saved.sum(axis=1, keepdims=True), saved.shape[1]

    def objective(scores: Array, _: Any) -> tuple[Array, Array]:
        chance = softmax(scores.reshape(saved.shape), axis=1)
        return weight * chance - saved, weight * chance * (1.0 - chance) * (K / (K - 1.0))

    return objective


def _as_multiclass(booster: Any, start: Array) -> str:
    """Return the trees as a model of LightGBM's own loss, with scores that begin at ``start``."""
    for tree in booster.dump_model(num_iteration=1)["tree_info"]:
        number = tree["tree_index"]
        for leaf in range(tree["num_leaves"]):
            value = booster.get_leaf_output(number, leaf) + start[number]
            booster.set_leaf_output(number, leaf, value)
    loss = f"objective=multiclass num_class:{len(start)}"
    return booster.model_to_string().replace("\nfeature_names=", f"\n{loss}\nfeature_names=", 1)


def _are_bundled(bins: Any) -> bool:
    """Whether features that are seldom both at work share one column of bins.

    In rows where they are, one in ten thousand or fewer, one of them is taken to be at rest. The
    trees are grown so, and the booster scores its own rows so; predictions do not. Where nothing
    is told about bundles, there may be some.
    """
    with TemporaryFolder("bins") as folder:
        file = folder / "one_row.txt"
        try:
            bins.subset([0]).construct()._dump_text(file)
        except AttributeError:
            return True
        counts = dict(re.findall(r"^(num_features|num_groups): (\d+)$", file.read_text(), re.M))
    return counts.get("num_features", "") != counts.get("num_groups")


def _training_scores(booster: Any, raw: bool) -> Array:
    """Take the scores of the training rows out of the booster that was trained on them."""
    found: list[Array] = []

    def keep(scores: Array, _: Any) -> tuple[str, float, bool]:
        found.append(np.array(scores, dtype=float))
        return "kept", 0.0, True

    if raw:
        # With an objective of the user's own, LightGBM hands out scores as they are, not as
        # probabilities. The booster is not used after this.
        booster.reset_parameter({"objective": "custom"})
    booster.eval_train(keep)
    return found[0]
