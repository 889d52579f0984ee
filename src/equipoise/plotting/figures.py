"""Figures of matplotlib's, and the colours in them."""

from __future__ import annotations

from typing import Any

from equipoise.exceptions import needing

#: Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008).
PALETTE = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "black": "#000000",
}


_PLOTS = ("plots need", "'equipoise[plot]'")


def colours() -> list[str]:
    """Return the palette; black is the colour of text, which is white in dark styles."""
    from matplotlib import rcParams

    return [*list(PALETTE.values())[:-1], rcParams["text.color"]]


def drawn_on(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on: those given, or those of a new figure of pyplot's.

    Notebooks and ``plt.show()`` show such a figure, as they do those of scikit-learn's displays.
    """
    if ax is not None:
        return ax
    with needing(*_PLOTS):
        from matplotlib import pyplot
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def new_figure(**options: Any) -> Any:
    """Return a new figure of matplotlib's for a file; no window shows it."""
    with needing(*_PLOTS):
        from matplotlib.figure import Figure
    return Figure(layout="constrained", **options)
