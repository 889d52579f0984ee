"""Remarks: what is true of a result and easily overlooked, as warnings and as sentences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from equipoise.cells.table import Array, CellTable, Mask
from equipoise.constraints.groups import group_name
from equipoise.estimators.frontier_point import FrontierPoint
from equipoise.exceptions import (
    AbsentGroupWarning,
    ConstantDecisionWarning,
    EquipoiseWarning,
    NothingComparedWarning,
)
from equipoise.game.lagrangian import TOLERANCE, Lagrangian

Remark = tuple[type[EquipoiseWarning], str]
#: Groups that are named; the rest are counted.
_MOST_NAMES = 5


def remarks(lagrangian: Lagrangian, cells: CellTable, s: Array) -> list[Remark]:
    """Return what to know of decisions ``s``: that they are all alike, that bounds ask nothing."""
    found: list[Remark] = []
    selected = float(s[: cells.n_cells].sum())
    if selected <= TOLERANCE or selected >= 1 - TOLERANCE:
        whom = "nobody" if selected <= TOLERANCE else "everybody"
        found.append(
            (
                ConstantDecisionWarning,
                f"it selects {whom}: every group is treated alike, and nothing is decided. Where "
                "one label is rare, weigh its errors more (objective=Costs(...)), or use weights.",
            )
        )
    alone = [name for name, values in cells.sensitive.items() if len(set(values.tolist())) == 1]
    if alone:
        named = ", ".join(map(repr, alone))
        found.append(
            (NothingComparedWarning, f"everybody has the same value of {named}: no groups differ.")
        )
    elif not lagrangian.n_constraints:
        found.append((NothingComparedWarning, "no inequality is left: nothing is compared."))
    elif cannot_bind(lagrangian, cells).all():
        found.append(
            (
                NothingComparedWarning,
                "no decisions whatsoever could exceed the bounds: they ask nothing. Differences of "
                "rates are at most 1; choose a smaller bound.",
            )
        )
    return found


def remarks_of_points(points: Sequence[FrontierPoint], cells: CellTable) -> list[Remark]:
    """Return the remarks that are true of every point of a frontier."""
    evidence = [point.certificate.evidence for point in points]
    found = [remarks(some.lagrangian, cells, some.mean_shares()) for some in evidence]
    return [remark for remark in found[0] if all(remark in others for others in found)]


def cannot_bind(lagrangian: Lagrangian, cells: CellTable) -> Mask:
    """Return which inequalities hold whatever is decided, so that they compare nothing."""
    free = lagrangian.elastic if lagrangian.elastic is not None else np.zeros(1, dtype=bool)
    if lagrangian.gamma_slope.shape[1] != cells.n_cells:  # rows that count in several ways
        return np.zeros(len(lagrangian.c), dtype=bool)
    most = lagrangian.gamma_offset + np.maximum(lagrangian.gamma_slope, 0.0) @ cells.mass
    return (most <= lagrangian.c + TOLERANCE) & ~free


def absent_groups(fit: CellTable, measured: CellTable) -> str:
    """Return a sentence about groups of the fit that nobody measured belongs to, if any."""
    if len(fit.sensitive) != len(measured.sensitive):
        return ""
    known = {group_name(group) for group in measured.groups()}
    names = [name for group in fit.groups() if (name := group_name(group)) not in known]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (
        f"nobody of the people measured belongs to {', '.join(names[:_MOST_NAMES])}{more}, a group "
        "of the fit: no bound on it is checked, and what was found says nothing about it."
    )


def warn_of_absent(fit: CellTable, measured: CellTable) -> None:
    """Warn where a group of the fit is absent from the people measured."""
    if text := absent_groups(fit, measured):
        warnings.warn(text, AbsentGroupWarning, stacklevel=4)


def warn_of(found: Iterable[Remark]) -> None:
    """Warn of each remark, once."""
    for category, text in dict.fromkeys(found):
        warnings.warn(text, category, stacklevel=4)
