"""ProPublica's COMPAS data."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table, select
from equipoise.datasets.formats import kinds, read_csv
from equipoise.datasets.source import Facts, Read, Source, loader

_URL = (
    "https://raw.githubusercontent.com/propublica/compas-analysis/"
    "bafff5da3f2e45eca6c2d5055faad269defd135a/"
)
_COMMON = {
    "integer": "id age juv_fel_count juv_misd_count juv_other_count priors_count decile_score "
    "v_decile_score days_b_screening_arrest c_days_from_compas is_recid is_violent_recid "
    "r_days_from_arrest",
    "category": "sex age_cat race score_text v_score_text c_charge_degree c_charge_desc "
    "r_charge_degree r_charge_desc vr_charge_degree vr_charge_desc",
    "date": "compas_screening_date c_offense_date c_arrest_date r_offense_date r_jail_in "
    "r_jail_out vr_offense_date",
    "time": "c_jail_in c_jail_out",
}
_FULL = kinds(**_COMMON)
_TWO_YEARS = _FULL | kinds(integer="two_year_recid start end event")
_FEATURES = (
    "sex age race juv_fel_count juv_misd_count juv_other_count priors_count decile_score "
    "v_decile_score c_jail_days c_charge_degree"
)


def _parse(content: bytes, columns: dict[str, str], label: str, subset: str) -> Table:
    table = read_csv(content, columns, missing=("", "N/A"))
    days = (table["c_jail_out"].values - table["c_jail_in"].values) / np.timedelta64(1, "D")
    outcome = table[label].values.astype(float)
    table["c_jail_days"] = Column(np.round(days, 3).astype(np.float32))
    table[subset] = Column(_filtered(table))
    table["label"] = Column(np.where(outcome < 0, np.nan, outcome))
    return table


def _filtered(table: Table) -> Any:
    """ProPublica's four filters, and two races."""
    with np.errstate(invalid="ignore"):
        near = np.abs(table["days_b_screening_arrest"].values.astype(float)) <= 30
    return (
        near
        & (table["is_recid"].values != -1)
        & (table["c_charge_degree"].to_array() != "O")
        & (table["score_text"].to_array() != "")
        & np.isin(table["race"].to_array(), ["African-American", "Caucasian"])
    )


_FULL_FACTS = Facts(
    11_757,
    {
        "race": {
            "African-American": (5_813, 2_175),
            "Caucasian": (4_085, 1_089),
            "Hispanic": (1_100, 261),
        },
        "paper_subset": {"1": (7_918, 2_819)},
    },
)
_FULL_SOURCE = Source(
    name="compas",
    columns=(*_FULL, "c_jail_days", "paper_subset", "label"),
    facts=(_FULL_FACTS,),
    file="compas-scores.csv",
    parse=partial(_parse, columns=_FULL, label="is_recid", subset="paper_subset"),
    url=_URL + "compas-scores.csv",
)
_TWO_YEARS_FACTS = Facts(
    7_214,
    {
        "race": {"African-American": (3_696, 1_901), "Caucasian": (2_454, 966)},
        "bw_filtered": {"1": (5_278, 2_483)},
    },
)
_TWO_YEARS_SOURCE = Source(
    name="compas_two_years",
    columns=(*_TWO_YEARS, "c_jail_days", "bw_filtered", "label"),
    facts=(_TWO_YEARS_FACTS,),
    file="compas-scores-two-years.csv",
    parse=partial(_parse, columns=_TWO_YEARS, label="two_year_recid", subset="bw_filtered"),
    url=_URL + "compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)


@loader(
    _FULL_SOURCE,
    _TWO_YEARS_SOURCE,
    sensitive='``"race"``, ``"sex"``, ``"age_cat"``',
    shape=(7_918, 14),
)
def load_compas(read: Read, *, subset: Literal["paper", "all", "two_years"] = "paper") -> DataSet:
    """Load ProPublica's COMPAS data: will a defendant be charged again?

    7,918 defendants, as in the experiments of Agarwal et al. (2018), of whom 35.60 % are positive:
    40.46 % of the African-American and 28.61 % of the Caucasian ones. A missing number in the array
    is the median, marked in a further column. Read ``DESCR``: what the label means, and what not.

    Parameters
    ----------
    subset : "paper", "all" or "two_years", default="paper"
        The paper's rows; everybody in the full file whose outcome is known (11,038, six races); or
        the 5,278 rows of the two-year file that most later papers use.
    """
    if subset not in ("paper", "all", "two_years"):
        raise ValueError(f"subset is {subset!r}; expected 'paper', 'all' or 'two_years'.")
    table = read(_TWO_YEARS_SOURCE if subset == "two_years" else _FULL_SOURCE)
    column = {"paper": "paper_subset", "two_years": "bw_filtered"}.get(subset)
    known = np.isfinite(table["label"].to_array().astype(float))
    table = select(table, known if column is None else table[column].values.astype(bool))
    sensitive = {name: table[name] for name in ("race", "sex", "age_cat")}
    return DataSet(table, _FEATURES.split(), sensitive, ["not charged again", "charged again"])
