"""How a regressor's fit is watched, stopped and weighted."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor, Frontier, MinimaxGroupLoss
from equipoise.game.evidence import Status

CONSTRAINTS = [DemographicParity(0.05), MinimaxGroupLoss()]


class Interrupted(LinearRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        if type(self).fits == 4:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, 240)
    X = np.column_stack([A + rng.normal(size=240), rng.normal(size=240)])
    return X, 30.0 * (X[:, 0] + A * X[:, 1] + rng.normal(size=240)), A


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("traced", [False, True])
def test_who_watches_sees_losses_in_their_own_units(people, constraint, traced, capsys):
    X, y, A = people
    if traced and not isinstance(constraint, DemographicParity):
        constraint = BoundedGroupLoss()
    seen = []
    given = {"callback": seen.append, "verbose": "lines", "thresholds": 5}
    if traced:
        bounds = [0.05, 0.2] if isinstance(constraint, DemographicParity) else [1850.0, 1950.0]
        model = Frontier(LinearRegression(), constraint, bounds=bounds, **given)
        model.fit(X, y, sensitive_features=A)
        ended = [point.certificate for point in model.points_]
    else:
        model = FairRegressor(LinearRegression(), constraint, **given)
        ended = [model.fit(X, y, sensitive_features=A).certificate_]
    last = seen[-1] if traced else [seen[-1]]
    assert len(seen) > 2
    for found, certificate in zip(last, ended, strict=True):
        assert found.error == pytest.approx(certificate.error, rel=0.01)
        assert found.gap == pytest.approx(certificate.gap, abs=0.01 * certificate.error)
        assert found.violation <= certificate.bound.max()
    lines = capsys.readouterr().out.splitlines()
    if not traced:
        told = float(re.search(r"loss ([\d.]+)", lines[-1])[1])
        assert told == pytest.approx(ended[0].error, rel=0.01)


@pytest.mark.parametrize(
    ("constraint", "more"),
    [(MinimaxGroupLoss(), {}), (DemographicParity(0.02), {"oracle": "refit", "thresholds": 5})],
)
def test_a_fit_that_is_interrupted_keeps_what_was_found(people, constraint, more):
    X, y, A = people
    Interrupted.fits = 0
    reg = FairRegressor(Interrupted(), constraint, **more)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard"):
        reg.fit(X, y, sensitive_features=A)
    assert reg.certificate_.gap > reg.nu_
    assert reg.certificate_.status is not Status.IMPOSSIBLE
    assert np.isfinite(reg.predict(X)).all()
    reg.certificate_.check()


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_weight_of_two_is_the_same_person_twice(people, constraint):
    X, y, A = people
    twice = np.arange(240) % 3 == 0
    rows = np.append(np.arange(240), np.flatnonzero(twice))
    given = {"oracle": "refit", "thresholds": np.linspace(-40, 80, 5), "nu": 1.0}
    one, other = (FairRegressor(LinearRegression(), constraint, **given) for _ in range(2))
    one.fit(X, y, sensitive_features=A, sample_weight=1.0 + twice)
    other.fit(X[rows], y[rows], sensitive_features=A[rows])
    assert one.certificate_.error == pytest.approx(other.certificate_.error)
    assert one.predict_mean(X) == pytest.approx(other.predict_mean(X))
    measured = one.measure(X, y, sensitive_features=A, sample_weight=1.0 + twice)
    again = one.measure(X[rows], y[rows], sensitive_features=A[rows])
    assert measured[:3] == pytest.approx(again[:3], abs=1e-9)


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_rounds_that_a_callback_keeps_say_later_what_they_said_then(people, oracle):
    X, y, A = people
    seen = []

    def keep(found):
        seen.append((found, len(found.queries)))

    given = {"oracle": oracle, "thresholds": 5, "callback": keep}
    FairRegressor(LinearRegression(), DemographicParity(0.02), **given).fit(
        X, y, sensitive_features=A
    )
    assert seen[-1][1] > seen[0][1]
    assert [len(found.queries) for found, _ in seen] == [number for _, number in seen]
