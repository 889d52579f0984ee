"""Rates of groups and the disparities between them, as ``audit`` shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise import metrics
from equipoise.cells.codes import factorize
from equipoise.cells.table import Array
from equipoise.cli import terminal
from equipoise.cli.tables.columns import as_number, is_missing, kind_of, plain_values
from equipoise.cli.tables.people import Examples
from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import BASE, SELECTION, of_decision, rate_and_decision
from equipoise.metrics import Interval
from equipoise.metrics.decisions import read_audit
from equipoise.metrics.few import group_of_few
from equipoise.metrics.pairs import Pair, Pairs
from equipoise.report.contents import AuditContents, GroupContents
from equipoise.report.groups import (
    NOT_KNOWN,
    group_contents,
    unknown_remarks,
    with_predictive,
)
from equipoise.report.measurement import Range
from equipoise.report.text import with_interval
from equipoise.rows.people import People

#: Disparity -> what it is, in words. The first three need decisions only, the others also labels.
_DISPARITIES: dict[str, str] = {
    "demographic_parity_difference": "largest difference of selection rates between groups",
    "demographic_parity_violation": "largest difference of a group's selection rate from all",
    "demographic_parity_ratio": "smallest ratio of selection rates (four-fifths rule: 0.8)",
    "equalized_odds_difference": "largest difference of true- or false-positive rates",
    "equalized_odds_violation": "largest difference of these from those of all",
    "equal_opportunity_difference": "largest difference of true-positive rates",
}
_OF_LABELS = 3


class Audited(NamedTuple):
    """What an audit shows, and between which groups each disparity is, by its name."""

    contents: AuditContents
    pairs: dict[str, tuple[str, ...]]


def audit_of(
    people: Examples, decided: Array, prediction: str | None, min_size: int, level: float
) -> Audited:
    """Return the rates of all groups, and the disparities between those that are large enough."""
    about: dict[str, Any] = {
        "sensitive_features": people.sensitive_features,
        "sample_weight": people.sample_weight,
        "level": level,
    }
    several = decided.ndim == 2
    given = (people.y, decided, people.sensitive_features)
    audited = read_audit(*given, sample_weight=people.sample_weight, missing=people.missing)
    table = with_predictive(audited, level)
    groups = group_contents(table)
    if prediction is None:
        groups = [_labels_decided(group) for group in groups]
    for text in unknown_remarks(table.unknown):
        terminal.note(text, keep=False)
    large = _in_large_groups(people, min_size)
    some = {name: values[large] for name, values in people.sensitive_features.items()}
    weight = None if people.sample_weight is None else people.sample_weight[large]
    about |= {"sensitive_features": some, "sample_weight": weight}
    y, h = people.y[large], decided[large]
    found = Audited(AuditContents(prediction or "labels", groups, []), {})
    if not several:
        return _compared(found, y, h, about)
    for number, decision in enumerate(np.unique(people.y).tolist()):
        found = _compared(found, y, h[:, number], about, decision)
    return found


def rows_without_few(people: Examples, limit: int) -> NDArray[np.intp]:
    """Return the row numbers of all people outside groups below the limit."""
    columns = [values.tolist() for values in people.sensitive_features.values()]
    groups = list(zip(*columns, strict=True))
    count = Counter(groups)
    return np.array([row for row, group in enumerate(groups) if count[group] >= limit], dtype=int)


def for_others(
    whole: Audited, people: Examples, decided: Array, limit: int, **how: Any
) -> AuditContents:
    """Return the audit without people in groups of fewer than the limit.

    Where a disparity is larger with such a group, that is said. ``how`` are the other arguments of
    `audit_of`.
    """
    rows = rows_without_few(people, limit)
    if len(rows) == len(people):
        return whole.contents
    if not len(rows):
        return AuditContents(whole.contents.decisions, [], [])
    part = audit_of(people.take(rows), decided[rows], **how).contents
    named = {group.group for group in part.groups} | {"all"}
    between = {
        name: text if set(whole.pairs[name]) <= named else f"{text}; more for {group_of_few(limit)}"
        for name, text in part.between.items()
    }
    return replace(part, between=between)


def _compared(
    audited: Audited,
    y: NDArray,
    h: Array,
    about: dict[str, Any],
    decision: Any = None,
) -> Audited:
    """Return an audit with the disparities of a decision, one of several unless it is None."""
    audit = audited.contents
    disparities, between = list(audit.disparities), dict(audit.between)
    by_estimate, headlines = dict(audit.by_estimate), dict(audited.pairs)
    for name in list(_DISPARITIES)[: _OF_LABELS if audit.decisions == "labels" else None]:
        metric = getattr(metrics, name)
        pairs = metrics.compare_groups(metric, y, h, **about, pos_label=decision)
        found = _headline(pairs)
        called = name if decision is None else of_decision(name, decision)
        words = _DISPARITIES[name] + ("" if decision is None else f", decision {decision}")
        disparities.append((called, found["value"], words))
        between[called] = found["between"]
        headlines[called] = found["pair"]
        if found["by_estimate"]:
            by_estimate[called] = found["by_estimate"]
    contents = replace(audit, disparities=disparities, between=between, by_estimate=by_estimate)
    return Audited(contents, headlines)


def _labels_decided(group: GroupContents) -> GroupContents:
    """Return a group whose decisions are its labels: the shares of several are told alike."""
    rates = {
        name: group.rates[of_decision(BASE.column, decision)]
        for name in group.rates
        for rate, decision in [rate_and_decision(name)]
        if rate == SELECTION.column and decision is not None
    }
    return replace(group, rates=group.rates | rates)


def _in_large_groups(people: People, min_size: int) -> NDArray[np.intp]:
    """Return the rows of people in groups of this size; refuse where fewer than two are left."""
    groups = people.sensitive_features.values()
    known = np.flatnonzero(np.all([[v is not None for v in each] for each in groups], axis=0))
    columns = [factorize(values[known])[0] for values in groups]
    _, code, count = np.unique(
        np.column_stack(columns), axis=0, return_inverse=True, return_counts=True
    )
    if (count >= min_size).sum() < 2 <= len(count):
        raise ValueError(
            f"--min-size is {min_size}, and fewer than two groups have that many people; nothing "
            "is left to compare."
        )
    return known[(count >= min_size)[code.ravel()]]


def _headline(pairs: Pairs) -> dict[str, Any]:
    """Return a disparity by the limits of intervals, between whom; beside it, that by estimate."""
    sure, most = pairs.headline, pairs.largest
    if sure is None or most is None:
        nothing = "no two groups could be compared"
        return {"value": NOT_KNOWN, "between": nothing, "by_estimate": "", "pair": ()}
    value, other = (_cut(pair.value, pairs.ratio) for pair in (sure, most))
    text = "" if most == sure else f"{with_interval(other)} between {_between(most)}"
    names = tuple(_name(group) for group in (sure.group, sure.against))
    return {"value": value, "between": _between(sure), "by_estimate": text, "pair": names}


def _cut(value: Interval, ratio: bool) -> Range:
    """Return a difference that is not below zero, or a ratio that is not above one."""
    ends = [min(end, 1.0) if ratio else max(end, 0.0) for end in value]
    return Range.of(*ends)


def _between(pair: Pair) -> str:
    """Return between which groups a disparity is, and how many people they have."""
    lines = []
    for group, people in ((pair.group, pair.people), (pair.against, pair.against_people)):
        name = _name(group)
        lines.append(name if name == "all" else f"{name} ({people:,})")
    return " and ".join(lines)


def _name(group: Hashable) -> str:
    """Return the name of a group, "all" of everybody."""
    name = group_name(group)
    return "all" if name == "overall" else name


def one_hot(decided: Any, labels: tuple[str, ...]) -> Array:
    """Return a column for each label: 1 where that is decided, 0 elsewhere."""
    return np.column_stack([np.asarray(decided) == label for label in labels]).astype(float)


def read_decisions(column: Any, name: str, labels: tuple[str, ...]) -> Array:
    """Return how likely each row is to be selected, from decisions or from probabilities.

    Of more than two labels it has a column for each.
    """
    gone = is_missing(column)
    if gone.any():
        raise ValueError(
            f"prediction column {name!r} is missing in {int(gone.sum()):,} rows, first in row "
            f"{int(gone.argmax()) + 1}; expected one for every row."
        )
    text = [str(value) for value in plain_values(column, name)]
    if set(text) <= set(labels):
        if len(labels) > 2:
            return one_hot(np.array(text, dtype=object), labels)
        return (np.array(text, dtype=object) == labels[1]).astype(float)
    if kind_of(column, name) == "number" and len(labels) == 2:
        values = as_number(column, name).to_numpy()
        if values.min() >= 0 and values.max() <= 1:
            return values
    raise ValueError(
        f"prediction column {name!r} has values such as {text[0]!r}; expected the labels "
        f"{' and '.join(map(repr, labels))}"
        f"{', or probabilities from 0 to 1' if len(labels) == 2 else ''}."
    )
