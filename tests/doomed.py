"""A learner that kills its process in the middle of a fit, and a frontier of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from people import make_people
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, Frontier


class Doomed(DecisionTreeClassifier):
    """A tree of which only so many are trained; with ``left`` at 0 there is no end."""

    left = 0

    def fit(self, X, y, sample_weight=None):
        Doomed.left -= 1
        if Doomed.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


def errors(folder: Path | str | None, left: int = 0) -> list[float]:
    """Return the errors of a frontier; the process is killed in this fit of the learner, if any."""
    Doomed.left, people = left, make_people(800)
    frontier = Frontier(
        Doomed(max_depth=4, random_state=0),
        DemographicParity(),
        bounds=[0.005, 0.02, 0.1],
        checkpoint=folder,
    )
    frontier.fit(people.X, people.y, sensitive_features=people.A)
    return [point.error for point in frontier.points_]
