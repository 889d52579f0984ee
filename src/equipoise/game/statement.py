"""What a certificate says, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.constraints.groups import group_name
from equipoise.game.evidence import Price, Scope, Status
from equipoise.game.lagrangian import TOLERANCE

if TYPE_CHECKING:
    from equipoise.game.certificate import Certificate


def facts_of(certificate: Certificate) -> list[tuple[str, str, str]]:
    """Return the numbers of a certificate: name, value and remark."""
    scope = certificate.scope.value
    name = "" if certificate.scope is Scope.WHOLE_CLASS else "search gap "
    closed = name + ("closed" if certificate.is_optimal() else "NOT closed")
    calls = f"{certificate.n_calls} calls of the learner"
    loosened = " as loosened, see below" if certificate.least_slack > 0 else ""
    found = [
        ("bounds", certificate.verdict, ""),
        ("error", f"{certificate.error:.4f}", ""),
        ("violation", f"{certificate.violation:.4f}", f"largest excess over a bound{loosened}"),
        ("lower value", f"{certificate.lower:.4f}", scope),
        ("upper value", f"{certificate.upper:.4f}", ""),
        (
            "gap",
            f"{certificate.gap:.6f}",
            f"{closed} at nu = {certificate.nu:.6f}, {scope}; {calls}",
        ),
    ]
    if certificate.by_lot is not None:
        most = "" if certificate.by_lot.exact else "at most "
        share = f"{most}{certificate.by_lot.share:.2%} of the people measured"
        found.append(("by lot", share, ""))
    if certificate.switched is not None:
        told = certificate.switched.sentence()
        found.append(("switched", told, "against the unconstrained model"))
    if certificate.worst_rate is not None:
        low, high = certificate.worst_rate
        found.append(("worst group", f"{high:.4f}", f"it cannot be below {low:.4f}, {scope}"))
    if _prices(certificate):
        price, free = certificate.error - certificate.free_error, certificate.free_error
        found.append(("price", f"{price:.4f}", f"error {free:.4f} without the constraints"))
        of, group = f"of {len(certificate.rows)} constraints", certificate.limiting_group
        if group is not None:
            what = "limits the result" if certificate.binding else "is dearest"
            of += f"; {group_name(group)} {what}"
        found.append(("binding", f"{len(certificate.binding) or 'none'} {of}", ""))
    if certificate.suppressed:
        hidden = "constraints on small groups, and what would tell of them"
        found.append(("suppressed", hidden, ""))
    return found


def sentences_of(certificate: Certificate) -> list[str]:
    """Return what is easily overlooked, and what loosening a bound is worth."""
    remarks = (certificate.why_by_lot, _unmet(certificate), _is_trivial(certificate))
    return [text for text in remarks if text] + [
        f'loosening "{row.sentence()}" by 0.01 saves at most {price:.4f} of error'
        for row, price in _prices(certificate)
    ]


def _unmet(certificate: Certificate) -> str:
    if certificate.status is Status.MET:
        return ""
    if certificate.status is Status.NOT_YET:
        told = (
            "not met yet: whether these bounds can be met is not known; the search ended "
            "before that was settled."
        )
        if certificate.least_slack > 0:
            told += f" With every bound loosened by {certificate.least_slack:.4f} they are met."
        return told
    reason = (
        "Other decisions could meet all of the bounds, so a more flexible learner may."
        if certificate.possible
        else "No decisions whatsoever can meet all of the bounds, not even with every label known."
    )
    rows = "; ".join(row.sentence() for row in certificate.conflict)
    conflict = f"In conflict: {rows}. " if rows else ""
    in_all = ""
    if certificate.total_slack > 0:
        in_all = f", or {certificate.total_slack:.4f} in all, spread over the bounds that need it"
    least, proven = certificate.least_slack, certificate.proven_slack
    return (
        f"impossible {certificate.scope.value}: the bounds were loosened. Every bound by "
        f"{least:.4f} suffices{in_all}; less than {proven:.4f} does not. {conflict}{reason}"
    )


def _is_trivial(certificate: Certificate) -> str:
    if certificate.constant is None or not (certificate.multipliers > TOLERANCE).any():
        return ""
    how = (
        f"It decides for everybody with the same probabilities, {_listed(certificate.constant)}"
        if isinstance(certificate.constant, tuple)
        else f"It selects everybody with the same probability, {certificate.constant:.3f}"
    )
    return (
        f"trivial: the constraints leave only a constant classifier. {how}, whatever their "
        "group and label."
    )


def _prices(certificate: Certificate) -> list[Price]:
    return certificate.shadow_prices() if np.isfinite(certificate.gap) else []


def _listed(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)
