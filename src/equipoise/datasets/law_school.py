"""The bar passage study of the Law School Admission Council."""

from __future__ import annotations

from typing import Literal

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table, select
from equipoise.datasets.formats import kinds, read_csv
from equipoise.datasets.source import Facts, Read, Source, loader

_URL = (
    "https://raw.githubusercontent.com/jjgold012/lab-project-fairness/"
    "32a11dc74cc2dcb6b09538589da91f9d2565ccb3/datasets/ucla-law-school-dataset/lsac.csv"
)
_KINDS = kinds(
    integer="decile1b decile3 id decile1 dob_yr bar1_yr bar2_yr fam_inc age parttime male other "
    "asian black hisp pass_bar tier",
    number="lsat ugpa zfygpa zgpa index604",
    category="sex race cluster grad bar1 bar2 fulltime gender race1 race2 dropout bar indxgrp "
    "indxgrp2",
)
_FEATURES = ["lsat", "ugpa", "zfygpa", "dob_yr", "fam_inc", "tier", "fulltime", "gender", "race1"]


def _parse(content: bytes) -> Table:
    table = read_csv(content, _KINDS)
    table["paper_subset"] = Column(
        np.isin(table["race1"].to_array(), ["white", "black"])
        & np.isfinite(table["pass_bar"].values)
        & (table["gender"].to_array() != "")
    )
    return table | {"label": table["pass_bar"]}


_FACTS = Facts(
    27_478,
    {
        "race1": {"black": (1_874, 1_062), "white": (22_610, 18_644)},
        "paper_subset": {"1": (20_649, 19_702)},
    },
)
_SOURCE = Source(
    name="law_school",
    columns=(*_KINDS, "paper_subset", "label"),
    facts=(_FACTS,),
    file="lsac.csv",
    parse=_parse,
    url=_URL,
)


@loader(_SOURCE, sensitive='``"race"``, ``"gender"``', shape=(20_649, 18))
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
    table = read(_SOURCE)
    known = np.isfinite(table["label"].to_array().astype(float))
    table = select(table, table["paper_subset"].values.astype(bool) if subset == "paper" else known)
    sensitive = {
        name: table[column].rename({}, missing="unknown")
        for name, column in (("race", "race1"), ("gender", "gender"))
    }
    return DataSet(table, _FEATURES, sensitive, ["failed", "passed"])
