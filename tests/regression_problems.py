"""Random finite problems of regression, and their answers by a program of their own.

Nothing here uses the tables or the games of the package: losses and shares are counted row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

LOSSES = {"squared": np.square, "absolute": np.abs}


@dataclass
class FiniteRegression:
    """People, thresholds and a finite class of predictors, as their predictions."""

    group: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    thresholds: np.ndarray
    loss: str
    predictors: list

    @classmethod
    def random(cls, seed):
        rng = np.random.default_rng(seed)
        G, n, P, N = (int(rng.integers(*each)) for each in ((2, 6), (40, 120), (5, 40), (5, 41)))
        group = np.append(np.arange(G), rng.integers(0, G, n - G))
        y = rng.normal(0.3 + 0.1 * group, 0.2)
        weight = rng.uniform(0.2, 2, n) if seed % 3 else np.ones(n)
        predictors = [
            rng.uniform() * y + rng.uniform() * rng.normal(0.3, 0.2, n) + rng.normal(0, 0.1) * group
            for _ in range(P)
        ]
        if seed % 5:
            predictors += [np.full(n, value) for value in (0.2, 0.3, 0.5)]
        thresholds = np.linspace(0, 1, N + 2)[1:-1]
        loss = ("squared", "absolute")[(seed + seed // 4) % 2]
        return cls(group, y, weight / weight.sum(), thresholds, loss, predictors)

    def mean_loss(self, f, inside):
        w = self.weight * inside
        return w @ LOSSES[self.loss](f - self.y) / w.sum()

    def differences(self, f, reference):
        """Every signed difference of shares that parity bounds."""
        above = f[:, None] >= self.thresholds
        members = [self.group == a for a in range(self.group.max() + 1)]
        rates = [np.average(above[m], axis=0, weights=self.weight[m]) for m in members]
        if reference == "overall":
            pairs = [(rate, np.average(above, axis=0, weights=self.weight)) for rate in rates]
        else:
            pairs = [(a, b) for i, a in enumerate(rates) for b in rates[i + 1 :]]
        return np.concatenate([sign * (a - b) for a, b in pairs for sign in (1, -1)])

    def group_losses(self, f):
        groups = range(self.group.max() + 1)
        return np.array([self.mean_loss(f, self.group == a) for a in groups])

    def errors(self):
        everybody = np.ones(len(self.y), dtype=bool)
        return np.array([self.mean_loss(f, everybody) for f in self.predictors])

    def rows(self, reference=None):
        """What is bounded, a column for each predictor; without a reference, losses of groups."""
        of = self.group_losses if reference is None else lambda f: self.differences(f, reference)
        return np.column_stack([of(f) for f in self.predictors])


def least_loss(errors, rows, bound):
    """Return the least loss of a mixture within a bound on all rows; None if there is none."""
    found = linprog(
        errors,
        A_ub=rows,
        b_ub=np.full(len(rows), bound),
        A_eq=np.ones((1, len(errors))),
        b_eq=[1.0],
    )
    return float(found.fun) if found.status == 0 else None


def least_bound(rows):
    """Return the least bound that a mixture can meet."""
    P = rows.shape[1]
    found = linprog(
        np.append(np.zeros(P), 1.0),
        A_ub=np.column_stack([rows, -np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.append(np.ones(P), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * P + [(None, None)],
    )
    return float(found.fun)
