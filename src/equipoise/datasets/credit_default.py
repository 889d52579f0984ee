"""Default of credit card clients, Taiwan."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import from_frame
from equipoise.datasets.source import Facts, Source, documented

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


@documented(_SOURCE)
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
    SHARED_PARAMETERS

    Returns
    -------
    credit_default : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"gender"``), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    SHARED_RETURNS

    Examples
    --------
    >>> from equipoise.datasets import load_credit_default
    >>> credit = load_credit_default()  # doctest: +SKIP
    >>> credit.data.shape  # doctest: +SKIP
    (30000, 33)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    return make_bunch(
        "credit_default",
        table,
        features=_FEATURES,
        sensitive={"gender": table["gender"]},
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["no default", "default"],
    )
