"""Groups as pictures: their rates before and after, and who is decided differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from equipoise.constraints.groups import group_name
from equipoise.constraints.rates import rate_and_decision
from equipoise.faces import heading
from equipoise.game.switches import number
from equipoise.metrics import GroupTable, group_table
from equipoise.metrics.rates import RATE_OF
from equipoise.plotting.figures import PALETTE, colours, drawn_on

_MARKERS = "os^DvP"


class GroupRatesDisplay:
    """A rate of every group under several classifiers, with intervals; see `from_estimator`.

    Parameters
    ----------
    tables : mapping from name to GroupTable
        The classifiers, the one to compare with first, measured on the same people.
    column : str, default="selection_rate"
        The column of the tables to draw.
    feature : str, optional
        Whose groups; by default the combinations of all features.

    Attributes
    ----------
    ax_, figure_ : matplotlib's, after `plot`.
    lines_ : list of matplotlib containers, one a classifier

    Examples
    --------
    >>> tables = {name: group_table([0, 1, 0, 1], h, sensitive_features=list("FFMM"))
    ...           for name, h in {"before": [0, 0, 1, 1], "after": [0, 1, 0, 1]}.items()}
    >>> GroupRatesDisplay(tables).feature
    'group'
    """

    def __init__(
        self,
        tables: Mapping[str, GroupTable],
        column: str = "selection_rate",
        feature: str | None = None,
    ) -> None:
        first = next(iter(tables.values()))
        if any(stratum is not None for stratum in first.strata):
            raise ValueError("the tables have control features; draw one stratum at a time.")
        self.tables, self.column = dict(tables), column
        self.feature = first.features[-1] if feature is None else feature
        if self.feature not in first.features or column not in first.columns:
            raise ValueError(
                f"feature is {feature!r} and column {column!r}; expected one of the features "
                f"{', '.join(map(repr, dict.fromkeys(first.features[1:])))} and of the columns "
                f"{', '.join(first.columns)}."
            )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        column: str = "selection_rate",
        feature: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a rate of every group, by the unconstrained model and by the fair one.

        Parameters
        ----------
        model : FairClassifier, ExponentiatedGradient or GridSearch
            Fitted.
        X, y, sensitive_features, sample_weight
            The people to measure both on; better a held-out set than the data of the fit.
        column, feature
            See `GroupRatesDisplay`. The column may be any rate that `group_table` knows by name,
            such as "precision".
        ax : matplotlib Axes, optional
            By default those of a new figure.
        """
        check_is_fitted(model)
        if getattr(model, "unconstrained_", None) is None:
            raise ValueError(
                f"this {type(model).__name__} has no unconstrained model to compare with; make "
                "tables with group_table and pass them to GroupRatesDisplay."
            )
        chosen = {
            "unconstrained": model.unconstrained_.predict(X),
            "fair": model.predict_proba(X),
        }
        # Rates that a table has by itself, and those that it has on request.
        rate = rate_and_decision(column)[0]
        asked = {f.__name__: f for f in RATE_OF if f.__name__ == rate} or None
        favourable = None
        if len(model.classes_) == 2:
            favourable = model.classes_[1]
            chosen["fair"] = chosen["fair"].T[-1] if chosen["fair"].ndim == 2 else chosen["fair"]
        tables = {
            name: group_table(
                y,
                decided,
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                pos_label=favourable,
                interval="analytic",
                metrics=asked,
            )
            for name, decided in chosen.items()
        }
        if column not in (known := tables["fair"].columns):
            names = ", ".join(name for name in known if not name.endswith(("_low", "_high")))
            raise ValueError(f"column is {column!r}; expected one of {names}.")
        return cls(tables, column, feature).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot's."""
        first = next(iter(self.tables.values()))
        rows = [at for at, of in enumerate(first.features) if of in ("", self.feature)]
        self.ax_ = ax = drawn_on(ax, (7, 1.4 + 0.45 * len(rows)))
        self.figure_, self.lines_ = ax.figure, []
        place, values = np.arange(len(rows)), [t[self.column][rows] for t in self.tables.values()]
        ax.hlines(place, np.min(values, axis=0), np.max(values, axis=0), color="0.6", lw=1)
        palette = zip(cycle(colours()), cycle(_MARKERS), strict=False)
        for at, ((name, table), (colour, mark)) in enumerate(
            zip(self.tables.items(), palette, strict=False)
        ):
            # A little above each other, so that intervals can be told apart.
            height = place + 0.12 * (at - (len(self.tables) - 1) / 2)
            self.lines_.append(
                ax.errorbar(
                    table[self.column][rows],
                    height,
                    xerr=_reach(table, self.column, rows),
                    fmt=mark,
                    color=colour,
                    mfc="none" if at == 0 and len(self.tables) > 1 else colour,
                    elinewidth=1,
                    label=name,
                )
            )
        people = first["count"][rows]
        names = [group_name(first.groups[row]) for row in rows]
        ax.set_yticks(place, [f"{n} ({k:,})" for n, k in zip(names, people, strict=True)])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlabel(heading(self.column))
        ax.grid(alpha=0.25, axis="x")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
        return self


def _reach(table: GroupTable, column: str, rows: list[int]) -> Any:
    """Return how far intervals reach below and above; None where there are none."""
    if f"{column}_low" not in table.columns:
        return None
    value, low, high = (table[f"{column}{end}"][rows] for end in ("", "_low", "_high"))
    return np.nan_to_num(np.clip([value - low, high - value], 0.0, None))


def _kind(row: Any) -> str:
    """Return what tells apart the rows of a group."""
    return f"decision {row.decision}" if hasattr(row, "decision") else f"label {row.label}"


class SwitchedDisplay:
    """Who is decided differently than by another model: gained and lost; see `from_estimator`.

    Parameters
    ----------
    rows : iterable
        One for each group and label: objects with ``group``, ``label``, ``people``, and of them
        ``gained`` and ``lost``. Of more than two decisions one for each group and ``decision``,
        which some gain and others lose.

    Attributes
    ----------
    ax_, figure_ : matplotlib's, after `plot`.
    bars_ : two containers of matplotlib bars, gained and lost

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> row = SimpleNamespace(group="F", label=1, people=100, gained=12, lost=3)
    >>> SwitchedDisplay([row]).rows[0].gained
    12
    """

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = list(rows)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, ax: Any = None, **metadata: Any
    ) -> Self:
        """Draw whom a fitted model decides on differently than the unconstrained one.

        Parameters
        ----------
        model : FairClassifier, ExponentiatedGradient or GridSearch
            Fitted.
        X, y, **metadata : optional
            People, as for ``fit``; by default those of the fit.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        """
        check_is_fitted(model)
        if not hasattr(model, "switched"):
            raise TypeError(
                f"model is a {type(model).__name__}; expected a classifier of equipoise, whose "
                "decisions are gained and lost."
            )
        switched = model.switched(X, y, **metadata)
        return cls(switched.rows if switched.is_binary else switched.by_decision()).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot's; shares of people, and their numbers."""
        self.ax_ = ax = drawn_on(ax, (7, 1.4 + 0.4 * len(self.rows)))
        self.figure_ = ax.figure
        place = np.arange(len(self.rows))
        people = np.array([max(row.people, 1) for row in self.rows])
        sides = {"gained": ("blue", 1), "lost": ("vermilion", -1)}
        self.bars_ = []
        for name, (colour, sign) in sides.items():
            count = np.array([getattr(row, name) for row in self.rows], dtype=float)
            bars = ax.barh(place, sign * 100 * count / people, color=PALETTE[colour], label=name)
            lines = [number(people) if people >= 0.05 else "" for people in count]
            ax.bar_label(bars, lines, padding=3)
            self.bars_.append(bars)
        names = [f"{group_name(row.group)}, {_kind(row)}" for row in self.rows]
        counts = [f"{row.people:,.0f}" for row in self.rows]
        ax.set_yticks(place, [f"{n} ({k})" for n, k in zip(names, counts, strict=True)])
        ax.set_ylim(len(self.rows) - 0.4, -0.6)
        ax.axvline(0, color="0.6", lw=1)
        ax.margins(x=0.15)
        ax.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g} %")
        ax.set_xlabel("decided differently, of the people of the row")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
        return self
