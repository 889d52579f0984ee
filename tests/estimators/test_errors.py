"""Every error says what came and what to do, and comes before the learner has done any work."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from people import make_people
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import (
    Costs,
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    FairClassifier,
    Frontier,
    GridSearch,
)
from equipoise.exceptions import EmptyCellWarning

REDUCTIONS = [FairClassifier, ExponentiatedGradient, GridSearch]
X, Y, A = make_people(60)
N = len(Y)


def with_entry(values, entry):
    """Return the values as objects, the eighth replaced."""
    changed = np.array(values, dtype=object)
    changed[7] = entry
    return changed


def fit(reduction, estimator, constraint=DemographicParity(), data=None, **parameters):  # noqa: B008
    data = {"X": X, "y": Y, "sensitive_features": A} | (data or {})
    return reduction(estimator, constraint, **parameters).fit(**data)


BAD_DATA = {
    "no sensitive features": (
        {"sensitive_features": None},
        [
            "sensitive_features is missing",
            "sensitive_features=A",
            "enable_metadata_routing=True",
            "set_fit_request(sensitive_features=True)",
        ],
    ),
    "short sensitive features": (
        {"sensitive_features": A[:-1]},
        ["60 rows", "sensitive_features has 59", "same order"],
    ),
    "short y": ({"y": Y[:-2]}, ["60 rows", "y has 58"]),
    "short weights": ({"sample_weight": np.ones(3)}, ["60 rows", "sample_weight has 3"]),
    "short control features": ({"control_features": A[:5]}, ["60 rows", "control_features has 5"]),
    "equal weights out of range": (
        {"sample_weight": np.full(N, 1e308)},
        ["sample_weight has the value 1e+308", "Scale all weights"],
    ),
    "masked entries": (
        {"X": np.ma.masked_greater(X, 1.0)},
        ["X is a masked array", "below the mask", "X.filled(np.nan)"],
    ),
    "a column name": ({"sensitive_features": "sex"}, ["type str", "one value for each row"]),
    "a list of column names": ({"sensitive_features": ["sex"]}, ["sensitive_features has 1"]),
    "NaN in A": (
        {"sensitive_features": np.where(np.arange(N) == 7, np.nan, A)},
        ["sensitive_features", "1 of 60", "row 7", "missing='ignore'", "Probabilities"],
    ),
    "None in A": ({"sensitive_features": with_entry(A, None)}, ["1 of 60", "row 7"]),
    "NaN among strings in A": (
        {"sensitive_features": ["f", "m", float("nan")] * 20},
        ["20 of 60", "row 2"],
    ),
    "NaN in one of two columns": (
        {"sensitive_features": {"sex": A, "race": with_entry(A, None)}},
        ["'race'", "row 7"],
    ),
    "NaT in A": (
        {"sensitive_features": np.array(["2020-01-01", "NaT"] * 30, dtype="M8[D]")},
        ["30 of 60", "row 1"],
    ),
    "masked A": (
        {"sensitive_features": np.ma.array(A, mask=np.arange(N) == 7)},
        ["1 of 60", "row 7"],
    ),
    "None in control": ({"control_features": with_entry(A, None)}, ["control_features", "row 7"]),
    "no column in A": ({"sensitive_features": np.zeros((N, 0))}, ["no column"]),
    "three-dimensional A": ({"sensitive_features": np.zeros((N, 2, 2))}, ["3 dimensions"]),
    "lists in A": (
        {"sensitive_features": with_entry(A, [1, 2])},
        ["sensitive_features", "strings, numbers or dates"],
    ),
    "NaN in y": ({"y": np.where(np.arange(N) == 7, np.nan, Y)}, ["y contains NaN", "row 7"]),
    "None in y": ({"y": with_entry(Y, None)}, ["y contains NaN, None", "row 7"]),
    "no y": ({"y": None}, ["y is None"]),
    "one class": ({"y": np.ones(N, dtype=int)}, ["only one class, 1", "expected two"]),
    "one class, a string": ({"y": ["yes"] * N}, ["only one class, 'yes'"]),
    "too many classes": (
        {"y": np.arange(N)},
        ["60 classes (0, 1, 2, 3, ...)", "at most 50"],
    ),
    "real numbers": ({"y": np.linspace(0, 1, N)}, ["continuous", "FairRegressor"]),
    "negative weight": (
        {"sample_weight": np.where(np.arange(N) == 7, -2.0, 1.0)},
        ["negative", "-2.0", "numbers >= 0"],
    ),
    "NaN weight": (
        {"sample_weight": np.where(np.arange(N) == 7, np.nan, 1.0)},
        ["sample_weight contains NaN", "row 7", "finite numbers >= 0"],
    ),
    "infinite weight": (
        {"sample_weight": np.where(np.arange(N) == 7, np.inf, 1.0)},
        ["sample_weight contains NaN, None or infinity", "row 7"],
    ),
    "all weights zero": ({"sample_weight": np.zeros(N)}, ["zero everywhere"]),
    "weights in words": ({"sample_weight": ["heavy"] * N}, ["'heavy'", "expected numbers"]),
    "weights of two dimensions": ({"sample_weight": np.ones((N, 2))}, ["(60, 2)", "one number"]),
    "no weight on one class": (
        {"sample_weight": Y.astype(float)},
        ["zero wherever y is 0", "both classes"],
    ),
    "no rows": ({"X": X[:0], "y": Y[:0], "sensitive_features": A[:0]}, ["0 sample(s)"]),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case, reduction, spy):
    data, expected = BAD_DATA[case]
    with pytest.raises(ValueError) as error:  # noqa: PT011 (all parts are looked for below)
        fit(reduction, spy(), data=data)
    for part in expected:
        assert part in str(error.value)
    assert spy.seen == []


@pytest.mark.parametrize("kind", ["Int64", "boolean", "string", "category"])
def test_missing_values_of_pandas(kind, spy):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    values = {"Int64": A, "boolean": A == 1}.get(kind, np.array(["f", "m"])[A])
    column = pandas.Series(with_entry(values, None), dtype=kind)
    for data in ({"sensitive_features": column}, {"y": column}):
        with pytest.raises(ValueError, match=r"1 of 60 entries, the first in row 7"):
            fit(FairClassifier, spy(), data=data)
    assert spy.seen == []


@pytest.mark.parametrize("name", ["sensitive_features", "y"])
def test_missing_values_of_polars_and_arrow(name, spy):
    polars = pytest.importorskip("polars", reason="needs Polars")
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    values = with_entry(np.array(["f", "m"])[A], None).tolist()
    for column in (polars.Series(values), arrow.array(values), arrow.chunked_array([values])):
        with pytest.raises(ValueError, match=r"1 of 60 entries, the first in row 7"):
            fit(FairClassifier, spy(), data={name: column})
    assert spy.seen == []


# Parameters

BAD_EPS = [-0.01, np.nan, np.inf, "small", None]
BAD_POSITIVE = [0, -1, np.nan, "big", True]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("constraint", [DemographicParity, EqualizedOdds])
@pytest.mark.parametrize("eps", BAD_EPS)
def test_bad_eps(eps, constraint, reduction, spy):
    with pytest.raises(ValueError, match=r"eps.* is .*; expected a finite number >= 0") as error:
        fit(reduction, spy(), constraint(eps=eps))
    assert repr(eps) in str(error.value)
    assert constraint.__name__ in str(error.value)
    assert spy.seen == []


BAD_PARAMETERS = (
    [(r, "nu", v) for r in REDUCTIONS for v in [*BAD_POSITIVE, np.inf]]
    + [(r, "B", v) for r in REDUCTIONS[:2] for v in BAD_POSITIVE]
    + [(ExponentiatedGradient, "B", np.inf)]
    + [(ExponentiatedGradient, "eta", v) for v in [*BAD_POSITIVE, np.inf]]
    + [(r, "max_iter", v) for r in REDUCTIONS[:2] for v in [0, -1, 2.5, "many", None]]
    + [(r, "random_state", v) for r in REDUCTIONS[:2] for v in [-1, 0.5, "x"]]
    + [(r, "sampling_slack", v) for r in REDUCTIONS for v in [-1, np.nan]]
    + [(r, "constraint_weights", v) for r in REDUCTIONS for v in ["none", None]]
    + [(FairClassifier, name, "best") for name in ("relax", "oracle")]
    + [(GridSearch, "tradeoff", v) for v in [-0.1, 1.1, np.nan, "half"]]
    + [(GridSearch, "grid_size", v) for v in [0, 2.5]]
    + [(GridSearch, "grid_limit", v) for v in [0, np.inf]]
)


@pytest.mark.parametrize(("reduction", "name", "value"), BAD_PARAMETERS)
def test_bad_parameter(reduction, name, value, spy):
    with pytest.raises(ValueError, match=rf"{name} is .*expected") as error:
        fit(reduction, spy(), **{name: value})
    assert repr(value) in str(error.value)
    assert spy.seen == []


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("everything", "'everything'; expected multipliers of shape"),
        ([[0.0, 1.0]], r"\(1, 2\); expected \(m, 4\)"),
        (np.zeros((1, 2, 4)), r"\(1, 2, 4\); expected"),
        (np.full((2, 4), np.nan), "negative or NaN"),
        (np.full((2, 4), -1.0), "negative or NaN"),
    ],
)
def test_bad_grid(grid, message, spy):
    with pytest.raises(ValueError, match=message):
        fit(GridSearch, spy(), grid=grid)
    assert spy.seen == []


def test_grid_in_too_many_dimensions(spy):
    with pytest.raises(ValueError, match="FairClassifier"):
        fit(GridSearch, spy(), data={"sensitive_features": np.arange(N) % 20})
    assert spy.seen == []


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_constraint_that_is_none(reduction, spy):
    for wrong in ("demographic_parity", DemographicParity, 0.02):
        with pytest.raises(TypeError, match="expected a Constraint") as error:
            reduction(spy(), wrong).fit(X, Y, sensitive_features=A)
        assert repr(wrong) in str(error.value)
    assert spy.seen == []


def test_objective_that_is_none(spy):
    with pytest.raises(TypeError, match=r"'accuracy'; expected None"):
        fit(FairClassifier, spy(), objective="accuracy")
    with pytest.raises(ValueError, match="expected finite losses >= 0"):
        fit(FairClassifier, spy(), objective=lambda a, y, h: -3.0 * (h != y))
    with pytest.raises(ValueError, match="expected a finite number >= 0"):
        Costs(false_positive=-1)
    assert spy.seen == []


@pytest.mark.parametrize("reduction", [FairClassifier, GridSearch])
def test_callback_that_cannot_be_called(spy, reduction):
    with pytest.raises(TypeError, match=r"callback is 3; expected a function"):
        fit(reduction, spy(), callback=3)
    assert spy.seen == []


def test_reference_group_that_nobody_is_in(spy):
    with pytest.raises(ValueError, match="'x'") as error:
        fit(FairClassifier, spy(), DemographicParity(reference="x"))
    assert "0" in str(error.value)
    assert "1" in str(error.value)
    assert spy.seen == []


# Learners


class CountingNeighbors(KNeighborsClassifier):
    fits = 0

    def fit(self, X, y):
        CountingNeighbors.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "wrap", [lambda learner: learner, lambda learner: make_pipeline(StandardScaler(), learner)]
)
def test_learner_without_weights(reduction, wrap):
    with pytest.raises(TypeError, match=r"takes no sample_weight") as error:
        fit(reduction, wrap(CountingNeighbors()))
    assert "ResampledClassifier(CountingNeighbors(...))" in str(error.value)
    assert CountingNeighbors.fits == 0


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("wrong", [None, 3, LogisticRegression, StandardScaler()])
def test_learner_that_is_none(reduction, wrong):
    with pytest.raises(TypeError, match="expected a classifier object"):
        fit(reduction, wrong)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: make_pipeline(StandardScaler(), e)])
def test_regressor(reduction, wrap, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise AssertionError("fitted")

    monkeypatch.setattr(LinearRegression, "fit", refuse)
    with pytest.raises(TypeError, match=r"a regressor.*expected a classifier"):
        fit(reduction, wrap(LinearRegression()))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_predictions_that_are_not_the_labels(reduction, spy):
    """Cannot be seen before the first fit, but is right after it."""

    class Scores(spy):
        def predict(self, X):
            return self.model_.predict_proba(X)[:, 1]

    with pytest.raises(ValueError, match=r"Scores\.predict returned.*expected one 0 or 1 per row"):
        fit(reduction, Scores())
    assert len(spy.seen) == 1 or reduction is GridSearch


def test_predictions_of_the_wrong_shape(spy):
    class TwoColumns(spy):
        def predict(self, X):
            return self.model_.predict_proba(X).round()

    with pytest.raises(ValueError, match=r"TwoColumns.*\(60, 2\)"):
        fit(FairClassifier, TwoColumns())


# Cells with nobody in them: a warning with the name of the cell, and of what happens


def empty_cell_messages(*args, **kwargs) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*args, **kwargs)
    return [str(w.message) for w in caught if issubclass(w.category, EmptyCellWarning)]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_empty_group_and_label(reduction):
    groups = np.where(Y == 1, np.array(["f", "m"])[A], np.where(A == 1, "m", "x"))
    messages = empty_cell_messages(
        reduction,
        LogisticRegression(),
        EqualizedOdds(eps=0.2),
        {"sensitive_features": groups},
        **({"grid_size": 3} if reduction is GridSearch else {}),
    )
    assert len(messages) == 2
    assert any("belongs to x given label 1" in m for m in messages)
    assert any("belongs to f given label 0" in m for m in messages)
    assert all("unconstrained" in m for m in messages)


def test_empty_cell_does_not_spoil_the_others():
    groups = np.where((A == 0) & (Y == 1), 0, np.where((A == 0) & (X[:, 1] < 0), 2, A))
    with pytest.warns(EmptyCellWarning, match="2.*label 1"):
        fair = fit(
            FairClassifier,
            LogisticRegression(),
            EqualizedOdds(eps=0.1),
            {"sensitive_features": groups},
        )
    selected = fair.predict_proba(X)[:, 1]
    for label, present in ((0, (0, 1, 2)), (1, (0, 1))):
        overall = selected[label == Y].mean()
        for group in present:
            rate = selected[(label == Y) & (groups == group)].mean()
            assert abs(rate - overall) <= 0.1 + 1e-7


def test_group_without_weight():
    groups = np.where(np.arange(N) % 5 == 0, 2, A)
    messages = empty_cell_messages(
        FairClassifier,
        LogisticRegression(),
        DemographicParity(eps=0.1),
        {"sensitive_features": groups, "sample_weight": (groups < 2).astype(float)},
    )
    assert len(messages) == 1
    assert "2" in messages[0]
    assert "unconstrained" in messages[0]


def test_group_declared_but_without_a_row():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    polars = pytest.importorskip("polars", reason="needs Polars")
    words, kinds = np.array(["f", "m"])[A].tolist(), ["f", "m", "other"]
    columns = [
        pandas.Series(pandas.Categorical(words, categories=kinds)),
        polars.Series(words, dtype=polars.Enum(kinds)),
    ]
    for column in columns:
        messages = empty_cell_messages(
            FairClassifier,
            LogisticRegression(),
            DemographicParity(eps=0.1),
            {"sensitive_features": column},
        )
        assert len(messages) == 1
        assert "'other'" in messages[0]
        assert "unconstrained" in messages[0]


def test_warning_becomes_an_error_before_any_fit(spy):
    groups = np.where(Y == 1, A, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmptyCellWarning)
        with pytest.raises(EmptyCellWarning):
            fit(FairClassifier, spy(), EqualizedOdds(), {"sensitive_features": groups})
    assert spy.seen == []


def test_every_cell_occupied_is_silent():
    assert empty_cell_messages(FairClassifier, LogisticRegression(), EqualizedOdds(eps=0.1)) == []


def test_a_mask_is_not_ignored_where_decisions_are_made():
    model = fit(FairClassifier, LogisticRegression())
    assert (model.predict(np.ma.masked_array(X)) == model.predict(X)).all()  # nothing is masked
    masked = np.ma.masked_greater(X, 1.0)
    for decide in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="X is a masked array"):
            decide(masked)


def test_tables_without_rows_or_columns_are_refused_by_name():
    records = np.array([tuple(row) for row in X[:, :2]], dtype=[("a", float), ("b", float)])
    with pytest.raises(TypeError, match="array of records with the fields a, b"):
        fit(FairClassifier, LogisticRegression(), data={"X": records})
    lazy = pytest.importorskip("polars").LazyFrame({"a": X[:, 0]})
    with pytest.raises(TypeError, match=r"pass X.collect\(\)"):
        fit(FairClassifier, LogisticRegression(), data={"X": lazy})


def test_groups_may_be_a_dictionary_of_arrow_in_pandas():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    kind = pandas.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.string()))
    groups = pandas.Series(np.array(["f", "m"])[A].tolist(), dtype=kind)
    model = fit(FairClassifier, LogisticRegression(), data={"sensitive_features": groups})
    plain = fit(FairClassifier, LogisticRegression())
    assert (model.predict_proba(X) == plain.predict_proba(X)).all()


def test_more_bounds_than_can_be_meant_are_refused_before_work():
    frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=np.linspace(0, 1, 10_001))
    with pytest.raises(ValueError, match=r"10,001 numbers; expected at most 10,000"):
        frontier.fit(X, Y, sensitive_features=A)
