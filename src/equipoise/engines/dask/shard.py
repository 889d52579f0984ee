"""A shard: some of the rows on one worker, and the sums that are asked of it.

These functions run on the workers. They get a shard and a table of the size of the cells, and
return tables; no rows leave.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from equipoise.cells.codes import Counts, add_up, add_up_decisions, count_pairs, look_up
from equipoise.cells.labels import savings, soft_labels, weighted_labels
from equipoise.cells.layers import LayerSums, costs_of_rows, layer_sums, layer_tables
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array, CellTable
from equipoise.cells.values import GroupRules, Missing
from equipoise.exceptions import EmptyCellWarning
from equipoise.oracles.agreement import agreement
from equipoise.oracles.decisions import decisions
from equipoise.rows.bins import as_numbers, in_bins
from equipoise.rows.floats import as_floats
from equipoise.rows.hashing import hash_uniform
from equipoise.rows.numbers import read_numbers
from equipoise.rows.people import read_utilities
from equipoise.rows.validation import check_size, read_columns, read_target, to_array

#: Distinct numbers of a column that a partition may send, for edges by quantiles.
_MOST_NUMBERS = 100_000
#: An odd constant with mixed bits, to scatter row numbers.
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Task(NamedTuple):
    """What a learner is to learn: the label and the weight of each cell, by `CellTable.relabel`.

    Of V > 2 labels the weight is a table: what each label saves in each cell, (C, V), by
    `equipoise.cells.labels.savings`.
    """

    label: NDArray[np.integer]
    weight: Array  #: To be multiplied by a row's own.
    #: Rows of the fold ``left_out`` of ``n_folds`` weigh nothing; -1 leaves none out.
    n_folds: int = 1
    left_out: int = -1
    #: Where rows count in more than one way, what they cost, layer by layer. Label and weight are
    #: then those of two kinds of rows: those that are to be selected, and all others; of V > 2
    #: labels the weight of each.
    costs: Array | None = None

    @property
    def is_soft(self) -> bool:
        """Whether it is about more than two labels, which rows have in part."""
        return len(self.label) > 2 if self.costs is not None else self.weight.ndim == 2

    def labels(self, cells: CellTable) -> set[int]:
        """Return the labels that some weight has."""
        used = self.weight > 0
        if self.costs is None:
            used = (used.T & (cells.mass > 0)).T
        at = used if used.ndim == 1 else np.flatnonzero(used.any(axis=0))
        return set(self.label[at].tolist())


@dataclass(frozen=True, eq=False)
class ReadRows:
    """A partition as read: its features, and its own small table of combinations."""

    number: int
    X: Any
    cells: Cells
    weight: Array | None
    utilities: Any  #: As they were passed: how many columns they need is known in the end.
    target: Array  #: The number of each row, for a regressor; else none.


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of label and groups in one partition, counted."""

    y: NDArray
    sensitive: Mapping[str, NDArray]
    control: Mapping[str, NDArray]
    count: Array
    weight: Array
    square: Array


@dataclass(frozen=True, eq=False)
class Shard:
    """Rows of one partition, sorted into the cells of all."""

    X: Any
    code: NDArray[np.integer]  #: The cell of each row.
    weight: Array | None  #: None means that all rows weigh one.
    start: int  #: The number of its first row among all rows.
    n_cells: int
    #: Where rows count in more than one way: for each layer, what a row adds to its cell when it is
    #: selected, and what these rows add to the table of layers.
    factors: tuple[Array, ...] = ()
    layer_sums: LayerSums | None = None
    n_decisions: int = 2
    target: Array = field(default_factory=lambda: np.zeros(0))  #: As of `ReadRows`.

    def __len__(self) -> int:
        return len(self.code)

    def folds(self, k: int) -> NDArray[np.integer]:
        """Deal the rows into k folds, by their number among all rows and nothing else."""
        number = np.arange(self.start, self.start + len(self), dtype=np.uint64)
        mixed = (number * _ODD) ^ (number >> np.uint64(7))
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
        return ((mixed >> np.uint64(33)) % np.uint64(k)).astype(np.uint8)

    def examples(self, task: Task) -> tuple[NDArray[np.integer], Array]:
        """Return the label and the weight of each row."""
        if task.costs is not None:
            label, weight = weighted_labels(self.signed_costs(task.costs), 1.0)
        else:
            label, weight = look_up(self.code, task.label), look_up(self.code, task.weight)
            if self.weight is not None:
                weight *= self.weight
        if task.left_out >= 0:
            weight[self.folds(task.n_folds) == task.left_out] = 0.0
        return label, weight

    def saved(self, task: Task) -> Array:
        """Return the savings of each of V > 2 labels for each row, (n, V)."""
        if task.costs is not None:
            found = savings(self.signed_costs(task.costs), None)
        else:
            found = soft_labels(self.code, task.weight, self.weight).saved
        if task.left_out >= 0:
            found[self.folds(task.n_folds) == task.left_out] = 0.0
        return found

    def signed_costs(self, costs: Array) -> Array:
        """Return the cost of each decision over decision 0 for each row, given costs by layer."""
        tables = np.reshape(costs, (len(self.factors), self.n_cells, self.n_decisions - 1))

        def spread(table: Array) -> Array:
            return look_up(self.code, np.ascontiguousarray(table))

        return costs_of_rows(spread, self.factors, tables)

    def row_weights(self) -> Array:
        """Return the weight of each row in the error."""
        own = self.factors[0] if self.factors else self.weight
        return np.ones(len(self)) if own is None else own

    def sum(self, selected: NDArray) -> Array:
        """Return the weight that is selected in each cell, layer by layer where there are some.

        ``selected`` are decisions, or the probabilities of them; see `Cells.sum`.
        """
        if self.factors:
            added = partial(add_up, self.code, self.n_cells)
            return layer_tables(added, self.factors, selected, self.n_decisions)
        return add_up_decisions(self.code, (self.n_cells, self.n_decisions), selected, self.weight)

    def sums(self, answers: Sequence[NDArray]) -> Array:
        """Return the weight that each of several classifiers selects, from their decisions."""
        return np.array([self.sum(h) for h in answers])

    def count_rows(self, key: NDArray[np.integer], size: int) -> tuple[Array, Counts]:
        """Return the weight of the rows of each key, and how many are in each cell, (size, C)."""
        shape = size, self.n_cells
        return add_up(key, size, self.row_weights()), count_pairs(key, self.code, shape)


def numbers_in(
    sensitive: Any, names: Sequence[str], missing: Missing
) -> dict[str, tuple[NDArray, NDArray]]:
    """Return the distinct numbers of some columns of a partition, and how often each occurs."""
    found = groups_in(sensitive, len(sensitive), GroupRules(missing))
    counted = {}
    for name in names:
        numbers = as_numbers(found[name], name)
        counted[name] = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        if len(counted[name][0]) > _MOST_NUMBERS:
            raise ValueError(
                f"{name!r} has more than {_MOST_NUMBERS:,} different values in a partition, which "
                "are not collected. Give edges instead: bins={" + f"{name!r}: [25, 40]" + "}."
            )
    return counted


def groups_in(sensitive: Any, n: int, rules: GroupRules) -> dict[str, NDArray]:
    """Return the groups of a partition, in which a whole column may be unknown."""
    with warnings.catch_warnings():  # a category that is not here may be in other partitions
        warnings.simplefilter("ignore", EmptyCellWarning)
        found = read_columns(sensitive, n, "sensitive_features", "group", rules.missing)
    return found | {name: in_bins(found[name], edges, name) for name, edges in rules.bins.items()}


def read_partition(
    number: int,
    rules: GroupRules,
    X: Any,
    y: Any,
    sensitive: Any,
    control: Any,
    weight: Any,
    utilities: Any,
    numbers: bool = False,
) -> ReadRows:
    """Check one partition, and sort its rows into combinations of its own.

    With ``numbers`` the target is a number, and all rows have one label.
    """
    target = np.zeros(0)
    try:
        n = len(X) if not issparse(X) else X.shape[0]
        _check_index(X, y=y, sensitive_features=sensitive, control_features=control)
        _check_index(X, sample_weight=weight, utilities=utilities)
        if numbers:
            target = read_numbers(y, n) if n else target
            y = np.zeros(n, np.int8)
        else:
            y = read_target(y, n) if n else to_array(y, "y")
        groups, strata = groups_in(sensitive, n, rules), {}
        if control is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyCellWarning)
                strata = read_columns(control, n, "control_features", "stratum")
        weight = None if weight is None else _read_weight(weight, n)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    # The label is one more column here: its two values are known once all partitions are read.
    cells = Cells.from_columns(np.zeros(n, np.int8), {_LABEL: y, **groups}, strata, weight)
    return ReadRows(number, X, cells, weight, utilities, target)


_LABEL = "\0label"


def combinations_of(rows: ReadRows) -> Combinations:
    """Return the combinations of a partition, for the table of cells."""
    cells, C = rows.cells, rows.cells.n_cells
    count = cells.count.astype(float)
    weight = square = count
    if rows.weight is not None:
        weight = add_up(cells.code, C, rows.weight)
        square = add_up(cells.code, C, np.square(rows.weight))
    groups = {name: values for name, values in cells.sensitive.items() if name != _LABEL}
    return Combinations(cells.sensitive[_LABEL], groups, cells.control, count, weight, square)


def encode(
    rows: ReadRows,
    cell: NDArray[np.integer],
    start: int,
    n_cells: int,
    n_decisions: int,
    dtype: Any,
    by_head: float | None,
) -> Shard:
    """Return the shard: local combinations become cells, features an array if that is asked.

    ``by_head`` is what a row weighs on average, given where weights enter the error only.
    """
    table = np.asarray(cell, dtype=np.min_scalar_type(max(n_cells - 1, 0)))
    code = look_up(rows.cells.code, table) if len(table) else np.zeros(0, np.uint8)
    X = rows.X if dtype is None else np.ascontiguousarray(np.asarray(rows.X), dtype=dtype)
    if by_head is None and rows.utilities is None:
        known = rows.weight, start, n_cells
        return Shard(X, code, *known, n_decisions=n_decisions, target=rows.target)
    given = {}
    if rows.utilities is not None:
        try:
            given = read_utilities(rows.utilities, len(code), n_decisions)
        except ValueError as error:
            raise ValueError(f"partition {rows.number}: {error}") from None
    own = np.ones(len(code)) if rows.weight is None else rows.weight
    factors, sums = layer_sums(
        lambda values: add_up(code, n_cells, values),
        own,
        np.full(len(code), by_head or 1.0),
        by_head is not None,
        given,
        n_decisions,
    )
    return Shard(X, code, rows.weight, start, n_cells, factors, sums, n_decisions)


def layer_sums_of(shard: Shard) -> LayerSums | None:
    """Return the sums of its rows for the table of layers."""
    return shard.layer_sums


def cost_sums(shard: Shard, costs: Array) -> Array:
    """Return the costs that selecting all rows can save, and those that it can add.

    Of V > 2 labels, the savings of each, all rows together.
    """
    each = shard.signed_costs(costs)
    if shard.n_decisions > 2:
        return savings(each, None).sum(axis=0)
    return np.array([-each[each < 0].sum(), each[each > 0].sum()])


def digest_of(shard: Shard) -> bytes:
    """Return a digest of the rows of a shard."""
    digest = blake2b(digest_size=16)
    parts = [shard.code, shard.weight, *shard.factors, shard.target]
    if len(shard):
        parts.append(hash_uniform(shard.X.tocsr() if issparse(shard.X) else shard.X))
    for array in parts:
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def selected_by(shard: Shard, classifiers: Sequence[Any], X: Any = None) -> Array:
    """Return the weight that each classifier selects in each cell, shape (P, C).

    ``X`` are the rows as they were passed, where those of the shard have been transformed.
    """
    if not len(shard):
        return np.array([shard.sum(np.zeros(0, bool)) for _ in classifiers])
    rows = shard.X if X is None else X
    return np.array([shard.sum(h) for h in decisions(classifiers, rows, shard.n_decisions)])


def compared_by(shard: Shard, both: tuple[list[Any], Any], X: Any = None) -> Array:
    """Return an `Agreement` of classifiers with each other and a reference, which may be None.

    Side by side, for each classifier: the weight that it selects (C), on which it differs from each
    other one (P), on which not all agree (1), and the rows that switch (V (V - 1) C).
    """
    classifiers, reference = both
    P, V = len(classifiers), shard.n_decisions
    moves = V * (V - 1) * shard.n_cells
    if not len(shard):
        return np.hstack([selected_by(shard, classifiers), np.zeros((P, P + 1 + moves))])
    rows = shard.X if X is None else X
    shares, differ, divided, switches = agreement(classifiers, rows, shard, reference)
    switched = np.zeros((P, moves)) if switches is None else switches.reshape(P, -1)
    return np.hstack([shares, differ, np.full((P, 1), divided), switched])


def tally_of(shard: Shard, mixture: Any, X: Any = None) -> Array:
    """Return sums over cells of w h, w^2 h and w^2 h^2, h being how often Q selects."""
    h = _expected(shard, mixture, X)
    w = np.ones(len(shard)) if shard.weight is None else shard.weight
    each = (w * h, w**2 * h, w**2 * h**2)
    return np.array([add_up(shard.code, shard.n_cells, values) for values in each])


def expected_of(shard: Shard, mixture: Any, X: Any = None) -> Array:
    """Return the weight that a mixture selects, or decides, in expectation, layer by layer."""
    return shard.sum(_expected(shard, mixture, X))


def _expected(shard: Shard, mixture: Any, X: Any) -> Array:
    two = shard.n_decisions == 2
    if not len(shard):  # many learners refuse to decide about nobody
        return np.zeros(0 if two else (0, shard.n_decisions))
    pmf = mixture.predict_proba(shard.X if X is None else X)
    return pmf[:, 1] if two else pmf


def selected_out_of_fold(shard: Shard, classifiers: Sequence[Any]) -> Array:
    """Return the weight selected in each cell, row by row by the classifier without its fold."""
    V = shard.n_decisions
    h = np.zeros(len(shard), dtype=bool if V == 2 else np.intp)
    fold = shard.folds(len(classifiers))
    for number, classifier in enumerate(classifiers):
        if (rows := fold == number).any():
            (some,) = decisions([classifier], shard.X[rows], V)
            h[rows] = some
    return shard.sum(h)


def _read_weight(weight: Any, n: int) -> Array:
    array = as_floats(np.asarray(weight), "sample_weight", "numbers >= 0").reshape(-1)
    if len(array) != n:
        raise ValueError(f"sample_weight has {len(array)} entries, X has {n} rows.")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError("sample_weight has negative or missing entries; expected numbers >= 0.")
    check_size(array)
    return array


def _check_index(X: Any, **others: Any) -> None:
    """Refuse frames whose rows are called differently: they do not belong together."""
    for name, other in others.items():
        if hasattr(X, "index") and hasattr(other, "index") and not X.index.equals(other.index):
            raise ValueError(
                f"the rows of X and {name} have different indexes, so they do not belong together. "
                "Take both from one frame, or reset both indexes."
            )
