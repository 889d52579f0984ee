"""Metrics by group: from labels and predictions to a table of groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from equipoise.cells.values import Missing
from equipoise.constraints.rates import Rate, of_decision, rate_and_decision
from equipoise.metrics.audit import Audit, Draws, stratified_rows
from equipoise.metrics.decisions import OF_ERRORS, Decisions, read_audit
from equipoise.metrics.functions import Functions, read_metrics
from equipoise.metrics.intervals import Kind, check_level, resample
from equipoise.metrics.predictive import Predictive
from equipoise.metrics.rates import RATE_OF, Metric
from equipoise.metrics.table import GroupTable
from equipoise.metrics.unknown import ODDS, RATES_OF_GROUPS, UnknownPeople


def group_table(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    metrics: Metric | Mapping[str, Metric] | None = None,
    control_features: Any = None,
    groups: Literal["intersections", "margins", "both"] = "both",
    sample_weight: Any = None,
    pos_label: Any = None,
    interval: Kind | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: int | np.random.Generator = 0,
    missing: Missing = "error",
    unknown_odds: float = ODDS,
) -> GroupTable:
    """Return size and metrics of everybody and of every group.

    Without ``metrics``: base rate, selection rate, TPR, FPR and error. With more than two labels
    the rates are of each decision against the others, such as ``selection_rate[refer]``.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        See `selection_rate`: labels, or probabilities of a randomized classifier; with more than
        two labels a column of them for each, in sorted order, unless ``pos_label`` is given, which
        is then compared with all others together. Other functions
        than those of `equipoise.metrics` get ``y_true`` and ``y_pred`` as they are, whatever they
        hold, and ``sample_weight`` if there is one.
    sensitive_features : array-like or data frame of n rows
        One or several columns.
    metrics : function, or mapping from name to function, optional
        What to measure: rates of `equipoise.metrics`, or any functions of ``y_true`` and
        ``y_pred`` that return a number, such as those of ``sklearn.metrics``. Give them other
        arguments by ``functools.partial``.
    control_features : array-like or data frame of n rows, optional
        Have the rows once for each of their values, which are the strata.
    groups : "intersections", "margins" or "both", default="both"
        The combinations of all columns, the values of each column by itself, or these and those.
    interval : "analytic" or "bootstrap", optional
        Add an interval to every metric, see `confidence_interval`. Each holds by itself. Rates have
        analytic ones, all metrics those of the bootstrap.
    level, n_draws, random_state
        See `confidence_interval`.
    missing : {"error", "ignore"}, default="error"
        With "ignore", people whose group is unknown are in no row, and ``unknown`` of the table
        says what rates may be with them, at most. "overall" is everybody who lacks no feature.
    unknown_odds : float >= 1, default=2
        The odds ratio of bounds, see `equipoise.metrics.unknown`.

    Examples
    --------
    >>> y_true, y_pred = [0, 1, 1, 0, 1], [0, 1, 1, 0, 0.5]
    >>> table = group_table(y_true, y_pred, sensitive_features=list("aabbb"))
    >>> table.groups
    ('overall', 'a', 'b')
    >>> table.row("b")["true_positive_rate"]
    0.75
    >>> table.difference("true_positive_rate")
    0.2500 between a (2) and b (3)
    >>> from sklearn.metrics import f1_score
    >>> table = group_table(y_true, [0, 1, 1, 0, 0], metrics={"f1": f1_score},
    ...                     sensitive_features=list("aabbb"))
    >>> print(table)
    group    count      f1
    overall      5  0.8000
    a            2  1.0000
    b            3  0.6667
    2 groups, a (2), b (3), have fewer than 30 people: too few to say anything about their rates.
    """
    check_level(level)
    asked = None if metrics is None else read_metrics(metrics)
    rates = None if asked is None else {k: RATE_OF[f] for k, f in asked.items() if f in RATE_OF}
    others = {name: f for name, f in (asked or {}).items() if f not in RATE_OF}
    if others and interval == "analytic":
        name = next(iter(others))
        raise ValueError(f"metric {name!r} has no analytic interval; use interval='bootstrap'.")
    # Where only other functions look at them, labels and predictions may be of any kind.
    nothing = np.zeros(len(y_true))
    true, predicted = (nothing, nothing) if others and not rates else (y_true, y_pred)
    about = (sensitive_features, control_features, sample_weight, pos_label)
    read = read_audit(true, predicted, *about, missing=missing)

    def resampled(audit: Audit) -> Draws | None:
        return None if interval is None else resample(audit, interval, n_draws, random_state)

    how: dict[str, Any] = {"rates": rates, "interval": interval, "level": level}
    if isinstance(read, Decisions):
        found = decision_table(read, groups, resample=resampled, odds=unknown_odds, **how)
        audit = read.errors()
    else:
        audit = read
        found = GroupTable.from_audit(audit, groups, draws=resampled(audit), **how)
        found = replace(found, unknown=UnknownPeople.of(audit, groups, unknown_odds))
    if not others:
        return found
    functions = Functions.read(others, y_true, y_pred, sample_weight)
    inside = np.array([mask for *_, mask in stratified_rows(audit, groups)])[:, audit.rows.code]
    rng = np.random.default_rng(random_state)
    drawn = None if interval is None else functions.draws(inside, n_draws, rng)
    measured = [name for name in found.columns if not name.endswith(("_low", "_high"))]
    order = [
        column
        for name in asked or ()
        for column in [c for c in measured if rate_and_decision(c)[0] == name] or [name]
    ]
    return found.with_functions(functions.values(inside), drawn, order)


def decision_table(
    found: Decisions,
    groups: str = "both",
    *,
    rates: Mapping[str, Rate | Predictive] | None = None,
    interval: Kind | None = "analytic",
    level: float = 0.95,
    resample: Callable[[Audit], Draws | None] = lambda audit: None,
    stratified: bool = True,
    odds: float = ODDS,
) -> GroupTable:
    """Return the table of groups with a column for each rate and decision, see `group_table`."""
    rates = RATES_OF_GROUPS if rates is None else rates
    of_all: dict[str, Rate | Predictive]
    of_all = {name: OF_ERRORS[rate] for name, rate in rates.items() if rate in OF_ERRORS}
    of_each = {name: rate for name, rate in rates.items() if name not in of_all}
    parts = []
    for number, decision in enumerate(found.names if of_each else ()):
        named = {of_decision(name, decision): rate for name, rate in of_each.items()}
        parts.append((found.against_rest(number), named))
    if of_all:
        parts.append((found.errors(), of_all))
    tables = [
        replace(
            GroupTable.from_audit(
                audit,
                groups,
                rates=named,
                interval=interval,
                level=level,
                draws=resample(audit),
                stratified=stratified,
            ),
            unknown=UnknownPeople.of(audit, groups, odds, _bounded(named)),
        )
        for audit, named in parts
    ]
    return _side_by_side(tables, rates, found.names)


def _bounded(rates: Mapping[str, Rate | Predictive]) -> dict[str, Rate]:
    """Return the rates that are bounded for people whose group is unknown."""
    return {name: rate for name, rate in rates.items() if isinstance(rate, Rate)}


def _side_by_side(
    tables: list[GroupTable], rates: Mapping[str, Rate | Predictive], decisions: tuple[Any, ...]
) -> GroupTable:
    columns = {name: value for table in tables for name, value in table.columns.items()}
    draws = {name: value for table in tables for name, value in table.draws.items()}
    order = ["count"]
    for name in rates:
        each = [of_decision(name, decision) for decision in decisions]
        wanted = [name] if name in columns else each
        order += [f"{one}{end}" for one in wanted for end in ("", "_low", "_high")]
    ordered = {name: columns[name] for name in order if name in columns}
    unknown = UnknownPeople.joined(table.unknown for table in tables)
    return replace(tables[0], columns=ordered, draws=draws, unknown=unknown)
