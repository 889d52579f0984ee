"""Panels: one data set, one notion of fairness, one learner, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from equipoise import datasets
from equipoise.cells.table import Array
from equipoise.constraints import Constraint, DemographicParity, EqualizedOdds
from equipoise.metrics import demographic_parity_violation, equalized_odds_violation


@dataclass(frozen=True)
class Problem:
    """A data set and the sensitive feature that is looked at."""

    load: Callable[[], Any]  #: Returns a Bunch of `equipoise.datasets`.
    attribute: str
    rows: int | None = None  #: How many rows to use, drawn at random; all by default.


#: The five problems of the paper, then the extension. All races of ACSIncome would be nine groups.
PROBLEMS: dict[str, Problem] = {
    "adult": Problem(datasets.load_adult, "sex"),
    "adult4": Problem(datasets.load_adult, "sex_race4"),
    "compas": Problem(datasets.load_compas, "race"),
    "law": Problem(datasets.load_law_school, "race"),
    "dutch": Problem(datasets.load_dutch_census, "gender"),
    "acs": Problem(datasets.load_acs_income, "sex", rows=50_000),
}
PAPER_PROBLEMS = ("adult", "adult4", "compas", "law", "dutch")


@dataclass(frozen=True)
class Notion:
    """A notion of fairness: the constraint, and the violation that the paper reports.

    ``given_label`` tells whether rates are compared within each label.
    """

    constraint: type[Constraint]
    violation: Callable[..., float]
    given_label: bool = False


NOTIONS: dict[str, Notion] = {
    "DP": Notion(DemographicParity, demographic_parity_violation),
    "EO": Notion(EqualizedOdds, equalized_odds_violation, given_label=True),
}


@dataclass(frozen=True, order=True)
class Panel:
    """One picture of a figure, by names."""

    problem: str
    learner: str
    notion: str

    def __str__(self) -> str:
        return f"{self.problem}, {self.learner}, {self.notion}"


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a data set: features, labels 0 and 1, and the group of each person."""

    X: Array
    y: NDArray[np.int64]
    A: NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Split:
    """Three quarters to learn from, one quarter to test on."""

    train: Part
    test: Part

    def fit(self, model: Any) -> Any:
        """Fit a model to the people learned from, whose groups it is told."""
        return model.fit(self.train.X, self.train.y, sensitive_features=self.train.A)

    def map(self, decide: Callable[[Part], Array]) -> tuple[Array, Array]:
        """Return the decisions about the people learned from, and those tested on."""
        return decide(self.train), decide(self.test)


def load_split(problem: str, encoding: str, seed: int, rows: int | None = None) -> Split:
    """Load a problem and split it at random, three to one; use no more ``rows`` than these.

    ``encoding`` is "indicators", standardised 0/1 columns for each category, for linear learners;
    or "codes", one column of numbers for each categorical feature, for trees. Either way A is among
    the features.

    Examples
    --------
    >>> split = load_split("adult", "codes", seed=0, rows=1000)
    >>> len(split.train), len(split.test)
    (750, 250)
    >>> split.train.X.shape
    (750, 13)
    """
    spec = PROBLEMS[problem]
    data = spec.load()
    _, A = np.unique(np.asarray(data.sensitive[spec.attribute]), return_inverse=True)
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target, dtype=np.int64)
    chosen = np.random.default_rng(seed).permutation(len(y))
    chosen = np.sort(chosen[: min(rows or len(y), spec.rows or len(y))])
    X, y, A = X[chosen], y[chosen], A[chosen]
    if encoding == "codes":
        X = category_codes(X, data.feature_names)
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed)
    if encoding == "indicators":
        X = StandardScaler().fit(X[train]).transform(X)
    learned, tested = (Part(X[part], y[part], A[part]) for part in (train, test))
    return Split(learned, tested)


def category_codes(X: Array, names: Sequence[str]) -> Array:
    """Return one column for each feature, where the loaders give one for each category.

    Codes follow the order of the loader's categories; -1 is a missing one. Trees on codes are
    several times as fast as on 0/1 columns, and can separate the same people with more cuts.

    >>> X = np.array([[30.0, 1, 0], [40.0, 0, 1], [50.0, 0, 0]])
    >>> category_codes(X, ["age", "job=cook", "job=smith"]).tolist()
    [[30.0, 0.0], [40.0, 1.0], [50.0, -1.0]]
    """
    blocks: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        feature, _, value = name.partition("=")
        # A column "age=missing" beside "age" is a feature of its own.
        blocks.setdefault(name if value in ("", "missing") else feature, []).append(at)
    columns = []
    for block in blocks.values():
        part = X[:, block]
        if len(block) == 1:
            columns.append(part[:, 0])
        else:
            columns.append(np.where(part.any(axis=1), part.argmax(axis=1), -1.0))
    return np.column_stack(columns)
