"""The bar passage study of the Law School Admission Council."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import kinds, read_csv
from equipoise.datasets.source import Facts, Source, documented

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


@documented(_SOURCE)
def load_law_school(
    *,
    subset: Literal["paper", "all"] = "paper",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the law school data: will a student pass the bar exam?

    20,649 students, as in the experiments of Agarwal et al. (2018), of whom 95.41 % are positive:
    77.62 % of the black and 96.68 % of the white ones.

    Parameters
    ----------
    subset : "paper" or "all", default="paper"
        The paper's rows, or everybody whose outcome is known (23,103, five races). There an
        unknown race or gender is the group "unknown".
    SHARED_PARAMETERS

    Returns
    -------
    law_school : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"race"``, ``"gender"``), ``frame``,
        ``feature_names``, ``target_names`` and ``DESCR``, laid out as in `load_adult`. A missing
        number in the array is the median, marked in a further column.

    SHARED_RETURNS

    Examples
    --------
    >>> from equipoise.datasets import load_law_school
    >>> law = load_law_school()  # doctest: +SKIP
    >>> law.data.shape  # doctest: +SKIP
    (20649, 18)
    """
    if subset not in ("paper", "all"):
        raise ValueError(f"subset is {subset!r}; expected 'paper' or 'all'.")
    table = _SOURCE.load(data_home, download_if_missing)
    known = np.isfinite(table["label"].to_array().astype(float))
    rows = np.flatnonzero(table["paper_subset"].values.astype(bool) if subset == "paper" else known)
    table = {name: column.take(rows) for name, column in table.items()}
    table["label"] = Column(table["label"].values.astype(np.int64))
    return make_bunch(
        "law_school",
        table,
        features=_FEATURES,
        sensitive={
            "race": table["race1"].rename({}, missing="unknown"),
            "gender": table["gender"].rename({}, missing="unknown"),
        },
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["failed", "passed"],
    )
