"""Default of credit card clients, Taiwan."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table
from equipoise.datasets.formats import from_frame, kinds
from equipoise.datasets.source import Facts, Read, Source, loader

#: The 23 variables X1 to X23 of the publication, in its order.
_KINDS = {
    **kinds(integer="limit_bal", category="sex education marriage"),
    **kinds(integer="age pay_0 pay_2 pay_3 pay_4 pay_5 pay_6"),
    **{f"{what}_amt{month}": "integer" for what in ("bill", "pay") for month in range(1, 7)},
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


@loader(_SOURCE, sensitive='``"gender"``', shape=(30_000, 33))
def load_credit_default(read: Read) -> DataSet:
    """Load the credit default data: will a client default next month?

    30,000 clients of a bank in Taiwan, of whom 22.12 % are positive, which here is the bad outcome:
    24.17 % of the men and 20.78 % of the women.
    """
    table = read(_SOURCE)
    return DataSet(table, _FEATURES, {"gender": table["gender"]}, ["no default", "default"])
