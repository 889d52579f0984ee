"""The Dutch census of 2001."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import kinds, read_arff
from equipoise.datasets.source import Facts, Source, documented

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


@documented(_SOURCE)
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
    SHARED_PARAMETERS

    Returns
    -------
    dutch_census : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"gender"``), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    SHARED_RETURNS

    Examples
    --------
    >>> from equipoise.datasets import load_dutch_census
    >>> dutch = load_dutch_census(data_home="my_data")  # doctest: +SKIP
    >>> dutch.data.shape  # doctest: +SKIP
    (60420, 61)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    return make_bunch(
        "dutch_census",
        table,
        features=_FEATURES,
        sensitive={"gender": table["gender"]},
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["low occupation", "prestigious occupation"],
    )
