"""People: all that is passed to a fit, in one bundle, and the door from it to cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from equipoise.cells.groups import known_in
from equipoise.cells.layered import AnyCells, LayeredCells, layered, soft_cells
from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.cells.values import GroupRules, Missing
from equipoise.rows.bins import edges_for, in_bins, read_bins
from equipoise.rows.floats import as_floats
from equipoise.rows.numbers import read_numbers
from equipoise.rows.probabilities import Probabilities, split_probabilities
from equipoise.rows.tables import take_rows
from equipoise.rows.validation import (
    check_index,
    check_length,
    check_table,
    missing_in,
    read_columns,
    read_labels,
    read_weights,
    to_array,
)

_ROUTING_HELP = (
    "Pass fit(X, y, sensitive_features=A). Inside a Pipeline or a search, enable scikit-learn's "
    "metadata routing, sklearn.set_config(enable_metadata_routing=True), and call "
    ".set_fit_request(sensitive_features=True) on this estimator."
)
#: What is known of each person.
_COLUMNS = ("X", "y", "sensitive_features", "control_features", "sample_weight", "utilities")
#: What utilities are.
_RANGE = "numbers in [0, 1]"


@dataclass(frozen=True, eq=False)
class People:
    """Features, labels, groups and weights of some people, as they were passed.

    Parameters
    ----------
    X, y, sensitive_features, control_features, sample_weight, utilities, missing, bins, clusters
        As for `equipoise.FairClassifier.fit`.
    positive : label, optional
        The favourable one of two labels, as for `equipoise.FairClassifier`.

    Examples
    --------
    >>> people = People([[0.0], [1.0], [2.0]], ["no", "yes", "no"], ["F", "M", "M"])
    >>> cells, classes = people.read()
    >>> cells.sensitive["group"].tolist(), cells.label.tolist(), classes.tolist()
    (['F', 'M', 'M'], [0, 0, 1], ['no', 'yes'])
    """

    X: Any
    y: Any
    sensitive_features: Any = None
    control_features: Any = None
    sample_weight: Any = None
    utilities: Any = None
    missing: Missing = "error"
    bins: Any = None
    positive: Any = None
    clusters: Any = None

    def by(self, rules: GroupRules) -> Self:
        """Return the same people, whose groups are made by these rules."""
        return replace(self, missing=rules.missing, bins=rules.bins)

    def take(self, rows: NDArray[np.intp]) -> People:
        """Return some of the people, in memory.

        >>> people = People([[0.0], [1.0], [2.0]], ["no", "yes", "no"], {"sex": ["F", "M", "M"]})
        >>> people.take(np.array([0, 2])).sensitive_features["sex"].tolist()
        ['F', 'M']
        """

        def part(values: Any) -> Any:
            if isinstance(values, dict):
                return {name: part(column) for name, column in values.items()}
            return None if values is None else take_rows(values, rows)

        columns = {name: part(getattr(self, name)) for name in _COLUMNS}
        return People(**columns, missing=self.missing, bins=self.bins)

    def read(
        self, *, constraint_weights: bool = True, fitted: NDArray | None = None
    ) -> tuple[AnyCells, NDArray]:
        """Check everything; return the cells and the classes.

        Parameters
        ----------
        constraint_weights : bool, default=True
            Whether sample weights enter the constraints, or the error only.
        fitted : array of labels, optional
            The classes of a fit, of which these people may lack some.
        """
        self.check()
        n = _num_samples(self.X)
        known, uncertain = self.sensitive_features, None
        if isinstance(known, (dict, Probabilities)):
            known, uncertain = split_probabilities(known)
        sensitive: dict[str, NDArray] = {}
        control, rules = {}, GroupRules(self.missing)
        if known is not None:
            sensitive, rules = read_groups(known, n, self.missing, self.bins)
        if self.control_features is not None:
            control = read_columns(self.control_features, n, "control_features", "stratum")
        check_index(**vars(self))
        weight = read_weights(self.sample_weight, n)
        label, classes = read_labels(self.y, n, fitted, self.positive)
        if weight is not None and fitted is None:
            _check_all_weigh(label, classes, weight)
        decisions = (0, 1) if len(classes) == 2 else tuple(classes.tolist())
        given = {} if self.utilities is None else read_utilities(self.utilities, n, len(classes))
        if uncertain is None:
            cells = Cells.from_columns(label, sensitive, control, weight, decisions)
            cells = cells.as_kind(Cells, rules=rules)
            if not given and constraint_weights:
                return cells, classes
            return layered(cells, constraint_weights=constraint_weights, utilities=given), classes
        check_length(len(uncertain), n, "sensitive_features")
        soft = soft_cells(
            label,
            sensitive,
            (uncertain.name, uncertain.groups, uncertain.values),
            control,
            weight,
            constraint_weights=constraint_weights,
            utilities=given,
            decisions=decisions,
        )
        return soft.as_kind(LayeredCells, rules=rules), classes

    def read_plain(self, fitted: NDArray | None = None) -> tuple[Cells, NDArray]:
        """Check everything; return the cells, in which every row counts in one way, and classes."""
        cells, classes = self.read(fitted=fitted)
        rows = cells.plain_rows()
        if rows is None:
            raise ValueError(
                "sensitive_features are Probabilities, or there are utilities; expected the groups "
                "themselves, which this needs, and no utilities."
            )
        return rows, classes

    def read_clusters(self) -> NDArray[np.intp] | None:
        """Return the number of the cluster that each person is of; None where there are none."""
        if self.clusters is None:
            return None
        values = to_array(self.clusters, "clusters")
        check_length(len(values), _num_samples(self.X), "clusters")
        if values.ndim != 1 or missing_in(values, "clusters").any():
            raise ValueError(
                "clusters has missing values or several columns; expected one value for each "
                "person, such as the number of the household."
            )
        number = np.unique(values, return_inverse=True)[1].ravel()
        if number.max(initial=0) == 0:
            raise ValueError(
                "clusters has one value for everybody: people of one cluster count once. Pass what "
                "tells clusters apart, such as the number of the household."
            )
        return number

    def read_numbers(self) -> tuple[Cells, Array]:
        """Check everything; return the cells, which are groups and strata, and numbers y."""
        self.check()
        n = _num_samples(self.X)
        if n < 2:
            raise ValueError(f"Found array with {n} sample(s) while a minimum of 2 is required.")
        y = read_numbers(self.y, n)
        self.check_known("regressors")
        check_index(**vars(self))
        sensitive, rules = read_groups(self.sensitive_features, n, self.missing, self.bins)
        control = {}
        if self.control_features is not None:
            control = read_columns(self.control_features, n, "control_features", "stratum")
        weight = read_weights(self.sample_weight, n)
        cells = Cells.from_columns(np.zeros(n, dtype=np.int8), sensitive, control, weight)
        return cells.as_kind(Cells, rules=rules), y

    def check_known(self, who: str) -> None:
        """Raise if groups are but guessed, which ``who`` cannot learn from."""
        given = self.sensitive_features
        uncertain = given.values() if isinstance(given, dict) else [given]
        if any(isinstance(each, Probabilities) for each in uncertain):
            raise TypeError(
                f"sensitive_features are Probabilities; {who} need the groups themselves."
            )

    def check(self) -> None:
        """Raise if there are no labels or no sensitive features, or X is no table of rows."""
        check_table(self.X)
        if self.y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if self.sensitive_features is None:
            raise ValueError(
                f"sensitive_features is missing: there is nothing to be fair about. {_ROUTING_HELP}"
            )


def places(code: NDArray[np.integer], clusters: NDArray[np.intp] | None = None) -> Array:
    """Return a place between 0 and 1 for each person, drawn with a fixed seed, even in each cell.

    People of a cluster have the same place, among the clusters whose first person is of a cell.

    >>> places(np.array([0, 0, 1, 1])).tolist(), places(np.zeros(3, int), np.array([4, 4, 4]))
    ([0.75, 0.25, 0.75, 0.25], array([0.5, 0.5, 0.5]))
    """
    if clusters is None:
        unit = np.arange(len(code))
        cell = code
    else:
        _, first, unit = np.unique(clusters, return_index=True, return_inverse=True)
        cell = code[first]
    order = np.lexsort((np.random.default_rng(0).random(len(cell)), cell))
    count = np.bincount(cell)
    rank = np.arange(len(cell)) - (np.cumsum(count) - count)[cell[order]]
    place = np.empty(len(cell))
    place[order] = (rank + 0.5) / count[cell[order]]
    return place[unit.ravel()]


def read_groups(
    columns: Any, n: int, missing: Missing = "error", bins: Any = None
) -> tuple[dict[str, NDArray[Any]], GroupRules]:
    """Return the columns of sensitive features as groups, and the rules that made these.

    Parameters
    ----------
    columns : array-like or data frame of n rows
    missing : {"error", "ignore"}, default="error"
        Whether values that are missing are an error, or become `equipoise.cells.values.UNKNOWN`.
    bins : mapping from column name to number of bins or edges, optional

    Examples
    --------
    >>> groups, rules = read_groups({"age": [20, None, 50]}, 3, "ignore", {"age": [40]})
    >>> groups["age"].tolist(), rules.bins
    (['under 40', <unknown>, '40 and over'], {'age': [40.0]})
    """
    check_missing_choice(missing)
    found = read_columns(columns, n, "sensitive_features", "group", missing=missing)
    if missing == "ignore":
        _check_somebody_known(found, n)
    if bins is None:
        return found, GroupRules(missing)
    asked = read_bins(bins, list(found))
    edges = {name: edges_for(found[name], spec, name) for name, spec in asked.items()}
    found |= {name: in_bins(found[name], edges[name], name) for name in edges}
    return found, GroupRules(missing, edges)


def _check_somebody_known(columns: dict[str, NDArray[Any]], n: int) -> None:
    for name, values in columns.items():
        if n and not known_in([values], n).any():
            raise ValueError(
                f"sensitive_features {name!r} is missing for everybody: there are no groups."
            )


def check_missing_choice(missing: Any) -> None:
    """Raise unless it is one of the two choices."""
    if missing not in get_args(Missing):
        raise ValueError(
            f"missing is {missing!r}; expected 'error', or 'ignore': people whose group is unknown "
            "then count in the error and in no group."
        )


def read_utilities(utilities: Any, n: int, n_decisions: int = 2) -> dict[str, Array]:
    """Return utilities by name, each of shape (n, V): values under prediction 0 to V - 1."""
    columns = read_columns(utilities, n, "utilities", "utility")
    found: dict[str, Array] = {}
    for column in columns:
        name = column.rpartition("_")[0]
        each = [f"{name}_{number}" for number in range(n_decisions)]
        if column not in each or not set(each) <= set(columns):
            raise ValueError(_missing_partner(column, n_decisions))
        numbers = [as_floats(columns[one], f"utility {one!r}", _RANGE) for one in each]
        found[name] = np.column_stack(numbers)
        if not ((found[name] >= 0) & (found[name] <= 1)).all():
            raise ValueError(
                f"utility {name!r} has values from {found[name].min()} to {found[name].max()}; "
                f"expected {_RANGE}. Shift and scale it."
            )
    return found


def _missing_partner(column: str, n_decisions: int) -> str:
    if n_decisions == 2:
        return (
            f"utilities has a column {column!r} without its partner; expected two columns for "
            "each utility, such as profit_0 and profit_1: the values under prediction 0 and 1."
        )
    return (
        f"utilities has a column {column!r} without its partners; expected {n_decisions} columns "
        f"for each utility, such as profit_0 to profit_{n_decisions - 1}: the values under each "
        "decision, in the sorted order of the labels."
    )


def _check_all_weigh(label: NDArray[np.int8], classes: NDArray, weight: Array) -> None:
    """Raise if one of the classes has no weight."""
    each = np.bincount(label, weights=weight, minlength=len(classes))
    if not each.all():
        other, two = classes.tolist()[int(each.argmin())], len(classes) == 2
        raise ValueError(
            f"sample_weight is zero wherever y is {other!r}; expected "
            f"{'two' if two else len(classes)} classes with some weight. Give "
            f"{'both' if two else 'all'} classes some weight."
        )
