"""The randomized classifier Q (appendix A), and the reductions whose result it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from equipoise.cells.table import Array
from equipoise.cells.values import GroupRules
from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.estimators.base import Reduction, overlap_of, warn_of_absent
from equipoise.estimators.decisions.scores import DecisionsMixin
from equipoise.estimators.decisions.switches import switched_of
from equipoise.estimators.decisions.unconstrained import UnconstrainedModel
from equipoise.game.certificate import Certificate
from equipoise.game.switches import Switched
from equipoise.guarantees.proof import Proof
from equipoise.metrics.audit import Tally
from equipoise.metrics.measurement import Measured, ViolationReport
from equipoise.metrics.violations import measure
from equipoise.oracles.decisions import decisions, learner_of, predictions
from equipoise.oracles.thresholds import is_linear
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.hashing import draw_uniform
from equipoise.rows.people import People
from equipoise.rows.tables import batches, take_rows
from equipoise.rows.validation import check_features, read_weights, to_array


class RandomizedClassifier:
    """A distribution Q over classifiers: each decision draws one of them and follows it.

    The draw is a hash of the person's row (or of a key such as a customer number), salted with
    ``random_state``: the same person gets the same decision in every batch, order and process.
    People whose rows are equal in every value share a draw; a key tells them apart.

    Parameters
    ----------
    members : sequence of classifiers
        Each predicts 0 or 1; 0 to V - 1 where there are V classes.
    weights : array-like
        Probability of each member; members of weight zero are dropped.
    classes : array-like of labels, default=(0, 1)
        What the predictions 0, 1, ... stand for.
    random_state : int, default=0
        The salt. Another salt is another, equally valid, set of draws. Models that decide on the
        same people with the same salt share their luck; fitted ones have salts of their own.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> yes, no = (DummyClassifier(strategy="constant", constant=c).fit([[0], [0]], [0, 1])
    ...            for c in (1, 0))
    >>> coin = RandomizedClassifier([yes, no], [0.75, 0.25], classes=["no", "yes"])
    >>> X = np.arange(1000.0).reshape(-1, 1)
    >>> coin.predict_proba(X)[0].tolist()
    [0.25, 0.75]
    >>> bool((coin.predict(X)[::-1] == coin.predict(X[::-1])).all())
    True
    >>> round(float((coin.predict(X) == "yes").mean()), 2)
    0.76
    """

    #: ``predict_proba`` is the chance of each decision, see `equipoise.metrics.make_scorer`.
    is_randomized = True

    def __init__(
        self,
        members: Sequence[Any],
        weights: ArrayLike,
        classes: ArrayLike = (0, 1),
        random_state: int = 0,
    ) -> None:
        weights = np.asarray(weights, dtype=float)
        if len(members) != len(weights) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"got {len(members)} members and weights {weights}; expected one weight >= 0 for "
                "each member, not all zero."
            )
        self.members = [m for m, weight in zip(members, weights, strict=True) if weight > 0]
        self.weights = weights[weights > 0] / weights.sum()
        self.classes_ = np.asarray(classes)
        self.random_state = random_state

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(member).__name__ for member in self.members))
        return f"<RandomizedClassifier: {len(self.members)} members ({kinds})>"

    def predict(
        self,
        X: Any,
        *,
        key: Any = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> NDArray:
        """Decide for each row, following one member drawn from Q.

        Parameters
        ----------
        X : table of n rows
        key : array-like of shape (n,) or table of n rows, optional
            What to hash instead of the row: whatever identifies the person.
        random_state : int, Generator or RandomState, optional
            Draw afresh from this source instead of hashing.
        """
        if key is None and random_state is None:
            decided = [self._decide(batch) for batch in batches(X)]
            return self.classes_[np.concatenate(decided)]
        drawn = self.draw(X, key=key, random_state=random_state)
        decided = []
        start = 0
        for batch in batches(X):
            stop = start + _num_samples(batch)
            decided.append(self._follow(batch, drawn[start:stop]))
            start = stop
        return self.classes_[np.concatenate(decided)]

    def _decide(self, X: Any) -> NDArray[np.intp]:
        """Return the decision, 0, 1, ..., for each row, drawn by its hash.

        Linear members are asked about all rows, so that only rows on which they differ are hashed.
        """
        if _num_samples(X) <= len(self.members) or not all(map(_is_linear, self.members)):
            return self._follow(X, self.draw(X))
        answers = np.array(list(decisions(self.members, X, len(self.classes_))))
        decided = answers[0].astype(np.intp)
        differing = np.flatnonzero((answers[1:] != answers[0]).any(axis=0))
        if len(differing):
            drawn = self.draw(take_rows(X, differing))
            decided[differing] = answers[drawn, differing]
        return decided

    def draw(self, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray[np.intp]:
        """Return the number of the member drawn for each row, as `predict` does."""
        if key is None and len(self.members) == 1:  # nothing to draw
            return np.zeros(_num_samples(X), dtype=np.intp)
        uniform = draw_uniform(X, salt=self.random_state, key=key, random_state=random_state)
        return np.searchsorted(np.cumsum(self.weights)[:-1], uniform, side="right")

    def _follow(self, X: Any, drawn: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the decision of the member drawn, 0, 1, ..., for each row."""
        n, V = len(drawn), len(self.classes_)
        decided = np.zeros(n, dtype=np.intp)
        for number, member in enumerate(self.members):
            rows = np.flatnonzero(drawn == number)
            if len(rows) == n:
                decided[:] = predictions(member, X, V)
            elif len(rows):
                decided[rows] = predictions(member, take_rows(X, rows), V)
        return decided

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each decision, over the draw of a member: shape (n, V)."""
        V = len(self.classes_)
        selected = np.zeros((V - 1, _num_samples(X)))
        for weight, decided in zip(self.weights, decisions(self.members, X, V), strict=True):
            for number, share in enumerate(selected, 1):
                share += weight * (decided == number)
        selected = np.clip(selected, 0.0, 1.0)
        rest = np.maximum(1.0 - selected.sum(axis=0), 0.0)
        return np.column_stack([rest, *selected])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        pmf, y = self.predict_proba(X), to_array(y, "y")
        if y.shape != (len(pmf),):
            raise ValueError(
                f"y has shape {y.shape}; expected one label for each of {len(pmf)} rows."
            )
        right = np.zeros(len(y))
        for label, share in zip(self.classes_, pmf.T, strict=True):
            right = np.where(y == label, share, right)
        return float(np.average(right, weights=read_weights(sample_weight, len(y))))


def _is_linear(member: Any) -> bool:
    return is_linear(learner_of(member))


@dataclass(frozen=True, eq=False)
class FitResult:
    """Everything that a fitted randomized classifier is made of; no rows.

    Attributes
    ----------
    classifier : RandomizedClassifier
    certificate : Certificate
    constraint : Constraint
        Without open parameters.
    tallies : mapping from "training" and "out of fold" to Tally
        The decisions, added up by cell; the last one is what the certificate speaks of.
    violations : mapping from "train" and "out_of_fold" to float
        By how much the worst bound is exceeded.
    nu, B : float
    n_iter, n_calls : int
    people : Fingerprint or None
        Of the people learned from; None where their rows cannot be hashed.
    example : table or fitted estimator
        Has the features that were seen.
    unconstrained : UnconstrainedModel
        The learner as it is.
    proof : Proof or None
        What is promised about people who were not seen, where that was asked for.
    """

    classifier: RandomizedClassifier
    certificate: Certificate
    constraint: Constraint
    tallies: Mapping[str, Tally]
    violations: Mapping[str, float]
    nu: float
    B: float
    n_iter: int
    n_calls: int
    people: Fingerprint | None
    example: Any
    unconstrained: UnconstrainedModel
    proof: Proof | None = None


class RandomizedReduction(DecisionsMixin, Reduction):
    """A reduction whose result is a randomized classifier: its decisions, and reports on them."""

    classifier_: RandomizedClassifier
    certificate_: Certificate
    constraint_: Constraint
    classes_: NDArray
    tallies_: Mapping[str, Tally]
    proof_: Proof
    people_: Fingerprint | None

    def _finish(self, result: FitResult) -> Self:
        """Take over the result of a fit: the one way in which these estimators are fitted."""
        self.classifier_ = result.classifier
        self.certificate_ = result.certificate
        self.constraint_ = result.constraint
        self.classes_ = result.classifier.classes_
        self.tallies_ = dict(result.tallies)
        self.violations_ = dict(result.violations)
        self.nu_, self.B_ = result.nu, result.B
        self.n_iter_, self.n_calls_ = result.n_iter, result.n_calls
        self.people_, self.unconstrained_ = result.people, result.unconstrained
        self.__dict__.pop("proof_", None)
        if result.proof is not None:
            self.proof_ = result.proof
        if not isinstance(result.example, Reduction):
            check_features(self, result.example, reset=True)
            return self
        for name in ("n_features_in_", "feature_names_in_", "schema_in_"):
            if hasattr(result.example, name):
                setattr(self, name, getattr(result.example, name))
        return self

    @property
    def _group_rules(self) -> GroupRules:
        return next(iter(self.tallies_.values())).cells.rules

    def _deciding(self) -> Sequence[Any]:
        return self.classifier_.members

    def _tally_of_fit(self) -> Tally:
        return list(self.tallies_.values())[-1]

    def _mixture(self) -> RandomizedClassifier:
        return self.classifier_

    def _switched_in_fit(self) -> Switched | None:
        return self.certificate_.switched

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray:
        """Decide for each row; the same person always gets the same decision.

        See `RandomizedClassifier.predict` for ``key`` and ``random_state``.
        """
        X = self._decidable(X)
        return engine_for(X).predict(self.classifier_, X, key=key, random_state=random_state)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        X = self._decidable(X)
        return engine_for(X).score(self.classifier_, X, y, sample_weight)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        utilities: Any = None,
        level: float = 0.95,
    ) -> ViolationReport[Measured]:
        """Tell error and violations on training, out-of-fold and test data, with intervals.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight, utilities : optional
            Test data. The others are in the report anyway.
        level : float, default=0.95
            Level of the confidence intervals.

        Returns
        -------
        ViolationReport
            Prints as a table, and says how many of the people passed were learned from, and how
            many are decided on differently than without constraints. Excesses are over the bounds
            as written: ``sampling_slack`` is not counted.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from equipoise import DemographicParity, FairClassifier
        >>> from equipoise.oracles import Refit
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> A = rng.integers(0, 2, 2000)
        >>> X = np.column_stack([A + rng.normal(size=2000), rng.normal(size=2000)])
        >>> y = (X.sum(axis=1) + rng.normal(size=2000) > 0.5).astype(int)
        >>> tree = DecisionTreeClassifier(max_depth=8, random_state=0)
        >>> clf = FairClassifier(tree, DemographicParity(eps=0.02), oracle=Refit(cv=3))
        >>> clf = clf.fit(X[:1000], y[:1000], sensitive_features=A[:1000])
        >>> report = clf.report(X[1000:], y[1000:], sensitive_features=A[1000:])
        >>> [measured.data for measured in report]
        ['training', 'out of fold', 'test']
        >>> report["test"].excess.low < report["test"].excess.high
        True
        """
        check_is_fitted(self)
        tallies, overlap = dict(self.tallies_), None
        known = next(iter(tallies.values())).cells
        switched = {next(iter(tallies)): self._switched_in_fit()}
        if X is not None:
            people = People(X, y, sensitive_features, control_features, sample_weight, utilities)
            people = self._like_fit(people)
            engine = self._open_new(people)
            warn_of_absent(known, engine.cells)
            tallies["test"] = engine.tally(self.classifier_)
            overlap = overlap_of(self, people)
            switched["test"] = switched_of(engine, self.classifier_, self.unconstrained_)
        worst = self.certificate_.worst_rate
        measured = measure(
            tallies,
            self.constraint_,
            self.objective,
            level=level,
            worst_rate=0.0 if worst is None else worst[1],
            known=known,
        )
        return ViolationReport(measured, level, overlap, switched)
