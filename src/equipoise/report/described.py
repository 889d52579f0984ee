"""Puts a constraint into words."""

from __future__ import annotations

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
