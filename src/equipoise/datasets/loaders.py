"""The data sets that are not part of the package: what is derived from the publishers' columns."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.datasets.bunch import Column, DataSet, Table, select
from equipoise.datasets.loader import Read, loader
from equipoise.datasets.source import Source


def _label(table: Table, column: str, value: str) -> Column:
    """Return 1 where a column has a value, else 0."""
    return Column((table[column].to_array() == value).astype(np.int64))


def _acs_income(table: Table) -> Table:
    states = table["ST"].rename(SOURCES["acs_income_2018"].names["ST"])
    label = Column((table.pop("PINCP").values > 50_000).astype(np.int64))
    return table | {"ST": states, "label": label}


def _compas(table: Table, label: str, subset: str) -> Table:
    """Add days in jail, the label, and ProPublica's four filters with two races."""
    days = (table["c_jail_out"].values - table["c_jail_in"].values) / np.timedelta64(1, "D")
    outcome = table[label].values.astype(float)
    with np.errstate(invalid="ignore"):
        near = np.abs(table["days_b_screening_arrest"].values.astype(float)) <= 30
    filtered = (
        near
        & (table["is_recid"].values != -1)
        & (table["c_charge_degree"].to_array() != "O")
        & (table["score_text"].to_array() != "")
        & np.isin(table["race"].to_array(), ["African-American", "Caucasian"])
    )
    return table | {
        "c_jail_days": Column(np.round(days, 3).astype(np.float32)),
        subset: Column(filtered),
        "label": Column(np.where(outcome < 0, np.nan, outcome)),
    }


def _named_credit_columns(frame: Any) -> Any:
    """Name the columns by their order; OpenML calls them x1 to x23 and y, with or without an id."""
    kinds = SOURCES["credit_default"].kinds
    frame = frame.drop(columns=[name for name in frame if str(name).lower() == "id"])
    if frame.shape[1] != len(kinds):
        raise ValueError(f"expected {len(kinds)} columns, found {frame.shape[1]}")
    return frame.set_axis(list(kinds), axis=1)


def _credit_default(table: Table) -> Table:
    number = Column(np.arange(1, len(table["label"].values) + 1))
    gender = table["sex"].rename(SOURCES["credit_default"].names["sex"])
    return table | {"id": number, "gender": gender}


def _named_diabetes_columns(frame: Any) -> Any:
    frame = frame.rename(columns=lambda name: str(name).replace("-", "_"))
    if "class" in frame and "readmitted" not in frame:
        frame = frame.rename(columns={"class": "readmitted"})
    return frame


def _diabetes130(table: Table) -> Table:
    return table | {"label": _label(table, "readmitted", "<30")}


def _dutch_census(table: Table) -> Table:
    gender = table["sex"].rename(SOURCES["dutch_census"].names["sex"])
    return table | {"label": _label(table, "occupation", "2_1"), "gender": gender}


def _german_credit(table: Table) -> Table:
    names = SOURCES["german_credit"].names["personal_status_sex"]
    label = Column((table["class"].values == 1).astype(np.int64))
    return table | {"sex": table["personal_status_sex"].rename(names), "label": label}


def _law_school(table: Table) -> Table:
    in_paper = (
        np.isin(table["race1"].to_array(), ["white", "black"])
        & np.isfinite(table["pass_bar"].values)
        & (table["gender"].to_array() != "")
    )
    return table | {"paper_subset": Column(in_paper), "label": table["pass_bar"]}


_FULL = partial(_compas, label="is_recid", subset="paper_subset")
_TWO_YEARS = partial(_compas, label="two_year_recid", subset="bw_filtered")
SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source.described("acs_income_2018", derive=_acs_income),
        Source.described("compas", derive=_FULL),
        Source.described("compas_two_years", derive=_TWO_YEARS),
        Source.described("credit_default", derive=_credit_default, tidy=_named_credit_columns),
        Source.described("diabetes130", derive=_diabetes130, tidy=_named_diabetes_columns),
        Source.described("dutch_census", derive=_dutch_census),
        Source.described("german_credit", derive=_german_credit),
        Source.described("law_school", derive=_law_school),
    )
}


def _rows_of(table: Table, subset: str | None) -> NDArray[np.bool_]:
    """Return the rows that a column of the table marks, or all whose label is known."""
    if subset is not None:
        return table[subset].values.astype(bool)
    return np.isfinite(table["label"].to_array().astype(float))


def _features(source: str, *others: str) -> list[str]:
    """Return the names of a source's columns without those that are no features."""
    return [name for name in SOURCES[source].kinds if name not in others]


def _renamed(column: Column, name: Callable[[str], str]) -> Column:
    """Return a column whose categories have other names."""
    assert column.categories is not None
    return column.rename({category: name(category) for category in column.categories.tolist()})


@loader(
    SOURCES["acs_income_2018"],
    sensitive='``"sex"``, ``"race"``',
    extra="``state``",
    shape=(78_266, 77),
    example='states=["CA"]',
)
def load_acs_income(read: Read, *, states: Sequence[str] | None = None) -> DataSet:
    """Load ACSIncome 2018: does a person earn more than 50,000 dollars?

    665,800 adults in the United States, or all 1,664,500, depending on the file; 36.88 % of the
    sample are positive: 44.22 % of the men and 28.89 % of the women. In the array, occupation and
    place of birth are coarse; see ``DESCR``.

    Parameters
    ----------
    states : sequence of str, optional
        Two-letter states to keep, such as ``["CA"]``; by default all 50 and PR. All of them as an
        array take half a gigabyte of memory, or more for the full table.
    """
    source = SOURCES["acs_income_2018"]
    known = set(source.names["ST"].values())
    if states is not None and (isinstance(states, str) or not set(states) <= known):
        raise ValueError(
            f"states is {states!r}; expected a list of two-letter states such as ['CA', 'PR']."
        )
    table = read(source)
    if states is not None:
        table = select(table, np.isin(table["ST"].to_array(), list(states)))
    return DataSet(
        table,
        ["AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P"],
        {
            name: table[column].rename(source.names[column])
            for name, column in (("sex", "SEX"), ("race", "RAC1P"))
        },
        ["<=50K", ">50K"],
        extra={"state": table["ST"]},
        coarse={
            name: _renamed(table[name], partial(range_name, source.names[name]))
            for name in ("OCCP", "POBP")
        },
    )


def range_name(starts: dict[str, str], code: str) -> str:
    """Return the name of the range of codes that a code falls into, by the first code of each.

    >>> range_name({"10": "management", "3000": "medicine", "4000": "food"}, "3255")
    'medicine'
    """
    return list(starts.values())[bisect([int(start) for start in starts], int(code)) - 1]


@loader(
    SOURCES["compas"],
    SOURCES["compas_two_years"],
    sensitive='``"race"``, ``"sex"``, ``"age_cat"``',
    shape=(7_918, 14),
)
def load_compas(read: Read, *, subset: Literal["paper", "all", "two_years"] = "paper") -> DataSet:
    """Load ProPublica's COMPAS data: will a defendant be charged again?

    7,918 defendants, as in the experiments of Agarwal et al. (2018), of whom 35.60 % are positive:
    40.46 % of the African-American and 28.61 % of the Caucasian ones. A missing number in the array
    is the median, marked in a further column. Read ``DESCR``: what the label means, and what not.

    Parameters
    ----------
    subset : "paper", "all" or "two_years", default="paper"
        The paper's rows; everybody in the full file whose outcome is known (11,038, six races); or
        the 5,278 rows of the two-year file that most later papers use.
    """
    marks = {"paper": "paper_subset", "all": None, "two_years": "bw_filtered"}
    if subset not in marks:
        raise ValueError(f"subset is {subset!r}; expected 'paper', 'all' or 'two_years'.")
    table = read(SOURCES["compas_two_years" if subset == "two_years" else "compas"])
    table = select(table, _rows_of(table, marks[subset]))
    features = (
        "sex age race juv_fel_count juv_misd_count juv_other_count priors_count decile_score "
        "v_decile_score c_jail_days c_charge_degree"
    )
    sensitive = {name: table[name] for name in ("race", "sex", "age_cat")}
    return DataSet(table, features.split(), sensitive, ["not charged again", "charged again"])


@loader(SOURCES["credit_default"], sensitive='``"gender"``', shape=(30_000, 33))
def load_credit_default(read: Read) -> DataSet:
    """Load the credit default data: will a client default next month?

    30,000 clients of a bank in Taiwan, of whom 22.12 % are positive, which here is the bad outcome:
    24.17 % of the men and 20.78 % of the women.
    """
    table = read(SOURCES["credit_default"])
    features = ["gender", *_features("credit_default", "sex", "label")]
    return DataSet(table, features, {"gender": table["gender"]}, ["no default", "default"])


@loader(
    SOURCES["diabetes130"],
    sensitive='``"race"``, ``"gender"``, ``"age"``',
    extra="``patient`` (whose stay it is)",
    shape=(101_766, 212),
)
def load_diabetes130(read: Read) -> DataSet:
    """Load the diabetes data of 130 hospitals: is a patient readmitted within 30 days?

    101,766 stays of 71,518 patients, of which 11.16 % are positive. Split them by ``patient``. In
    the array, diagnoses and specialties are coarse.
    """
    source = SOURCES["diabetes130"]
    table = read(source)
    common = source.names["medical_specialty"]
    diagnosis = partial(diagnosis_group, source.names["diagnoses"])
    # Not features: keys, the outcome, a column that is almost empty, two that never vary.
    left_out = "encounter_id", "patient_nbr", "readmitted", "weight", "examide", "citoglipton"
    return DataSet(
        table,
        _features("diabetes130", *left_out),
        {name: table[name].rename({}, missing="Unknown") for name in ("race", "gender", "age")},
        ["not within 30 days", "within 30 days"],
        extra={"patient": table["patient_nbr"]},
        coarse={
            **{name: _renamed(table[name], diagnosis) for name in ("diag_1", "diag_2", "diag_3")},
            "medical_specialty": _renamed(
                table["medical_specialty"], lambda name: common.get(name, "other")
            ),
        },
    )


def diagnosis_group(groups: dict[str, str], code: str) -> str:
    """Return the group of an ICD-9 code; V and E codes are other reasons and external causes.

    >>> groups = {"250-250": "diabetes", "390-459": "circulatory"}
    >>> [diagnosis_group(groups, code) for code in ("250.83", "414", "V57")]
    ['diabetes', 'circulatory', 'other']
    """
    if code[0].isdigit():
        number = int(code.split(".")[0])
        for ends, name in groups.items():
            first, last = map(int, ends.split("-"))
            if first <= number <= last:
                return name
    return "other"


@loader(
    SOURCES["dutch_census"],
    sensitive='``"gender"``',
    shape=(60_420, 61),
    example='data_home="my_data"',
)
def load_dutch_census(read: Read) -> DataSet:
    """Load the Dutch census of 2001: does a person have a prestigious occupation?

    60,420 people, as in the experiments of Agarwal et al. (2018), of whom 47.61 % are positive:
    62.56 % of the men and 32.71 % of the women. The data may not be passed on, so there is no
    download: bring a copy.
    """
    table = read(SOURCES["dutch_census"])
    features = [*_features("dutch_census", "sex", "occupation"), "gender"]
    names = ["low occupation", "prestigious occupation"]
    return DataSet(table, features, {"gender": table["gender"]}, names)


@loader(SOURCES["german_credit"], sensitive='``"sex"``, ``"age"``', shape=(1_000, 61))
def load_german_credit(read: Read) -> DataSet:
    """Load the German credit data: will a credit be good?

    1,000 applicants, of whom 70 % are positive: 64.84 % of the women and 72.32 % of the men, if the
    column that tells them apart can be trusted; see ``DESCR``.
    """
    table = read(SOURCES["german_credit"])
    old = (table["age"].values > 25).astype(np.int64)
    sensitive = {"sex": table["sex"], "age": Column(old, np.array(["25 or less", "above 25"]))}
    features = _features("german_credit", "class")
    return DataSet(table, features, sensitive, ["bad credit", "good credit"])


@loader(SOURCES["law_school"], sensitive='``"race"``, ``"gender"``', shape=(20_649, 18))
def load_law_school(read: Read, *, subset: Literal["paper", "all"] = "paper") -> DataSet:
    """Load the law school data: will a student pass the bar exam?

    20,649 students, as in the experiments of Agarwal et al. (2018), of whom 95.41 % are positive:
    77.62 % of the black and 96.68 % of the white ones. A missing number in the array is the median,
    marked in a further column.

    Parameters
    ----------
    subset : "paper" or "all", default="paper"
        The paper's rows, or everybody whose outcome is known (23,103, five races). There an
        unknown race or gender is the group "unknown".
    """
    if subset not in ("paper", "all"):
        raise ValueError(f"subset is {subset!r}; expected 'paper' or 'all'.")
    table = read(SOURCES["law_school"])
    table = select(table, _rows_of(table, "paper_subset" if subset == "paper" else None))
    features = ["lsat", "ugpa", "zfygpa", "dob_yr", "fam_inc", "tier", "fulltime"]
    sensitive = {
        name: table[column].rename({}, missing="unknown")
        for name, column in (("race", "race1"), ("gender", "gender"))
    }
    return DataSet(table, [*features, "gender", "race1"], sensitive, ["failed", "passed"])
