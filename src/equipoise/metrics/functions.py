"""Metrics of any kind: functions of labels and predictions, called group by group."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array, Mask
from equipoise.metrics.rates import Metric
from equipoise.rows.validation import check_length, read_weights


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by the names of their columns.

    >>> list(read_metrics(max))
    ['max']
    """
    if callable(metrics):
        return {getattr(metrics, "__name__", type(metrics).__name__): metrics}
    if not isinstance(metrics, Mapping) or not metrics or not all(map(callable, metrics.values())):
        raise TypeError(
            f"metrics is {metrics!r}; expected a function of y_true and y_pred, or a mapping from "
            "names to such functions, such as {'f1': sklearn.metrics.f1_score}."
        )
    if taken := [name for name in metrics if name == "count" or not isinstance(name, str)]:
        raise ValueError(
            f"a metric is called {taken[0]!r}; expected a text other than 'count', which is the "
            "column with the number of people."
        )
    return dict(metrics)


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions by name, and what they are called with."""

    metrics: Mapping[str, Callable[..., Any]]
    y_true: NDArray
    y_pred: NDArray
    weight: Array | None

    @classmethod
    def read(
        cls, metrics: Mapping[str, Metric], y_true: Any, y_pred: Any, sample_weight: Any
    ) -> Functions:
        """Check the arguments of a table."""
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        check_length(len(predicted), len(true), "y_pred")
        weight = read_weights(sample_weight, len(true))
        for name, metric in metrics.items():
            if weight is not None and not _takes_weights(metric):
                raise ValueError(
                    f"metric {name!r} takes no sample_weight; leave sample_weight out, or wrap it "
                    "in a function that takes it."
                )
        return cls(metrics, true, predicted, weight)

    def values(self, inside: Mask) -> dict[str, Array]:
        """Return each function of the people of each row of ``inside`` (R, n); NaN of nobody."""
        rows = [np.flatnonzero(mask) for mask in inside]
        return {
            name: np.array([self._value(name, people) for people in rows]) for name in self.metrics
        }

    def draws(self, inside: Mask, n_draws: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return each function in resamples of all people, with replacement: (n_draws, R).

        NaN where a function cannot be computed, such as for labels of one kind.
        """
        n = len(self.y_true)
        found = {name: np.full((n_draws, len(inside)), np.nan) for name in self.metrics}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is undefined in a resample is no news
            for at in range(n_draws):
                drawn = rng.integers(0, n, n)
                rows = [drawn[mask[drawn]] for mask in inside]
                for name, values in found.items():
                    values[at] = [self._value_or_nan(name, people) for people in rows]
        return found

    def _value(self, name: str, rows: NDArray[np.intp]) -> float:
        if not len(rows):
            return float("nan")
        more = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        try:
            value = np.asarray(self.metrics[name](self.y_true[rows], self.y_pred[rows], **more))
        except Exception as error:
            error.add_note(f"Raised by metric {name!r} for a group of {len(rows):,} people.")
            raise
        if value.shape or value.dtype.kind not in "biuf":
            raise TypeError(f"metric {name!r} returned {value!r}; expected a number.")
        return float(value)

    def _value_or_nan(self, name: str, rows: NDArray[np.intp]) -> float:
        try:
            return self._value(name, rows)
        except (ValueError, ZeroDivisionError):
            return float("nan")


def _takes_weights(metric: Callable[..., Any]) -> bool:
    try:
        parameters = signature(metric).parameters
    except ValueError:  # built in, and silent about it
        return False
    kinds = [parameter.kind for parameter in parameters.values()]
    return "sample_weight" in parameters or Parameter.VAR_KEYWORD in kinds
