"""Folds: which rows a model is trained on, and which are held out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from equipoise.cells.layered import AnyCells
from equipoise.rows.validation import read_integer

Rows = NDArray[np.intp]


def make_folds(cells: AnyCells, cv: Any = 5) -> list[tuple[Rows, Rows]]:
    """Return the training rows and the held-out rows of each fold.

    Parameters
    ----------
    cells : Cells
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds deals every cell evenly over them, shuffled with a fixed seed. Splitters
        of scikit-learn are given the cells as classes. Every example must be held out once.

    Examples
    --------
    >>> from equipoise.cells import Cells
    >>> cells = Cells.from_columns([0, 0, 1, 1], {"sex": ["F", "F", "M", "M"]})
    >>> for train, test in make_folds(cells, 2):
    ...     print(cells.code[train].tolist(), cells.code[test].tolist())
    [0, 1] [0, 1]
    [0, 1] [0, 1]
    """
    n = cells.n_examples
    # There are no codes when groups are known by probability only.
    code = np.zeros(n, dtype=np.uint8) if cells.code is None else cells.code
    if isinstance(cv, (int, np.integer)):
        cv = _shuffled(cells, read_integer(cv, "cv", least=2))
    else:
        cv = check_cv(cv, code, classifier=True)
    with warnings.catch_warnings():
        # Cells with fewer people than there are folds are dealt as evenly as can be.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        folds = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros((n, 1)), code)]
    held_out = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
    if len(held_out) != n or (held_out != 1).any():
        raise ValueError(
            f"cv holds {int((held_out == 0).sum())} of {n} examples out never and "
            f"{int((held_out > 1).sum())} more than once; expected each exactly once. Use a "
            "number of folds, or a splitter such as KFold."
        )
    return folds


def _shuffled(cells: AnyCells, k: int) -> KFold | StratifiedKFold:
    if k > cells.n_examples:
        raise ValueError(f"cv is {k}, but there are {cells.n_examples} examples; use fewer folds.")
    if cells.code is not None and cells.count.max() >= k:
        return StratifiedKFold(k, shuffle=True, random_state=0)
    return KFold(k, shuffle=True, random_state=0)
