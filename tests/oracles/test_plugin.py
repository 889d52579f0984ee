"""The plug-in oracle: probabilities once, then thresholds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from people import make_people, selection_gap
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, Probabilities
from equipoise.cells import Cells
from equipoise.datasets import load_adult
from equipoise.oracles import PluginOracle
from equipoise.oracles.cross_fit import make_folds
from equipoise.oracles.specs import Plugin, Refit

COSTS = np.array([1.0, -0.7, 1.4, -0.2])  # by group, then label


class CountedBayes(GaussianNB):
    """Naive Bayes that counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


class CellReader(ClassifierMixin, BaseEstimator):
    """Knows the probability of class 1: the first column for labels, the others for groups.

    The second column is P(A=1 | Y=0), the third P(A=1 | Y=1). What it is fitted to is told from a
    fourth column, the true cell.
    """

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        label, group = X[:, 3] % 2, X[:, 3] // 2
        self.column_ = 0 if (y == label).all() else 1 + int(label[0])
        assert self.column_ == 0 or ((y == group).all() and (label == label[0]).all())
        return self

    def predict(self, X):
        return (X[:, self.column_] > 0.5).astype(int)

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, self.column_], X[:, self.column_]])


def known_probabilities(n: int, seed: int = 0):
    """Return people whose probabilities are their features, and these as a table of cells."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, size=(n, 3))
    y = (rng.random(n) < p[:, 0]).astype(int)
    A = (rng.random(n) < p[np.arange(n), 1 + y]).astype(int)
    y[:4], A[:4] = [0, 1, 0, 1], [0, 0, 1, 1]
    table = np.column_stack(
        [
            (1 - p[:, 0]) * (1 - p[:, 1]),
            p[:, 0] * (1 - p[:, 2]),
            (1 - p[:, 0]) * p[:, 1],
            p[:, 0] * p[:, 2],
        ]
    )
    return np.column_stack([p, 2 * A + y]), y, A, table


def test_probabilities_are_those_of_label_times_those_of_group_given_label():
    X, y, A, table = known_probabilities(200)
    oracle = PluginOracle(CellReader(), X, Cells.from_columns(y, {"A": A}), cv=3)
    np.testing.assert_allclose(oracle.probabilities, table)
    np.testing.assert_allclose(oracle.deployed(X), table)


@pytest.mark.parametrize("seed", range(3))
def test_no_rule_has_a_lower_expected_cost(seed):
    """All 2^9 sets of nine people, by brute force: in expectation none beats the response."""
    X, y, A, table = known_probabilities(60, seed)
    costs = np.random.default_rng(seed).normal(size=4)
    oracle = PluginOracle(CellReader(), X, Cells.from_columns(y, {"A": A}), cv=3)
    chosen = oracle.best_response(costs).classifier.predict(X[:9])
    expected = table[:9] @ costs
    best = min(sum(expected[[i for i in range(9) if s >> i & 1]]) for s in range(2**9))
    assert chosen @ expected == pytest.approx(best)
    # In particular none of the rules that cut the expected cost somewhere else does.
    score = table @ costs
    everybody = oracle.best_response(costs).classifier.predict(X)
    assert everybody @ score <= min(score[score < cut].sum() for cut in [*score, np.inf]) + 1e-12


def test_shares_and_decisions_from_raw_arrays(people):
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(people.y))
    cells = Cells.from_columns(people.y, {"A": people.A}, weight=weight)
    oracle = PluginOracle(LogisticRegression(), people.X, cells, cv=3)
    classifier, s = oracle.best_response(COSTS)

    def expected_costs(train, test):
        def proba(rows, target):
            model = LogisticRegression()
            model.fit(people.X[rows], target[rows], weight[rows])
            return model.predict_proba(people.X[test])[:, 1]

        is_one = proba(train, people.y)
        group = [proba(train[people.y[train] == y], people.A) for y in (0, 1)]
        return (1 - is_one) * ((1 - group[0]) * COSTS[0] + group[0] * COSTS[2]) + is_one * (
            (1 - group[1]) * COSTS[1] + group[1] * COSTS[3]
        )

    everybody = np.arange(len(people.y))
    assert (classifier.predict(people.X) == (expected_costs(everybody, everybody) < 0)).all()

    selected = np.zeros(len(people.y), dtype=bool)
    for train, test in make_folds(cells, 3):
        selected[test] = expected_costs(train, test) < 0
    shares = [
        weight[(a == people.A) & (people.y == y) & selected].sum() / weight.sum()
        for a in (0, 1)
        for y in (0, 1)
    ]
    np.testing.assert_allclose(s, shares, atol=1e-12)


def test_the_number_of_fits_does_not_depend_on_the_number_of_queries(people):
    fits, calls = set(), set()
    for eps in (0.2, 0.01):
        CountedBayes.fits = 0
        clf = FairClassifier(CountedBayes(), EqualizedOdds(eps=eps), oracle=Plugin(cv=4))
        clf.fit(people.X, people.y, sensitive_features=people.A)
        fits.add(CountedBayes.fits)
        calls.add(clf.n_calls_)
    assert fits == {3 * (4 + 1)}
    assert len(calls) == 2


def test_many_groups_of_two_features_within_strata():
    people = make_people(3000, groups=3)
    rng = np.random.default_rng(5)
    sex, region = rng.choice(["F", "M"], 3000), rng.choice(["north", "south"], 3000)
    clf = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05), oracle=Plugin(cv=3))
    clf.fit(
        people.X,
        people.y,
        sensitive_features={"origin": people.A, "sex": sex},
        control_features={"region": region},
    )
    oracle = next(h.probabilities for h in clf.classifier_.members if hasattr(h, "probabilities"))
    assert oracle(people.X[:5]).shape == (5, 24)
    np.testing.assert_allclose(oracle(people.X).sum(axis=1), 1.0)
    assert clf.certificate_.violation < 1e-7
    selected = clf.predict_proba(people.X)[:, 1]
    for where in ("north", "south"):
        inside = region == where
        group = people.A * 2 + (sex == "M")
        assert selection_gap(selected[inside], group[inside]) < 0.05 + 0.03


def test_a_cell_too_rare_for_every_fold():
    people = make_people(300)
    A = people.A.astype(str)
    A[np.flatnonzero(people.y == 1)[0]] = "one of a kind"
    cells = Cells.from_columns(people.y, {"A": A})
    oracle = PluginOracle(LogisticRegression(), people.X, cells, cv=3)
    np.testing.assert_array_less(oracle.probabilities.sum(axis=1), 1.0 + 1e-9)
    assert oracle.best_response(np.full(5, -1.0)).s.sum() == pytest.approx(1.0)


def test_examples_without_weight_teach_nothing(people):
    weight = np.where(people.X[:, 1] > 0, 1.0, 0.0)
    X = people.X.copy()
    cells = Cells.from_columns(people.y, {"A": people.A}, weight=weight)
    one = PluginOracle(LogisticRegression(), X, cells, cv=3).deployed(people.X)
    X[weight == 0] = 1e3
    two = PluginOracle(LogisticRegression(), X, cells, cv=3).deployed(people.X)
    np.testing.assert_allclose(one, two)


def test_learners_without_weights_serve_where_there_are_none(people):
    knn = KNeighborsClassifier(30)
    clf = FairClassifier(knn, DemographicParity(eps=0.05), oracle=Plugin(cv=3))
    assert clf.fit(people.X, people.y, sensitive_features=people.A).certificate_.feasible
    with pytest.raises(TypeError, match="takes no sample_weight"):
        clf.fit(people.X, people.y, sensitive_features=people.A, sample_weight=people.y + 1.0)


def test_members_share_their_models(people):
    forest = HistGradientBoostingClassifier(max_iter=20)
    clf = FairClassifier(forest, EqualizedOdds(eps=0.01), oracle=Plugin(cv=3), nu=1e-6)
    clf.fit(people.X, people.y, sensitive_features=people.A)
    members = clf.classifier_.members
    assert len(members) > 1
    one, all_of_them = len(pickle.dumps(members[0])), len(pickle.dumps(members))
    assert all_of_them < 1.1 * one
    copy = pickle.loads(pickle.dumps(clf))
    assert (copy.predict(people.X) == clf.predict(people.X)).all()


@pytest.mark.parametrize("oracle", ["plugin", "best_of"])
def test_a_learner_without_probabilities_is_refused_before_any_work(people, oracle):
    clf = FairClassifier(LinearSVC(), DemographicParity(), oracle=oracle)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        clf.fit(people.X, people.y, sensitive_features=people.A)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"oracle": "magic"}, "oracle is 'magic'; expected"),
        ({"oracle": Plugin(cv=1)}, "cv is 1"),
        ({"oracle": Plugin(aware=True)}, "X has no column 'group'"),
    ],
)
def test_parameters_that_make_no_sense(people, parameters, message):
    clf = FairClassifier(GaussianNB(), DemographicParity(), **parameters)
    with pytest.raises(ValueError, match=message):
        clf.fit(people.X, people.y, sensitive_features=people.A)


def test_fitted_candidates_are_not_trained(people):
    fitted = GaussianNB().fit(people.X, people.y)
    for parameters in ({"oracle": "plugin"}, {"oracle": Refit(cv=3)}):
        clf = FairClassifier([fitted], DemographicParity(), **parameters)
        with pytest.raises(ValueError, match="list of fitted classifiers"):
            clf.fit(people.X, people.y, sensitive_features=people.A)


def test_groups_known_by_probability_are_refused(people):
    table = np.column_stack([1.0 - people.A, people.A])
    clf = FairClassifier(GaussianNB(), DemographicParity(), oracle="plugin")
    with pytest.raises(ValueError, match="plug-in oracle got utilities, group probabilities"):
        clf.fit(people.X, people.y, sensitive_features=Probabilities(table))


def frame_of(people, sex):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"x0": people.X[:, 0], "x1": people.X[:, 1], "sex": sex})


class NumbersOnly(LogisticRegression):
    """Logistic regression on the columns that hold numbers."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[["x0", "x1"]], y, sample_weight)

    def decision_function(self, X):
        return super().decision_function(X[["x0", "x1"]])


def test_aware_decisions_read_the_group_from_the_table():
    people = make_people(2000)
    sex = np.where(people.A == 1, "M", "F")
    X = frame_of(people, sex)
    error = {}
    for aware in (False, True):
        clf = FairClassifier(
            NumbersOnly(), DemographicParity(eps=0.005), oracle=Plugin(cv=3, aware=aware)
        )
        clf.fit(X, people.y, sensitive_features=X["sex"])
        error[aware] = clf.certificate_.error
    assert error[True] < error[False]  # the price of blindness
    member = clf.classifier_.members[0]
    is_one = LogisticRegression().fit(X[["x0", "x1"]], people.y)
    is_one = is_one.predict_proba(X[["x0", "x1"]])[:, 1]
    at = 2 * (sex == "M")  # cells are numbered by group, then label
    expected = (1 - is_one) * member.costs[at] + is_one * member.costs[at + 1]
    assert (member.predict(X) == (expected < 0)).all()
    with pytest.raises(ValueError, match="X has no column 'sex'"):
        clf.classifier_.predict(X[["x0", "x1"]])
    with pytest.raises(ValueError, match=r"X has the group .*'D'.*not seen in fit"):
        clf.predict(X.assign(sex="D"))


def test_aware_decisions_need_a_table_that_agrees_with_the_groups(people):
    X = frame_of(people, np.where(people.A == 1, "M", "F"))
    other = X["sex"].copy()
    other[:7] = np.where(X["sex"][:7] == "M", "F", "M")
    clf = FairClassifier(NumbersOnly(), DemographicParity(), oracle=Plugin(aware=True))
    with pytest.raises(ValueError, match=r"differ .* in 7 rows"):
        clf.fit(X, people.y, sensitive_features=other)


@pytest.mark.simulation
def test_the_bound_is_met_on_the_other_half_of_adult_up_to_sampling():
    adult = load_adult()
    X, X_test, y, _, A, A_test = train_test_split(
        adult.data, adult.target, adult.sensitive["sex"], train_size=0.5, random_state=0
    )
    trees = HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=15, random_state=0)
    clf = FairClassifier(trees, DemographicParity(eps=0.02), oracle=Plugin(cv=3))
    clf.fit(X, y, sensitive_features=A)
    selected = clf.predict_proba(X_test)[:, 1]
    women = A_test == "Female"
    # The rate of women less that of everybody is this multiple of the difference to men.
    others = 1 - women.mean()
    rates = np.array([selected[women].mean(), selected[~women].mean()])
    variance = (rates * (1 - rates) / [women.sum(), (~women).sum()]).sum() * others**2
    # Sampling errs on either half; three standard errors are about 0.01, and the gap without a
    # constraint is above 0.1.
    assert selection_gap(selected, A_test) == pytest.approx(0.02, abs=3 * np.sqrt(2 * variance))
    assert 3 * np.sqrt(2 * variance) < 0.015
