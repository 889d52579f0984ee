"""Statlog German credit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import read_words
from equipoise.datasets.source import Facts, Source, documented

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


@documented(_SOURCE)
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
    SHARED_PARAMETERS

    Returns
    -------
    german_credit : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"sex"``, ``"age"``), ``frame``,
        ``feature_names``, ``target_names`` and ``DESCR``, laid out as in `load_adult`.

    SHARED_RETURNS

    Examples
    --------
    >>> from equipoise.datasets import load_german_credit
    >>> german = load_german_credit()  # doctest: +SKIP
    >>> german.data.shape  # doctest: +SKIP
    (1000, 61)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    young = table["age"].values <= 25
    return make_bunch(
        "german_credit",
        table,
        features=_FEATURES,
        sensitive={
            "sex": table["sex"],
            "age": Column((~young).astype(np.int64), np.array(["25 or less", "above 25"])),
        },
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["bad credit", "good credit"],
    )
