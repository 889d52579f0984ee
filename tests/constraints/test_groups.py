"""Which groups are compared: columns, slices, small and empty groups."""

from __future__ import annotations

import warnings

import by_hand
import numpy as np
import pytest
from by_hand import PARITIES, Crowd, random_crowd
from definitions import assert_same
from listed import cells_of
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.cells import Cells
from equipoise.constraints import BoundedGroupError, TreatmentEquality
from equipoise.exceptions import AbsentGroupWarning, EmptyCellWarning, SmallGroupWarning


def test_constraints_on_one_of_several_columns() -> None:
    crowd = random_crowd(1, columns=2, weighted=True)
    for on in ("sex", "race", ["race"], ["race", "sex"]):
        expected = by_hand.parity(crowd, PARITIES["EqualizedOdds"], 0.05, on=on)
        assert_same(eq.EqualizedOdds(0.05, on=on), crowd, expected)


def test_slices_are_groups_without_their_complements() -> None:
    crowd = random_crowd(2, columns=3, slices=True)
    expected = by_hand.parity(crowd, PARITIES["DemographicParity"], 0.05, how="slices")
    assert set(expected) == {
        f"demographic parity: {name} {side} overall"
        for name in crowd.columns
        for side in ("above", "below")
    }
    assert_same(eq.DemographicParity(0.05, groups="slices"), crowd, expected)


def test_slices_must_be_yes_or_no() -> None:
    with pytest.raises(ValueError, match="'sex' has the values 'a', 'b'"):
        eq.DemographicParity(groups="slices").moments(cells_of(random_crowd(2)))


def uneven() -> Crowd:
    rng = np.random.default_rng(0)
    race = np.repeat(["big", "mid", "tiny", "wee"], [30, 12, 4, 3])
    return Crowd(y=np.arange(49) % 2, H=rng.integers(0, 2, (4, 49)) * 1.0, columns={"race": race})


def test_small_groups_are_left_out_with_a_warning() -> None:
    with pytest.warns(SmallGroupWarning, match=r"tiny \(4\), wee \(3\); left unconstrained"):
        moments = eq.DemographicParity(min_size=10).moments(cells_of(uneven()))
    assert {row.group for row in moments.rows} == {"big", "mid"}


def test_small_groups_are_merged_with_a_warning() -> None:
    crowd = uneven()
    with pytest.warns(SmallGroupWarning, match=r"tiny \(4\), wee \(3\); merged into"):
        moments = eq.DemographicParity(min_size=5, small="merge").moments(cells_of(crowd))
    merged = {
        name: "rest" if name in ("tiny", "wee") else name for name in ("big", "mid", "tiny", "wee")
    }
    renamed = np.array([merged[name] for name in crowd.columns["race"]])
    expected = by_hand.parity(
        Crowd(crowd.y, crowd.H, {"race": renamed}), PARITIES["DemographicParity"], 0.01
    )
    cells = cells_of(crowd)
    for k, row in enumerate(moments.rows):
        words = str(row).replace("small groups together", "rest")
        gamma = [(moments.M @ moments.mu(cells.sum(h)))[k] for h in crowd.H]
        assert_allclose(gamma, expected[words][0], atol=1e-12)


def test_too_few_even_together() -> None:
    with pytest.warns(SmallGroupWarning, match="even together they are too few"):
        moments = eq.DemographicParity(min_size=8, small="merge").moments(cells_of(uneven()))
    assert {row.group for row in moments.rows} == {"big", "mid"}


def test_size_counts_within_the_event() -> None:
    # 12 people of "mid" are 6 with each label.
    with pytest.warns(SmallGroupWarning) as caught:
        moments = eq.EqualizedOdds(min_size=7).moments(cells_of(uneven()))
    assert len(caught) == 2
    assert {row.group for row in moments.rows} == {"big"}


def test_small_groups_are_said_once_for_all_decisions() -> None:
    y, groups = [0, 1, 2] * 4 + [0, 1], ["a"] * 9 + ["b"] * 5
    cells = Cells.from_columns(y, {"group": groups}, decisions=("low", "mid", "top"))
    with pytest.warns(SmallGroupWarning) as caught:
        assert len(eq.EqualizedOdds(min_size=2).moments(cells).rows) == 5 * 3 * 2
    (warning,) = caught
    assert "equalized odds given label top: fewer than min_size=2 people of b (1)" in str(
        warning.message
    )


def test_empty_groups_are_named() -> None:
    crowd = uneven()
    y = np.where(crowd.columns["race"] == "wee", 0, crowd.y)
    with pytest.warns(EmptyCellWarning, match="nobody in the data belongs to wee given label 1"):
        eq.EqualOpportunity().moments(cells_of(Crowd(y, crowd.H, crowd.columns)))


@pytest.mark.parametrize(("name", "value"), [("min_size", 0), ("min_size", 2.5), ("small", "hide")])
def test_bad_group_parameters(name: str, value) -> None:
    with pytest.raises(ValueError, match=f"{name} of DemographicParity is {value!r}"):
        eq.DemographicParity(**{name: value}).moments(cells_of(random_crowd(0)))


def test_eps_by_group() -> None:
    crowd = random_crowd(3, n_groups=3)
    eps = {"a": 0.01, "b": 0.02, "c": 0.03}
    for reference in ("overall", "pairwise", "b"):
        expected = by_hand.parity(
            crowd,
            PARITIES["DemographicParity"],
            lambda words, a, b: min(eps[g] for g in (a, b) if g in eps),
            reference=reference,
        )
        assert_same(eq.DemographicParity(eps, reference=reference), crowd, expected)


def test_eps_by_event_and_by_both() -> None:
    crowd = random_crowd(3, control=True)
    eps = {"label=1": 0.01, ("a", "label=1"): 0.02, "old, label=0": 0.03, "else": 0.04}

    def by_event(words: str, a: str, b: str) -> float:
        if "label 1" in words:
            return 0.02 if a == "a" else 0.01
        return 0.03 if "old" in words else 0.04

    expected = by_hand.parity(crowd, PARITIES["EqualizedOdds"], by_event)
    assert_same(eq.EqualizedOdds(eps), crowd, expected)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_eps_by_row(kind) -> None:
    cells = cells_of(random_crowd(3))
    moments = eq.EqualizedOdds(kind([0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08])).moments(
        cells
    )
    assert moments.c.tolist() == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]


@pytest.mark.parametrize(
    ("eps", "message"),
    [
        (-0.1, "eps of DemographicParity is -0.1"),
        (float("nan"), "is nan"),
        ("0.1", "is '0.1'"),
        ({"a": -1, "b": 0}, "is -1 for 'a'"),
        ({"a": 0.1}, "says nothing about 'b'.*'else'"),
        ({"a": 0.1, "b": 0.1, "z": 0.1}, "entry for 'z', which is no group or event"),
        ([0.1, 0.1], "2 entries for 4 rows"),
        ([0.1] * 5, "5 entries for 4 rows"),
    ],
)
def test_bad_eps_is_named(eps, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        eq.DemographicParity(eps).moments(cells_of(random_crowd(0)))


def without_a_woman_of_label_1() -> Cells:
    """Four people; nobody is F with label 1, or M with label 1."""
    return Cells.from_columns([0, 0, 1, 0], {"sex": list("FMFM")})


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
def test_names_of_events_count_and_not_the_rows_that_the_data_have() -> None:
    # Pairwise, nobody can be compared given label 1, so that no row asks for its bound.
    odds = eq.EqualizedOdds({"label=1": 0.03, "label=0": 0.1}, reference="pairwise")
    assert odds.moments(without_a_woman_of_label_1()).c.tolist() == [0.1, 0.1]


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.EmptyCellWarning")
def test_an_entry_may_be_shadowed_by_more_specific_ones() -> None:
    eps = {("F", "label=1"): 0.01, ("F", "label=0"): 0.02, "F": 0.5, "M": 0.1}
    moments = eq.EqualizedOdds(eps).moments(without_a_woman_of_label_1())
    bounds = {(row.group, row.event.label): row.bound for row in moments.rows}
    assert bounds == {("F", 0): 0.02, ("M", 0): 0.1, ("F", 1): 0.01}


def test_an_entry_for_every_group_beside_one_for_every_event() -> None:
    eps = {"a": 0.01, "b": 0.02, "label=0": 0.3, "label=1": 0.4}
    moments = eq.EqualizedOdds(eps).moments(cells_of(random_crowd(3)))
    assert {(row.group, row.bound) for row in moments.rows} == {("a", 0.01), ("b", 0.02)}


@pytest.mark.parametrize("key", ["label=0", "Z", ("a", "label=0"), ("Z", "label=1")])
def test_names_that_the_constraint_cannot_have_are_refused(key) -> None:
    message = "which is no group or event here; there are 'a', 'b', 'label=1', \\('a', 'label=1'\\)"
    with pytest.raises(ValueError, match=message):
        eq.EqualOpportunity({"a": 0.1, "b": 0.1, key: 0.1}).moments(cells_of(random_crowd(3)))


def people(sex: str, y: list[int]) -> dict:
    return {"X": np.arange(len(y))[:, None], "y": y, "sensitive_features": {"sex": list(sex)}}


class Everybody:
    """Selects those whose number is even."""

    def predict(self, X) -> np.ndarray:
        return (np.asarray(X)[:, 0] % 2 == 0).astype(int)


def excesses(constraint, sex: str, y: list[int]) -> dict[str, float]:
    """Fit on women and men of both labels, and measure on these people."""
    clf = eq.FairClassifier([Everybody()], constraint)
    clf.fit(**people("FFFFMMMM", [0, 1, 0, 1, 0, 1, 1, 0]))
    X_y_A = people(sex, y)
    report = clf.report(X_y_A.pop("X"), X_y_A.pop("y"), **X_y_A)
    return {str(row): value.estimate for row, value in report["test"].rows}


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(
    "constraint",
    [
        eq.DemographicParity({"F": 0.05, "M": 0.1}),
        eq.DemographicParity([0.05, 0.05, 0.1, 0.1]),
        eq.DemographicParity(0.05),
    ],
    ids=repr,
)
def test_a_group_that_test_people_lack_is_not_measured_and_named(constraint) -> None:
    with pytest.warns(AbsentGroupWarning, match="nobody .* belongs to M,.*no bound on it"):
        found = excesses(constraint, "FFF", [0, 1, 0])
    # Women are everybody here: nothing is compared.
    assert set(found) == {f"demographic parity: F {side} overall" for side in ("above", "below")}
    assert np.isnan(list(found.values())).all()


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(
    "eps",
    [
        {"label=1": 0.03, "label=0": 0.1},
        {("F", "label=1"): 0.03, ("M", "label=1"): 0.04, "else": 0.1},
        [0.1, 0.1, 0.03, 0.03],
    ],
    ids=repr,
)
def test_a_cell_that_test_people_lack_is_not_measured_and_named(eps) -> None:
    # Women 0 and 2 are selected, man 4 is: 1 against 1 given label 0; no man has label 1.
    odds = eq.EqualizedOdds(eps, reference="pairwise")
    with pytest.warns(EmptyCellWarning, match="belongs to M given label 1"):
        found = excesses(odds, "FFFFMM", [0, 1, 0, 1, 0, 0])
    women, men = 1.0, 0.5
    assert found == pytest.approx(
        {
            "equalized odds given label 0: F above M": women - men - 0.1,
            "equalized odds given label 0: F below M": men - women - 0.1,
        }
    )


@pytest.mark.filterwarnings("ignore:.*not measured on these people, because nobody is in")
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(
    "constraint",
    [
        eq.DemographicParity(0.1, reference="M"),
        eq.SelectionRate(at_most=0.9, group="M"),
        eq.rate("tpr", sex="M") <= 0.5,
        abs(eq.rate("selection", sex="F") - eq.rate("selection", sex="M")) <= 0.5,
        eq.constraints.Constraint.from_moments(
            [{"sex": "M"}, {"sex": "F"}], [[0, 1], [0, 1]], [[1, -1]], [0.1]
        ),
    ],
    ids=repr,
)
def test_what_was_only_about_an_absent_group_is_not_measured_and_named(constraint) -> None:
    with pytest.warns(AbsentGroupWarning, match="nobody .* belongs to M,.*no bound on it"):
        assert excesses(constraint, "FFF", [0, 1, 0]) == {}


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
@pytest.mark.parametrize("rate", ["selection", "tpr"])
@pytest.mark.parametrize(("sex", "y"), [("FFF", [0, 1, 0]), ("FFFM", [0, 1, 0, 0])])
def test_inequalities_warn_once_of_what_is_not_measured(rate, sex, y) -> None:
    equal = abs(eq.rate(rate, sex="F") - eq.rate(rate, sex="M")) <= 0.5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EmptyCellWarning)
        warnings.simplefilter("always", AbsentGroupWarning)
        found = excesses(equal, sex, y)
    is_measured = sex == "FFFM" and rate == "selection"
    assert len(caught) == (0 if is_measured else 1)
    assert len(found) == (2 if is_measured else 0)


@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
def test_a_group_that_the_fit_did_not_have_is_not_measured_where_it_has_no_bound() -> None:
    with pytest.warns(EmptyCellWarning, match="X (above|below) overall: not measured .* no bound"):
        found = excesses(eq.DemographicParity({"F": 0.05, "M": 0.1}), "FMX", [0, 1, 0])
    assert set(found) == {
        f"demographic parity: {group} {side} overall"
        for group in "FM"
        for side in ("above", "below")
    }


def test_two_rows_that_differ_in_their_bound_can_be_told_apart() -> None:
    cells = Cells.from_columns([0, 1, 0, 1], {"sex": list("FFMM")})
    both = (BoundedGroupError(0.3) & BoundedGroupError(0.1)).moments(cells).rows
    assert [row.sentence() for row in both] == [
        "bounded group error: error of F at most 0.3",
        "bounded group error: error of M at most 0.3",
        "bounded group error: error of F at most 0.1",
        "bounded group error: error of M at most 0.1",
    ]


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (eq.DemographicParity(0.02), "demographic parity: F above overall by at most 0.02"),
        (eq.FourFifthsRule(), "four-fifths rule: F above M, 0.8 x F - M at most 0"),
        (
            TreatmentEquality(0.02, tau=2),
            "treatment equality: false negatives of F above 2 x false positives by at most 0.02",
        ),
        (eq.SelectionRate(0.1), "selection rate: everybody at least 0.1"),
        (eq.SelectionRate(at_most=0.1), "selection rate: everybody at most 0.1"),
        (eq.rate("tpr", sex="F") <= 0.5, "rate('tpr', sex='F') <= 0.5"),
        (eq.constraints.MinimaxGroupError(), "worst group error: error of F"),
        (
            eq.constraints.Constraint.from_moments([None], [[0, 1], [0, 1]], [[1]], [0.1]),
            "custom: row 0 at most 0.1",
        ),
    ],
    ids=repr,
)
def test_a_row_says_its_bound_once(constraint, sentence: str) -> None:
    cells = Cells.from_columns([0, 1, 0, 1], {"sex": list("FFMM")})
    assert constraint.moments(cells).rows[0].sentence() == sentence


def test_conflicts_name_their_bounds() -> None:
    clf = eq.FairClassifier([Everybody()], BoundedGroupError(0.9) & BoundedGroupError(0.1))
    with pytest.warns(match="In conflict: bounded group error: error of F at most 0.1. Loosen"):
        clf.fit(**people("FFFFMMMM", [1, 0, 0, 0, 1, 0, 1, 0]))
    assert "error of F at most 0.1." in str(clf.certificate_)
    assert clf.certificate_.to_dict()["conflict"] == ["bounded group error: error of F at most 0.1"]


@pytest.mark.parametrize(
    ("groups", "sensitive", "message"),
    [
        ("intersections", {"sex": [1, "1"] * 4}, "the group '1' is called '1', and so is 1"),
        ("intersections", {"sex": ["overall", "b"] * 4}, "stands for all people"),
        ("intersections", {"sex": ["small groups together", "b"] * 4}, "merged by small="),
        ("margins", {"a": ["b=c", "x"] * 4, "a=b": ["c", "c", "z", "z"] * 2}, "called 'a=b=c'"),
        ("intersections", {"a": ["b & c", "b"] * 4, "q": ["d", "c & d"] * 4}, "'b & c & d'"),
    ],
)
def test_groups_of_one_name_are_refused(groups: str, sensitive: dict, message: str) -> None:
    columns = {name: np.array(values, dtype=object) for name, values in sensitive.items()}
    with pytest.raises(ValueError, match=f"{message}.*could not be told apart"):
        eq.DemographicParity(groups=groups).moments(Cells.from_columns([0, 1] * 4, columns))
