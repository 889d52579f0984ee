"""equipoise: classifiers that are as accurate as fairness allows, with a certificate.

An implementation, in full, of Agarwal, Beygelzimer, Dudík, Langford and Wallach, "A Reductions
Approach to Fair Classification" (ICML 2018), and some steps beyond it.

Here are the names that most users need. The others are in their packages: `equipoise.constraints`,
`equipoise.oracles`, `equipoise.metrics`, `equipoise.estimators`, `equipoise.game`,
`equipoise.exceptions`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.constraints import (
        AccuracyEquality,
        BoundedGroupError,
        BoundedGroupLoss,
        DemographicParity,
        DistributionParity,
        EqualizedOdds,
        EqualOpportunity,
        FalsePositiveRateParity,
        FourFifthsRule,
        MinimaxGroupError,
        MinimaxGroupLoss,
        SelectionRate,
        rate,
    )
    from equipoise.estimators import (
        ExponentiatedGradient,
        FairClassifier,
        FairRegressor,
        Frontier,
        FrontierPoint,
        GridSearch,
        Monitor,
        RandomizedClassifier,
        RandomizedRegressor,
        prove_better,
    )
    from equipoise.files import load, save
    from equipoise.game import BalancedError, Certificate, Costs
    from equipoise.guarantees import Proof, people_needed
    from equipoise.oracles import ResampledClassifier
    from equipoise.plotting import FrontierDisplay
    from equipoise.rows import ParquetRows, Probabilities

__version__ = "0.1.0"

__all__ = [
    "FairClassifier",
    "FairRegressor",
    "Frontier",
    "FrontierPoint",
    "FrontierDisplay",
    "ExponentiatedGradient",
    "GridSearch",
    "RandomizedClassifier",
    "RandomizedRegressor",
    "ResampledClassifier",
    "Monitor",
    "Certificate",
    "Proof",
    "people_needed",
    "prove_better",
    "DemographicParity",
    "EqualizedOdds",
    "EqualOpportunity",
    "FalsePositiveRateParity",
    "AccuracyEquality",
    "FourFifthsRule",
    "BoundedGroupError",
    "BoundedGroupLoss",
    "MinimaxGroupError",
    "MinimaxGroupLoss",
    "SelectionRate",
    "DistributionParity",
    "rate",
    "Costs",
    "BalancedError",
    "Probabilities",
    "ParquetRows",
    "save",
    "load",
]

#: Where the names are. They are imported when they are asked for: scikit-learn takes seconds, which
#: the help of the command line need not wait for.
_PLACES = {
    "constraints": (
        *("AccuracyEquality", "BoundedGroupError", "DemographicParity", "EqualizedOdds"),
        *("EqualOpportunity", "FalsePositiveRateParity", "FourFifthsRule", "MinimaxGroupError"),
        *("BoundedGroupLoss", "DistributionParity", "MinimaxGroupLoss", "SelectionRate", "rate"),
    ),
    "estimators": (
        *("ExponentiatedGradient", "FairClassifier", "Frontier", "FrontierPoint", "GridSearch"),
        *("FairRegressor", "Monitor", "RandomizedClassifier", "RandomizedRegressor"),
        "prove_better",
    ),
    "files": ("load", "save"),
    "game": ("BalancedError", "Certificate", "Costs"),
    "guarantees": ("Proof", "people_needed"),
    "oracles": ("ResampledClassifier",),
    "plotting": ("FrontierDisplay",),
    "rows": ("ParquetRows", "Probabilities"),
    "metrics": (),
    "datasets": (),
    "baselines": (),
    "report": (),
    "integrations": (),
    "exceptions": (),
    "engines": (),
    "cells": (),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _PLACES:
            return import_module(f"equipoise.{name}")
        for module, names in _PLACES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"equipoise.{module}"), name)
                return found
        from equipoise.constraints.fairlearn_words import missing

        raise missing(__name__, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_PLACES})
