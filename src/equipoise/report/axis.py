"""An axis: from numbers to places on a picture, and the ticks beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: Beyond this ratio of largest to smallest an axis is logarithmic: else bounds pile up at its end.
_WIDE = 20


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic axis.

    Attributes
    ----------
    low, high : float
        The numbers at its ends.
    start, end : float
        Where on the picture these are.
    logarithmic : bool

    Examples
    --------
    >>> axis = Axis(0.01, 1.0, 0.0, 100.0, logarithmic=True)
    >>> axis.place(0.1), axis.place(0.0)  # what lies outside is put at the end
    (50.0, 0.0)
    >>> axis.ticks()
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, ratios: bool = False
    ) -> Axis:
        """Return an axis that shows these numbers, with some room at its ends.

        Parameters
        ----------
        ratios : bool
            Whether it may be logarithmic, if the numbers differ that much.

        Examples
        --------
        >>> Axis.over([0.001, 0.2], 0, 1, ratios=True).logarithmic
        True
        >>> Axis.over([0.1, 0.2], 0, 1).ticks()
        [0.1, 0.12, 0.14, 0.16, 0.18, 0.2]
        """
        values = list(values)
        low, high = min(values), max(values)
        positive = [value for value in values if value > 1e-9]
        if ratios and positive and high / min(positive) > _WIDE:
            least = max(min(positive), high / 1000)
            return cls(least / 1.2, high * 1.2, start, end, logarithmic=True)
        room = 0.06 * (high - low) or 0.1 * abs(high) or 0.01
        return cls(max(low - room, 0.0) if low >= 0 else low - room, high + room, start, end)

    def place(self, value: float) -> float:
        """Return where a number is on the picture."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return round numbers on the axis."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for digits in ((1, 2, 5), (1, 3), (1,)):
                every = [float(f"{d}e{n}") for n in range(first, last + 1) for d in digits]
                ticks = [tick for tick in every if self.low <= tick <= self.high]
                if len(ticks) < 8:
                    break
            return ticks
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(d * power for d in (1, 2, 5, 10) if rough <= d * power * 1.0001)
        count = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [float(f"{n * step:.6g}") for n in count]
