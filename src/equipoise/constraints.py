"""Constraints: linear inequalities on conditional moments, M mu(h) <= c (section 2 of the paper).

A `Constraint` is a description, made before any data are seen. `Constraint.moments` compiles it
over a table of cells into `Moments`: the arrays g, events, M and c of equation (1).
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.cells import Array, Cells, Mask
from equipoise.exceptions import EmptyCellWarning

#: g(label, prediction) as a 2 x 2 table: what a moment averages.
SELECTION = ((0.0, 1.0), (0.0, 1.0))
ERROR = ((0.0, 1.0), (1.0, 0.0))


class Row(NamedTuple):
    """One inequality of a constraint, in words."""

    constraint: str
    group: Hashable
    text: str

    def __str__(self) -> str:
        return f"{self.constraint}: {self.text}"


@dataclass(frozen=True, eq=False)
class Moments:
    """Equation (1) over cells: M mu(h) <= c, with mu(h) = offset + U s(h).

    Attributes
    ----------
    rows : tuple of Row
        The K inequalities, in words.
    M : array of shape (K, J)
    offset : array of shape (J,)
        The moments of the classifier that predicts 0 for everybody.
    U : array of shape (J, C)
        How a moment grows with the selected share s_c(h) of each cell.
    c : array of shape (K,)
    event_count : array of shape (J,)
        n_j, the number of examples in each event.
    """

    rows: tuple[Row, ...]
    M: Array
    offset: Array
    U: Array
    c: Array
    event_count: NDArray[np.int64]

    def mu(self, s: Array) -> Array:
        """Return the conditional moments of a classifier with selected shares ``s``."""
        return self.offset + s @ self.U.T


class _Builder:
    """Collects events and rows over a table of cells, then turns them into `Moments`."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._events: dict[tuple[bytes, bytes], int] = {}
        self._moments: list[tuple[float, Array, int]] = []
        self._rows: list[tuple[Row, dict[int, float], float]] = []

    def moment(self, event: Mask, g: Array) -> int:
        """Return the number of the moment E[g | event]; ``g`` (C, 2) has a column a prediction."""
        key = (event.tobytes(), g.tobytes())
        if key not in self._events:
            share = np.where(event, self.cells.mass, 0.0)
            share /= share.sum()
            slope = np.where(event, g[:, 1] - g[:, 0], 0.0) / self.cells.mass[event].sum()
            self._events[key] = len(self._moments)
            self._moments.append(
                (float(share @ g[:, 0]), slope, int(self.cells.count[event].sum()))
            )
        return self._events[key]

    def row(self, row: Row, coefficients: Mapping[int, float], bound: float) -> None:
        """Add the inequality sum of coefficient x moment <= bound."""
        self._rows.append((row, dict(coefficients), bound))

    def build(self) -> Moments:
        M = np.zeros((len(self._rows), len(self._moments)))
        for k, (_, coefficients, _) in enumerate(self._rows):
            for j, value in coefficients.items():
                M[k, j] += value
        offset, U, count = zip(*self._moments, strict=True) if self._moments else ((), (), ())
        return Moments(
            rows=tuple(row for row, _, _ in self._rows),
            M=M,
            offset=np.array(offset, dtype=float),
            U=np.reshape(np.array(U, dtype=float), (len(U), self.cells.n_cells)),
            c=np.array([bound for _, _, bound in self._rows], dtype=float),
            event_count=np.array(count, dtype=np.int64),
        )


class Constraint:
    """What every constraint can do; see `DemographicParity` and `EqualizedOdds` for two to use.

    A constraint is a plain description: its parameters can be read and set the scikit-learn way
    (so ``GridSearchCV`` can search over ``constraint__eps``), and two constraints are stacked with
    ``&``.
    """

    def add_rows(self, builder: _Builder) -> None:
        """Add this constraint's inequalities over the builder's cells."""
        raise TypeError(f"{type(self).__name__} does not say which inequalities it stands for.")

    def moments(self, cells: Cells) -> Moments:
        """Compile into M mu(h) <= c over these cells."""
        builder = _Builder(cells)
        self.add_rows(builder)
        return builder.build()

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
            for f in fields(self)  # type: ignore[arg-type]
            if f.name == "eps" or getattr(self, f.name) != f.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __and__(self, other: Constraint) -> Constraint:
        if not isinstance(other, Constraint):
            return NotImplemented
        return All((*_parts(self), *_parts(other)))


def _parts(constraint: Constraint) -> tuple[Constraint, ...]:
    return constraint.parts if isinstance(constraint, All) else (constraint,)


@dataclass
class All(Constraint):
    """Several constraints at once: the rows of all of them. Written ``a & b``."""

    parts: tuple[Constraint, ...] = ()

    def add_rows(self, builder: _Builder) -> None:
        """Add the rows of every part."""
        for part in self.parts:
            part.add_rows(builder)

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
class Parity(Constraint):
    """A rate must be (nearly) the same for every group; the parent of the named parities.

    For every event (a label condition within a stratum of the control features) and every group
    ``a`` compared with its reference ``r``::

        ratio * mu_a - mu_r <= eps     and     ratio * mu_r - mu_a <= eps

    Parameters
    ----------
    eps : float, default=0.01
        Bound on the difference.
    reference : "overall", "pairwise" or a group, default="overall"
        What a group's rate is compared with: the rate of everybody (the paper), that of every
        other group (the gap that people report), or that of one named group.
    ratio : float in (0, 1], default=1
        Below one the comparison is a ratio: with ``eps=0`` every rate is at least ``ratio`` times
        its reference and at most ``1 / ratio`` times.
    on : str or sequence of str, optional
        The sensitive features whose combinations are the groups; all of them by default.
    """

    eps: float = 0.01
    reference: Hashable = field(default="overall", kw_only=True)
    ratio: float = field(default=1.0, kw_only=True)
    on: str | Sequence[str] | None = field(default=None, kw_only=True)

    name: ClassVar[str]
    #: What is averaged, g(label, prediction).
    utility: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = SELECTION
    #: The labels to condition on, one event each; None is no condition.
    given: ClassVar[tuple[int | None, ...]] = (None,)

    def add_rows(self, builder: _Builder) -> None:
        """Compare every group with its reference, event by event."""
        _check_eps(self.eps, type(self).__name__)
        _check_ratio(self.ratio, type(self).__name__)
        cells = builder.cells
        g = np.array(self.utility)[cells.label]
        groups = cells.groups(self.on)
        for event, inside in self._events(cells):
            rates = {}
            for group, members in groups.items():
                if cells.mass[members & inside].sum() > 0:
                    rates[group] = builder.moment(members & inside, g)
                else:
                    _warn_empty(group, event, self.name)
            for a, b, j, r in self._comparisons(rates, builder.moment(inside, g)):
                for low, high, text in ((r, j, f"{a} above {b}"), (j, r, f"{a} below {b}")):
                    row = Row(f"{self.name}{event}", a, text)
                    builder.row(row, {high: self.ratio, low: -1.0}, self.eps)

    def _events(self, cells: Cells) -> Iterator[tuple[str, Mask]]:
        for stratum, inside in cells.strata().items():
            for label in self.given:
                name = "" if stratum is None else f" within {stratum}"
                name += "" if label is None else f" given label {label}"
                event = inside if label is None else inside & (cells.label == label)
                if cells.mass[event].sum() > 0:
                    yield name, event
                else:
                    _warn_empty("everybody", name, self.name)

    def _comparisons(
        self, rates: dict[Hashable, int], overall: int
    ) -> Iterator[tuple[Hashable, Hashable, int, int]]:
        if self.reference == "pairwise":
            names = list(rates)
            for i, a in enumerate(names):
                for b in names[i + 1 :]:
                    yield a, b, rates[a], rates[b]
        elif self.reference == "overall":
            for a, j in rates.items():
                yield a, "overall", j, overall
        elif self.reference in rates:
            for a, j in rates.items():
                if a != self.reference:
                    yield a, self.reference, j, rates[self.reference]
        else:
            raise ValueError(
                f"reference={self.reference!r} is neither 'overall' nor 'pairwise' nor a group "
                f"with examples; the groups are {', '.join(map(repr, rates))}."
            )


class DemographicParity(Parity):
    """Every group is selected equally often (Definition 1; also called statistical parity).

    ``| P[h(X)=1 | A=a] - P[h(X)=1] | <= eps`` for every group ``a``.

    It looks at decisions only, never at the true label. Use it where the label itself is the
    product of past discrimination, or where equal shares are the aim. It does not ask that the
    decisions be right: a classifier that is accurate in one group and picks at random in another
    can satisfy it, and a perfect classifier violates it when base rates differ.

    Parameters
    ----------
    eps, reference, ratio, on
        See `Parity`.

    Examples
    --------
    >>> DemographicParity(eps=0.02)
    DemographicParity(eps=0.02)
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for row in DemographicParity().moments(cells).rows:
    ...     print(row)
    demographic parity: F above overall
    demographic parity: F below overall
    demographic parity: M above overall
    demographic parity: M below overall
    """

    name = "demographic parity"


class EqualizedOdds(Parity):
    """Every group has the same true-positive and the same false-positive rate (Definition 2).

    ``| P[h(X)=1 | A=a, Y=y] - P[h(X)=1 | Y=y] | <= eps`` for every group ``a`` and label ``y``.

    Among people with the same true label, membership in a group does not change the odds of being
    selected. Use it where the label can be trusted. It does not ask for equal selection rates, and
    it inherits whatever is wrong with the label.

    Parameters
    ----------
    eps, reference, ratio, on
        See `Parity`.

    Examples
    --------
    >>> cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    >>> moments = EqualizedOdds(eps=0.05, reference="pairwise").moments(cells)
    >>> print(moments.rows[0], moments.c[0])
    equalized odds given label 0: F above M 0.05
    """

    name = "equalized odds"
    given = (0, 1)


def _check_eps(eps: object, owner: str) -> None:
    if not isinstance(eps, (int, float, np.number)) or not np.isfinite(eps) or eps < 0:
        raise ValueError(
            f"eps of {owner} is {eps!r}; expected a finite number >= 0: the difference between "
            "groups that is allowed."
        )


def _check_ratio(ratio: object, owner: str) -> None:
    if not isinstance(ratio, (int, float, np.number)) or not 0 < ratio <= 1:
        raise ValueError(f"ratio of {owner} is {ratio!r}; expected a number in (0, 1].")


def _warn_empty(group: Hashable, event: str, constraint: str) -> None:
    warnings.warn(
        f"{constraint}: nobody in the data belongs to {group!r}{event}. Its rate cannot be "
        "measured, so it is left unconstrained; merge it with another group or collect data.",
        EmptyCellWarning,
        stacklevel=2,
    )
