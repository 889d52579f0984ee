"""LinearPost (Xian and Zhao): a program in its way, and the protocol of its notebook.

The program is written here. The protocol is that of ``communities.ipynb`` in
github.com/uiuctml/fair-classification: which columns, which learners, which rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

#: The seed of what is fixed in the notebook: who gives probabilities, and the learner.
FIXED_SEED = 33


class LinearPost:
    """Some of the people for probabilities, a linear program over others for prices.

    The program chooses probabilities of decisions with the least expected error, so that the rate
    of every decision in each group, counted by the probabilities of groups, is within eps / 2 of a
    common rate. Its dual variables are prices of decisions by group; the rule takes the decision of
    least expected cost and price. ``joint``: one model of all pairs of group and label gives the
    probabilities, in place of one model for each of the two.
    """

    def __init__(
        self,
        learner: Any,
        X: Any,
        y: np.ndarray,
        A: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
        joint: bool = False,
    ) -> None:
        X_first, pairs = X.iloc[first], pd.MultiIndex.from_arrays([y[first], A[first]])
        self.models = [clone(learner).fit(X_first, target) for target in (y[first], A[first])]
        self.classes_ = self.models[0].classes_
        self.joint: Any = None
        if joint:
            codes, self.pairs = pairs.factorize()
            self.joint = clone(learner).fit(X_first, codes)
        self.P, self.Q = self._probabilities(X.iloc[second])
        self.prices: np.ndarray | None = None

    def _probabilities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return those of labels and those of groups."""
        if self.joint is None:
            label, group = (model.predict_proba(X) for model in self.models)
            return label, group
        each = self.joint.predict_proba(X)
        label, group = (
            each @ np.equal.outer(self.pairs.get_level_values(at), model.classes_)
            for at, model in enumerate(self.models)
        )
        return label, group

    def at(self, eps: float) -> LinearPost:
        """Return the rule for a bound."""
        (n, V), G = self.P.shape, self.Q.shape[1]
        share = (self.Q / self.Q.sum(axis=0)).T  # (G, n): a person's part of a group
        rate = sparse.kron(sparse.csr_array(share), sparse.eye_array(V))  # rows: group, decision
        common = sparse.csr_array(np.tile(np.eye(V), (G, 1)))
        both = sparse.block_array([[rate, -common], [-rate, common]], format="csr")
        one = sparse.hstack(
            [sparse.kron(sparse.eye_array(n), np.ones((1, V))), sparse.csr_array((n, V))]
        )
        found = linprog(
            np.append(((1.0 - self.P) / n).ravel(), np.zeros(V)),
            A_ub=both,
            b_ub=np.full(2 * G * V, eps / 2),
            A_eq=one,
            b_eq=np.ones(n),
            bounds=(0, 1),
        )
        above, below = found.ineqlin.marginals.reshape(2, G, V)
        self.prices = n * (below - above) / self.Q.sum(axis=0)[:, None]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return zeros and ones: the rule decides without a lot."""
        P, Q = self._probabilities(X)
        assert self.prices is not None
        return np.eye(P.shape[1])[(1.0 - P + Q @ self.prices).argmin(axis=1)]


def notebook_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return the features of the notebook: those without missing values, the share of whites too.

    >>> notebook_columns(pd.DataFrame({"racePctWhite": [0.5], "PctUrban": [None]})).columns.tolist()
    ['racePctWhite']
    """
    left_out = ["ViolentCrimesPerPop", "label5", "group4", "majority_white"]
    left_out += ["racePctHisp", "racePctAsian", "racepctblack"]
    return table.drop(columns=left_out, errors="ignore").dropna(axis=1)


def notebook_learner(name: str) -> Any:
    """Return the learner of the notebook, with its parameters."""
    last: Any = LogisticRegression(max_iter=10000, random_state=FIXED_SEED)
    if name == "lightgbm":
        last = LGBMClassifier(random_state=FIXED_SEED, verbosity=-1, n_jobs=1)
    return make_pipeline(StandardScaler(), last)


def notebook_split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who gives probabilities, 35 % and always the same, who prices, and who is tested.

    >>> [len(part) for part in notebook_split(1994, 33)]
    [698, 698, 598]
    """
    rest, first = train_test_split(np.arange(n), test_size=0.35, random_state=FIXED_SEED)
    drawn = np.random.default_rng(seed).choice(len(rest), size=int(n * 0.3), replace=False)
    return first, np.delete(rest, drawn), rest[drawn]


def read_notebook(folder: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, labels and groups as the notebook has them."""
    table = pd.read_parquet(folder / "communities.parquet")
    group = table["group4"].astype(object).to_numpy()
    return notebook_columns(table), table["label5"].to_numpy(), group
