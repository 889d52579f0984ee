"""What the loaders return, against the reference copies read with pandas alone.

The reference copies are not part of the project: without them these tests are skipped.
"""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise.datasets import (
    load_acs_income,
    load_compas,
    load_credit_default,
    load_diabetes130,
    load_dutch_census,
    load_german_credit,
    load_law_school,
)
from equipoise.datasets.loaders import SOURCES

pd = pytest.importorskip("pandas", reason="the reference copies are read with pandas")
pytest.importorskip("pyarrow", reason="the reference copies are Parquet files")

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("EQUIPOISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
if not (SHARED / "compas.parquet").exists():
    pytest.skip(
        f"no reference copies in {SHARED}; set EQUIPOISE_SHARED_DATA to their folder",
        allow_module_level=True,
    )

CALIFORNIA = {"states": ["CA"]}
#: loader, its arguments, file, rows, positive rows, sensitive features and their columns
CASES = {
    "compas": (load_compas, {}, "compas", 7_918, 2_819, {"race": "race", "sex": "sex"}),
    "compas all": (load_compas, {"subset": "all"}, "compas", 11_038, 3_703, {"race": "race"}),
    "compas two years": (
        load_compas,
        {"subset": "two_years"},
        "compas_two_years",
        5_278,
        2_483,
        {"race": "race", "sex": "sex", "age_cat": "age_cat"},
    ),
    "law school": (
        load_law_school,
        {},
        "law_school",
        20_649,
        19_702,
        {"race": "race1", "gender": "gender"},
    ),
    "law school all": (
        load_law_school,
        {"subset": "all"},
        "law_school",
        23_103,
        21_901,
        {"race": "race1"},
    ),
    "dutch": (load_dutch_census, {}, "dutch_census", 60_420, 28_763, {"gender": "gender"}),
    "german": (load_german_credit, {}, "german_credit", 1_000, 700, {"sex": "sex"}),
    "credit": (load_credit_default, {}, "credit_default", 30_000, 6_636, {"gender": "gender"}),
    "diabetes": (
        load_diabetes130,
        {},
        "diabetes130",
        101_766,
        11_357,
        {"race": "race", "gender": "gender", "age": "age"},
    ),
    "acs": (load_acs_income, CALIFORNIA, "acs_income_2018", 78_266, 32_121, {}),
}
#: Columns that describe the outcome, come after it, or only number the rows.
NOT_FEATURES = {
    "compas": "id is_recid is_violent_recid two_year_recid r_charge_degree r_days_from_arrest "
    "r_offense_date r_jail_in r_jail_out r_charge_desc vr_charge_degree vr_offense_date "
    "vr_charge_desc start end event label paper_subset bw_filtered",
    "law_school": "id bar bar1 bar2 bar1_yr bar2_yr pass_bar grad dropout zgpa decile3 label "
    "paper_subset",
    "dutch_census": "occupation label",
    "german_credit": "class label",
    "credit_default": "id label",
    "diabetes130": "encounter_id patient_nbr readmitted label examide citoglipton",
    "acs_income_2018": "row split label",
}


@pytest.fixture(scope="module")
def reference():
    """Read a reference copy once."""
    frames = {}

    def read(name: str):
        if name not in frames:
            frames[name] = pd.read_parquet(SHARED / f"{name}.parquet")
        return frames[name]

    return read


@pytest.fixture(scope="module")
def loaded():
    """Load each case once, as arrays and as frames."""
    cases = {}

    def load(case: str):
        if case not in cases:
            function, arguments = CASES[case][:2]
            cases[case] = (
                function(data_home=SHARED, **arguments),
                function(data_home=SHARED, as_frame=True, **arguments),
            )
        return cases[case]

    return load


def rows_of(case: str, frame):
    """Select the rows of a case, by the columns that mark them."""
    if case in ("compas", "law school"):
        return frame[frame.paper_subset]
    if case in ("compas all", "law school all"):
        return frame[frame.label.notna()]
    if case == "compas two years":
        return frame[frame.bw_filtered]
    return frame[frame.ST == "CA"] if case == "acs" else frame


@pytest.mark.parametrize("case", CASES)
def test_rows_and_base_rates(case, loaded, reference):
    _, _, file, n_rows, n_positive, sensitive = CASES[case]
    bunch, _ = loaded(case)
    expected = rows_of(case, reference(file))
    assert len(bunch.data) == len(bunch.target) == len(expected) == n_rows
    assert bunch.target.sum() == n_positive
    np.testing.assert_array_equal(bunch.target, expected.label.to_numpy(dtype=int))
    for name, column in sensitive.items():
        known = expected[column].notna().to_numpy()
        values = expected[column].astype(object)[known]
        np.testing.assert_array_equal(bunch.sensitive[name][known], values)
        assert set(bunch.sensitive[name][~known]) <= {"Unknown", "unknown"}


@pytest.mark.parametrize("case", CASES)
def test_frame_has_every_value_of_the_reference(case, loaded, reference):
    expected = rows_of(case, reference(CASES[case][2]))
    _, framed = loaded(case)
    assert set(framed.frame) == set(expected)
    assert list(framed.data) == framed.feature_names
    for name in expected:
        found, value = framed.frame[name], expected[name]
        np.testing.assert_array_equal(found.isna(), value.isna(), err_msg=name)
        known = value.notna().to_numpy()
        if isinstance(value.dtype, pd.CategoricalDtype):
            assert isinstance(found.dtype, pd.CategoricalDtype)
            assert set(found.cat.categories) == set(value.dropna())
            found, value = found.astype(object), value.astype(object)
        elif found.dtype.kind == "M":
            value = pd.to_datetime(value)
        np.testing.assert_array_equal(found[known], value[known], err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_arrays_say_the_same_as_frames(case, loaded):
    bunch, framed = loaded(case)
    assert bunch.data.dtype == np.float64
    assert bunch.data.flags.c_contiguous
    assert np.isfinite(bunch.data).all()
    assert bunch.data.std(axis=0).all()  # no constant column
    assert bunch.frame is None
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == bunch.data.shape[1]
    column = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
    coarse = {"acs": {"OCCP", "POBP"}, "diabetes": {"diag_1", "diag_2", "diag_3"}}.get(case, set())
    for name, values in framed.data.items():
        missing = values.isna().to_numpy()
        if not isinstance(values.dtype, pd.CategoricalDtype):
            np.testing.assert_array_equal(column[name][~missing], values[~missing])
            if missing.any():
                np.testing.assert_array_equal(column[f"{name}=missing"], missing)
                assert set(column[name][missing]) == {values.median()}
            continue
        block = {key: one for key, one in column.items() if key.startswith(f"{name}=")}
        np.testing.assert_array_equal(sum(block.values()), ~missing)
        if name in coarse:
            assert 2 <= len(block) <= 26
        elif (case, name) != ("diabetes", "medical_specialty"):
            for value in values.cat.categories:
                np.testing.assert_array_equal(block[f"{name}={value}"], values == value)


@pytest.mark.parametrize("case", CASES)
def test_sensitive_features_are_among_the_features(case, loaded):
    bunch, framed = loaded(case)
    within = {"compas": "race", "law": "race1", "dutch": "gender", "credit": "gender"}
    name = within.get(case.split()[0])
    if name is not None:
        groups = bunch.sensitive["race" if "race" in bunch.sensitive else "gender"]
        for value in set(groups) - {"unknown"}:
            at = bunch.feature_names.index(f"{name}={value}")
            np.testing.assert_array_equal(groups == value, bunch.data[:, at])
    assert list(framed.sensitive) == list(bunch.sensitive)
    for key, values in bunch.sensitive.items():
        np.testing.assert_array_equal(framed.sensitive[key].astype(str), values)
        assert not framed.sensitive[key].isna().any()
        assert set(framed.sensitive[key].cat.categories) == set(values)


@pytest.mark.parametrize("case", CASES)
def test_nothing_leaks(case, loaded):
    bunch, framed = loaded(case)
    file = CASES[case][2].replace("_two_years", "")
    assert not set(NOT_FEATURES[file].split()) & set(framed.data)
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:4000]
    y = bunch.target[rows]
    for name, values in zip(bunch.feature_names, bunch.data[rows].T, strict=True):
        area = roc_auc_score(y, values)
        assert max(area, 1 - area) < 0.85, f"{name} gives the label away"


@pytest.mark.parametrize("case", CASES)
def test_description(case, loaded):
    bunch, _ = loaded(case)
    text = bunch.DESCR
    for heading in ("Task:", "Who is in it", "Known problems", "Source and licence", "References"):
        assert heading in text
    assert "licen" in text.lower() or "terms" in text.lower()
    if case in ("compas all", "compas two years", "law school all", "acs"):
        return  # the figures are those of the other rows
    assert f"{len(bunch.target):,}" in text
    assert f"{bunch.target.sum():,} ({100 * bunch.target.mean():.2f} %)" in text
    lines = {line.rsplit(maxsplit=3)[0]: line for line in text.splitlines() if line.endswith(" %")}
    for name, values in bunch.sensitive.items():
        if name in ("age_cat", "age") and case != "german":
            continue
        for value in np.unique(values):
            group = bunch.target[values == value]
            assert lines[value].split()[-3:] == [
                f"{len(group):,}",
                f"{100 * group.mean():.2f}",
                "%",
            ]


def test_description_of_acs_income(reference):
    frame = reference("acs_income_2018")
    text = load_acs_income(data_home=SHARED, states=["WY"]).DESCR
    assert f"{frame.label.sum():,} ({100 * frame.label.mean():.2f} %)" in text
    lines = [line.split() for line in text.splitlines()]
    for column, names in ((key, SOURCES["acs_income_2018"].names[key]) for key in ("SEX", "RAC1P")):
        for code, group in frame.groupby(column, observed=True).label:
            row = [*names[code].split(), f"{len(group):,}", f"{100 * group.mean():.2f}", "%"]
            assert row in lines
    rates = frame.groupby("ST", observed=True).label.mean()
    assert f"{100 * rates['PR']:.1f} % are above it in Puerto Rico" in text


def test_all_states(reference):
    acs = load_acs_income(data_home=SHARED, as_frame=True)
    frame = reference("acs_income_2018")
    assert len(acs.target) == 665_800
    assert acs.target.sum() == frame.label.sum()
    assert (acs.state == frame.ST.astype(str)).all()
    two = load_acs_income(data_home=SHARED, states=["WY", "PR"], as_frame=True)
    assert set(two.state) == {"WY", "PR"}
    assert len(two.target) == frame.ST.isin(["WY", "PR"]).sum()


def test_splits_by_patient(loaded):
    bunch, framed = loaded("diabetes")
    assert len(np.unique(bunch.patient)) == 71_518
    np.testing.assert_array_equal(framed.patient, bunch.patient)


@pytest.mark.parametrize("case", ["compas", "german"])
def test_pair(case, loaded):
    function, arguments = CASES[case][:2]
    X, y = function(data_home=SHARED, return_X_y=True, **arguments)
    np.testing.assert_array_equal(X, loaded(case)[0].data)
    np.testing.assert_array_equal(y, loaded(case)[0].target)


def test_folder_from_the_environment(monkeypatch):
    monkeypatch.setenv("EQUIPOISE_DATA", str(SHARED))
    assert load_german_credit(download_if_missing=False).data.shape == (1_000, 61)


@pytest.mark.parametrize(
    ("case", "better"), [("compas", 0.02), ("law school", 0.0), ("dutch", 0.25), ("acs", 0.15)]
)
def test_a_learner_learns(case, better, loaded):
    """The features, as they come, are fit for the paper's learner."""
    bunch, _ = loaded(case)
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:6000]
    X, X_test, y, y_test = train_test_split(bunch.data[rows], bunch.target[rows], random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X, y)
    constant = max(y_test.mean(), 1 - y_test.mean())
    assert model.score(X_test, y_test) > constant + better - 0.01


# The publishers' files, written from the reference copies, read back by the parsers


def write_csv(frame, extra: dict[str, str], blank: str = "") -> bytes:
    text = io.StringIO()
    columns = [*frame.columns, *extra]
    rows = frame.astype(object).where(frame.notna(), blank)
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([*row, *extra.values()] for row in rows.itertuples(index=False))
    return text.getvalue().encode()


@pytest.mark.parametrize("file", ["compas", "compas_two_years"])
def test_propublicas_format(file, reference):
    frame = reference(file).drop(columns=["c_jail_days", "label"])
    frame = frame.drop(columns=frame.select_dtypes(bool).columns)
    source = SOURCES[file]
    content = write_csv(frame, {"name": "jane doe", "decile_score": "99"})  # the second is ignored
    table = source.verify(source.parse(content), "the copy")
    for name, expected in reference(file).items():
        found = pd.Series(table[name].to_pandas())
        np.testing.assert_array_equal(found.isna(), expected.isna(), err_msg=name)
        known = expected.notna()
        if found.dtype.kind == "M":
            expected = pd.to_datetime(expected)
        values = expected[known].astype(object).to_numpy()
        np.testing.assert_array_equal(found[known].astype(object), values, err_msg=name)


def test_format_of_the_law_school_file(reference):
    frame = reference("law_school").drop(columns=["paper_subset", "label"])
    table = SOURCES["law_school"].verify(
        SOURCES["law_school"].parse(write_csv(frame, {}, " ")), "the copy"
    )
    for name, expected in reference("law_school").items():
        found, known = pd.Series(table[name].to_pandas()), expected.notna()
        np.testing.assert_array_equal(found.notna(), known, err_msg=name)
        values = expected[known].astype(object).to_numpy()
        np.testing.assert_array_equal(found[known].astype(object), values, err_msg=name)


def test_format_of_the_dutch_census(reference):
    frame = reference("dutch_census").drop(columns=["label", "gender"])
    head = "".join(f"@attribute {name.title()} {{1,2}}\n" for name in frame)
    body = "\n".join(",".join(row) for row in frame.astype(str).itertuples(index=False))
    content = f"@relation census\n\n{head}\n@data\n\n{body}\n".encode()
    table = SOURCES["dutch_census"].verify(SOURCES["dutch_census"].parse(content), "the copy")
    for name, expected in reference("dutch_census").items():
        np.testing.assert_array_equal(table[name].to_array(), expected.astype(object), err_msg=name)
