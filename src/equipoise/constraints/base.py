"""Constraints: linear inequalities on conditional moments, M mu(h) <= c (section 2 of the paper).

A `Constraint` is a description, made before any data are seen. `Constraint.moments` compiles it
over a table of cells into `Moments`: the arrays g, events, M and c of equation (1).
`equipoise.constraints` has the named ones, and `equipoise.constraints.expressions` a way to write
one's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import cleandoc
from textwrap import fill
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from equipoise.cells.table import CellTable
from equipoise.constraints.fairlearn_words import SaysNewWords
from equipoise.constraints.moments import (
    Condition,
    Moments,
    MomentsBuilder,
    Row,
    Utility,
    event_mask,
    utility_table,
)


class Constraint(SaysNewWords):
    """The parent of all constraints; `equipoise.constraints` has those to use.

    A constraint is a plain description: its parameters can be read and set the scikit-learn way
    (so ``GridSearchCV`` can search over ``constraint__eps``), and two constraints are stacked with
    ``&``.

    Attributes
    ----------
    name : str
        What rows and reports call it.
    asks : str
        What it asks, in one sentence.
    formula : str
        The inequalities, written with probabilities.
    of_several : tuple of two str, or None
        ``asks`` and ``formula`` of more than two decisions, where they differ.
    misleads : str
        What it does not promise, and where it does not fit.
    traceable : bool
        Whether a frontier can trace its ``eps``: the bounds c are, and M does not change with it.
    """

    name: ClassVar[str] = "constraint"
    asks: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    of_several: ClassVar[tuple[str, str] | None] = None
    misleads: ClassVar[str] = ""
    traceable: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        """Put what a constraint asks, its formula and what it does not promise into its help."""
        super().__init_subclass__()
        if "asks" in vars(cls) and "Examples" in (cls.__doc__ or ""):
            cls.__doc__ = _docstring(cls)

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add this constraint's inequalities over the builder's cells."""
        raise TypeError(f"{type(self).__name__} does not say which inequalities it stands for.")

    def moments(self, cells: CellTable, known: CellTable | None = None) -> Moments:
        """Compile into M mu(h) <= c over these cells.

        ``known`` is the table of the fit where these are other people: see `MomentsBuilder`.
        """
        builder = MomentsBuilder(cells, known)
        self.add_rows(builder)
        return builder.build()

    @property
    def n_open(self) -> int:
        """How many parameters are still to be found; M and c are affine in each of them."""
        return 0

    def closed(self, values: ArrayLike) -> Constraint:
        """Return this constraint with its ``n_open`` open parameters, all > 0, filled in."""
        return self

    @staticmethod
    def from_moments(
        events: Sequence[Condition],
        g: Utility | Sequence[Utility],
        M: ArrayLike,
        c: ArrayLike,
        names: Sequence[str] | None = None,
    ) -> Linear:
        """Write a constraint as in equation (1): M mu <= c, with mu_j = E[g_j | event_j].

        Parameters
        ----------
        events : sequence of J conditions
            Each a mapping from column names (sensitive or control features, or ``"label"``) to a
            value or a list of values; or a function that takes such a mapping of values and
            returns a bool; or None for everybody.
        g : utility, or list of J of them
            What is averaged: a table g(label, prediction), 2 x 2 or V x V; a function of
            (sensitive values, label, prediction) with values in [0, 1]; or the name of a utility
            given to ``fit``.
        M : array of shape (K, J)
        c : array of shape (K,)
        names : sequence of K str, optional
            The inequalities in words, for the certificate.

        Examples
        --------
        Women are to be selected at least half as often as men.

        >>> half = Constraint.from_moments(
        ...     events=[{"sex": "M"}, {"sex": "F"}], g=[[0, 1], [0, 1]], M=[[0.5, -1]], c=[0]
        ... )
        >>> from equipoise.cells import Cells
        >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
        >>> half.moments(cells).M.toarray().tolist()
        [[0.5, -1.0]]
        """
        return Linear(events, g, M, c, names)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Constraint:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(self.get_params())}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in _in_order(self)
            if f.name == "eps" or not _same(getattr(self, f.name), f.default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __and__(self, other: Constraint) -> Constraint:
        if not isinstance(other, Constraint):
            return NotImplemented
        return All((*_parts(self), *_parts(other)))

    def __bool__(self) -> bool:
        # "a and b" would silently drop a, and "0.1 <= rate <= 0.3" the first half.
        raise TypeError(
            f"a constraint is neither true nor false: {self!r}. Write a & b to ask for both, and "
            "(0.1 <= r) & (r <= 0.3) for a range."
        )


def _docstring(cls: type[Constraint]) -> str:
    """Return the docstring of a constraint: its words, around what was written for it alone."""
    own, parent = cleandoc(cls.__doc__ or ""), cls.__mro__[1]
    at = own.index("Parameters\n---" if "Parameters\n---" in own else "Examples\n---")
    words, sections = own[:at].strip(), own[at:]
    if sections.startswith("Examples"):
        names = ", ".join(f.name for f in _in_order(parent))
        sections = f"Parameters\n----------\n{names}\n    See `{parent.__name__}`.\n\n{sections}"
    formula = f"``{cls.formula.removesuffix('.')}``"
    return "\n\n".join([cls.asks, formula, words, fill(cls.misleads, 95), sections])


def _in_order(cls: Any) -> list[Any]:
    """Return the parameters of a constraint, those that need no keyword first."""
    return sorted((f for f in fields(cls) if f.init), key=lambda field: bool(field.kw_only))


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except ValueError:  # an array
        return False


def _parts(constraint: Constraint) -> tuple[Constraint, ...]:
    return constraint.parts if isinstance(constraint, All) else (constraint,)


@dataclass
class All(Constraint):
    """Several constraints at once: the rows of all of them. Written ``a & b``."""

    parts: tuple[Constraint, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """The names of the parts."""
        return " and ".join(part.name for part in self.parts)

    @property
    def asks(self) -> str:  # type: ignore[override]
        """What the parts ask."""
        return " ".join(part.asks for part in self.parts if part.asks)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The inequalities of the parts."""
        return "  and  ".join(part.formula for part in self.parts if part.formula)

    @property
    def misleads(self) -> str:  # type: ignore[override]
        """What the parts do not promise."""
        return " ".join(part.misleads for part in self.parts if part.misleads)

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add the rows of every part."""
        for part in self.parts:
            part.add_rows(builder)

    @property
    def n_open(self) -> int:
        """How many parameters of the parts are still to be found."""
        return sum(part.n_open for part in self.parts)

    def closed(self, values: ArrayLike) -> Constraint:
        """Return the parts with their open parameters filled in, in order."""
        ends = np.cumsum([part.n_open for part in self.parts])
        split = np.split(np.asarray(values, dtype=float), ends[:-1])
        return All(tuple(p.closed(v) for p, v in zip(self.parts, split, strict=True)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parts and, if deep, their parameters as ``0__eps``, ``1__eps``, ..."""
        params: dict[str, Any] = {"parts": self.parts}
        if deep:
            for number, part in enumerate(self.parts):
                params |= {f"{number}__{k}": v for k, v in part.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Constraint:
        """Set ``parts``, or parameters of single parts such as ``0__eps``."""
        for name, value in params.items():
            number, _, rest = name.partition("__")
            if rest and number.isdigit() and int(number) < len(self.parts):
                self.parts[int(number)].set_params(**{rest: value})
            else:
                super().set_params(**{name: value})
        return self


@dataclass(repr=False)
class Linear(Constraint):
    """A constraint in the letters of equation (1); see `Constraint.from_moments`."""

    events: Sequence[Condition]
    g: Utility | Sequence[Utility]
    M: ArrayLike
    c: ArrayLike
    names: Sequence[str] | None = None

    name = "custom"
    asks = "Inequalities on averages hold, as they were written for this fit."
    formula = "M mu(h) <= c, with mu_j(h) = E[g_j | event j]."
    misleads = "It promises what its author put into g, the events, M and c, and nothing else."

    def add_rows(self, builder: MomentsBuilder) -> None:
        """Add the rows of M."""
        M, c = np.atleast_2d(np.asarray(self.M, dtype=float)), np.atleast_1d(self.c).astype(float)
        finite = np.isfinite(M).all() and np.isfinite(c).all()
        if M.shape != (len(c), len(self.events)) or not finite:
            raise ValueError(
                f"from_moments got M of shape {M.shape} for {len(self.events)} events and "
                f"{len(c)} bounds; expected finite numbers, a row for each bound and a column for "
                "each event."
            )
        if self.names is not None and len(self.names) != len(c):
            raise ValueError(f"from_moments got {len(self.names)} names for {len(c)} rows.")
        utilities = _each(self.g, len(self.events))
        moments: list[int | None] = []
        for number, (condition, g) in enumerate(zip(self.events, utilities, strict=True)):
            event = event_mask(condition, builder.cells, builder.known)
            if builder.cells.population[event].sum() > 0:
                moments.append(builder.moment(event, utility_table(g, builder.cells)))
            elif builder.known is None:
                raise ValueError(f"event {number} of from_moments, {condition!r}, is empty.")
            else:
                moments.append(None)
        for k, (coefficients, bound) in enumerate(zip(M, c, strict=True)):
            text = self.names[k] if self.names is not None else f"row {k}"
            row = Row(self.name, text, bound=float(bound), limit=" at most")
            if any(j is None and m for j, m in zip(moments, coefficients, strict=True)):
                builder.leave_out(row, "nobody is in one of its events")
                continue
            sums: dict[int, float] = {}
            for j, m in zip(moments, coefficients, strict=True):
                if j is not None:
                    sums[j] = sums.get(j, 0.0) + m
            builder.row(row, sums)


def _each(g: Utility | Sequence[Utility], n: int) -> list[Utility]:
    if isinstance(g, str) or callable(g) or _is_table(g):
        return [g] * n  # type: ignore[list-item]
    each = list(g)  # type: ignore[arg-type]
    if len(each) != n:
        raise ValueError(f"got {len(each)} utilities g for {n} events; expected one, or one each.")
    return each


def _is_table(g: Any) -> bool:
    try:
        shape = np.asarray(g, dtype=float).shape
        return len(shape) == 2 and shape[0] == shape[1]
    except (TypeError, ValueError):  # a list of tables, functions and names
        return False


_NOT_LINEAR = (
    "{name} cannot be a constraint here: it looks at people by how they were decided on, so that "
    "the event of the moment would depend on the prediction, and the paper's constraints (and with "
    "them convexity and the certificate) allow that in g only: 'calibration and predictive parity "
    "cannot [be expressed] because to do so would require the event to depend on h' (section 2.1). "
    "Constrain what leads up to it: rates given the label (EqualizedOdds, rate('tpr'), "
    "rate('fpr')) or selection rates, and measure {name} afterwards."
)


def refuse(name: str) -> NoReturn:
    """Raise the error for a request that is not linear in the decisions."""
    raise ValueError(_NOT_LINEAR.format(name=name))


class PredictiveParity:
    """Not available: equal precision P[Y=1 | h(X)=1, A=a] conditions on the prediction.

    >>> PredictiveParity(eps=0.02)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: predictive parity cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("predictive parity")


class Calibration:
    """Not available: equal P[Y=1 | score] conditions on the prediction.

    >>> Calibration()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: calibration cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("calibration")
