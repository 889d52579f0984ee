"""Predictions of a fitted reduction that is a randomized classifier, and reports on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from equipoise.cells.table import Array
from equipoise.constraints.base import Constraint
from equipoise.engines import engine_for
from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.remarks import warn_of_absent
from equipoise.estimators.results import FitResult, overlap_of
from equipoise.estimators.scores import ScoredReduction
from equipoise.game.certificate import Certificate
from equipoise.metrics.audit import Tally
from equipoise.metrics.violations import ViolationReport, measure
from equipoise.rows.fingerprint import Fingerprint
from equipoise.rows.people import People


class RandomizedReduction(ScoredReduction):
    """A reduction whose result is a randomized classifier: its decisions, and reports on them."""

    classifier_: RandomizedClassifier
    certificate_: Certificate
    constraint_: Constraint
    classes_: NDArray
    tallies_: Mapping[str, Tally]
    people_: Fingerprint | None

    def _finish(self, result: FitResult, features_of: Any = None) -> Self:
        """Take over the result of a fit: the one way in which these estimators are fitted.

        ``features_of`` is the fitted estimator whose features were seen, if it is another one.
        """
        self.classifier_ = result.classifier
        self.certificate_ = result.certificate
        self.constraint_ = result.constraint
        self.classes_ = result.classifier.classes_
        self.tallies_ = dict(result.tallies)
        self.violations_ = dict(result.violations)
        self.nu_, self.B_ = result.nu, result.B
        self.n_iter_, self.n_calls_ = result.n_iter, result.n_calls
        self.people_, self.unconstrained_ = result.people, result.unconstrained
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(features_of, name):
                setattr(self, name, getattr(features_of, name))
        return self

    def _mixture(self) -> RandomizedClassifier:
        return self.classifier_

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> NDArray:
        """Decide for each row; the same person always gets the same decision.

        See `RandomizedClassifier.predict` for ``key`` and ``random_state``.
        """
        check_is_fitted(self)
        self._check_features(X)
        return engine_for(X).predict(self.classifier_, X, key=key, random_state=random_state)

    def predict_pmf(self, X: Any) -> Array:
        """Return the probability of deciding either way, over the draw of a member: (n, 2).

        Not ``predict_proba``, which is about the label.
        """
        check_is_fitted(self)
        self._check_features(X)
        return engine_for(X).predict_pmf(self.classifier_, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the expected accuracy, over the draw of a member."""
        check_is_fitted(self)
        self._check_features(X)
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
    ) -> ViolationReport:
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
            Prints as a table, and says how many of the people passed were learned from. Excesses
            are over the bounds as written: ``sampling_slack`` is not counted.

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
        if X is not None:
            people = People(X, y, sensitive_features, control_features, sample_weight, utilities)
            engine = self._open_new(people)
            warn_of_absent(self.tallies_["training"].cells, engine.cells)
            tallies["test"] = engine.tally(self.classifier_)
            overlap = overlap_of(self, people)
        worst = self.certificate_.worst_rate
        measured = measure(
            tallies,
            self.constraint_,
            self.objective,
            level=level,
            worst_rate=0.0 if worst is None else worst[1],
            known=self.tallies_["training"].cells,
        )
        return ViolationReport(measured, level, overlap)
