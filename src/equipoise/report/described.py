"""Puts a constraint into words, and names the versions of what was used."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from equipoise.constraints import Constraint
from equipoise.report.contents import ConstraintContents


def constraint_contents(constraint: Constraint) -> ConstraintContents:
    """Return what a constraint asks, in the words of its class.

    >>> from equipoise import DemographicParity
    >>> constraint_contents(DemographicParity()).formula
    '| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps for every group a.'
    """
    return ConstraintContents(
        name=constraint.name,
        code=repr(constraint),
        asks=constraint.asks,
        formula=constraint.formula,
        explanation=[constraint.misleads] if constraint.misleads else [],
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that count."""
    found = {"python": platform.python_version()}
    for name in ("equipoise", "scikit-learn", "numpy", "scipy", "pyarrow", "lightgbm", "xgboost"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
