"""Diabetes 130-US hospitals."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.datasets.bunch import Column, DataSet, Table
from equipoise.datasets.formats import from_frame, kinds
from equipoise.datasets.source import Facts, Read, Source, loader

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
_LEFT_OUT = ["encounter_id", "patient_nbr", "readmitted", "weight", "examide", "citoglipton"]
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
_SPECIALTIES = (
    "Cardiology Emergency/Trauma Family/GeneralPractice InternalMedicine Nephrology Orthopedics "
    "Orthopedics-Reconstructive Radiologist Surgery-General"
)


def _from_openml(frame: Any) -> Table:
    frame = frame.rename(columns=lambda name: str(name).replace("-", "_"))
    if "class" in frame and "readmitted" not in frame:
        frame = frame.rename(columns={"class": "readmitted"})
    table = from_frame(frame, _KINDS)
    return table | {"label": Column((table["readmitted"].to_array() == "<30").astype(np.int64))}


_FACTS = Facts(
    101_766,
    {
        "race": {
            "AfricanAmerican": (19_210, 2_155),
            "Caucasian": (76_099, 8_592),
            "Hispanic": (2_037, 212),
        },
        "gender": {"Female": (54_708, 6_152), "Male": (47_055, 5_205)},
    },
)
_SOURCE = Source(
    name="diabetes130",
    columns=(*_KINDS, "label"),
    facts=(_FACTS,),
    openml=4_541,
    from_openml=_from_openml,
)


@loader(
    _SOURCE,
    sensitive='``"race"``, ``"gender"``, ``"age"``',
    extra="``patient`` (whose stay it is)",
    shape=(101_766, 212),
)
def load_diabetes130(read: Read) -> DataSet:
    """Load the diabetes data of 130 hospitals: is a patient readmitted within 30 days?

    101,766 stays of 71,518 patients, of which 11.16 % are positive. Split them by ``patient``. In
    the array, diagnoses and specialties are coarse.
    """
    table = read(_SOURCE)
    specialty = table["medical_specialty"]
    assert specialty.categories is not None
    rare = {name: "other" for name in specialty.categories if name not in _SPECIALTIES.split()}
    coarse = {f"diag_{i}": _diagnosis_groups(table[f"diag_{i}"]) for i in (1, 2, 3)}
    return DataSet(
        table,
        _FEATURES,
        {name: table[name].rename({}, missing="Unknown") for name in ("race", "gender", "age")},
        ["not within 30 days", "within 30 days"],
        extra={"patient": table["patient_nbr"]},
        coarse=coarse | {"medical_specialty": specialty.rename(rare)},
    )


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
