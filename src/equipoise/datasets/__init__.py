"""Data sets for fair classification, in the conventions of :mod:`sklearn.datasets`.

A loader returns a :class:`sklearn.utils.Bunch` whose ``sensitive`` holds the sensitive features
beside the usual ``data`` and ``target``. Adult is part of the package. The other data sets are
looked for in ``data_home=`` or $EQUIPOISE_DATA, then in a cache, and downloaded from their public
source if they are in neither. Whatever is found is verified before it is returned.
"""

from typing import Any

from equipoise.constraints.fairlearn_words import missing
from equipoise.datasets.adult import load_adult
from equipoise.datasets.loaders import (
    load_acs_income,
    load_compas,
    load_credit_default,
    load_diabetes130,
    load_dutch_census,
    load_german_credit,
    load_law_school,
)

__all__ = [
    "load_adult",
    "load_compas",
    "load_law_school",
    "load_dutch_census",
    "load_acs_income",
    "load_credit_default",
    "load_german_credit",
    "load_diabetes130",
]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
