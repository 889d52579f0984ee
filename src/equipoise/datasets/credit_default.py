"""Default of credit card clients, Taiwan."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import from_frame
from equipoise.datasets.source import Facts, Source

_MONTHS = ("0", "2", "3", "4", "5", "6")
#: The 23 variables X1 to X23 of the publication, in its order.
_KINDS = {
    "limit_bal": "integer",
    "sex": "category",
    "education": "category",
    "marriage": "category",
    "age": "integer",
    **{f"pay_{month}": "integer" for month in _MONTHS},
    **{f"bill_amt{month}": "integer" for month in range(1, 7)},
    **{f"pay_amt{month}": "integer" for month in range(1, 7)},
}
_FEATURES = ["gender", *(name for name in _KINDS if name != "sex")]

_DESCR = """\
Default of credit card clients (Taiwan, 2005)
=============================================

Task: from six months of a client's card account, predict whether they default in the next month.

Rows        30,000 clients
Positive    6,636 (22.12 %): default, the unfavourable outcome
Features    23: 20 numeric, 3 categorical
Missing     none

group     rows    positive
female  18,112     20.78 %
male    11,888     24.17 %

Who is in it
------------
Credit card clients of a bank in Taiwan, October 2005, in a time of a credit card crisis. Amounts
are in New Taiwan dollars. `pay_0` to `pay_6` are the months of delay in September to April 2005
(there is no `pay_1`), `bill_amt..` the bills and `pay_amt..` the payments in the same order.

Known problems
--------------
- Here the positive label is the bad outcome. "Selected" then means "predicted to default": equal
  selection rates are equal rates of being refused.
- Codes without an explanation: education 0, 5 and 6 (345 rows), marriage 0 (54 rows), and -2 and 0
  in `pay_..` (the most frequent value). Documented are education 1 graduate school, 2 university, 3
  high school, 4 others; marriage 1 married, 2 single, 3 others.
- Only people who were given a card are in it.
- 35 rows repeat an earlier one.
- Sex has two values. The gap between the groups is small, so there is little to repair.

Source and licence
------------------
Yeh, I-C. (2009). Default of Credit Card Clients [Dataset]. UCI Machine Learning Repository, data
set 350. https://doi.org/10.24432/C55S3H. Downloaded from OpenML, data set 42477.
Licensed under CC BY 4.0, https://creativecommons.org/licenses/by/4.0/

Changed here: columns have their names instead of X1 to X23, `gender` (from `sex`: 1 male, 2 female)
and `label` are added.

References
----------
Yeh, I-C. and Lien, C. (2009). The comparisons of data mining techniques for the predictive accuracy
of probability of default of credit card clients. Expert Systems with Applications 36.
"""


def _from_openml(frame: Any) -> Table:
    """Name the columns by their order; OpenML calls them x1 to x23 and y, with or without an id."""
    frame = frame.drop(columns=[name for name in frame if str(name).lower() == "id"])
    if frame.shape[1] != len(_KINDS) + 1:
        raise ValueError(f"expected {len(_KINDS) + 1} columns, found {frame.shape[1]}")
    frame = frame.set_axis([*_KINDS, "label"], axis=1)
    table = from_frame(frame, _KINDS | {"label": "integer"})
    table["id"] = Column(np.arange(1, len(frame) + 1))
    table["gender"] = table["sex"].rename({"1": "male", "2": "female"})
    return table


_SOURCE = Source(
    name="credit_default",
    columns=("id", *_KINDS, "label", "gender"),
    facts=(Facts(30_000, {"gender": {"female": (18_112, 3_763), "male": (11_888, 2_873)}}),),
    openml=42_477,
    from_openml=_from_openml,
)


def load_credit_default(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the credit default data: will a client default next month?

    30,000 clients of a bank in Taiwan, of whom 22.12 % are positive, which here is the bad outcome:
    24.17 % of the men and 20.78 % of the women.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``credit_default.parquet``; by default $EQUIPOISE_DATA. Next comes the
        cache, then the download from OpenML, which needs pandas.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    credit_default : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"gender"``), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_credit_default
    >>> credit = load_credit_default()  # doctest: +SKIP
    >>> credit.data.shape  # doctest: +SKIP
    (30000, 33)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={"gender": table["gender"]},
        extra={},
        as_frame=as_frame,
        target_names=np.array(["no default", "default"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
