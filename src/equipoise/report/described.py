"""Puts a constraint into words."""

from __future__ import annotations

from inspect import cleandoc

from equipoise.constraints.base import All, Constraint
from equipoise.report.contents import ConstraintContents


def constraint_contents(constraint: Constraint) -> ConstraintContents:
    """Return what a constraint asks, in the words of its documentation.

    >>> from equipoise import DemographicParity
    >>> constraint_contents(DemographicParity()).formula
    '| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps for every group a.'
    """
    if isinstance(constraint, All):
        parts = [constraint_contents(part) for part in constraint.parts]
        return ConstraintContents(
            name=" and ".join(part.name for part in parts),
            code=repr(constraint),
            asks=" ".join(part.asks for part in parts),
            formula="  and  ".join(part.formula for part in parts if part.formula),
            explanation=[text for part in parts for text in part.explanation],
        )
    text = cleandoc(type(constraint).__doc__ or "").partition("\nParameters\n")[0]
    paragraphs = [" ".join(part.split()).replace("``", "") for part in text.strip().split("\n\n")]
    raw = [part.strip() for part in text.strip().split("\n\n")]
    formula = next((p for p, r in zip(paragraphs, raw, strict=True) if r.startswith("``")), "")
    return ConstraintContents(
        name=str(getattr(constraint, "name", type(constraint).__name__)),
        code=repr(constraint),
        asks=paragraphs[0] if paragraphs else "",
        formula=formula,
        explanation=[part for part in paragraphs[1:] if part != formula],
    )
