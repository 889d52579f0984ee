"""Scores of a fitted model: the chance of the label, a ranking with the sign of the decision."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array
from equipoise.engines import engine_for
from equipoise.estimators.decisions.explanation import Explanation, explain
from equipoise.estimators.decisions.selection import Selection, read_decision, select
from equipoise.estimators.decisions.switches import switched_of
from equipoise.estimators.decisions.unconstrained import UnconstrainedModel
from equipoise.game.switches import Switched
from equipoise.guarantees.proof import check_proven
from equipoise.oracles.scores import LEAST, mean_margin
from equipoise.rows.people import People

if TYPE_CHECKING:
    from equipoise.cells.values import GroupRules, Missing
    from equipoise.engines.base import Engine


def _gives_order(model: Any) -> bool:
    """Whether people can be ranked; before a fit, whether the learner has scores."""
    if not hasattr(model, "classes_"):
        learner = model.estimator
        learners = learner if isinstance(learner, (list, tuple)) else [learner]
        scores = ("predict_proba", "decision_function")
        return all(any(hasattr(one, name) for name in scores) for one in learners)
    if reason := model.unconstrained_.why_no_order():
        raise AttributeError(reason)
    return True


class DecisionsMixin(ClassifierMixin):
    """Of a reduction that decides: its scores, selections of exactly k, and explanations."""

    #: ``predict_proba`` is the chance of each decision, see `equipoise.metrics.make_scorer`.
    is_randomized = True

    classes_: NDArray
    unconstrained_: UnconstrainedModel

    if TYPE_CHECKING:  # of `Reduction`, beside which this is inherited

        def _with_features(self, X: Any) -> Any: ...
        def _open_new(self, people: People, missing: Missing | None = None) -> Engine: ...
        @property
        def _group_rules(self) -> GroupRules: ...

    def _decidable(self, X: Any) -> Any:
        """Return X with the features of the fit; raise unless this may decide."""
        check_is_fitted(self)
        check_proven(self)
        return self._with_features(X)

    def _mixture(self) -> Any:
        """Return the randomized classifier that decides."""
        raise NotImplementedError

    def _tally_of_fit(self) -> Any:
        """Return its decisions about the people learned from, added up by cell."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Array:
        """Return the chance of each DECISION, over the draw of a member: shape (n, V).

        Zeros and ones where nobody is drawn: ``predict_proba(X).argmax(axis=1)`` is then the
        decision of ``predict``. For a person who is drawn it is the expectation of ``predict``, so
        averages of it (``VotingClassifier(voting="soft")`` of one model, rates, accuracy) keep the
        bound in expectation; cutting it at one half makes another, fixed rule. How likely the
        label is, is in `label_proba`.
        """
        X = self._decidable(X)
        return engine_for(X).answer(self._mixture().predict_proba, X, columns=len(self.classes_))

    def label_proba(self, X: Any) -> Array:
        """Return the chance of each LABEL for each row, not of the decision: shape (n, V).

        It is the estimate of the learner without constraints, calibrated as far as that learner
        is: of the plug-in oracle its P(Y | X); of the others the probabilities of the
        unconstrained classifier, with costs by label undone. The decision is in ``predict``, its
        chance in `predict_proba`; a threshold on this one is another rule, which nothing keeps
        within the bounds.

        Raises
        ------
        AttributeError
            Where the learner gives no probabilities, or costs within a label have distorted them.
        """
        check_is_fitted(self)
        X = self._with_features(X)
        model = self.unconstrained_
        return engine_for(X).answer(model.label_proba, X, columns=len(self.classes_))

    @available_if(_gives_order)
    def decision_function(self, X: Any, *, key: Any = None) -> Array:
        """Return a score for each row: above zero exactly where ``predict`` selects.

        It is the chance of the label for those who are selected, and this chance less one for the
        others: the selected come before the others, and within both people are in the order of
        `label_proba`. So roc_auc and average precision measure the decisions first and then the
        order. Where somebody is drawn, the sign is that of the draw that ``predict(X, key=key)``
        makes. A learner without probabilities is asked for its own scores instead, brought into
        the range from 0 to 1. Of V > 2 labels there is such a score for each: (n, V).
        """
        X = self._decidable(X)
        engine, known = engine_for(X), self.unconstrained_
        decided = engine.predict(self._mixture(), X, key=key)
        if len(self.classes_) > 2:
            rank, selected = known.label_proba(X), decided[:, None] == self.classes_
        else:
            rank, selected = engine.answer(known.order, X), decided == self.classes_[1]
        # A chance of exactly 0 or 1 must not lose the sign.
        return np.where(selected, np.maximum(rank, LEAST), np.minimum(rank - 1.0, -LEAST))

    def margin(self, X: Any) -> Array:
        """Return how far each row is from the cut: the mean over the members, by their weights.

        For explanations of what moves decisions, such as permutation importance or Shapley values:
        it is above zero exactly where a model of one member selects. It is no ranking of people.
        The unit is that of the members' scores: a plug-in member's is the expected gain of
        selecting the person, as a share of the largest price of a cell; a learner's its
        ``decision_function``, or its probability. A member without scores counts 1 for each
        person whom it selects, and -1 for the others.
        """
        X = self._decidable(X)
        if len(self.classes_) > 2:
            raise ValueError(
                f"margin is the distance from the cut between two decisions; there are "
                f"{len(self.classes_)}. decision_function has a score for each of them."
            )
        mixture = self._mixture()
        members, weights = mixture.members, mixture.weights
        return engine_for(X).answer(lambda rows: mean_margin(members, weights, rows), X)

    def select(
        self,
        X: Any,
        k: int,
        *,
        sensitive_features: Any = None,
        key: Any = None,
        by: str = "lot",
        order: str = "hash",
        random_state: Any = None,
        u: float | None = None,
        decision: Any = None,
    ) -> Selection:
        """Select exactly k of these people, groups in balance: by lot, or by rank.

        By lot everybody has a probability of their own: that of `predict_proba` times one number,
        up to 1, so that they sum to k. Systematic sampling, see `Selection`, gives every group its
        expected number, rounded up or down. A model of one rule has probabilities 0 and 1: fewer
        than it selects are drawn among them, and more cannot be selected.

        By rank nobody is drawn, and k can be any number. Every group gets k times its share of
        whom the model selects, rounded; within a group those come first whom the model selects
        most often, then those of the higher chance of the label.

        Parameters
        ----------
        X : table of n rows
            The whole batch: who is selected depends on who else is in it.
        k : int
        sensitive_features : array-like or data frame of n rows, optional
            The groups to keep in balance. Of several columns every combination is a group, and
            the groups of the first column are in balance too. Without, k is exact but the numbers
            of groups are left to chance.
        key : array-like of shape (n,) or table of n rows, optional
            What to hash instead of the row: whatever identifies the person.
        by : {"lot", "rank"}, default="lot"
        order : {"hash", "chance"}, default="hash"
            How people are laid out within a group, by lot. In the order of the chance of the
            label, true-positive rates of batches vary less.
        random_state : int, Generator or RandomState, optional
            Source of u. By default u follows from the hashes of these people: asking again, or in
            another order, selects the same ones.
        u : float in [0, 1), optional
            The number itself, as logged, to repeat a selection.
        decision : optional
            The decision to select for, one of ``classes_``; by default the second of two. Of more
            it must be named.

        Returns
        -------
        Selection
            ``selected``, ``probabilities``, ``u``, and the counts of groups.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from equipoise import DemographicParity, FairClassifier
        >>> rng = np.random.default_rng(0)
        >>> A = rng.choice(["F", "M"], 2000)
        >>> X = np.column_stack([(A == "M") + rng.normal(size=2000), rng.normal(size=2000)])
        >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
        >>> model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
        >>> model = model.fit(X, y, sensitive_features=A)
        >>> chosen = model.select(X[:100], 30, sensitive_features=A[:100])
        >>> again = model.select(X[:100], 30, sensitive_features=A[:100], u=chosen.u)
        >>> int(chosen.selected.sum()), bool((again.selected == chosen.selected).all())
        (30, True)
        """
        X = self._decidable(X)
        number = read_decision(decision, self.classes_)
        if order not in ("hash", "chance"):
            raise ValueError(f"order is {order!r}; expected 'hash' or 'chance'.")
        if by not in ("lot", "rank"):
            raise ValueError(f"by is {by!r}; expected 'lot' or 'rank'.")
        by_chance = by == "rank" or order == "chance"
        score = partial(self.unconstrained_.order, label=number) if by_chance else None
        how: dict[str, Any] = {"score": score, "by_rank": by == "rank", "rules": self._group_rules}
        how |= {"sensitive_features": sensitive_features, "key": key, "decision": number}
        return select(self._mixture(), X, k, random_state=random_state, u=u, **how)

    def _switched_in_fit(self) -> Switched | None:
        """Return the switched decisions about the people learned from, None if not known."""
        raise NotImplementedError

    def switched(self, X: Any = None, y: Any = None, **metadata: Any) -> Switched:
        """Count who is decided on differently than by the unconstrained model, by group and label.

        Parameters
        ----------
        X, y, **metadata : optional
            People, as for ``fit``; by default those of the fit.

        Returns
        -------
        Switched
            Prints as a table: people, how many of them gain and lose the favourable decision; of
            more than two labels, how many move from which decision to which. Of a randomized
            classifier the numbers are expected ones, over its draw.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from equipoise import DemographicParity, FairClassifier
        >>> rng = np.random.default_rng(0)
        >>> A = rng.choice(["F", "M"], 2000)
        >>> X = np.column_stack([(A == "M") + rng.normal(size=2000), rng.normal(size=2000)])
        >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
        >>> model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
        >>> switched = model.fit(X, y, sensitive_features=A).switched()
        >>> [(row.label, row.people) for row in switched.rows if row.group == "F"]
        [(0, 582.0), (1, 375.0)]
        >>> people, gained, lost = switched.total()
        >>> people, gained > 0, lost > 0
        (2000.0, True, True)
        """
        known = self.unconstrained_
        if X is None:
            if (found := self._switched_in_fit()) is None:
                raise AttributeError("this fit counted none; pass people: switched(X, y, ...).")
            return found
        people = People(self._decidable(X), y, **metadata)
        found = switched_of(self._open_new(people), self._mixture(), known)
        assert found is not None
        return found

    def explain(self, X: Any, *, key: Any = None) -> Explanation:
        """Say for each row what was decided, by which members, and how without constraints.

        Parameters
        ----------
        X : table of n rows
            One row will do.
        key : array-like of shape (n,) or table of n rows, optional
            As for ``predict``, whose decisions are explained.

        Returns
        -------
        Explanation
            Prints as sentences; ``to_pandas()`` is a table.
        """
        X = self._decidable(X)
        return explain(self._mixture(), X, self.unconstrained_, key=key)
