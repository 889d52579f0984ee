"""The Dutch census of 2001."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import kinds, read_arff
from equipoise.datasets.source import Facts, Source

_KINDS = kinds(
    category="sex age household_position household_size prev_residence_place citizenship "
    "country_birth edu_level economic_status cur_eco_activity marital_status occupation"
)
_FEATURES = [
    "age",
    "household_position",
    "household_size",
    "prev_residence_place",
    "citizenship",
    "country_birth",
    "edu_level",
    "economic_status",
    "cur_eco_activity",
    "marital_status",
    "gender",
]

_DESCR = """\
Dutch census 2001
=================

Task: from a person's census record, predict whether they have a prestigious occupation.

Rows        60,420 people in paid work
Positive    28,763 (47.61 %)
Features    11, all categorical
Missing     none

group     rows    positive
female  30,273     32.71 %
male    30,147     62.56 %

Who is in it
------------
A sample of the virtual census of the Netherlands, 2001, as prepared by Zliobaite, Kamiran and
Calders (2011): people with a high or a low occupation. The middle ones, people without work and
people whose occupation is unknown were dropped. All values are census codes, kept as strings; `age`
is one of 12 bands.

Known problems
--------------
- Leaving out the middle of the scale makes the task easier and the gap between the sexes larger
  than they are.
- `edu_level` and `cur_eco_activity` (the industry) say much about the occupation, and both are
  themselves outcomes of what women and men could choose.
- Many people share a profile: the 60,420 rows hold 15,670 distinct ones. So test rows repeat
  training rows, and no classifier can err in less than 11.8 % of the rows.
- Sex has two values; citizenship and country of birth are three broad codes.

Source and licence
------------------
Statistics Netherlands (CBS), Dutch census 2001, distributed with the Minnesota Population Center
through IPUMS-International. The copyright is reserved: users register with IPUMS-International,
https://international.ipums.org, and may not pass the data on. There is no download here for that
reason. The loader reads the table in ARFF format, dutch_census_2001.arff, which accompanies the
survey of Le Quy et al. (2022), or a Parquet copy of it.

Changed here: the column names are in lower case, `gender` (from `sex`) and `label` (1 where
`occupation` is 2_1) are added.

References
----------
Zliobaite, I., Kamiran, F. and Calders, T. (2011). Handling conditional discrimination. ICDM.
Le Quy, T. et al. (2022). A survey on datasets for fairness-aware machine learning. WIREs Data
Mining and Knowledge Discovery.
Agarwal, A. et al. (2018). A reductions approach to fair classification. ICML.
"""


def _parse(content: bytes) -> Table:
    table = read_arff(content, _KINDS)
    table["label"] = Column((table["occupation"].to_array() == "2_1").astype(np.int64))
    table["gender"] = table["sex"].rename({"1": "male", "2": "female"})
    return table


_SOURCE = Source(
    name="dutch_census",
    columns=(*_KINDS, "label", "gender"),
    facts=(Facts(60_420, {"gender": {"female": (30_273, 9_903), "male": (30_147, 18_860)}}),),
    file="dutch_census_2001.arff",
    parse=_parse,
    terms=(
        "There is no download: the census is under the copyright of Statistics Netherlands and "
        "IPUMS-International (https://international.ipums.org), which asks users to register."
    ),
)


def load_dutch_census(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the Dutch census of 2001: does a person have a prestigious occupation?

    60,420 people, as in the experiments of Agarwal et al. (2018), of whom 47.61 % are positive:
    62.56 % of the men and 32.71 % of the women. The data may not be passed on, so there is no
    download: bring a copy.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``dutch_census.parquet`` or ``dutch_census_2001.arff``; by default
        $EQUIPOISE_DATA.
    download_if_missing : bool, default=True
        Without effect, as there is no download.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    dutch_census : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"gender"``), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_dutch_census
    >>> dutch = load_dutch_census(data_home="my_data")  # doctest: +SKIP
    >>> dutch.data.shape  # doctest: +SKIP
    (60420, 61)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={"gender": table["gender"]},
        extra={},
        as_frame=as_frame,
        target_names=np.array(["low occupation", "prestigious occupation"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
