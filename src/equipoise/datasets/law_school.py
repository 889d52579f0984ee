"""The bar passage study of the Law School Admission Council."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import kinds, read_csv
from equipoise.datasets.source import Facts, Source

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
_FEATURES = [
    "lsat",
    "ugpa",
    "zfygpa",
    "dob_yr",
    "fam_inc",
    "tier",
    "fulltime",
    "gender",
    "race1",
]

_DESCR = """\
Law school (LSAC National Longitudinal Bar Passage Study)
=========================================================

Task: from a law student's record at the end of the first year, predict whether they will
eventually pass the bar exam.

Rows        20,649 students with subset="paper"; 23,103 with "all"
Positive    19,702 (95.41 %) of the 20,649
Features    9: 6 numeric, 3 categorical
Missing     lsat 92, ugpa 112, zfygpa 902, dob_yr 48, fam_inc 262, tier 94, fulltime 30

group     rows    positive
black    1,367     77.62 %
white   19,282     96.68 %
female   9,035     94.82 %
male    11,614     95.88 %

Who is in it
------------
Students who entered law schools in the United States in 1991 and took part in a study of the Law
School Admission Council (about 27,500 of them, from 163 schools).

subset="paper" keeps the white and the black students (`race1`) whose outcome and gender are known.
That gives exactly the number of rows in the paper. subset="all" is everybody with a known outcome.
Features: LSAT score, undergraduate grade point average, standardised first-year average, year of
birth, family income in fifths, tier of the law school, full or part time, gender, race.

Known problems
--------------
- Almost everybody passes. A classifier that always says "pass" errs in 4.6 % of the cases, so the
  error can hardly be lowered, and the interesting errors are few: 306 black and 641 white students.
- Only people whose outcome is known are in the table: those who left law school, or never took the
  exam, are not. The groups differ in this.
- The label is passing at the first or the second attempt in the study. Copies that use the first
  attempt only have 89.91 % positives: compare base rates before comparing errors.
- `grad`, `dropout`, `zgpa`, `decile3` are known late in law school, and `bar..` and `pass_bar` are
  the outcome itself: in `frame`, never among the features. `race`, `race2`, `black`, ... repeat
  `race1`; `sex` and `male` repeat `gender`; `cluster` repeats `tier`; `index604` is a mix of LSAT
  and grades; `age` is a difference to some date, use `dob_yr`.
- 16 people have a year of birth before 1930 and two have an average of 0: perhaps typing errors.

Source and licence
------------------
Wightman, L. F. (1998). LSAC National Longitudinal Bar Passage Study. Law School Admission Council.
The file was once distributed by Project SEAPHE, whose site is gone; it is read here from a CSV
export of it, lsac.csv, in https://github.com/jjgold012/lab-project-fairness. No licence is stated
there, and none by SEAPHE that we know of. The data carry no names. Cite the study.

Changed here: `label` is added (`pass_bar`), blanks are missing values.

References
----------
Agarwal, A. et al. (2018). A reductions approach to fair classification. ICML.
"""


def _parse(content: bytes) -> Table:
    table = read_csv(content, _KINDS)
    table["paper_subset"] = Column(
        np.isin(table["race1"].to_array(), ["white", "black"])
        & np.isfinite(table["pass_bar"].values)
        & (table["gender"].to_array() != "")
    )
    return table | {"label": table["pass_bar"]}


_SOURCE = Source(
    name="law_school",
    columns=(*_KINDS, "paper_subset", "label"),
    facts=(
        Facts(
            27_478,
            {
                "race1": {"black": (1_874, 1_062), "white": (22_610, 18_644)},
                "paper_subset": {"1": (20_649, 19_702)},
            },
        ),
    ),
    file="lsac.csv",
    parse=_parse,
    url=_URL,
)


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
    data_home : path, optional
        A folder that holds ``law_school.parquet`` or ``lsac.csv``; by default $EQUIPOISE_DATA.
        Next comes the cache, then the download of a public copy.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    law_school : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"race"``, ``"gender"``), ``frame``,
        ``feature_names``, ``target_names`` and ``DESCR``, laid out as in `load_adult`. A missing
        number in the array is the median, marked in a further column.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

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
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={
            "race": table["race1"].rename({}, missing="unknown"),
            "gender": table["gender"].rename({}, missing="unknown"),
        },
        extra={},
        as_frame=as_frame,
        target_names=np.array(["failed", "passed"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
