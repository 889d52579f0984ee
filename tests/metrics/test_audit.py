"""What metrics are called with, the draws of the bootstrap, and tallies."""

from __future__ import annotations

import numpy as np
import pytest
from people import make_people
from raw_rates import people

from equipoise import EqualizedOdds, metrics
from equipoise.cells import Cells
from equipoise.metrics.audit import Audit, Tally, read_predictions
from equipoise.metrics.violations import measure


@pytest.mark.parametrize(
    ("y_true", "y_pred", "pos_label"),
    [
        ([0, 1, 1, 0], [1, 1, 0, 0], None),
        ([False, True, True, False], [True, True, False, False], None),
        ([-1, 1, 1, -1], [1, 1, -1, -1], None),
        (["no", "yes", "yes", "no"], ["yes", "yes", "no", "no"], None),
        (["bad", "good", "good", "bad"], [1.0, 1.0, 0.0, 0.0], "good"),
        ([1, 2, 2, 1], [2, 2, 1, 1], None),
        ([2, 1, 1, 2], [1, 1, 2, 2], 1),
        ([1, 0, 0, 1], [0, 0, 1, 1], 0),
        ([0, 1, 1, 0], [1.0, 1.0, 0.0, 0.0], 1),
    ],
)
def test_kinds_of_labels(y_true, y_pred, pos_label):
    keywords = {"pos_label": pos_label}
    assert metrics.true_positive_rate(y_true, y_pred, **keywords) == 0.5
    assert metrics.false_positive_rate(y_true, y_pred, **keywords) == 0.5
    assert metrics.selection_rate(y_true, y_pred[:3] + y_pred[:1], **keywords) == 0.75


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([0, 1], [0, 1, 1], "y_true has 2 entries but y_pred has 3"),
        ([0, 1], [[0.5, 0.5], [0.1, 0.9]], r"two columns; of predict_proba\(X\) pass the second"),
        ([0, 1], [0.5, np.nan], "y_pred contains NaN"),
        ([0, 1], [0.5, 1.5], "values such as .*1.5.*; expected labels like those of y_true"),
        (["no", "yes"], ["no", "c"], "expected labels like those of y_true"),
        ([1.5, 2, 3], [1, 2, 3], "3 numbers as values.*metrics=mean_absolute_error"),
        ([], [], "y_true is empty"),
    ],
)
def test_bad_predictions(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        metrics.error_rate(y_true, y_pred)


@pytest.mark.parametrize("kind", ["labels", "probabilities", "weights"])
def test_draws_are_those_of_the_bootstrap(kind):
    """Mean and covariance of resampled cell sums, against the multinomial's, row by row."""
    rng = np.random.default_rng(0)
    y, h, A, w = people(4, n=200, groups=2)
    if kind != "labels":
        h = rng.random(len(y))  # all rows differ: rows are drawn instead of counts
    audit = Audit.read(y, h, A, sample_weight=w if kind == "weights" else None)
    weight = w if kind == "weights" else np.ones(len(y))
    mass, selected = audit.draws(6000, rng)
    cell = 2 * A + y
    rows = np.column_stack(
        [(cell == c) * weight * value for value in (np.ones(len(y)), h) for c in range(4)]
    )
    drawn = np.hstack([mass, selected])
    exact = len(y) * np.cov(rows.T, bias=True)
    error = np.sqrt(np.diag(exact) / len(drawn))
    np.testing.assert_allclose(drawn.mean(axis=0), rows.sum(axis=0), atol=4.5 * error.max())
    np.testing.assert_allclose(np.cov(drawn.T), exact, atol=0.08 * np.diag(exact).max())


def test_shares_alone_give_the_interval_of_drawn_decisions():
    some = make_people(500)
    cells = Cells.from_columns(some.y, {"A": some.A})
    h = (some.X[:, 0] > 0.3).astype(float)
    by_person = measure({"a": Tally.of_people(cells, h)}, EqualizedOdds(), None)[0]
    table = Tally.of_shares(cells.table(), cells.sum(h))
    by_share = measure({"a": table}, EqualizedOdds(), None)[0]
    assert by_share.excess == pytest.approx(by_person.excess)
    assert by_share.error == pytest.approx(by_person.error)


def test_probabilities_of_one_are_no_labels():
    # Everybody is selected: 1.0 is a probability here, and 1 would be the other label.
    label, chance = read_predictions([1, 2, 1, 2], np.ones(4))
    assert (label.tolist(), chance.tolist()) == ([0, 1, 0, 1], [1.0] * 4)
    assert read_predictions([1, 2, 1, 2], [1, 1, 1, 1])[1].tolist() == [0.0] * 4
    assert read_predictions([1.0, 2.0], np.array([1.0, 1.0]))[1].tolist() == [0.0] * 2


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
def test_columns_in_another_order_are_an_error(labels):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(labels * 10)
    A = pandas.Series(["F", "M"] * (len(y) // 2))
    metrics.group_table(y, y.to_numpy(), sensitive_features=A)
    message = "sensitive_features has the same index as y_true in another order"
    with pytest.raises(ValueError, match=message):
        metrics.group_table(y, y.to_numpy(), sensitive_features=A.iloc[::-1])
    with pytest.raises(ValueError, match="y_pred has the same index as y_true"):
        metrics.demographic_parity_difference(y, y.iloc[::-1], sensitive_features=A)
