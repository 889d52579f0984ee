"""``audit``: how unfair labels, or the predictions of any model, are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from equipoise import metrics
from equipoise.cells.table import Array
from equipoise.cli import options as opt
from equipoise.cli.model_files import check_outputs, write_page
from equipoise.cli.result_tables import show_group_rows, shown
from equipoise.cli.tables.columns import as_number, is_missing, kind_of, plain_values
from equipoise.cli.tables.people import Reader, check_columns, read_label
from equipoise.cli.terminal import Terminal, command_line
from equipoise.files.versions import date_made, versions
from equipoise.report.contents import AuditContents, DataContents, ReportContents
from equipoise.report.evaluate import group_contents, span

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


def audit(
    *,
    table: opt.LabelledTable,
    prediction: Annotated[
        str | None, opt.option("A column of decisions, or of probabilities of the favourable one.")
    ] = None,
    page: Annotated[Path | None, opt.option("Also write a report page.")] = None,
    results: opt.Results,
) -> None:
    """Tell how unfair labels or predictions are.

    Rates of every group and the disparities between groups, with confidence intervals: of the
    labels themselves, or of the predictions of any model in one of the columns.
    """
    terminal, level = Terminal.current(), results.level
    check_outputs(page, force=results.force)
    people = _read(table, prediction, terminal.note)
    found = people.audit(level, results.suppress_below)
    of = f"predictions {prediction!r}" if prediction else f"labels {table.label!r}"
    rates = None if prediction else ["base_rate"]
    show_group_rows(terminal, f"Groups: {of}, [{level:.0%} intervals]", found.groups, rates)
    rows = [[words, shown(value, ".4f", ".4f")] for _, value, words in found.disparities]
    terminal.table(f"Disparities, [{level:.0%} intervals]", ["disparity", "value"], rows)
    if page is not None:
        contents = ReportContents(
            kind="audit",
            title=f"Audit of {prediction or table.label} in {table.data.name}",
            data=people.contents(table),
            audit=found,
            level=level,
            command=command_line(),
            versions=versions(),
            date=date_made(),
            suppress_below=results.suppress_below,
            notes=list(terminal.notes),
        )
        write_page(contents, page, force=results.force, terminal=terminal)
    terminal.emit(
        {
            "page": None if page is None else str(page),
            "rows": len(people.y),
            "decisions": found.decisions,
            "groups": found.groups,
            "disparities": {name: value for name, value, _ in found.disparities},
        }
    )


@dataclass(frozen=True, eq=False)
class _Audited:
    """People, and how likely each is to be selected; 1 is the favourable label."""

    y: NDArray[np.int64]
    labels: tuple[str, str]
    prediction: str | None
    decided: Array
    groups: dict[str, NDArray]
    weight: Array | None

    def audit(self, level: float, suppress_below: int) -> AuditContents:
        """Return the rates of all groups, and the disparities between them."""
        about: dict[str, Any] = {
            "sensitive_features": self.groups,
            "sample_weight": self.weight,
            "level": level,
        }
        names = list(_DISPARITIES)[: _OF_LABELS if self.prediction is None else None]
        given = (self.y, self.decided)
        return AuditContents(
            decisions="labels" if self.prediction is None else self.prediction,
            groups=group_contents(
                metrics.group_table(*given, interval="analytic", **about), suppress_below
            ),
            disparities=[
                (
                    name,
                    span(*metrics.confidence_interval(getattr(metrics, name), *given, **about)),
                    _DISPARITIES[name],
                )
                for name in names
            ],
        )

    def contents(self, table: opt.LabelledTable) -> DataContents:
        """Return a summary for reports."""
        return DataContents(
            source=table.data.name,
            rows=len(self.y),
            train_rows=0,
            test_rows=0,
            label=table.label,
            labels=self.labels,
            base_rate=float(np.average(self.y, weights=self.weight)),
            sensitive=list(table.sensitive),
            control=[],
            weight=table.weight,
            features={},
            missing={},
        )


def _read(
    table: opt.LabelledTable, prediction: str | None, note: Callable[[str], None]
) -> _Audited:
    rows = Reader(note).whole(table.data, table.request())
    y, labels, recoded = read_label(rows, table.label, table.positive)
    y = (y == (1 if recoded else np.unique(y)[1])).astype(np.int64)
    decided: Array = y.astype(float)
    if prediction is not None:
        check_columns(rows.column_names, [prediction], table.data)
        decided = read_decisions(rows.column(prediction), prediction, labels)
    weight = None
    if table.weight is not None:
        weight = as_number(rows.column(table.weight), table.weight).to_numpy()
    groups = {name: plain_values(rows.column(name), name) for name in table.sensitive}
    return _Audited(y, labels, prediction, decided, groups, weight)


def read_decisions(column: Any, name: str, labels: tuple[str, str]) -> Array:
    """Return how likely each row is to be selected, from decisions or from probabilities."""
    gone = is_missing(column)
    if gone.any():
        raise ValueError(
            f"prediction column {name!r} is missing in {int(gone.sum()):,} rows, first in row "
            f"{int(gone.argmax()) + 1}; expected one for every row."
        )
    text = [str(value) for value in plain_values(column, name)]
    if set(text) <= set(labels):
        return (np.array(text, dtype=object) == labels[1]).astype(float)
    if kind_of(column, name) == "number":
        values = as_number(column, name).to_numpy()
        if values.min() >= 0 and values.max() <= 1:
            return values
    raise ValueError(
        f"prediction column {name!r} has values such as {text[0]!r}; expected the labels "
        f"{labels[0]!r} and {labels[1]!r}, or probabilities from 0 to 1."
    )
