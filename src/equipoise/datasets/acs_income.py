"""ACSIncome, from the American Community Survey of 2018."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import from_frame, kinds
from equipoise.datasets.source import Facts, Source

_FEATURES = ["AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P"]
_KINDS = kinds(integer="AGEP SCHL WKHP", category="COW MAR OCCP POBP RELP SEX RAC1P ST")
#: The census bureau's numbers of the states.
_FIPS = """
    1 AL 2 AK 4 AZ 5 AR 6 CA 8 CO 9 CT 10 DE 12 FL 13 GA 15 HI 16 ID 17 IL 18 IN 19 IA 20 KS 21 KY
    22 LA 23 ME 24 MD 25 MA 26 MI 27 MN 28 MS 29 MO 30 MT 31 NE 32 NV 33 NH 34 NJ 35 NM 36 NY
    37 NC 38 ND 39 OH 40 OK 41 OR 42 PA 44 RI 45 SC 46 SD 47 TN 48 TX 49 UT 50 VT 51 VA 53 WA
    54 WV 55 WI 56 WY 72 PR
"""
_STATES = dict(zip(_FIPS.split()[::2], _FIPS.split()[1::2], strict=True))
_SEX = {"1": "male", "2": "female"}
_RACE = {
    "1": "White",
    "2": "Black",
    "3": "American Indian",
    "4": "Alaska Native",
    "5": "American Indian or Alaska Native, unspecified",
    "6": "Asian",
    "7": "Native Hawaiian or Pacific Islander",
    "8": "Other",
    "9": "Two or more",
}
#: Major groups of occupations in the census code list: first code of each.
_OCCUPATIONS = {
    10: "management",
    500: "business",
    800: "finance",
    1005: "computers",
    1305: "engineering",
    1600: "science",
    2001: "social service",
    2100: "law",
    2205: "education",
    2600: "arts and media",
    3000: "medicine",
    3601: "health support",
    3700: "protection",
    4000: "food",
    4200: "cleaning",
    4330: "personal care",
    4700: "sales",
    5000: "office",
    6005: "farming",
    6200: "construction",
    6800: "extraction",
    7000: "repair",
    7700: "production",
    9005: "transport",
    9800: "military",
}
_BIRTHPLACES = {
    1: "United States",
    60: "US islands",
    100: "Europe",
    200: "Asia",
    300: "Americas",
    400: "Africa",
    500: "Oceania",
}

_DESCR = """\
ACSIncome 2018
==============

Task: from a person's answers to the census bureau, predict whether their income is above 50,000
dollars a year. Made to replace Adult.

Rows        665,800 adults in the 40 % sample, 1,664,500 in the full table
Positive    245,514 (36.88 %) of the sample
Features    10: 3 numeric, 7 categorical
Missing     none

group                                             rows    positive
female                                         318,962     28.89 %
male                                           346,838     44.22 %
White                                          519,017     39.09 %
Black                                           59,124     24.55 %
American Indian                                  4,739     21.99 %
Alaska Native                                      363     18.73 %
American Indian or Alaska Native, unspecified      867     19.61 %
Asian                                           38,474     44.65 %
Native Hawaiian or Pacific Islander              1,133     25.24 %
Other                                           25,338     17.60 %
Two or more                                     16,745     29.22 %

Who is in it
------------
People in the American Community Survey of 2018, in 50 states and Puerto Rico, who are over 16, have
an income of more than 100 dollars and work at least one hour a week. acs_income_2018.parquet holds
two fifths of each state: the validation and test parts of a published split. OpenML holds all rows.
The loader takes either and checks that it is one of the two.

In the array, two features with hundreds of values are coarse: OCCP is one of 25 groups of
occupations, POBP one of 7 parts of the world. The data frame has the full codes.

Known problems
--------------
- 50,000 dollars is an arbitrary threshold, as it was in Adult; results differ with it. It is the
  same in all states, though prices are not: 10.8 % are above it in Puerto Rico, 48.6 % in New
  Jersey.
- Rows are a sample with unequal probabilities; the survey weights are not in the table.
- States differ a great deal. A classifier trained in one is not fair in another (Ding et al. 2021).
- In the sample `ST` was not published; it was inferred from the order of rows, and a few rows at
  the borders between states may be wrong.
- Race is one of nine codes, and Hispanic origin is not in the table. Some groups are small: compare
  groups only with intervals.

Source and licence
------------------
US Census Bureau, American Community Survey Public Use Microdata Sample, 2018. Public, under the
terms of service of the Census Bureau. The task is that of Ding et al. (2021), package folktables
(MIT). Downloaded from OpenML, data set 43141 (1,664,500 rows, about 60 MB).

Changed here: `label` (1 where PINCP is above 50,000) is added; codes are strings; states are
abbreviations.

References
----------
Ding, F., Hardt, M., Miller, J. and Schmidt, L. (2021). Retiring Adult: new datasets for fair
machine learning. NeurIPS.
"""


def _from_openml(frame: Any) -> Table:
    table = from_frame(frame, _KINDS | {"PINCP": "number"})
    table["ST"] = table["ST"].rename(_STATES)
    table["label"] = Column((table.pop("PINCP").values > 50_000).astype(np.int64))
    return table


_GROUPS = {"SEX": {"1": (346_838, 153_375), "2": (318_962, 92_139)}}
_SOURCE = Source(
    name="acs_income_2018",
    columns=(*_FEATURES, "ST", "label"),
    facts=(Facts(665_800, _GROUPS), Facts(1_664_500, _GROUPS, tolerance=0.005)),
    openml=43_141,
    from_openml=_from_openml,
)


def load_acs_income(
    *,
    states: Sequence[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load ACSIncome 2018: does a person earn more than 50,000 dollars?

    665,800 adults in the United States, or all 1,664,500, depending on the file; 36.88 % of the
    sample are positive: 44.22 % of the men and 28.89 % of the women.

    Parameters
    ----------
    states : sequence of str, optional
        Two-letter states to keep, such as ``["CA"]``; by default all 50 and PR. All of them as an
        array take half a gigabyte of memory, or more for the full table.
    data_home : path, optional
        A folder that holds ``acs_income_2018.parquet``; by default $EQUIPOISE_DATA. Next comes the
        cache, then the download from OpenML, which needs pandas.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    acs_income : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"sex"``, ``"race"``), ``frame``,
        ``feature_names``, ``target_names``, ``state`` and ``DESCR``, laid out as in `load_adult`.
        In the array, occupation and place of birth are coarse; see ``DESCR``.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_acs_income
    >>> california = load_acs_income(states=["CA"])  # doctest: +SKIP
    >>> california.data.shape  # doctest: +SKIP
    (78266, 77)
    """
    known = set(_STATES.values())
    if states is not None and (isinstance(states, str) or not set(states) <= known):
        raise ValueError(
            f"states is {states!r}; expected a list of two-letter states such as ['CA', 'PR']."
        )
    table = _SOURCE.load(data_home, download_if_missing)
    if states is not None:
        rows = np.flatnonzero(np.isin(table["ST"].to_array(), list(states)))
        table = {name: column.take(rows) for name, column in table.items()}
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={"sex": table["SEX"].rename(_SEX), "race": table["RAC1P"].rename(_RACE)},
        extra={"state": table["ST"]},
        coarse={
            "OCCP": _group(table["OCCP"], _OCCUPATIONS),
            "POBP": _group(table["POBP"], _BIRTHPLACES),
        },
        as_frame=as_frame,
        target_names=np.array(["<=50K", ">50K"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _group(codes: Column, starts: dict[int, str]) -> Column:
    """Return the range of codes that each code falls into.

    >>> _group(Column.from_strings(["20", "3255"]), _OCCUPATIONS).to_array().tolist()
    ['management', 'medicine']
    """
    names = list(starts.values())
    first = np.array(list(starts))
    assert codes.categories is not None
    at = np.searchsorted(first, codes.categories.astype(int), side="right") - 1
    return codes.rename({code: names[i] for code, i in zip(codes.categories, at, strict=True)})
