"""The Dutch census of 2001."""

from __future__ import annotations

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table
from equipoise.datasets.formats import kinds, read_arff
from equipoise.datasets.source import Facts, Read, Source, loader

_KINDS = kinds(
    category="sex age household_position household_size prev_residence_place citizenship "
    "country_birth edu_level economic_status cur_eco_activity marital_status occupation"
)
_FEATURES = [*(name for name in _KINDS if name not in ("sex", "occupation")), "gender"]


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


@loader(_SOURCE, sensitive='``"gender"``', shape=(60_420, 61), example='data_home="my_data"')
def load_dutch_census(read: Read) -> DataSet:
    """Load the Dutch census of 2001: does a person have a prestigious occupation?

    60,420 people, as in the experiments of Agarwal et al. (2018), of whom 47.61 % are positive:
    62.56 % of the men and 32.71 % of the women. The data may not be passed on, so there is no
    download: bring a copy.
    """
    table = read(_SOURCE)
    names = ["low occupation", "prestigious occupation"]
    return DataSet(table, _FEATURES, {"gender": table["gender"]}, names)
