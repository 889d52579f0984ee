"""The state of a model as JSON: data to the last digit, and no code."""

import json

import numpy as np
import pandas as pd
import pytest
from saving import round_trip
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import DemographicParity, EqualizedOdds, FairClassifier, rate
from equipoise.cells import Cells
from equipoise.constraints import TreatmentEquality, UtilityParity
from equipoise.constraints.base import Constraint
from equipoise.files.state import KINDS, Decoder, Encoder
from equipoise.oracles import Refit

skops_io = pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")


CONSTRAINTS = [
    DemographicParity(eps={"F": 0.01, "else": 0.05}, reference="pairwise"),
    EqualizedOdds({("F", "label=1"): 0.01, "else": 0.1}),
    equipoise.FourFifthsRule(on=["sex"]),
    equipoise.BoundedGroupError([0.1, 0.2]),
    equipoise.MinimaxGroupError(min_size=1),
    equipoise.SelectionRate(0.1, 0.3, group="F"),
    TreatmentEquality(tau=2.0),
    UtilityParity(0.05, utility=[[0, 1], [0.2, 1]], labels=(1,)),
    (abs(rate("tpr", sex="F") - rate("tpr", sex="M")) <= 0.02) & (rate("selection") <= 0.3),
    equipoise.constraints.Constraint.from_moments(
        [{"label": 1, "sex": ["F", "M"]}], [[0, 1], [0, 1]], [[1.0]], [np.float32(0.25)]
    ),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_constraints_are_kept_as_data(constraint):
    encoder = Encoder()
    text = json.dumps(encoder.encode(constraint), allow_nan=False)
    assert encoder.objects == []  # nothing is left to another format
    again = Decoder([]).decode(json.loads(text))
    cells = Cells.from_columns([0, 1, 0, 1], {"sex": ["F", "F", "M", "M"]})
    mine, theirs = constraint.moments(cells), again.moments(cells)
    assert repr(again) == repr(constraint)
    assert mine.rows == theirs.rows
    assert (mine.M != theirs.M).nnz == 0
    assert (mine.c == theirs.c).all()


VALUES = [
    (1, 2.5, "a", None, True),
    [float("nan"), float("inf"), -0.0, 1e-320, 0.1 + 0.2, 10**30],
    {"$float": 1, "plain": {1: {"nested": (2,)}}, ("F", 3): b"\x00\xff"},
    {frozenset({1}), "x"},
    np.array([[1.5, np.nan], [np.inf, -0.0]], dtype=np.float32),
    np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    np.array(["F", 3, None, np.float64(2)], dtype=object),
    np.array([], dtype=np.uint8),
    [np.str_("b"), np.int16(3), np.bool_(True), np.datetime64("2020-02-03T04:05", "m")],
    [pd.Timestamp("2020-01-02").date(), pd.Timestamp("2020-01-02 03:04").to_pydatetime()],
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))  # sets have no fixed order
def test_values_are_kept_to_the_last_digit_and_the_type(value):
    encoder = Encoder()
    again = Decoder([]).decode(json.loads(json.dumps(encoder.encode(value), allow_nan=False)))
    assert encoder.objects == []
    assert repr(again) == repr(value)
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype
        assert again.shape == value.shape


def test_functions_are_left_out_and_say_so(people, tmp_path):
    fair = FairClassifier(
        LogisticRegression(),
        DemographicParity(eps=0.05),
        objective=lambda a, y, h: float(y != h),
        callback=lambda found: None,
        oracle=Refit(
            cv=[(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
        ),
    )
    before = fair.fit(people.X, people.y, sensitive_features=people.A)
    after = round_trip(before, tmp_path)
    assert (after.predict(people.X) == before.predict(people.X)).all()
    assert after.callback is None
    with pytest.raises(RuntimeError, match="is code, which model files do not hold"):
        after.fit(people.X, people.y, sensitive_features=people.A)


def test_every_constraint_can_be_kept():
    named = [getattr(equipoise, name) for name in equipoise.__all__]
    kinds = [kind for kind in named if isinstance(kind, type) and issubclass(kind, Constraint)]
    assert set(kinds) - {Constraint} <= set(KINDS.values())
