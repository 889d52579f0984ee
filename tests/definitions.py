"""Compiled constraints and fits held against the definitions of `by_hand`."""

from __future__ import annotations

import warnings

import by_hand
import numpy as np
import pytest
from by_hand import Crowd, Inequalities, random_crowd
from hypothesis import strategies as st
from listed import cells_of, fitted, outcome
from numpy.testing import assert_allclose

from equipoise.constraints.base import Constraint
from equipoise.exceptions import InfeasibleWarning

SOLVER = 1e-6


crowds = st.builds(
    random_crowd,
    st.integers(0, 10**6),
    columns=st.integers(1, 2),
    n_groups=st.integers(2, 3),
    control=st.booleans(),
    weighted=st.booleans(),
    counts=st.sampled_from(["both", "error"]),
    soft=st.booleans(),
)


def assert_same(constraint: Constraint, crowd: Crowd, expected: Inequalities) -> None:
    """The compiled M mu <= c has these inequalities and no others."""
    cells = cells_of(crowd)
    moments = constraint.moments(cells)
    gamma = np.array([moments.M @ moments.mu(cells.sum(h)) for h in crowd.H])
    assert len({str(row) for row in moments.rows}) == len(moments.rows)
    for k, row in enumerate(moments.rows):
        value, bound = expected[str(row)]
        assert_allclose(gamma[:, k], value, rtol=0, atol=1e-12, err_msg=str(row))
        assert moments.c[k] == bound
    pairs = any("pairwise" in str(v) for v in constraint.get_params().values())
    assert len(moments.rows) == (len(expected) // 2 if pairs else len(expected))


def assert_optimal(
    constraint: Constraint, crowd: Crowd, expected: Inequalities, nu: float = 1e-4
) -> None:
    """The fit has the error of the brute-force LP, or of the one with the least slack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        clf = fitted(crowd, constraint, nu=nu)
    best, slack = by_hand.least_error(crowd.error(), expected), 0.0
    if best is None:
        slack = by_hand.least_slack(expected)
        assert clf.certificate_.least_slack == pytest.approx(slack, abs=nu)
        best = by_hand.least_error(crowd.error(), expected, clf.certificate_.least_slack + 1e-8)
        assert best is not None
    # At the least slack there is little room, and the error is sensitive to the solver's own.
    leeway = nu + SOLVER if slack == 0 else 1e-3
    assert clf.certificate_.error == pytest.approx(best.value, abs=leeway)
    assert clf.certificate_.lower <= best.value + (SOLVER if slack == 0 else leeway)
    assert outcome(clf, crowd).error()[0] == pytest.approx(clf.certificate_.error, abs=1e-9)
