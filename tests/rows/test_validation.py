"""Containers of every kind give the same answer, and X reaches the learner untouched."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from people import People, SpyLearner, selection_gap, to_matrix
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, EqualizedOdds, FairClassifier, GridSearch, Probabilities
from equipoise.metrics import confidence_interval, demographic_parity_difference
from equipoise.rows.numbers import read_numbers
from equipoise.rows.people import read_utilities
from equipoise.rows.validation import read_columns, read_labels, read_weights, to_array

NAMES = ["age", "income", "debt"]


def pandas():
    return pytest.importorskip("pandas", reason="needs pandas")


def polars():
    return pytest.importorskip("polars", reason="needs Polars")


def arrow():
    return pytest.importorskip("pyarrow", reason="needs pyarrow")


TABLES = {
    "array": lambda X: X,
    "fortran array": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pandas().DataFrame(X, columns=NAMES),
    "pandas, odd index": lambda X: pandas().DataFrame(X, columns=NAMES, index=range(len(X), 0, -1)),
    "Polars": lambda X: polars().DataFrame(X, schema=NAMES),
    "Arrow": lambda X: arrow().table(dict(zip(NAMES, X.T, strict=True))),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
}

LABELS = {
    "0 and 1": ([0, 1], lambda y: y),
    "list": ([0, 1], lambda y: y.tolist()),
    "column": ([0, 1], lambda y: y[:, None]),
    "-1 and 1": ([-1, 1], lambda y: 2 * y - 1),
    "3 and 7": ([3, 7], lambda y: np.where(y, 7, 3)),
    "floats": ([0.0, 1.0], lambda y: y.astype(float)),
    "bool": ([False, True], lambda y: y == 1),
    "strings": (["no", "yes"], lambda y: np.array(["no", "yes"])[y]),
    "objects": (["no", "yes"], lambda y: np.array(["no", "yes"], dtype=object)[y]),
    "list of strings": (["no", "yes"], lambda y: ["yes" if v else "no" for v in y]),
    "pandas": (["no", "yes"], lambda y: pandas().Series(np.array(["no", "yes"])[y])),
    "pandas Int64": ([0, 1], lambda y: pandas().Series(y, dtype="Int64")),
    "pandas boolean": ([False, True], lambda y: pandas().Series(y == 1, dtype="boolean")),
    "pandas category": (
        ["no", "yes"],
        lambda y: pandas().Series(pandas().Categorical.from_codes(y, ["no", "yes"])),
    ),
    "Polars": (["no", "yes"], lambda y: polars().Series(np.array(["no", "yes"])[y])),
    "Polars bool": ([False, True], lambda y: polars().Series(y == 1)),
    "Polars Enum": (
        ["no", "yes"],
        lambda y: polars().Series(
            np.array(["no", "yes"])[y].tolist(), dtype=polars().Enum(["yes", "no"])
        ),
    ),
    "Arrow": (["no", "yes"], lambda y: arrow().array(np.array(["no", "yes"])[y].tolist())),
    "Arrow chunks": ([0, 1], lambda y: arrow().chunked_array([y[:7], y[7:]])),
}

SEXES = np.array(["female", "male"])
ONE_COLUMN = {
    "list": lambda A: A.tolist(),
    "integers": lambda A: A,
    "floats": lambda A: A / 2,
    "bool": lambda A: A == 1,
    "strings": lambda A: SEXES[A],
    "bytes": lambda A: SEXES[A].astype("S"),
    "objects": lambda A: SEXES[A].astype(object),
    "list of strings": lambda A: SEXES[A].tolist(),
    "mixed types": lambda A: np.array(["female", 1], dtype=object)[A],
    "dates": lambda A: np.array(["1990-01-01", "2000-01-01"], dtype="M8[D]")[A],
    "column": lambda A: A[:, None],
    "dict": lambda A: {"sex": SEXES[A]},
    "masked array": lambda A: np.ma.array(A, mask=False),
    "pandas series": lambda A: pandas().Series(SEXES[A], index=range(len(A), 0, -1)),
    "pandas frame": lambda A: pandas().DataFrame({"sex": SEXES[A]}),
    "pandas category": lambda A: pandas().Series(SEXES[A], dtype="category"),
    "pandas Categorical": lambda A: pandas().Categorical(SEXES[A]),
    "pandas Int64": lambda A: pandas().Series(A, dtype="Int64"),
    "pandas column called 0": lambda A: pandas().DataFrame({0: A}),
    "Polars series": lambda A: polars().Series("sex", SEXES[A]),
    "Polars frame": lambda A: polars().DataFrame({"sex": SEXES[A]}),
    "Polars Categorical": lambda A: polars().Series(
        "sex", SEXES[A].tolist(), dtype=polars().Categorical
    ),
    "Polars Enum": lambda A: polars().Series(
        SEXES[A].tolist(), dtype=polars().Enum(["male", "female"])
    ),
    "Arrow array": lambda A: arrow().array(SEXES[A].tolist()),
    "Arrow chunks": lambda A: arrow().chunked_array([SEXES[A[:9]].tolist(), SEXES[A[9:]].tolist()]),
    "Arrow dictionary": lambda A: arrow().array(SEXES[A].tolist()).dictionary_encode(),
    "Arrow table": lambda A: arrow().table({"sex": SEXES[A].tolist()}),
}

TWO_COLUMNS = {
    "array": lambda A, old: np.column_stack([A, old]),
    "rows": lambda A, old: [(SEXES[a], bool(o)) for a, o in zip(A, old, strict=True)],
    "objects": lambda A, old: np.column_stack([SEXES[A].astype(object), old]),
    "dict": lambda A, old: {"sex": A.tolist(), "old": old},
    "pandas": lambda A, old: pandas().DataFrame({"sex": SEXES[A], "old": old == 1}),
    "pandas, numbered": lambda A, old: pandas().DataFrame(np.column_stack([A, old])),
    "Polars": lambda A, old: polars().DataFrame({"sex": SEXES[A], "old": old}),
    "Arrow": lambda A, old: arrow().table({"sex": SEXES[A].tolist(), "old": old}),
}


def fitted(people: People, learner=None, **changed) -> FairClassifier:
    data = {"X": people.X, "y": people.y, "sensitive_features": people.A} | changed
    learner = learner or LogisticRegression()
    return FairClassifier(learner, DemographicParity(eps=0.02), random_state=0, nu=1e-6).fit(**data)


@pytest.fixture(scope="module")
def reference(people):
    """Return the answer for plain arrays."""
    return fitted(people)


@pytest.fixture(scope="module")
def spied(people):
    """Return the answer for plain arrays with the spy, which gives no scores."""
    return fitted(people, SpyLearner.fresh()())


# X


@pytest.mark.parametrize("kind", TABLES)
def test_table_reaches_the_learner_untouched(kind, people, spy, spied):
    X = TABLES[kind](people.X)
    fair = fitted(people, spy(), X=X)
    assert len(spy.seen) == fair.n_calls_ > 1
    for given in (*(given for given, _, _ in spy.seen), *spy.predicted):
        assert type(given) is type(X)
        assert np.shape(to_matrix(given)) == people.X.shape  # the sums into cells need all rows
        np.testing.assert_array_equal(to_matrix(given), to_matrix(X))
    assert fair.certificate_.error == spied.certificate_.error
    np.testing.assert_array_equal(fair.predict_proba(X), spied.predict_proba(people.X))
    assert selection_gap(fair.predict_proba(X)[:, 1], people.A) <= 0.02 + 1e-8


@pytest.mark.parametrize("kind", TABLES)
def test_decisions_do_not_depend_on_the_kind_of_table(kind, people, spy, spied):
    X = TABLES[kind](people.X)
    fair = fitted(people, spy(), X=X)
    assert len(fair.classifier_.members) > 1
    spy.predicted.clear()
    np.testing.assert_array_equal(fair.predict(X), spied.predict(people.X))
    expected = np.ndarray if kind == "list" else type(X)
    assert {type(given) for given in spy.predicted} == {expected}


@pytest.mark.parametrize("kind", ["pandas", "Polars"])
def test_feature_names(kind, people):
    X = TABLES[kind](people.X)
    fair = fitted(people, X=X)
    assert fair.feature_names_in_.tolist() == NAMES
    assert fair.n_features_in_ == 3
    with pytest.raises(ValueError, match=r"[Ff]eature names"):
        fair.predict(X[NAMES[::-1]])


def test_text_needs_no_second_dimension(people):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    X = [
        " ".join(["good"] * int(row[0] > 1) + ["person"] + ["x"] * int(row[1] > 0))
        for row in people.X
    ]
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    fair = fitted(people, learner, X=X)
    assert selection_gap(fair.predict_proba(X)[:, 1], people.A) <= 0.02 + 1e-8
    assert set(fair.predict(X)) <= {0, 1}


# y


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_of_every_kind(kind, people, reference):
    classes, convert = LABELS[kind]
    y = convert(people.y)
    fair = fitted(people, y=y)
    assert fair.classes_.tolist() == classes
    expected = np.array(classes, dtype=object)[reference.predict(people.X)]
    decisions = fair.predict(people.X)
    assert decisions.tolist() == expected.tolist()
    assert type(decisions.tolist()[0]) is type(classes[0])
    np.testing.assert_array_equal(fair.predict_proba(people.X), reference.predict_proba(people.X))
    pmf = fair.predict_proba(people.X)
    assert fair.score(people.X, np.ravel(np.asarray(y))) == pytest.approx(
        np.mean(pmf[np.arange(len(pmf)), people.y])
    )


def test_grid_search_gives_labels_back(people):
    grid = GridSearch(LogisticRegression(), DemographicParity(eps=0.1), grid_size=5)
    words = np.array(["no", "yes"])[people.y]
    grid.fit(people.X, words, sensitive_features=people.A)
    assert grid.classes_.tolist() == ["no", "yes"]
    assert set(grid.predict(people.X)) == {"no", "yes"}
    expected = np.array(["no", "yes"])[grid.best_estimator_.predict(people.X)]
    assert (grid.predict(people.X) == expected).all()


# A


@pytest.mark.parametrize("kind", ONE_COLUMN)
def test_one_sensitive_column(kind, people, reference):
    fair = fitted(people, sensitive_features=ONE_COLUMN[kind](people.A))
    expected = reference.predict_proba(people.X)
    # The order of the groups, and with it the last digit, may be another one.
    np.testing.assert_allclose(fair.predict_proba(people.X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", TWO_COLUMNS)
def test_two_sensitive_columns_are_intersected(kind, people):
    old = (people.X[:, 2] > 0.3).astype(int)
    fair = fitted(people, sensitive_features=TWO_COLUMNS[kind](people.A, old))
    expected = fitted(people, sensitive_features=2 * people.A + old)
    np.testing.assert_allclose(
        fair.predict_proba(people.X), expected.predict_proba(people.X), atol=1e-9
    )
    assert selection_gap(fair.predict_proba(people.X)[:, 1], 2 * people.A + old) <= 0.02 + 1e-8


def test_columns_keep_their_names(people):
    frame = pandas().DataFrame({"sex": people.A, 7: people.A})
    assert list(read_columns(frame, len(people.A), "sensitive_features", "group")) == ["sex", "7"]
    series = polars().Series("sex", people.A)
    assert list(read_columns(series, len(people.A), "sensitive_features", "group")) == ["sex"]


@pytest.mark.parametrize("kind", ["array", "dict", "pandas", "Polars", "Arrow"])
def test_control_features(kind, people):
    region = (people.X[:, 2] > 0).astype(int)
    frames = {"array": ONE_COLUMN["integers"], "dict": lambda A: {"region": A}}
    frames |= {name: ONE_COLUMN[f"{name} frame"] for name in ("pandas", "Polars")}
    frames["Arrow"] = ONE_COLUMN["Arrow table"]
    fair = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
    fair.fit(people.X, people.y, sensitive_features=people.A, control_features=frames[kind](region))
    selected = fair.predict_proba(people.X)[:, 1]
    for r in (0, 1):
        assert selection_gap(selected[region == r], people.A[region == r]) <= 0.02 + 1e-8


# sample_weight


WEIGHTS = {
    "array": lambda w: w,
    "integers": lambda w: w.astype(int),
    "list": lambda w: w.tolist(),
    "column": lambda w: w[:, None],
    "pandas": lambda w: pandas().Series(w),
    "Polars": lambda w: polars().Series(w),
    "Arrow": lambda w: arrow().array(w),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_every_kind(kind, people):
    weight = np.random.default_rng(1).integers(1, 4, len(people.y)).astype(float)
    fair = fitted(people, sample_weight=WEIGHTS[kind](weight))
    expected = fitted(people, sample_weight=weight)
    np.testing.assert_array_equal(fair.predict_proba(people.X), expected.predict_proba(people.X))


@pytest.mark.parametrize("scale", [-1074, -1040, -600, 600, 1020])
def test_weights_whose_squares_are_no_numbers_are_refused(scale, people):
    """From denormal numbers to sums that are beyond all numbers."""
    weight = np.random.default_rng(1).integers(1, 4, len(people.y)).astype(float)
    with pytest.raises(ValueError, match=r"sample_weight has the value .*numbers from 1e-90 to 1e"):
        fitted(people, sample_weight=np.ldexp(weight, scale))


@pytest.mark.parametrize("scale", [-200, 200])
def test_weights_of_great_and_small_size_are_measured_alike(scale):
    rng = np.random.default_rng(1)
    y, h, A = rng.integers(0, 2, (3, 200))
    weight = rng.integers(1, 4, 200).astype(float)
    found = [
        confidence_interval(
            demographic_parity_difference, y, h, sensitive_features=A, sample_weight=w
        )
        for w in (weight, np.ldexp(weight, scale))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("small", [1e-15, 1e-40, 1e-80])
def test_weights_that_sums_would_lose_are_refused(small, people):
    weight = np.ones(len(people.y))
    weight[:3] = small
    with pytest.raises(ValueError, match=r"3 weights above zero that are less than 1e-14.*to zero"):
        fitted(people, sample_weight=weight)
    weight[:3] = 0.0
    fitted(people, sample_weight=weight)


@pytest.mark.parametrize(
    "weight", [np.ones(3) + 2j, np.array(["2020-01-01"] * 3, "M8[D]"), np.array(["1", "2", "3"])]
)
def test_weights_that_are_no_numbers(weight):
    with pytest.raises(ValueError, match="sample_weight holds values such as"):
        read_weights(weight, 3)


@pytest.mark.parametrize("weight", [1, 2.5, np.float64(3), np.full(400, 7)])
def test_equal_weights_are_no_weights(weight, people, reference):
    fair = fitted(people, sample_weight=weight)
    np.testing.assert_array_equal(fair.predict_proba(people.X), reference.predict_proba(people.X))
    assert read_weights(weight, 400) is None


# What is missing stays missing


def test_lists_do_not_hide_what_is_missing():
    assert to_array(["a", np.nan], "y").tolist()[1] is np.nan
    assert to_array(np.ma.array([1, 2], mask=[False, True]), "y").tolist() == [1, None]
    with pytest.raises(ValueError, match="row 1"):
        read_labels(["a", float("nan"), "b"], 3)


def test_equalized_odds_over_frames(people):
    """The same through the constraint that also looks at the label."""
    results = []
    for kind in ("integers", "pandas frame", "Polars frame", "Arrow table"):
        fair = FairClassifier(LogisticRegression(), EqualizedOdds(eps=0.03))
        fair.fit(people.X, people.y, sensitive_features=ONE_COLUMN[kind](people.A))
        results.append(fair.predict_proba(people.X)[:, 1])
    for selected in results:
        np.testing.assert_array_equal(selected, results[0])
        for label in (0, 1):
            given = people.y == label
            assert selection_gap(selected[given], people.A[given]) <= 0.03 + 1e-8


@pytest.mark.parametrize(
    "weights",
    [
        np.array([1 + 2j, 1.0]),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
        np.array([1, 2], dtype="m8[D]"),
        np.array(["1", "2"]),
    ],
    ids=["complex", "dates", "durations", "texts"],
)
@pytest.mark.parametrize("objects", [False, True])
def test_what_is_no_number_is_refused(weights, objects):
    """NumPy makes floats of them all, some of them from object arrays alone."""
    if objects:
        weights, values = np.empty(2, dtype=object), list(weights)
        weights[:] = values
    with pytest.raises(ValueError, match=r"sample_weight holds values such as .* expected numbers"):
        read_weights(weights, 2)
    with pytest.raises(ValueError, match=r"y holds values such as|Complex data not supported"):
        read_numbers(weights, 2)
    with pytest.raises(ValueError, match=r"utility 'cost_0' holds values such as .* in \[0, 1\]"):
        read_utilities({"cost_0": weights, "cost_1": weights}, 2)
    with pytest.raises(ValueError, match=r"Probabilities holds values such as"):
        Probabilities(np.column_stack([weights, weights]))


@pytest.mark.parametrize("kind", [dict, lambda columns: pandas().DataFrame(columns)])
def test_names_that_are_the_same_as_text_are_refused(kind):
    columns = kind({1: [0, 1], "1": ["a", "b"]})
    with pytest.raises(ValueError, match=r"the same as text: 1, '1'\. Rename one"):
        read_columns(columns, 2, "sensitive_features", "group")


def test_labels_that_are_the_same_as_text_are_refused():
    labels = np.array([1, "1", 2], dtype=object)
    with pytest.raises(ValueError, match=r"classes that are the same as text.*labels of one type"):
        read_labels(labels, 3)
