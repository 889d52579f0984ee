"""Specs of oracles: what users pass as ``oracle=``, to say where classifiers come from.

A spec holds parameters and no data, as scikit-learn's estimators do: it can be cloned, printed,
and searched over (``oracle__cv``). An engine, which holds the rows, makes the oracle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from equipoise.cells.table import Array
from equipoise.game.rounds import Oracle
from equipoise.oracles.candidates import BestOfOracle, candidate_oracle
from equipoise.oracles.learners import check_probabilistic, with_cores
from equipoise.oracles.refit import RefitOracle
from equipoise.oracles.trainers import weight_parameter
from equipoise.rows.validation import read_integer


class OracleEngine(Protocol):
    """What specs ask of an engine: an oracle over the rows that it holds."""

    classes: NDArray

    def refit(self, learner: Any, threshold: str, cv: Any) -> Oracle:
        """Return the oracle that trains the learner for every query."""
        ...

    def plugin(self, learner: Any, cv: Any, aware: bool) -> Oracle:
        """Return the oracle that learns probabilities once."""
        ...

    def shares(self, classifiers: Sequence[Any]) -> Array:
        """Return the selected share of each cell for every classifier, of shape (P, C)."""
        ...


class OracleSpec(BaseEstimator, ABC):
    """A description of an oracle, with the parameters of its constructor."""

    @abstractmethod
    def check(self, learner: Any, weighted: bool) -> None:
        """Refuse parameters and learners that cannot work, before any work is done.

        Parameters
        ----------
        learner : classifier, or list of fitted classifiers
        weighted : bool
            Whether the rows have weights of their own.
        """

    @abstractmethod
    def over(self, engine: OracleEngine, learner: Any, at_a_time: int = 1) -> Oracle:
        """Return the oracle over the rows of an engine.

        Parameters
        ----------
        engine : OracleEngine
        learner : classifier, or list of fitted classifiers
        at_a_time : int, default=1
            How many queries will be answered at a time; a learner that is trained in all of them
            gets its share of the cores.
        """


class Refit(OracleSpec):
    """Train the learner anew for every query, as in the paper.

    Of a list of fitted classifiers, none is trained: each query is answered by the best of them.

    Parameters
    ----------
    threshold : "auto", "tuned" or "learner", default="auto"
        Where members cut the learner's scores: at the cut of least cost on the training data
        ("tuned"), or where the learner itself does ("learner", as in the paper). "auto" tunes
        linear classifiers only: others may know their training data by heart, and then such a cut
        costs more on other people.
    cv : int, splitter or iterable of (train, test), optional
        Folds. None measures moments on the training data. Otherwise they are measured on
        out-of-fold predictions, so that the bound holds on people not seen, for one more fit per
        fold and query; see `equipoise.oracles.cross_fit.CrossFittedOracle`.
    shared_trees : float, default=0.0
        The part of their trees that members of an ``LGBMClassifier`` or ``XGBClassifier`` share,
        such as 0.75: the first trees of the classifier without constraints. Every query grows the
        rest, which takes less time; members can be less accurate on other people. At 0 every member
        is trained whole.

    Examples
    --------
    >>> Refit(threshold="tuned", cv=5)
    Refit(cv=5, threshold='tuned')
    """

    def __init__(self, threshold: str = "auto", cv: Any = None, shared_trees: float = 0.0) -> None:
        self.threshold = threshold
        self.cv = cv
        self.shared_trees = shared_trees

    def check(self, learner: Any, weighted: bool) -> None:
        """Refuse learners that take no weights, and parameters that make no sense."""
        if self.threshold not in ("auto", "tuned", "learner"):
            raise ValueError(
                f"threshold is {self.threshold!r}; expected 'auto', 'tuned' or 'learner'."
            )
        is_number = isinstance(self.shared_trees, (int, float)) and self.shared_trees is not True
        if not (is_number and 0 <= self.shared_trees < 1):
            raise ValueError(
                f"shared_trees is {self.shared_trees!r}; expected a part of the trees, from 0 to "
                "less than 1, such as 0.75."
            )
        if self.shared_trees > 0 and self.cv is not None:
            raise ValueError(
                f"shared_trees is {self.shared_trees:g} and cv is {self.cv!r}, but models of folds "
                "share no trees; leave out one of the two."
            )
        if self.cv is not None:
            _check_folds(self.cv)
            _check_trainable(self, learner)
        if self.shared_trees > 0:
            _check_trainable(self, learner)
        if not _is_fitted(learner):
            weight_parameter(learner)

    def over(self, engine: OracleEngine, learner: Any, at_a_time: int = 1) -> Oracle:
        """Return the oracle that trains the learner, or that searches the fitted classifiers."""
        if _is_fitted(learner):
            return candidate_oracle(learner, engine.shares, engine.classes)
        if self.threshold == "tuned" and len(engine.classes) > 2:
            raise ValueError(
                f"threshold='tuned' moves the one cut of two labels, but y has "
                f"{len(engine.classes)}; expected 'auto' or 'learner'."
            )
        if at_a_time > 1:
            learner = with_cores(learner, at_a_time)
        oracle = engine.refit(learner, self.threshold, self.cv)
        if self.shared_trees > 0:
            if not isinstance(oracle, RefitOracle):
                raise TypeError(
                    f"shared_trees is {self.shared_trees:g}, but the rows are on a cluster; "
                    "expected a table in memory. Leave it out."
                )
            oracle.share_trees(float(self.shared_trees))
        return oracle


class Plugin(OracleSpec):
    """Learn probabilities of label and group once; every member is a threshold on them.

    There are no further fits, and moments are measured out of fold. The learner needs
    ``predict_proba``; see `equipoise.oracles.plugin.PluginOracle`.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=5
        Folds: each person's probabilities come from models that have not seen that person.
    aware : bool, default=False
        Whether members read the group from X, a data frame with columns called like the sensitive
        (and control) features. Predictions need these then.

    Examples
    --------
    >>> Plugin(aware=True)
    Plugin(aware=True)
    """

    def __init__(self, cv: Any = 5, aware: bool = False) -> None:
        self.cv = cv
        self.aware = aware

    def check(self, learner: Any, weighted: bool) -> None:
        """Refuse learners without probabilities, and parameters that make no sense."""
        if self.cv is None:
            raise ValueError(
                "cv is None, but Plugin always measures out of fold; expected a number of folds "
                "such as Plugin(cv=5), or a splitter."
            )
        _check_folds(self.cv)
        _check_trainable(self, learner)
        check_probabilistic(learner)
        if weighted:
            weight_parameter(learner)

    def over(self, engine: OracleEngine, learner: Any, at_a_time: int = 1) -> Oracle:
        """Return the plug-in oracle; its probabilities are learned here, before any query."""
        return engine.plugin(learner, self.cv, self.aware)


class BestOf(OracleSpec):
    """The better of plug-in and refit members for each query, both measured out of fold.

    Parameters
    ----------
    plugin : Plugin, default=Plugin()
    refit : Refit, default=Refit(cv=5)

    Examples
    --------
    >>> BestOf()
    BestOf(plugin=Plugin(), refit=Refit(cv=5))
    >>> BestOf().set_params(plugin__cv=3, refit__threshold="tuned")
    BestOf(plugin=Plugin(cv=3), refit=Refit(cv=5, threshold='tuned'))
    """

    def __init__(self, plugin: Plugin | None = None, refit: Refit | None = None) -> None:
        # Made here: set_params on a default that all share would change it for all.
        self.plugin = Plugin() if plugin is None else plugin
        self.refit = Refit(cv=5) if refit is None else refit

    def check(self, learner: Any, weighted: bool) -> None:
        """Refuse what either part refuses, and parts that cannot be compared."""
        for name, part, kind in (("plugin", self.plugin, Plugin), ("refit", self.refit, Refit)):
            if not isinstance(part, kind):
                raise TypeError(f"{name} is {part!r}; expected {kind.__name__}(...).")
        if self.refit.cv is None:
            raise ValueError(
                f"refit is {self.refit!r}, measured on the training data, but plug-in members are "
                "measured out of fold; expected folds for both, such as Refit(cv=5)."
            )
        _check_trainable(self, learner)
        self.plugin.check(learner, weighted)
        self.refit.check(learner, weighted)

    def over(self, engine: OracleEngine, learner: Any, at_a_time: int = 1) -> Oracle:
        """Return the oracle that asks both."""
        parts = self.plugin, self.refit
        return BestOfOracle(*(part.over(engine, learner, at_a_time) for part in parts))


_SHORTHAND = {"refit": Refit, "plugin": Plugin, "best_of": BestOf}


def read_oracle(value: Any) -> OracleSpec:
    """Return the spec that was passed, or that a string is shorthand for.

    >>> read_oracle("plugin")
    Plugin()
    >>> read_oracle(Refit(cv=3))
    Refit(cv=3)
    """
    if isinstance(value, OracleSpec):
        return value
    if isinstance(value, str) and value in _SHORTHAND:
        return _SHORTHAND[value]()
    error = ValueError if isinstance(value, str) else TypeError
    raise error(
        f"oracle is {value!r}; expected 'refit', 'plugin' or 'best_of', or one with parameters: "
        "Refit(threshold=..., cv=...), Plugin(cv=..., aware=...) or BestOf(plugin=..., refit=...)."
    )


def _is_fitted(learner: Any) -> bool:
    """Whether this is a list of fitted classifiers instead of a learner."""
    return isinstance(learner, (list, tuple))


def _check_trainable(spec: OracleSpec, learner: Any) -> None:
    if _is_fitted(learner):
        raise ValueError(
            f"estimator is a list of fitted classifiers, but oracle={spec!r} asks for training; "
            "leave the oracle at its default."
        )


def _check_folds(cv: Any) -> None:
    if isinstance(cv, (int, np.integer)):
        read_integer(cv, "cv", least=2)
