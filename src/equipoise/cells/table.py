"""Cells: what a constraint may know about a row, and nothing else (section 2 of the paper).

A *cell* is one combination of label, sensitive features and control features that occurs in the
data. Every moment and the error of a classifier ``h`` are affine in the numbers ::

    s_c(h) = sum over rows i in cell c of  w_i h(x_i) / sum of all w_i

so the reduction works on tables of C cells. It meets the n rows in two places only:
`equipoise.cells.rows.Cells.sum` and its adjoint ``spread``.

Of V decisions 0 to V - 1 there is such a number for each but the first, whose share is what the
others leave: s(h) is a table of C rows and V - 1 columns, row after row. Costs have the same form:
what a decision costs more than decision 0. With two decisions that is one number a cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cells.codes import add_up, number_cells
from equipoise.cells.groups import Group, Mask, combinations, known_in, make_groups
from equipoise.cells.labels import Array, WeightedLabels, weighted_labels
from equipoise.cells.values import GroupRules

if TYPE_CHECKING:
    from equipoise.cells.rows import Cells

Kind = TypeVar("Kind", bound="CellTable")


@dataclass(frozen=True, eq=False, kw_only=True)
class CellTable:
    """What is known of each cell; nothing that has the size of the data.

    Parameters
    ----------
    label : array of shape (C,)
        The label, 0 to V - 1, in each cell.
    sensitive, control : mapping from column name to array of shape (C,)
        The value of each sensitive (control) feature in each cell.
    mass : array of shape (C,)
        Share of the total weight in each cell; sums to one.
    count : array of shape (C,)
        Number of rows in each cell.
    square : array of shape (C,)
        Sum of squared weights in each cell, where all weights sum to one.
    total_weight : float
        The weight of all rows together; their number where all weigh the same.
    decisions : tuple of V values, default=(0, 1)
        What labels and decisions are called.
    rules : GroupRules
        How groups were made out of values.

    Examples
    --------
    >>> table, code = CellTable.from_sums(
    ...     [0, 1, 0], {"sex": ["F", "M", "F"]}, {}, count=np.array([5.0, 2.0, 3.0]))
    >>> table.count.tolist(), code.tolist(), table.mass.tolist()
    ([8, 2], [0, 1, 0], [0.8, 0.2])
    >>> label, weight = table.relabel(np.array([1.0, -1.5]))
    >>> label.tolist(), weight.round(2).tolist()
    ([0, 1], [0.91, 1.36])
    """

    label: NDArray[np.int8]
    sensitive: Mapping[str, NDArray]
    control: Mapping[str, NDArray]
    mass: Array
    count: NDArray
    square: Array
    total_weight: float
    decisions: tuple[Hashable, ...] = (0, 1)
    rules: GroupRules = field(default_factory=GroupRules)

    @staticmethod
    def from_sums(
        label: ArrayLike,
        sensitive: Mapping[str, ArrayLike],
        control: Mapping[str, ArrayLike],
        count: Array,
        weight: Array | None = None,
        square: Array | None = None,
        decisions: Sequence[Hashable] = (0, 1),
    ) -> tuple[CellTable, NDArray[np.integer]]:
        """Return the cells of counted combinations, and the cell of each combination.

        The same combination may come several times, from several parts of the data.

        Parameters
        ----------
        label, sensitive, control, decisions
            As for `Cells.from_columns`, one entry for each combination.
        count, weight, square : array
            Rows of a combination, the sum of their weights, and that of the squared weights;
            without ``weight``, all rows weigh one.
        """
        code, names = number_cells(label, sensitive, control, len(decisions))
        given = (count, count if weight is None else weight, count if square is None else square)
        counts, mass, squares = (add_up(code, len(names["label"]), values) for values in given)
        total = float(given[1].sum())
        table = CellTable(
            **names,
            mass=mass / total,
            count=counts.round().astype(np.int64),
            square=squares / total**2,
            total_weight=total,
            decisions=tuple(decisions),
        )
        return table, code

    def as_kind(self, kind: type[Kind], **more: Any) -> Kind:
        """Return the same cells as another kind of table, which may have fields ``more``."""
        names = (each.name for each in fields(kind))
        return kind(**{name: getattr(self, name) for name in names if name not in more}, **more)

    def table(self) -> CellTable:
        """Return the table of cells alone: nothing that has the size of the data."""
        return self.as_kind(CellTable)

    def plain_rows(self) -> Cells | None:
        """Return these cells with their rows; None if these are not here, or count in more ways."""
        return None

    def part(self, cells: Mask) -> CellTable:
        """Return the table of the people of some cells alone, whose weights then sum to one.

        >>> table, _ = CellTable.from_sums(
        ...     [0, 0], {"sex": ["F", "M"]}, {}, count=np.array([6.0, 2.0]))
        >>> table.part(table.sensitive["sex"] == "F").mass.tolist()
        [1.0]
        """
        share = float(self.mass[cells].sum())
        scale = share or 1.0
        return CellTable(
            label=self.label[cells],
            sensitive={name: values[cells] for name, values in self.sensitive.items()},
            control={name: values[cells] for name, values in self.control.items()},
            mass=self.mass[cells] / scale,
            count=self.count[cells],
            square=self.square[cells] / scale**2,
            total_weight=self.total_weight * share,
            decisions=self.decisions,
            rules=self.rules,
        )

    @property
    def n_cells(self) -> int:
        """C, the number of cells."""
        return len(self.mass)

    @property
    def n_decisions(self) -> int:
        """V, the number of labels and decisions."""
        return len(self.decisions)

    @property
    def n_examples(self) -> int:
        """n, the number of rows."""
        return round(float(self.count.sum()))

    @property
    def n_effective(self) -> float:
        """Kish's effective sample size: how many equally weighted rows these are worth."""
        return float(1.0 / self.square.sum())

    @property
    def is_plain(self) -> bool:
        """Whether a row is in one cell and counts in one way, so that C numbers tell all."""
        return True

    @property
    def population(self) -> Array:
        """Share of each cell as the constraints count it; here the same as ``mass``."""
        return self.mass

    def limits(self) -> tuple[Array, Array]:
        """Return the least and the largest s(h) that any predictions can give, entry by entry."""
        most = np.repeat(self.mass, self.n_decisions - 1)
        return np.zeros_like(most), most

    def by_decision(self, table: Array) -> Array:
        """Return s(h), costs or slopes with a row for each cell and a column for each v > 0."""
        return np.reshape(table, (self.n_cells, self.n_decisions - 1))

    def rates(self, s: Array) -> Array:
        """Return the rate of each decision in each cell that has weight, of shape (cells, V)."""
        used = self.mass > 0
        others = self.by_decision(s)[used] / self.mass[used, None]
        return np.column_stack([1.0 - others.sum(axis=1), others])

    def shares(self, s: Array) -> Array:
        """Return the share of all people who get each decision, of shape (V,)."""
        others = self.by_decision(s).sum(axis=0)
        return np.append(1.0 - others.sum(), others)

    def constant(self, decision: int) -> Array:
        """Return s(h) of the classifier that decides the same, 0 to V - 1, for everybody."""
        return np.outer(self.mass, np.arange(1, self.n_decisions) == decision).ravel()

    def relabel(self, costs: Array) -> WeightedLabels:
        """Return the label and the weight of each cell for these costs (section 3.1).

        A row weighs what its cell does times its own weight. On average over the weight of all rows
        that is its own weight, so that a learner's regularisation keeps its meaning.
        """
        return weighted_labels(costs, float(self.mass @ np.abs(costs)))

    def least_cost_shares(self, costs: Array) -> Array:
        """Return the s(h) that costs least of all: each cell gets its cheapest decision."""
        each = self.by_decision(costs)
        cheapest = np.column_stack([np.zeros(self.n_cells), each]).argmin(axis=1)
        chosen = cheapest[:, None] == np.arange(1, self.n_decisions)
        return np.where(chosen, self.mass[:, None], 0.0).ravel()

    def average(self, event: Mask, g: Array | str) -> tuple[float, Array]:
        """Return E[g | event] as an offset and a slope: offset + slope . s(h).

        Parameters
        ----------
        event : mask of shape (C,)
        g : array of shape (C, V)
            What is averaged, in each cell for each decision. A string names a utility given row by
            row, which these cells do not have; see `equipoise.cells.layered`.
        """
        g = _no_utility(g)
        inside = np.flatnonzero(event)
        mass = self.mass[inside]
        total = mass.sum()
        at_zero = g[inside, 0]
        growth = (g[inside, 1:] - at_zero[:, None]) / total
        slope = np.zeros((len(g), g.shape[1] - 1))
        # People without weight change nothing, whatever they get.
        slope[inside] = np.where(mass[:, None] > 0, growth, 0.0)
        return float((mass / total) @ at_zero), slope.ravel()

    def total(self, g: Array | str) -> tuple[float, Array]:
        """Return E[g] over the weight that counts for the error, as an offset and a slope."""
        g = _no_utility(g)
        return float(self.mass @ g[:, 0]), (g[:, 1:] - g[:, :1]).ravel()

    def groups(
        self, on: str | Sequence[str] | None = None, how: str = "intersections"
    ) -> dict[Hashable, Mask]:
        """Return the groups as masks over cells.

        Parameters
        ----------
        on : str or sequence of str, optional
            Names of sensitive features; all of them by default.
        how : {"intersections", "margins", "both", "slices"}
            "intersections" are the combinations of values that occur, called by the value of one
            feature or by the tuple of several. "margins" are the values of each feature by
            itself, called ``"sex=F"`` when there are several. "both" has all of these, and so
            every row is in several groups. "slices" takes each feature as a yes or no, and the
            rows that have it as a group of that name. Rows whose value of a feature is not known
            are in no group that it makes.
        """
        return {name: group.members for name, group in self.known_groups(on, how).items()}

    def known_groups(
        self, on: str | Sequence[str] | None = None, how: str = "intersections"
    ) -> dict[Hashable, Group]:
        """Return the groups, each with those of whom is known whether they are in it."""
        names = list(self.sensitive) if on is None else [on] if isinstance(on, str) else list(on)
        return make_groups(self.sensitive, names, how, self.n_cells)

    @property
    def unknown(self) -> Mask:
        """The cells of rows of which a sensitive feature is not known."""
        return ~known_in(list(self.sensitive.values()), self.n_cells)

    def strata(self) -> dict[Hashable, Mask]:
        """Return the strata of the control features; without any, one stratum called None."""
        if not self.control:
            return {None: np.ones(self.n_cells, dtype=bool)}
        found = combinations(list(self.control.values()), self.n_cells)
        return {name: stratum.members for name, stratum in found.items()}


def _no_utility(g: Array | str) -> Array:
    """Return a table over cells as it is; raise if a utility is named instead."""
    if isinstance(g, str):
        raise ValueError(
            f"no utility is called {g!r}: there are none. Pass it to fit as two columns, the "
            f"values under prediction 0 and 1: fit(..., utilities=...) with {g}_0 and {g}_1."
        )
    return g
