"""Diabetes 130-US hospitals."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, Table, make_bunch
from equipoise.datasets.formats import from_frame, kinds
from equipoise.datasets.source import Facts, Source

_DRUGS = (
    "metformin repaglinide nateglinide chlorpropamide glimepiride acetohexamide glipizide "
    "glyburide tolbutamide pioglitazone rosiglitazone acarbose miglitol troglitazone tolazamide "
    "examide citoglipton insulin glyburide_metformin glipizide_metformin "
    "glimepiride_pioglitazone metformin_rosiglitazone metformin_pioglitazone"
)
_KINDS = kinds(
    integer="encounter_id patient_nbr time_in_hospital num_lab_procedures num_procedures "
    "num_medications number_outpatient number_emergency number_inpatient number_diagnoses",
    category="race gender age weight admission_type_id discharge_disposition_id "
    "admission_source_id payer_code medical_specialty diag_1 diag_2 diag_3 max_glu_serum A1Cresult "
    f"{_DRUGS} change diabetesMed readmitted",
)
#: Not features: keys, the outcome, a column that is almost empty, two that never vary.
_LEFT_OUT = {
    "encounter_id",
    "patient_nbr",
    "readmitted",
    "weight",
    "examide",
    "citoglipton",
}
_FEATURES = [name for name in _KINDS if name not in _LEFT_OUT]
#: Groups of ICD-9 codes as in Strack et al. (2014), table 2: first and last code.
_DIAGNOSES = {
    "circulatory": [(390, 459), (785, 785)],
    "respiratory": [(460, 519), (786, 786)],
    "digestive": [(520, 579), (787, 787)],
    "diabetes": [(250, 250)],
    "injury": [(800, 999)],
    "musculoskeletal": [(710, 739)],
    "genitourinary": [(580, 629), (788, 788)],
    "neoplasms": [(140, 239)],
}
#: Specialties with 1,000 encounters or more.
_SPECIALTIES = {
    "Cardiology",
    "Emergency/Trauma",
    "Family/GeneralPractice",
    "InternalMedicine",
    "Nephrology",
    "Orthopedics",
    "Orthopedics-Reconstructive",
    "Radiologist",
    "Surgery-General",
}

_DESCR = """\
Diabetes 130-US hospitals, 1999-2008
====================================

Task: from the record of a hospital stay, predict whether the patient is readmitted within 30 days.

Rows        101,766 stays of 71,518 patients
Positive    11,357 (11.16 %): readmitted within 30 days
Features    44: 8 numeric, 36 categorical
Missing     race 2,273, payer_code 40,256, medical_specialty 49,949, diag_1 21, diag_2 358,
            diag_3 1,423

group               rows    positive
AfricanAmerican   19,210     11.22 %
Asian                641     10.14 %
Caucasian         76,099     11.29 %
Hispanic           2,037     10.41 %
Other              1,506      9.63 %
Unknown            2,273      8.27 %
Female            54,708     11.25 %
Male              47,055     11.06 %
Unknown/Invalid        3      0.00 %

Who is in it
------------
Patients with diabetes who stayed between 1 and 14 days in one of 130 hospitals in the United
States, with laboratory tests and medication.

In the array, features with many values are coarse: diagnoses are the nine groups of Strack et al.,
and specialties with fewer than 1,000 stays are one. The data frame has the full codes.

Known problems
--------------
- A patient may have several stays, up to 40. Split by patient (`patient`), else the same person is
  in the training and in the test data.
- 1,652 stays ended with the death of the patient, who cannot be readmitted, and others in a
  hospice. They are kept, as published; drop them by `discharge_disposition_id` 11, 19, 20, 21 (and
  13, 14) if the question asks for it.
- Being readmitted is not being ill: who has no insurance or lives far away comes back less often.
  The label measures the use of care.
- `weight` is missing in 97 % of the stays and left out; `payer_code` is missing in 40 %, and
  `medical_specialty` in 49 %.
- In `max_glu_serum` and `A1Cresult` the value "None" means that the test was not done.
- Rates differ little between races and sexes; more between ages.
- Race is recorded as five values and unknown; gender as two, and three rows are "Unknown/Invalid".

Source and licence
------------------
Clore, J., Cios, K., DeShazo, J. and Strack, B. (2014). Diabetes 130-US Hospitals for Years
1999-2008 [Dataset]. UCI Machine Learning Repository, data set 296.
https://doi.org/10.24432/C5230J. Downloaded from OpenML, data set 4541.
Licensed under CC BY 4.0, https://creativecommons.org/licenses/by/4.0/

Changed here: "?" is a missing value, column names have underscores, `label` is added.

References
----------
Strack, B. et al. (2014). Impact of HbA1c measurement on hospital readmission rates: analysis of
70,000 clinical database patient records. BioMed Research International.
"""


def _from_openml(frame: Any) -> Table:
    frame = frame.rename(columns=lambda name: str(name).replace("-", "_"))
    if "class" in frame and "readmitted" not in frame:
        frame = frame.rename(columns={"class": "readmitted"})
    table = from_frame(frame, _KINDS)
    return table | {"label": Column((table["readmitted"].to_array() == "<30").astype(np.int64))}


_SOURCE = Source(
    name="diabetes130",
    columns=(*_KINDS, "label"),
    facts=(
        Facts(
            101_766,
            {
                "race": {
                    "AfricanAmerican": (19_210, 2_155),
                    "Caucasian": (76_099, 8_592),
                    "Hispanic": (2_037, 212),
                },
                "gender": {"Female": (54_708, 6_152), "Male": (47_055, 5_205)},
            },
        ),
    ),
    openml=4_541,
    from_openml=_from_openml,
)


def load_diabetes130(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the diabetes data of 130 hospitals: is a patient readmitted within 30 days?

    101,766 stays of 71,518 patients, of which 11.16 % are positive.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``diabetes130.parquet``; by default $EQUIPOISE_DATA. Next comes the
        cache, then the download from OpenML, which needs pandas.
    download_if_missing : bool, default=True
        Whether to download a file that is nowhere else.
    return_X_y, as_frame : bool, default=False
        See `load_adult`.

    Returns
    -------
    diabetes : :class:`sklearn.utils.Bunch`
        With ``data``, ``target``, ``sensitive`` (``"race"``, ``"gender"``, ``"age"``), ``frame``,
        ``feature_names``, ``target_names``, ``patient`` (whose stay it is: split by it) and
        ``DESCR``, laid out as in `load_adult`. In the array, diagnoses and specialties are coarse.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data are not there and cannot be downloaded, or are not what they should be.

    Examples
    --------
    >>> from equipoise.datasets import load_diabetes130
    >>> diabetes = load_diabetes130()  # doctest: +SKIP
    >>> diabetes.data.shape  # doctest: +SKIP
    (101766, 212)
    """
    table = _SOURCE.load(data_home, download_if_missing)
    specialty = table["medical_specialty"]
    assert specialty.categories is not None
    rare = {name: "other" for name in specialty.categories if name not in _SPECIALTIES}
    coarse = {f"diag_{i}": _diagnosis_groups(table[f"diag_{i}"]) for i in (1, 2, 3)}
    bunch = make_bunch(
        table,
        features=list(_FEATURES),
        target="label",
        sensitive={
            "race": table["race"].rename({}, missing="Unknown"),
            "gender": table["gender"],
            "age": table["age"],
        },
        extra={"patient": table["patient_nbr"]},
        coarse=coarse | {"medical_specialty": specialty.rename(rare)},
        as_frame=as_frame,
        target_names=np.array(["not within 30 days", "within 30 days"]),
        DESCR=_DESCR,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _diagnosis_groups(codes: Column) -> Column:
    """Return the groups of ICD-9 codes.

    >>> _diagnosis_groups(Column.from_strings(["250.83", "414", "V57", ""])).to_array().tolist()
    ['diabetes', 'circulatory', 'other', '']
    """

    def group(code: str) -> str:
        if not code[0].isdigit():  # V and E codes: other reasons, and external causes
            return "other"
        number = int(code.split(".")[0])
        for name, ranges in _DIAGNOSES.items():
            if any(first <= number <= last for first, last in ranges):
                return name
        return "other"

    assert codes.categories is not None
    return codes.rename({code: group(code) for code in codes.categories.tolist()})
