"""Several decisions: each of them against all others, so that the rates of two apply.

With V labels the rates of one decision are those of a classifier that decides for it or not. So a
table of groups has V audits side by side, and errors, which are of all decisions, in one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from equipoise.cells.codes import factorize
from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import Missing
from equipoise.constraints.rates import (
    ACCURACY,
    ERROR,
    REJECTION,
    SELECTION,
    TPR,
    Rate,
    of_decision,
    shown,
)
from equipoise.metrics.audit import Audit, Squares, check_rows, read_cells
from equipoise.metrics.predictive import Predictive
from equipoise.rows.validation import MOST_LABELS

#: Rates of all decisions -> the rate in the audit of `Decisions.errors`, where errors are selected.
OF_ERRORS: dict[Rate | Predictive, Rate] = {ERROR: SELECTION, ACCURACY: REJECTION}


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a classifier of more than two labels decided, for whom, and what was true.

    >>> found = Decisions.read(list("abcc"), list("abca"), ["F", "F", "M", "M"])
    >>> everybody = np.ones((1, found.cells.n_cells), dtype=bool)
    >>> [found.against_rest(v).rate(SELECTION, everybody).tolist() for v in range(3)]
    [[0.5], [0.25], [0.25]]
    >>> found.errors().rate(SELECTION, everybody).tolist()
    [0.25]
    """

    #: Label, sensitive and control features; `Cells` where decisions are known row by row.
    cells: CellTable
    #: The probability of each decision, of shape (n, V).
    prediction: Array
    #: Of rows that workers hold: s(h) and squares by cell and decision, see `Tally`.
    sums: tuple[Array, Squares] | None = None

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        missing: Missing | None = None,
    ) -> Decisions:
        """Check what a metric was called with, of more than two labels."""
        label, prediction, classes = _read_decisions(y_true, y_pred)
        about = (sensitive_features, control_features, sample_weight)
        return cls(read_cells(label, *about, missing, classes), prediction)

    @property
    def names(self) -> tuple[Any, ...]:
        """The decisions, in the order of their numbers."""
        return self.cells.decisions

    def against_rest(self, decision: int, given: int | None = None) -> Audit:
        """Return the audit of one decision: who gets it is selected.

        The favourable label is ``given``, by default that of the decision.
        """
        label = decision if given is None else given
        cells = self._two_labels(self.cells.label == label, ("another", self.names[label]))
        if self.sums is None:
            return Audit(cells, self.prediction[:, decision])
        s, (first, second, _) = self.sums
        selected, drawn = (
            self._column(s, decision, cells.mass),
            self._column(second, decision, first),
        )
        return Audit.of_sums(cells, selected, (first, drawn, drawn))

    def errors(self) -> Audit:
        """Return the audit of all decisions that are not the label: they are selected."""
        cells = self._two_labels(np.zeros(self.cells.n_cells, dtype=bool), (0, 1))
        if self.sums is None and (rows := self.cells.plain_rows()) is not None:
            own = rows.label[rows.code].astype(np.intp)
            return Audit(cells, 1.0 - self.prediction[np.arange(len(own)), own])
        assert self.sums is not None
        s, (first, second, _) = self.sums
        wrong, drawn = np.zeros_like(cells.mass), np.zeros_like(cells.mass)
        for number in range(len(self.names)):
            others = self.cells.label != number
            wrong += np.where(others, self._column(s, number, cells.mass), 0.0)
            drawn += np.where(others, self._column(second, number, first), 0.0)
        return Audit.of_sums(cells, wrong, (first, drawn, drawn))

    def compared(self, rates: tuple[Rate, ...]) -> Iterator[tuple[Audit, Rate, str]]:
        """Yield what differences of rates compare: every decision, given every label asked for.

        Given the label 0, these are the people of every other label, label by label. With each
        comes what it is called.
        """
        numbers = range(len(self.names))
        for rate in rates:
            for decision in numbers:
                called = of_decision(rate.column, self.names[decision])
                if rate.given is None:
                    yield self.against_rest(decision), rate, called
                for label in numbers:
                    if rate.given is not None and (label == decision) == bool(rate.given):
                        given = "" if label == decision else f" given label {self.names[label]}"
                        yield self.against_rest(decision, label), TPR, called + given

    def _two_labels(self, favourable: NDArray, names: tuple[Any, Any]) -> CellTable:
        return replace(self.cells, label=favourable.astype(np.int8), decisions=names)

    def _column(self, table: Array, decision: int, whole: Array) -> Array:
        """Return a column of a table over cells that leaves the first decision out."""
        others = self.cells.by_decision(table)
        return others[:, decision - 1] if decision else np.maximum(whole - others.sum(axis=1), 0.0)


def read_audit(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    missing: Missing | None = None,
) -> Audit | Decisions:
    """Return the audit of two labels, or of one against the rest; otherwise of all decisions."""
    about = (sensitive_features, control_features, sample_weight)
    check_rows(y_true, y_pred, *about)
    if pos_label is None and has_several_labels(y_true):
        return Decisions.read(y_true, y_pred, *about, missing=missing)
    return Audit.read(y_true, y_pred, *about, pos_label, missing)


def has_several_labels(y_true: Any) -> bool:
    """Return whether there are more than two labels, and not numbers of any size.

    >>> [has_several_labels(y) for y in ([0, 1, 2], [0, 1, 1], [0.1, 2, 3])]
    [True, False, False]
    """
    true = np.asarray(y_true)
    if true.ndim != 1 or (true.dtype.kind == "f" and not (true == np.round(true)).all()):
        return False
    known = factorize(true)[1].tolist()
    return 2 < len(known) <= MOST_LABELS


def _read_decisions(y_true: Any, y_pred: Any) -> tuple[NDArray, Array, tuple[Any, ...]]:
    """Return labels as 0 to V - 1, the probability of each decision, and what these are called."""
    true, predicted = column_or_1d(np.asarray(y_true)), np.asarray(y_pred)
    if len(true) != len(predicted):
        raise ValueError(
            f"y_true has {len(true)} entries but y_pred has {len(predicted)}; pass one prediction "
            "for each example, in the same order."
        )
    if predicted.ndim == 1:
        codes, classes = factorize(np.concatenate([true, predicted]))
        label, decided = np.split(codes, [len(true)])
        if len(classes) > MOST_LABELS:
            raise ValueError(
                f"y_true and y_pred have {len(classes)} values together; expected labels, at most "
                f"{MOST_LABELS}, or a column of probabilities for each label of y_true."
            )
        return label, np.eye(len(classes))[decided], tuple(classes.tolist())
    label, classes = factorize(true)
    names = tuple(classes.tolist())
    if predicted.shape[1:] != (len(classes),):
        raise ValueError(
            f"y_pred has the shape {predicted.shape}, and y_true {len(classes)} labels: "
            f"{shown(names)}; expected labels, or a column of probabilities for each of these."
        )
    pmf = predicted.astype(float)
    if not (np.isfinite(pmf).all() and pmf.min() >= -1e-9 and np.ptp(pmf.sum(axis=1)) <= 1e-6):
        raise ValueError("the columns of y_pred are no probabilities: they do not sum to one.")
    return label, pmf, names


def audit_of(
    rate: Rate | Predictive, y_true: Any, y_pred: Any, sample_weight: Any, pos_label: Any
) -> tuple[Audit, Rate | Predictive]:
    """Return the audit of everybody in which a rate is measured, and as which rate.

    Errors of several decisions need no favourable one.
    """
    if rate in OF_ERRORS and pos_label is None and has_several_labels(y_true):
        found = Decisions.read(y_true, y_pred, sample_weight=sample_weight)
        return found.errors(), OF_ERRORS[rate]
    return Audit.read(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label), rate
