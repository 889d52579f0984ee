"""Groups as users pass them: columns of sensitive features, with values missing or in bins."""

from __future__ import annotations

from typing import Any, get_args

from numpy.typing import NDArray

from equipoise.cells.groups import known_in
from equipoise.cells.values import GroupRules, Missing
from equipoise.rows.bins import edges_for, in_bins, read_bins
from equipoise.rows.validation import read_columns


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
