"""Figures 1, 2 and 3 of the paper, in its arrangement; needs matplotlib.

A column for each data set; the rows are DP with each learner, then EO with each learner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.experiments.measurements import COLUMNS, Row, grouped, number
from equipoise.experiments.methods import METHODS
from equipoise.experiments.panels import Panel
from equipoise.plotting import PALETTE, convex_envelope, new_figure, pareto

#: The colour of each method, and the marker of the published one.
_STYLES: dict[str, tuple[str, str]] = {
    "unconstrained": (PALETTE["black"], "o"),
    "reweighting": (PALETTE["orange"], "s"),
    "relabeling": (PALETTE["purple"], "^"),
    "post-processing": (PALETTE["green"], "D"),
    "exponentiated gradient": (PALETTE["blue"], ""),
    "grid search": (PALETTE["sky blue"], ""),
    "column generation": (PALETTE["vermilion"], ""),
    "plug-in": ("#7F7F7F", ""),
}
#: Methods of which Figure 1 shows the curve.
_REDUCTIONS = ("exponentiated gradient", "column generation")
_QUANTITIES = tuple(name for name in COLUMNS if name.startswith(("error", "violation")))


@dataclass(frozen=True)
class Figure:
    """What one of the paper's figures shows."""

    part: str  #: "train" or "test": the people on whom error and violation are measured.
    curves: tuple[str, ...]  #: Methods shown as curves:
    envelope: bool  #: the convex envelope of the training Pareto frontier, or that frontier.
    bands: bool  #: 95 % bands for the error of reductions, and for post-processing's violation.
    lowest: bool  #: Dashed lines at the lowest violation that each curve reaches.
    title: str


_ALL_CURVES = tuple(name for name in _STYLES if name != "unconstrained")
FIGURES: dict[str, Figure] = {
    "figure1": Figure("test", _REDUCTIONS, True, True, False, "Test data"),
    "figure2": Figure("train", _ALL_CURVES, False, False, True, "Training data, Pareto frontiers"),
    "figure3": Figure("test", _ALL_CURVES, True, True, True, "Test data, all methods"),
}


def draw_figures(rows: Sequence[Row], folder: Path, prefix: str = "") -> list[Path]:
    """Draw the three figures of a results table, as PNG and SVG; return the files.

    Several splits are shown by the means over them.
    """
    panels = collect(rows)
    written = []
    for name, figure in FIGURES.items():
        picture = draw(panels, figure)
        for suffix, options in (
            (".png", {"dpi": 100, "pil_kwargs": {"optimize": True}}),
            (".svg", {"metadata": {"Date": None}}),
        ):
            written.append(folder / f"{prefix}{name}{suffix}")
            picture.savefig(written[-1], **options)
    return written


def draw(panels: dict[Panel, dict[str, SettingMeans]], figure: Figure) -> Any:
    """Return one figure as matplotlib's."""
    columns = list(dict.fromkeys(panel.problem for panel in panels))
    learners = list(dict.fromkeys(panel.learner for panel in panels))
    notions = list(dict.fromkeys(panel.notion for panel in panels))
    lines = [(notion, learner) for notion in notions for learner in learners]
    size = (max(2.1 * len(columns) + 0.4, 5.0), 1.75 * len(lines) + 0.9)
    picture = new_figure(figsize=size)
    from matplotlib import rc_context

    with rc_context({"font.size": 7, "svg.hashsalt": "equipoise", "axes.linewidth": 0.6}):
        axes = picture.subplots(len(lines), len(columns), squeeze=False)
        for at, (notion, learner) in enumerate(lines):
            for column, problem in enumerate(columns):
                ax, curves = axes[at, column], panels.get(Panel(problem, learner, notion))
                if curves is None:
                    ax.set_axis_off()
                    continue
                draw_panel(ax, curves, figure)
                ax.set_title(f"{problem} · {notion} · {learner}", fontsize=7, pad=3)
        picture.supxlabel("violation of the constraint", fontsize=8)
        picture.supylabel("classification error", fontsize=8)
        _add_legend(picture, axes, figure.title)
    return picture


def _add_legend(picture: Any, axes: Any, title: str) -> None:
    found: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = sorted(found, key=lambda label: list(_STYLES).index(label.split(",")[0]))
    picture.legend(
        [found[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(len(names), 6 if axes.shape[1] > 2 else 3),
        frameon=False,
        fontsize=7,
        title=title,
        title_fontsize=9,
    )


@dataclass(frozen=True, eq=False)
class SettingMeans:
    """A method in a panel: each quantity by setting, on train and test data, mean of all splits."""

    settings: Array
    train: dict[str, Array]
    test: dict[str, Array]

    def efficient(self) -> NDArray[np.intp]:
        """Return the numbers of the settings on the training Pareto frontier."""
        return pareto(self.train["violation"], self.train["error"])


def collect(rows: Iterable[Row]) -> dict[Panel, dict[str, SettingMeans]]:
    """Arrange a results table by panel and method; several splits become their means."""
    panels: dict[Panel, dict[str, SettingMeans]] = {}
    for (*names, method), some in grouped(rows, "problem", "learner", "notion", "method"):
        panels.setdefault(Panel(*names), {})[method] = _means(some)
    return panels


def _means(rows: list[Row]) -> SettingMeans:
    splits = dict(grouped(rows, "part", "setting"))
    settings = sorted({number(row, "setting") for row in rows})
    train, test = (
        {
            name: np.array(
                [np.mean([number(row, name) for row in splits[part, s]]) for s in settings]
            )
            for name in _QUANTITIES
        }
        for part in ("train", "test")
    )
    return SettingMeans(np.array(settings), train, test)


def draw_panel(ax: Any, curves: dict[str, SettingMeans], figure: Figure) -> None:
    """Draw one panel: curves of methods with many settings, markers of published ones."""
    for name in (name for name in _STYLES if name in curves):
        colour, marker = _STYLES[name]
        measured = getattr(curves[name], figure.part)
        if name in figure.curves:
            _draw_curve(ax, curves[name], name, figure)
        if marker:
            published = METHODS[name].published
            at = int(np.argmin(np.abs(curves[name].settings - published)))  # type: ignore[operator]
            x, y = measured["violation"][at], measured["error"][at]
            ax.plot(x, y, marker, color=colour, ms=4.5, mec="white", mew=0.4, label=name, zorder=5)
            if figure.bands and name == "post-processing":
                low, high = measured["violation_low"][at], measured["violation_high"][at]
                ax.plot([low, high], [y, y], color=colour, lw=1, zorder=4)
    ax.set_xlim(left=-0.003)
    ax.tick_params(labelsize=6, length=2, width=0.5)
    ax.grid(alpha=0.2, lw=0.4)


def _draw_curve(ax: Any, curve: SettingMeans, name: str, figure: Figure) -> None:
    colour, marker = _STYLES[name]
    measured = getattr(curve, figure.part)
    chosen = curve.efficient()
    if figure.envelope:
        x, y = measured["violation"][chosen], measured["error"][chosen]
        chosen = chosen[convex_envelope(x, y)]
    x, y = measured["violation"][chosen], measured["error"][chosen]
    label = f"{name}, any setting" if marker else name
    reduction = name in _REDUCTIONS
    width = 1.3 if reduction else 0.8
    kind = "-" if len(x) > 1 else "."  # a line through one point is not seen
    ax.plot(x, y, kind, color=colour, lw=width, ms=4 * width, label=label, zorder=3)
    if figure.lowest:
        ax.axvline(x.min(), color=colour, lw=0.6, ls=(0, (4, 3)), alpha=0.8, zorder=1)
    if figure.bands and name == "exponentiated gradient":
        band = (measured[bound][chosen] for bound in ("error_low", "error_high"))
        ax.fill_between(x, *band, color=colour, alpha=0.15, lw=0, zorder=0)
