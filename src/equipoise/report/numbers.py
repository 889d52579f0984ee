"""Numbers as the page and the model card print them."""

from __future__ import annotations

from equipoise.constraints.rates import GROUP_RATES
from equipoise.game.lagrangian import is_met
from equipoise.report.contents import MeasuredContents, PointContents, Range

#: Where nothing is known.
UNKNOWN = "–"

#: Rate -> its name in tables. The first is of the labels, the others are of decisions.
RATE_NAMES = {rate.column: rate.words.capitalize() for rate in GROUP_RATES}
#: Rate -> who is counted among whom.
RATE_MEANINGS = {rate.column: rate.meaning for rate in GROUP_RATES}
DECISION_RATES = tuple(RATE_NAMES)[1:]


def decimal(value: float | None, sign: str = "") -> str:
    """Return a number with four decimals.

    >>> decimal(0.15224), decimal(-0.00001, "+"), decimal(None)
    ('0.1522', '+0.0000', '–')
    """
    # Adding zero after rounding turns -0.0 into 0.0.
    return UNKNOWN if value is None else f"{round(value, 4) + 0.0:{sign}.4f}"


def percent(value: float | None) -> str:
    """Return a share in percent.

    >>> percent(0.1522)
    '15.2%'
    """
    return UNKNOWN if value is None else f"{round(value, 6):.1%}"


def bound(eps: float | None) -> str:
    """Return a bound: as many digits as tell it apart from its neighbours, no more.

    >>> bound(0.011288378916846888), bound(0.02), bound(None)
    ('0.01129', '0.02', 'none')
    """
    return "none" if eps is None else f"{eps:.4g}"


def interval(value: Range | None, *, share: bool = False, sign: str = "") -> str:
    """Return the interval alone, empty where there is none.

    >>> interval(Range(0.2, 0.1, 0.3)), interval(Range(0.2, 0.1, 0.3), share=True)
    ('[0.1000, 0.3000]', '[10.0, 30.0]')
    """
    if value is None or value.low is None or value.high is None:
        return ""
    if share:
        return f"[{100 * value.low:.1f}, {100 * value.high:.1f}]"
    return f"[{decimal(value.low, sign)}, {decimal(value.high, sign)}]"


def with_interval(value: Range | None, *, share: bool = False, sign: str = "") -> str:
    """Return an estimate and its interval.

    >>> with_interval(Range(0.2, 0.1, 0.3), share=True)
    '20.0% [10.0, 30.0]'
    """
    if value is None or value.estimate is None:
        return UNKNOWN
    estimate = percent(value.estimate) if share else decimal(value.estimate, sign)
    return f"{estimate} {interval(value, share=share, sign=sign)}".rstrip()


def verdict(excess: Range) -> str:
    """Return whether a bound was met, and how sure that is.

    >>> [verdict(Range(*ends)) for ends in ((0.1, 0.05, 0.2), (0.1, -0.1, 0.2), (-0.1, -0.2, 0.0))]
    ['exceeded', 'exceeded, perhaps by chance', 'met, also within the interval']
    >>> verdict(Range(-0.1, -0.2, 0.1))
    'met'
    """
    if excess.estimate is None:
        return "not known"
    if is_met(excess.estimate):
        return "met, also within the interval" if is_met(excess.high) else "met"
    if excess.low is None:
        return "exceeded, no interval"
    return "exceeded" if excess.low > 0 else "exceeded, perhaps by chance"


def on(point: PointContents, data: str) -> MeasuredContents | None:
    """Return what was measured on these data, None if nothing was."""
    return next((entry for entry in point.measured if entry.data == data), None)


def group_name(feature: str, group: str) -> str:
    """Return the name of a group with that of its column.

    >>> group_name("sex", "F"), group_name("", "overall")
    ('sex: F', 'everybody')
    """
    return f"{feature}: {group}" if feature else "everybody"
