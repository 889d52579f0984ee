"""Statlog German credit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import read_words
from equipoise.datasets.source import Facts, Source

_KINDS = {
    "checking_status": "category",
    "duration_months": "integer",
    "credit_history": "category",
    "purpose": "category",
    "credit_amount": "integer",
    "savings_status": "category",
    "employment_since": "category",
    "installment_rate": "integer",
    "personal_status_sex": "category",
    "other_debtors": "category",
    "residence_since": "integer",
    "property": "category",
    "age": "integer",
    "other_installment_plans": "category",
    "housing": "category",
    "existing_credits": "integer",
    "job": "category",
    "num_dependents": "integer",
    "telephone": "category",
    "foreign_worker": "category",
    "class": "integer",
}
_FEATURES = [name for name in _KINDS if name != "class"]
_SEX = {"A91": "male", "A92": "female", "A93": "male", "A94": "male", "A95": "female"}

_DESCR = """\
German credit (Statlog)
=======================

Task: from an application for credit, predict whether the credit will be good.

Rows        1,000 applicants
Positive    700 (70.00 %): good credit
Features    20: 7 numeric, 13 categorical
Missing     none

group        rows    positive
female        310     64.84 %
male          690     72.32 %
25 or less    190     57.89 %
above 25      810     72.84 %

Who is in it
------------
Customers of a bank in southern Germany, 1973 to 1975, who were given credit. Bad credits are more
frequent than they were: 300 were chosen on purpose. Values are codes such as A11, kept as
published; the UCI page explains them.

Known problems
--------------
- Only those who were given credit are in it: nothing is known of those who were refused.
- 1,000 rows are few: a difference of 5 points between groups is within chance.
- Sex and marital status share one column, and single women do not occur (code A95). `sex` is read
  from it: A91, A93, A94 male; A92 female. Groemping (2019) found that the code table is wrong, and
  that the sexes cannot be told apart as it says; do not draw conclusions about women and men.
- Other codes, such as those of credit_history, are wrong as well, by the same source.
- `foreign_worker` is "yes" for 963 rows, which is hard to believe; the codes may be swapped.

Source and licence
------------------
Hofmann, H. (1994). Statlog (German Credit Data) [Dataset]. UCI Machine Learning Repository, data
set 144. https://doi.org/10.24432/C5NC77
Licensed under CC BY 4.0, https://creativecommons.org/licenses/by/4.0/

Changed here: columns have names, `sex` and `label` (1 for good credit, class 1) are added.

References
----------
Groemping, U. (2019). South German credit data: correcting a widely used data set. Report 4/2019,
Beuth University of Applied Sciences Berlin.
Kamiran, F. and Calders, T. (2009). Classifying without discriminating. (Groups by age, cut at 25.)
"""


def _parse(content: bytes) -> Table:
    table = read_words(content, _KINDS)
    table["sex"] = table["personal_status_sex"].rename(_SEX)
    return table | {"label": Column((table["class"].values == 1).astype(np.int64))}


_SOURCE = Source(
    name="german_credit",
    columns=(*_KINDS, "sex", "label"),
    facts=(Facts(1_000, {"sex": {"female": (310, 201), "male": (690, 499)}}),),
    file="german.data",
    parse=_parse,
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data",
    sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
)


def load_german_credit(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the German credit data: will a credit be good?

    1,000 applicants, of whom 70 % are positive: 64.84 % of the women and 72.32 % of the men, if the
    column that tells them apart can be trusted; see ``DESCR``.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``german_credit.parquet`` or UCI's ``german.data``; by default
        $EQUIPOISE_DATA. Next comes the cache, then the download from UCI.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    german_credit : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"sex"``, ``"age"``), ``frame``,
        ``feature_names``, ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_german_credit
    >>> german = load_german_credit()  # doctest: +SKIP
    >>> german.data.shape  # doctest: +SKIP
    (1000, 61)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    young = table["age"].values <= 25
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={
            "sex": table["sex"],
            "age": Column((~young).astype(np.int64), np.array(["25 or less", "above 25"])),
        },
        extra={},
        as_frame=as_frame,
        target_names=np.array(["bad credit", "good credit"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
