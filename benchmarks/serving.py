"""Time of decisions: a plain learner, a mixture of equipoise and one of fairlearn on the same rows.

python benchmarks/serving.py [--quick]

Microseconds of CPU time for a call of `predict`, the least of several tries, single thread. The
mixtures are of three members in both libraries; "members" is the time of their own predictions.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity as Parity
from fairlearn.reductions import ExponentiatedGradient
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

from equipoise import RandomizedClassifier

WEIGHTS = (0.5, 0.3, 0.2)


def people(n: int, d: int = 73) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return made-up rows, a group and a label for each."""
    rng = np.random.default_rng(0)
    X = (rng.random((n, d)) < 0.2).astype(float)
    X[:, :6] = rng.normal(size=(n, 6))
    group = rng.integers(0, 2, n)
    X[:, 0] += group
    label = (X[:, :8].sum(axis=1) + rng.normal(size=n) > 1).astype(int)
    return X, group, label


def microseconds(call: Callable[[], object], seconds: float) -> float:
    """Return the least CPU time of a call, in tries of some seconds together."""
    call()
    tries = []
    end = time.process_time() + seconds
    while time.process_time() < end or len(tries) < 3:
        start = time.process_time()
        call()
        tries.append(time.process_time() - start)
    return 1e6 * min(tries)


def members_of(learner: object, X: object, group: np.ndarray, label: np.ndarray) -> list:
    """Return three classifiers that differ: the learner on labels mixed with the group."""
    rng = np.random.default_rng(1)
    shares = (0.0, 0.1, 0.3)
    targets = [np.where(rng.random(len(label)) < share, group, label) for share in shares]
    return [type(learner)(**learner.get_params()).fit(X, target) for target in targets]


def fairlearn_mixture(members: list, X: object, group: np.ndarray, label: np.ndarray) -> object:
    """Return fairlearn's mixture of the same members."""
    mixture = ExponentiatedGradient(members[0], Parity(), max_iter=1)
    mixture.fit(X[:500], label[:500], sensitive_features=group[:500])
    mixture._hs = pd.Series([member.predict for member in members])
    mixture.weights_ = pd.Series(WEIGHTS)
    return mixture


def main() -> None:
    """Print a row for each learner, kind of table and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and tries")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    X, group, label = people(5_000 if quick else 20_000)
    large = np.tile(X, (1 if quick else 25, 1))
    learners = [LogisticRegression(C=0.01), LGBMClassifier(verbose=-1, n_jobs=1)]
    print(f"{'learner':20}{'table':8}{'rows':>9}", end="")
    print("".join(f"{name:>12}" for name in ("plain", "members", "equipoise", "fairlearn")))
    for learner in learners:
        for kind, table, most in (("array", X, large), ("frame", pd.DataFrame(X), None)):
            members = members_of(learner, table, group, label)
            own = RandomizedClassifier(members, WEIGHTS)
            other = fairlearn_mixture(members, table, group, label)
            for n in (1, 100, 10_000, 500_000):
                if n > len(table) and (most is None or n > len(most)):
                    continue
                rows = (table if n <= len(table) else most)[:n]
                calls = (
                    lambda rows=rows, members=members: members[0].predict(rows),
                    lambda rows=rows, members=members: [h.predict(rows) for h in members],
                    lambda rows=rows, own=own: own.predict(rows),
                    lambda rows=rows, other=other: other.predict(rows),
                )
                taken = [microseconds(call, 0.02 if quick else 1.0) for call in calls]
                print(f"{type(learner).__name__:20}{kind:8}{n:9,}", end="")
                print("".join(f"{value:12,.0f}" for value in taken), flush=True)


if __name__ == "__main__":
    main()
