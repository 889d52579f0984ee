"""ProPublica's COMPAS data."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import kinds, read_csv
from equipoise.datasets.source import Facts, Source

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
_FEATURES = [
    "sex",
    "age",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "decile_score",
    "v_decile_score",
    "c_jail_days",
    "c_charge_degree",
]

_DESCR = """\
COMPAS (ProPublica)
===================

Task: from a defendant's record, predict whether they will be charged with a new crime.

Rows        7,918 defendants with subset="paper"; 11,038 with "all"; 5,278 with "two_years"
Positive    2,819 (35.60 %) of the 7,918
Features    11: 8 numeric, 3 categorical
Missing     none in the 7,918 rows

group              rows    positive
African-American  4,671     40.46 %
Caucasian         3,247     28.61 %
Female            1,675     25.61 %
Male              6,243     38.28 %

Who is in it
------------
People arrested in Broward County, Florida, and scored by the COMPAS tool in 2013 and 2014 before
trial. ProPublica joined scores, jail records and later charges from public records.

subset="paper" keeps the African-American and Caucasian defendants of ProPublica's full file who
pass ProPublica's own four filters: screened within 30 days of the arrest, with a known outcome, not
for an ordinary traffic offence, and with a known score. That gives exactly the number of rows in
the paper. The authors' own preparation is not public: that these are the same rows is an inference,
and the choice of features is ours. The label is `is_recid`: a new charge at any time until April
2016. subset="all" is everybody in the full file whose outcome is known, of all races.
subset="two_years" is the table of most later papers: the two-year file with the same filters, and
`two_year_recid` as the label.

Known problems
--------------
- The label is being charged, not committing a crime. Policing and charging differ between
  neighbourhoods and groups, so the label carries the very bias that one may want to remove.
- People screened later were followed for a shorter time. The two-year file has its own flaw: it
  keeps repeat offenders whose follow-up is shorter than two years and drops the others, which
  inflates the rate (Barenstein, 2019).
- The scores were made by a tool whose fairness is disputed; the paper uses them as features.
- `c_jail_days`, the time in jail for the present charge, mostly ends after the screening, so it was
  not known when the score was given. 227 of the values are below zero: clerical errors.
- Race was recorded by the police, in six values.
- Columns that describe the outcome (`is_recid`, `is_violent_recid`, all `r_..` and `vr_..`, and
  `start`, `end`, `event`) are in `frame`, never among the features.
- Bao et al. (2021) argue that risk assessment data like these should not serve as a plain
  benchmark. Use them to compare with the literature.

Names, dates of birth and case numbers are in ProPublica's files. They are dropped here as soon as
the file is read, and never cached. Do not add them back.

Source and licence
------------------
Larson, J., Mattu, S., Kirchner, L. and Angwin, J. (2016). How we analyzed the COMPAS recidivism
algorithm. ProPublica. https://github.com/propublica/compas-analysis, compas-scores.csv and
compas-scores-two-years.csv. No licence is stated there. Public records of Broward County, collected
and published by ProPublica; cite ProPublica.

Changed here: `c_jail_days` (`c_jail_out` less `c_jail_in`, in days) and `label` are added, the
second of two equal columns is dropped, "N/A" is a missing value.

References
----------
Agarwal, A. et al. (2018). A reductions approach to fair classification. ICML.
Barenstein, M. (2019). ProPublica's COMPAS data revisited. arXiv:1906.04711.
Bao, M. et al. (2021). It's COMPASlicated: the messy relationship between RAI datasets and
algorithmic fairness benchmarks. NeurIPS Datasets and Benchmarks.
"""


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


def _parse_full(content: bytes) -> Table:
    return _parse(content, _FULL, "is_recid", "paper_subset")


def _parse_two_years(content: bytes) -> Table:
    return _parse(content, _TWO_YEARS, "two_year_recid", "bw_filtered")


_FULL_SOURCE = Source(
    name="compas",
    columns=(*_FULL, "c_jail_days", "paper_subset", "label"),
    facts=(
        Facts(
            11_757,
            {
                "race": {
                    "African-American": (5_813, 2_175),
                    "Caucasian": (4_085, 1_089),
                    "Hispanic": (1_100, 261),
                },
                "paper_subset": {"1": (7_918, 2_819)},
            },
        ),
    ),
    file="compas-scores.csv",
    parse=_parse_full,
    url=_URL + "compas-scores.csv",
)
_TWO_YEARS_SOURCE = Source(
    name="compas_two_years",
    columns=(*_TWO_YEARS, "c_jail_days", "bw_filtered", "label"),
    facts=(
        Facts(
            7_214,
            {
                "race": {"African-American": (3_696, 1_901), "Caucasian": (2_454, 966)},
                "bw_filtered": {"1": (5_278, 2_483)},
            },
        ),
    ),
    file="compas-scores-two-years.csv",
    parse=_parse_two_years,
    url=_URL + "compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)


def load_compas(
    *,
    subset: Literal["paper", "all", "two_years"] = "paper",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load ProPublica's COMPAS data: will a defendant be charged again?

    7,918 defendants, as in the experiments of Agarwal et al. (2018), of whom 35.60 % are positive:
    40.46 % of the African-American and 28.61 % of the Caucasian ones.

    Parameters
    ----------
    subset : "paper", "all" or "two_years", default="paper"
        The paper's rows; everybody in the full file whose outcome is known (11,038, six races); or
        the 5,278 rows of the two-year file that most later papers use.
    data_home : path, optional
        A folder that holds ``compas.parquet`` or ProPublica's ``compas-scores.csv``
        (``compas_two_years.parquet`` or ``compas-scores-two-years.csv``); by default
        $EQUIPOISE_DATA. Next comes the cache, then the download from ProPublica.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    compas : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"race"``, ``"sex"``, ``"age_cat"``), ``frame``,
        ``feature_names``, ``target_names`` and ``DESCR``, laid out as in `load_adult`. A missing
        number in the array is the median, marked in a further column. Read ``DESCR``: what the
        label means, and what it does not.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_compas
    >>> compas = load_compas()  # doctest: +SKIP
    >>> compas.data.shape  # doctest: +SKIP
    (7918, 14)
    """
    if subset not in ("paper", "all", "two_years"):
        raise ValueError(f"subset is {subset!r}; expected 'paper', 'all' or 'two_years'.")
    source = _TWO_YEARS_SOURCE if subset == "two_years" else _FULL_SOURCE
    table = source.load(data_home, download_if_missing)
    column = {"paper": "paper_subset", "two_years": "bw_filtered"}.get(subset)
    known = np.isfinite(table["label"].to_array().astype(float))
    rows = np.flatnonzero(known if column is None else table[column].values.astype(bool))
    table = {name: column.take(rows) for name, column in table.items()}
    table["label"] = Column(table["label"].values.astype(np.int64))
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={name: table[name] for name in ("race", "sex", "age_cat")},
        extra={},
        as_frame=as_frame,
        target_names=np.array(["not charged again", "charged again"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch
