"""Unavailable: definitions that are not linear in the decisions, refused with the reason."""

from __future__ import annotations

from typing import NoReturn

_NOT_LINEAR = (
    "{name} cannot be a constraint here: it looks at people by how they were decided on, so that "
    "the event of the moment would depend on the prediction, and the paper's constraints (and with "
    "them convexity and the certificate) allow that in g only: 'calibration and predictive parity "
    "cannot [be expressed] because to do so would require the event to depend on h' (section 2.1). "
    "Constrain what leads up to it: rates given the label (EqualizedOdds, rate('tpr'), "
    "rate('fpr')) or selection rates, and measure {name} afterwards."
)


def refuse(name: str) -> NoReturn:
    """Raise the error for a request that is not linear in the decisions."""
    raise ValueError(_NOT_LINEAR.format(name=name))


class PredictiveParity:
    """Not available: equal precision P[Y=1 | h(X)=1, A=a] conditions on the prediction.

    >>> PredictiveParity(eps=0.02)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: predictive parity cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("predictive parity")


class Calibration:
    """Not available: equal P[Y=1 | score] conditions on the prediction.

    >>> Calibration()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: calibration cannot be a constraint here: ...
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        refuse("calibration")
