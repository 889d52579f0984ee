"""Expressions: a constraint written as one reads it, ``rate("tpr", sex="F") >= 0.6``.

They compile to the same M mu <= c as the catalogue. An error shows the expression, with a mark
under the part that is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from equipoise.cells.table import CellTable, Mask
from equipoise.cells.values import is_number
from equipoise.constraints.base import Constraint, refuse
from equipoise.constraints.moments import MomentsBuilder, event_mask
from equipoise.constraints.rates import RATES, number_of
from equipoise.constraints.rows import Row

_SYNONYMS = {
    "positive": "selection",
    "selected": "selection",
    "acceptance": "selection",
    "recall": "tpr",
    "sensitivity": "tpr",
    "hit": "tpr",
    "miss": "fnr",
    "specificity": "tnr",
    "false alarm": "fpr",
}
_CONDITIONED_ON_PREDICTION = {
    "ppv": "the positive predictive value",
    "precision": "precision",
    "npv": "the negative predictive value",
    "fdr": "the false discovery rate",
    "for": "the false omission rate",
    "calibration": "calibration",
    "predictive parity": "predictive parity",
}


class Term(NamedTuple):
    """A rate of some people: E[g | event]."""

    rate: str
    where: tuple[tuple[str, Any], ...]
    decision: Hashable = None

    def __str__(self) -> str:
        decision = [] if self.decision is None else [self._decision()]
        return f"rate({', '.join([repr(self.rate), *decision, *self.conditions()])})"

    def _decision(self) -> str:
        return f"decision={self.decision!r}"

    def positive(self, cells: CellTable) -> int | None:
        """Return the number of the decision that is meant; None: the rate needs none."""
        if self.decision is not None:
            return number_of(self.decision, cells, "decision")
        return None if cells.n_decisions > 2 else 1

    def conditions(self) -> list[str]:
        """Return the conditions as they are written."""
        return [f"{name}={value!r}" for name, value in self.where]

    def names_absent(self, cells: CellTable) -> bool:
        """Whether it is about values of a sensitive feature that nobody has."""
        asked = ((name, v if isinstance(v, (list, tuple, set)) else [v]) for name, v in self.where)
        return any(
            name in cells.sensitive and not set(values) & set(cells.sensitive[name].tolist())
            for name, values in asked
        )


def rate(
    name: str,
    where: Mapping[str, Any] | None = None,
    /,
    *,
    decision: Hashable = None,
    **conditions: Any,
) -> Expression:
    """Return a rate, to be added, subtracted, multiplied by numbers and compared.

    Parameters
    ----------
    name : str
        "selection", "rejection", "error", "accuracy", "tpr", "fpr", "fnr" or "tnr".
    where : mapping, optional
        Conditions on columns whose names are no Python names.
    decision : decision, optional
        The decision whose rate is meant, against all others together. It must be named where there
        are more than two, except for "error" and "accuracy".
    **conditions
        Whose rate: column=value, or column=[value, ...], for sensitive and control features and
        "label". Nothing means everybody.

    Returns
    -------
    Expression
        ``a - b <= 0.02``, ``a >= 0.8 * b`` and ``abs(a - b) <= 0.02`` are constraints.

    Examples
    --------
    >>> gap = rate("tpr", sex="F") - rate("tpr", sex="M") <= 0.02
    >>> gap
    rate('tpr', sex='F') - rate('tpr', sex='M') <= 0.02
    >>> both = gap & (rate("selection") <= 0.3)
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> both.moments(cells).c.tolist()
    [0.02, 0.3]
    >>> rate("ppv", sex="F") >= 0.5  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: the positive predictive value cannot be a constraint here: ...
    """
    if not isinstance(name, str):
        raise TypeError(f"rate({name!r}): expected the name of a rate, one of {', '.join(RATES)}.")
    key = name.lower().removesuffix("_rate").removesuffix(" rate").replace("_", " ")
    if key in _CONDITIONED_ON_PREDICTION:
        refuse(_CONDITIONED_ON_PREDICTION[key])
    key = _SYNONYMS.get(key, key)
    if key not in RATES:
        close = get_close_matches(key, [*RATES, *_SYNONYMS], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        message = f"no rate has this name; there are {', '.join(RATES)}.{hint}"
        raise ValueError(_pointed(f"rate({name!r})", repr(name), message))
    given = {**(where or {}), **conditions}
    terms = ((k, tuple(v) if isinstance(v, (list, set)) else v) for k, v in given.items())
    return Expression({Term(key, tuple(terms), decision): 1.0})


class Expression:
    """A sum of rates times numbers, plus a number; made by `rate`."""

    def __init__(
        self, terms: Mapping[Term, float], constant: float = 0.0, *, absolute: bool = False
    ) -> None:
        self.terms, self.constant, self.absolute = dict(terms), constant, absolute

    def __add__(self, other: Any) -> Expression:
        other = self._read(other, "+")
        terms = dict(self.terms)
        for term, value in other.terms.items():
            terms[term] = terms.get(term, 0.0) + value
        return Expression(terms, self.constant + other.constant)

    def __sub__(self, other: Any) -> Expression:
        return self + -1.0 * self._read(other, "-")

    def __rsub__(self, other: Any) -> Expression:
        return -1.0 * self + other

    def __neg__(self) -> Expression:
        return -1.0 * self

    def __mul__(self, factor: Any) -> Expression:
        self._refuse_absolute("*")
        if isinstance(factor, Expression) or not _is_number(factor):
            raise TypeError(
                f"({self}) * ({factor}): a rate can be multiplied by a number only; a product of "
                "rates is not linear in the decisions."
            )
        terms = {term: factor * value for term, value in self.terms.items()}
        return Expression(terms, factor * self.constant)

    def __truediv__(self, divisor: Any) -> Expression:
        if isinstance(divisor, Expression) or not _is_number(divisor) or divisor == 0:
            raise TypeError(
                f"({self}) / ({divisor}): a rate can be divided by a number only; a ratio of rates "
                "is not linear in the decisions. Instead of a / b >= 0.8 write a >= 0.8 * b."
            )
        return self * (1.0 / divisor)

    def __abs__(self) -> Expression:
        return Expression(self.terms, self.constant, absolute=True)

    def __le__(self, other: Any) -> Inequality:
        return _at_most(self, self._read(other, "<=", absolute=True))

    def __ge__(self, other: Any) -> Inequality:
        return _at_most(self._read(other, ">=", absolute=True), self)

    def __eq__(self, other: object) -> Any:
        raise TypeError(f"({self}) == ({other}): write abs(a - b) <= 0, or with a little slack.")

    def __lt__(self, other: Any) -> Any:
        raise TypeError(
            f"({self}) < ({other}): a strict inequality has no best classifier; use <=."
        )

    def __gt__(self, other: Any) -> Any:
        raise TypeError(
            f"({self}) > ({other}): a strict inequality has no best classifier; use >=."
        )

    __radd__ = __add__
    __rmul__ = __mul__
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        parts: list[str] = []
        for term, value in self.terms.items():
            parts.append(_signed(value, str(term), first=not parts))
        if self.constant or not parts:
            parts.append(_signed(self.constant, "", first=not parts))
        text = " ".join(parts)
        return f"abs({text})" if self.absolute else text

    __repr__ = __str__

    def _read(self, other: Any, operator: str, *, absolute: bool = False) -> Expression:
        if not absolute:
            self._refuse_absolute(operator)
        if isinstance(other, Expression):
            if not absolute:
                other._refuse_absolute(operator)
            return other
        if _is_number(other):
            return Expression({}, float(other))
        raise TypeError(
            f"({self}) {operator} {other!r}: expected a rate or a finite number on both sides."
        )

    def _refuse_absolute(self, operator: str) -> None:
        if self.absolute:
            raise TypeError(
                f"({self}) {operator} ...: an absolute value can only be compared, abs(...) <= x; "
                "anything else is not linear in the decisions."
            )


@dataclass(repr=False)
class Inequality(Constraint):
    """``left <= right``, compiled to one row, or two for an absolute value."""

    left: Expression
    right: Expression

    name = "inequality"
    asks = "An inequality between rates holds, as it was written for this fit."
    misleads = "It says nothing about rates and groups that are not in it."

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The inequality as it is written."""
        return repr(self)

    def __repr__(self) -> str:
        return f"{self.left} <= {self.right}"

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add the row, once for each sign of an absolute value."""
        inside = Expression(self.left.terms, self.left.constant)
        for sign in (1.0, -1.0) if self.left.absolute else (1.0,):
            difference = sign * inside - self.right
            row = Row(
                constraint="",
                text=f"{sign * inside} <= {self.right}",
                group=self._group(difference),
                side=int(sign),
                bound=-difference.constant,
            )
            events = {term: self._event(term, builder) for term in difference.terms}
            if absent := [term for term, event in events.items() if not event.any()]:
                # That a whole group of the fit is absent is said once, by whoever measures.
                if sign > 0 and not any(term.names_absent(builder.cells) for term in absent):
                    builder.leave_out(row, f"nobody is in {absent[0]}")
                continue
            coefficients: dict[int, float] = {}
            for term, event in events.items():
                g = RATES[term.rate].table(builder.cells, term.positive(builder.cells))
                moment = builder.moment(event, g)
                coefficients[moment] = coefficients.get(moment, 0.0) + difference.terms[term]
            builder.row(row, coefficients)

    def _event(self, term: Term, builder: MomentsBuilder) -> Mask:
        """Return the cells of a rate; none where only people learned from are of this kind."""
        cells = builder.cells
        try:
            positive = term.positive(cells)
            mask = RATES[term.rate].event(cells, positive)
            RATES[term.rate].table(cells, positive)  # raises where a decision must be named
        except ValueError as error:
            raise ValueError(_pointed(repr(self), str(term), str(error))) from None
        for (name, value), text in zip(term.where, term.conditions(), strict=True):
            try:
                mask = mask & event_mask({name: value}, cells, builder.known)
            except ValueError as error:
                raise ValueError(_pointed(repr(self), text, str(error), str(term))) from None
        if cells.population[mask].sum() > 0:
            return mask
        if builder.known is None:
            raise ValueError(_pointed(repr(self), str(term), "nobody in the data is of this kind."))
        return np.zeros(cells.n_cells, dtype=bool)

    def _group(self, difference: Expression) -> str | None:
        for term in difference.terms:
            if term.where:
                return ", ".join(term.conditions())
        return None


def _at_most(left: Expression, right: Expression) -> Inequality:
    if right.absolute:
        raise TypeError(
            f"({left}) <= ({right}): an absolute value can be bounded from above only; from below "
            "it is not convex."
        )
    if not (left - right if not left.absolute else left).terms:
        raise TypeError(f"({left}) <= ({right}) compares numbers only; expected a rate.")
    return Inequality(left, right)


def _is_number(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(value))


def _signed(value: float, text: str, *, first: bool) -> str:
    size = f"{abs(value):g}" if not text else "" if abs(value) == 1 else f"{abs(value):g} * "
    sign = ("-" if value < 0 else "") if first else ("- " if value < 0 else "+ ")
    return f"{sign}{size}{text}"


def _pointed(text: str, part: str, message: str, within: str = "") -> str:
    """Return the message and the text, with a mark under the part of it that is wrong."""
    at = max(text.find(part, max(text.find(within), 0)), 0)
    return f"{message}\n    {text}\n    {' ' * at}{'^' * len(part)}"
