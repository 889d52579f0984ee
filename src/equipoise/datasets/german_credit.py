"""Statlog German credit."""

from __future__ import annotations

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table
from equipoise.datasets.formats import kinds, read_words
from equipoise.datasets.source import Facts, Read, Source, loader

#: In the order of the file.
_COLUMNS = """\
    checking_status duration_months credit_history purpose credit_amount savings_status
    employment_since installment_rate personal_status_sex other_debtors residence_since property
    age other_installment_plans housing existing_credits job num_dependents telephone
    foreign_worker class"""
_INTEGERS = """\
    duration_months credit_amount installment_rate residence_since age existing_credits
    num_dependents class"""
_KINDS = kinds(category=_COLUMNS) | kinds(integer=_INTEGERS)
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


@loader(_SOURCE, sensitive='``"sex"``, ``"age"``', shape=(1_000, 61))
def load_german_credit(read: Read) -> DataSet:
    """Load the German credit data: will a credit be good?

    1,000 applicants, of whom 70 % are positive: 64.84 % of the women and 72.32 % of the men, if the
    column that tells them apart can be trusted; see ``DESCR``.
    """
    table = read(_SOURCE)
    old = (table["age"].values > 25).astype(np.int64)
    age = Column(old, np.array(["25 or less", "above 25"]))
    sensitive = {"sex": table["sex"], "age": age}
    return DataSet(table, _FEATURES, sensitive, ["bad credit", "good credit"])
