"""ACSIncome, from the American Community Survey of 2018."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table, select
from equipoise.datasets.formats import from_frame, kinds
from equipoise.datasets.source import Facts, Read, Source, loader

_FEATURES = ["AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P"]
_KINDS = kinds(integer="AGEP SCHL WKHP", category="COW MAR OCCP POBP RELP SEX RAC1P ST")


def _names(text: str) -> dict[str, str]:
    """Return names by code, from pairs of them that commas separate."""
    return dict(pair.split(maxsplit=1) for pair in text.split(","))  # type: ignore[misc]


#: The census bureau's numbers of the states.
_STATES = _names("""\
    1 AL, 2 AK, 4 AZ, 5 AR, 6 CA, 8 CO, 9 CT, 10 DE, 12 FL, 13 GA, 15 HI, 16 ID, 17 IL, 18 IN,
    19 IA, 20 KS, 21 KY, 22 LA, 23 ME, 24 MD, 25 MA, 26 MI, 27 MN, 28 MS, 29 MO, 30 MT, 31 NE,
    32 NV, 33 NH, 34 NJ, 35 NM, 36 NY, 37 NC, 38 ND, 39 OH, 40 OK, 41 OR, 42 PA, 44 RI, 45 SC,
    46 SD, 47 TN, 48 TX, 49 UT, 50 VT, 51 VA, 53 WA, 54 WV, 55 WI, 56 WY, 72 PR""")
_SEX = {"1": "male", "2": "female"}
_RACE = _names(
    "1 White, 2 Black, 3 American Indian, 4 Alaska Native, 6 Asian, "
    "7 Native Hawaiian or Pacific Islander, 8 Other, 9 Two or more"
) | {"5": "American Indian or Alaska Native, unspecified"}
#: Major groups of occupations in the census code list: first code of each.
_OCCUPATIONS = _names("""\
    10 management, 500 business, 800 finance, 1005 computers, 1305 engineering, 1600 science,
    2001 social service, 2100 law, 2205 education, 2600 arts and media, 3000 medicine,
    3601 health support, 3700 protection, 4000 food, 4200 cleaning, 4330 personal care, 4700 sales,
    5000 office, 6005 farming, 6200 construction, 6800 extraction, 7000 repair, 7700 production,
    9005 transport, 9800 military""")
_BIRTHPLACES = _names(
    "1 United States, 60 US islands, 100 Europe, 200 Asia, 300 Americas, 400 Africa, 500 Oceania"
)


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


@loader(
    _SOURCE,
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
    known = set(_STATES.values())
    if states is not None and (isinstance(states, str) or not set(states) <= known):
        raise ValueError(
            f"states is {states!r}; expected a list of two-letter states such as ['CA', 'PR']."
        )
    table = read(_SOURCE)
    if states is not None:
        table = select(table, np.isin(table["ST"].to_array(), list(states)))
    return DataSet(
        table,
        _FEATURES,
        {"sex": table["SEX"].rename(_SEX), "race": table["RAC1P"].rename(_RACE)},
        ["<=50K", ">50K"],
        extra={"state": table["ST"]},
        coarse={
            "OCCP": _group(table["OCCP"], _OCCUPATIONS),
            "POBP": _group(table["POBP"], _BIRTHPLACES),
        },
    )


def _group(codes: Column, starts: dict[str, str]) -> Column:
    """Return the range of codes that each code falls into.

    >>> _group(Column.from_strings(["20", "3255"]), _OCCUPATIONS).to_array().tolist()
    ['management', 'medicine']
    """
    names = list(starts.values())
    first = np.array([int(code) for code in starts])
    assert codes.categories is not None
    at = np.searchsorted(first, codes.categories.astype(int), side="right") - 1
    return codes.rename({code: names[i] for code, i in zip(codes.categories, at, strict=True)})
