"""What a certificate says, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from equipoise.constraints.groups import group_name
from equipoise.game.evidence import Price, Scope, Status
from equipoise.game.lagrangian import TOLERANCE, is_met

#: Numbers below this are zero, up to rounding.
_ROUNDING = 1e-12
#: Prices that are told, the highest; `Certificate.shadow_prices` has all of them.
_MOST_PRICES = 8
#: What is told where people in groups of few are left out, besides the error of the others.
_WITHOUT_FEW = ("bounds", "gap", "out of fold", "random", "switched")

if TYPE_CHECKING:
    from equipoise.game.certificate import Certificate


def facts_of(certificate: Certificate) -> list[tuple[str, str, str]]:
    """Return the numbers of a certificate: name, value and remark."""
    scope = certificate.scope.value
    name = "search gap " * (certificate.scope is not Scope.WHOLE_CLASS)
    closed = name + "NOT " * (not certificate.is_optimal()) + "closed"
    calls, shown = _calls(certificate), _format(certificate)
    fine = "{:.6f}".format if certificate.measure == "error" else shown
    over = f"largest excess over a bound{' as loosened' * (certificate.sampling_slack > 0)}"
    asks = _asks_nothing(certificate) or _beforehand(certificate) or _at_thresholds(certificate)
    found = [
        ("bounds", certificate.verdict, asks),
        (certificate.measure, shown(certificate.error), ""),
        ("violation", shown(_excess(certificate)), over),
        ("lower value", shown(certificate.lower), scope),
        ("upper value", shown(certificate.upper), ""),
        (
            "gap",
            fine(certificate.gap),
            f"{closed} at nu = {fine(certificate.nu)}, {scope}; {calls}",
        ),
    ]
    if certificate.shared_trees > 0:
        share = f"members share the first {certificate.shared_trees:.4g} of their trees"
        found.append(("oracle", share, "those of the learner without constraints"))
    if certificate.out_of_fold:
        how = "all of the above: each person is told of by a model that had not seen them"
        found.append(("out of fold", how, ""))
    if certificate.by_lot is not None:
        most = "" if certificate.by_lot.exact else "at most "
        drawn = "get a prediction" if certificate.measure == "loss" else "are decided"
        share = f"{most}{certificate.by_lot.share:.2%} of the people measured {drawn} at random"
        found.append(("random", share, "by weight" if certificate.weighted else ""))
    if certificate.draw is not None and certificate.draw.matters:
        deviation = f"standard deviation {shown(certificate.draw.shared)} of the decisions drawn"
        found.append(("draw", deviation, certificate.draw.row))
    if certificate.switched is not None:
        sentence = certificate.switched.sentence()
        found.append(("switched", sentence, "against the unconstrained model"))
    if certificate.worst_rate is not None:
        low, high = certificate.worst_rate
        found.append(("worst group", shown(high), f"it cannot be below {shown(low)}, {scope}"))
    if _prices(certificate):
        without = f"{certificate.measure} {shown(certificate.free_error)} without the constraints"
        price = shown(certificate.error - certificate.free_error)
        found.append(("price", price if certificate.is_optimal() else f"at most {price}", without))
        of, group = f"of {len(certificate.rows)} constraints", certificate.limiting_group
        if group is not None:
            what = "limits the result" if certificate.binding else "is dearest"
            of += f"; {group_name(group)} {what}"
        found.append(("binding", f"{len(certificate.binding) or 'none'} {of}", ""))
    if certificate.few:
        # Other numbers count everybody, and with these would give away who is left out.
        found = [fact for fact in found if fact[0] in (certificate.measure, *_WITHOUT_FEW)]
        found.append(("left out", f"people in groups of fewer than {certificate.few}", ""))
    return found


def sentences_of(certificate: Certificate) -> list[str]:
    """Return sentences on what is easily overlooked, and on the worth of loosening a bound."""
    remarks = [
        certificate.proof,
        certificate.why_by_lot,
        _unmet(certificate),
        _is_trivial(certificate),
        _if_seen(certificate),
    ]
    if certificate.few:
        remarks = ["" if certificate.feasible else f"{certificate.verdict}."]
    prices = _prices(certificate)
    more = "further, by 0.01," if certificate.least_slack > 0 else "by 0.01"
    sentences = [text for text in remarks if text] + [
        f'loosening "{row.sentence()}" {more} saves at most {_format(certificate)(price)} of '
        f"{certificate.measure}"
        for row, price in prices[:_MOST_PRICES]
    ]
    rest = len(prices) - _MOST_PRICES
    return sentences + [f"{rest} more bounds have a price, none of them a higher one"] * (rest > 0)


def _excess(certificate: Certificate) -> float:
    """Return by how much the bounds, as asked for, are exceeded, 0 where it is rounding."""
    excess = certificate.excess
    if excess is None:
        excess = certificate.violation + certificate.least_slack
    return 0.0 if is_met(excess, certificate.tolerance) else excess


def _asks_nothing(certificate: Certificate) -> str:
    """Return a remark where no bound depends on the decisions, as far as that is known."""
    evidence = certificate.evidence
    slope = None if evidence is None else evidence.lagrangian.gamma_slope
    if not isinstance(slope, np.ndarray) or np.abs(slope).max(initial=0.0) > TOLERANCE:
        return ""
    return "nothing was compared: no bound depends on the decisions"


def _beforehand(certificate: Certificate) -> str:
    """Return a remark where bounds were loosened before the fit."""
    by = certificate.sampling_slack
    return f"as loosened by sampling_slack, by up to {_format(certificate)(by)}" if by > 0 else ""


def _at_thresholds(certificate: Certificate) -> str:
    """Return a remark where groups of a regressor are compared at thresholds, and at which."""
    if not certificate.n_thresholds:
        return ""
    number, exact = certificate.n_thresholds, certificate.exact_difference
    places = f"at {number} threshold{'s' * (number != 1)}"
    if np.isnan(exact):
        return places
    return f"{places}; at any threshold the largest difference is {_format(certificate)(exact)}"


def _format(certificate: Certificate) -> Callable[[float], str]:
    """Return how numbers are printed: losses may be of any size."""
    pattern = "{:.4f}" if certificate.measure == "error" else "{:.5g}"
    rounding = _ROUNDING * min(certificate.unit, 1.0)
    return lambda value: pattern.format(0.0 if abs(value) < rounding else value)


def _calls(certificate: Certificate) -> str:
    """Return how often the oracle was called; only one that refits trains anew each time."""
    return f"{certificate.n_calls} call{'s' * (certificate.n_calls != 1)} of the oracle"


def _unmet(certificate: Certificate) -> str:
    shown, made = _format(certificate), "decisions"
    if certificate.measure == "loss":
        made = "predictions"
    if certificate.status is Status.MET:
        return ""
    if certificate.status is Status.NOT_YET:
        text = (
            "not met yet: whether these bounds can be met is not known; the search ended "
            "before that was settled."
        )
        if certificate.least_slack > 0:
            text += f" With every bound loosened by {shown(certificate.least_slack)} they are met."
        return text
    reason = (
        f"Other {made} could meet all of the bounds, so a more flexible learner may."
        if certificate.possible
        else "No decisions whatsoever can meet all of the bounds, not even with every label known."
    )
    rows = "; ".join(row.sentence() for row in certificate.conflict)
    conflict = f"In conflict: {rows}. " if rows else ""
    in_all = ""
    if certificate.total_slack > 0:
        in_all = (
            f", or {shown(certificate.total_slack)} in all, spread over the bounds that need it"
        )
    least, proven = certificate.least_slack, certificate.proven_slack
    return (
        f"impossible {certificate.scope.value}: the bounds were loosened. Every bound by "
        f"{shown(least)} suffices{in_all}; less than {shown(proven)} does not. {conflict}{reason}"
    )


def _if_seen(certificate: Certificate) -> str:
    """Return what decisions that see the group would pay, where that is half as much or less."""
    if not certificate.saves_if_seen or certificate.seen is None:
        return ""
    shown, names = _format(certificate), ", ".join(map(repr, certificate.seen.names))
    price = shown(max(certificate.seen.error - certificate.free_error, 0.0))
    return (
        f"decisions that see {names} too would pay a price of about {price}, with thresholds by "
        "group on the learner's scores; whether they may is a question for a lawyer"
    )


def _is_trivial(certificate: Certificate) -> str:
    if certificate.constant is None or not (certificate.multipliers > TOLERANCE).any():
        return ""
    how = (
        f"It decides for about the same shares of them, {_listed(certificate.constant)}."
        if isinstance(certificate.constant, tuple)
        else f"It selects about the same share of each, {certificate.constant:.3f}."
    )
    return f"trivial: it treats all groups and labels alike. {how}"


def _prices(certificate: Certificate) -> list[Price]:
    return certificate.shadow_prices() if np.isfinite(certificate.gap) else []


def _listed(shares: tuple[float, ...]) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)
