"""Faces of models with three labels: who moves where, why, and who is selected for a decision."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from people import three_labels
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import DemographicParity, FairClassifier, Frontier, GridSearch
from equipoise.cells import Cells
from equipoise.oracles import Plugin

X, Y, A = three_labels()
NAMES = np.unique(Y)
PEOPLE = {"sensitive_features": A}


@pytest.fixture(scope="module")
def fair():
    constraint = DemographicParity(0.02, reference="pairwise")
    return FairClassifier(LogisticRegression(), constraint, oracle=Plugin(cv=2)).fit(X, Y, **PEOPLE)


def moves_by_hand(model, X, y, groups):
    """Return how many move, by group, label, decision before and after; person by person."""
    if isinstance(model, GridSearch):
        pmf = (model.predict(X)[:, None] == NAMES).astype(float)
    else:
        pmf = model.predict_proba(X)
    before, counted = model.unconstrained_.predict(X), Counter()
    for row in range(len(X)):
        for group in ("overall", groups[row]):
            for v, after in enumerate(NAMES):
                if after != before[row]:
                    counted[group, y[row], before[row], after] += pmf[row, v]
    return {key: number for key, number in counted.items() if number > 1e-9}


def assert_moved(switched, expected):
    found = {(row.group, row.label, row.before, row.after): row.switched for row in switched.rows}
    assert found.keys() == expected.keys()
    for key, number in expected.items():
        assert found[key] == pytest.approx(number)


def test_moves_are_counted_by_hand(fair, tmp_path):
    expected = moves_by_hand(fair, X, Y, A)
    assert expected
    assert_moved(fair.switched(), expected)
    equipoise.save(fair, tmp_path / "m.equipoise")
    again = equipoise.load(tmp_path / "m.equipoise")
    assert_moved(again.switched(), expected)
    other = three_labels(200, seed=1)
    assert_moved(
        again.switched(*other[:2], sensitive_features=other[2]), moves_by_hand(fair, *other)
    )
    total = fair.switched().total()
    moved = sum(number for key, number in expected.items() if key[0] == "overall")
    assert total == pytest.approx((len(X), moved))
    assert fair.certificate_.to_dict()["switched"] == total._asdict()
    assert "people are decided on differently" in str(fair.certificate_)


def test_moves_of_frontiers_and_grids():
    constraint = DemographicParity(reference="pairwise")
    frontier = Frontier(LogisticRegression(), constraint, bounds=[0.02], oracle=Plugin(cv=2))
    model = frontier.fit(X, Y, **PEOPLE).at(0.04)
    assert_moved(model.switched(), moves_by_hand(model, X, Y, A))
    grid = GridSearch(LogisticRegression(), DemographicParity(0.2, decisions=["top"]), grid_size=5)
    grid.fit(X, Y, **PEOPLE)
    assert_moved(grid.switched(), moves_by_hand(grid, X, Y, A))


def test_moves_print_as_a_table(fair):
    switched = fair.switched()
    header, first, *_ = str(switched).splitlines()
    assert header.split() == ["group", "people", "before", "after", "switched"]
    assert first.split()[:2] == ["overall", str(len(X))]
    assert switched._repr_html_().count("<tr>") == len(str(switched).splitlines())
    frame = switched.to_pandas()
    everybody = frame[frame["feature"] == ""]
    assert everybody["switched"].sum() == pytest.approx(switched.total().switched)
    assert set(frame["before"]) <= set(NAMES)


def test_explanations_have_a_probability_for_each_decision(fair):
    found = fair.explain(X)
    pmf = fair.predict_proba(X)
    np.testing.assert_array_equal(found.decision, fair.predict(X))
    np.testing.assert_allclose(found.probability, pmf)
    np.testing.assert_array_equal(found.drawn, (pmf.max(axis=1) < 1 - 1e-12))
    np.testing.assert_array_equal(found.differs, fair.predict(X) != fair.unconstrained_.predict(X))
    np.testing.assert_allclose(found.chance, fair.label_proba(X))
    frame = found.to_pandas()
    for v, name in enumerate(NAMES):
        np.testing.assert_allclose(frame[f"probability of {name}"], pmf[:, v])
    drawn = int(np.flatnonzero(found.drawn)[0])
    text = " ".join(found.sentences(drawn))
    most = NAMES[pmf[drawn].argmax()]
    assert f"{most} {pmf[drawn].max():.3f}" in text
    assert "Chance of each label" in text
    assert "score" not in text
    assert str(found).startswith("Row 0: ")


@pytest.mark.parametrize("by", ["lot", "rank"])
def test_exactly_k_for_a_named_decision(fair, by):
    for decision in NAMES:
        share = fair.predict_proba(X)[:, np.flatnonzero(decision == NAMES)[0]]
        k = int(share.sum() / 2)
        chosen = fair.select(X, k, sensitive_features=A, decision=decision, by=by)
        assert chosen.selected.sum() == k
        assert share[chosen.selected].min() > 0
        for name in ("a", "b"):
            expected = k * share[name == A].sum() / share.sum()
            assert abs(chosen.groups[name].selected - expected) <= 1
        if by == "rank":
            chance = fair.label_proba(X)[:, np.flatnonzero(decision == NAMES)[0]]
            certain = (share == share.max()) & (A == "a")
            first = certain & chosen.selected
            if first.sum() < certain.sum():
                assert chance[first].min() >= chance[certain & ~chosen.selected].max()


def test_what_has_no_meaning_is_refused(fair):
    with pytest.raises(
        ValueError, match="decision is None; expected the one of 'low', 'mid', 'top'"
    ):
        fair.select(X, 10)
    with pytest.raises(ValueError, match="decision is 'best'"):
        fair.select(X, 10, decision="best")
    with pytest.raises(ValueError, match="the cut between two decisions; there are 3"):
        fair.margin(X)


def test_of_two_labels_either_can_be_selected_for():
    two = np.where(Y == "top", "yes", "no")
    model = FairClassifier(LogisticRegression(), DemographicParity(0.05))
    model.fit(X, two, **PEOPLE)
    same = model.select(X, 50, decision="yes").selected
    np.testing.assert_array_equal(same, model.select(X, 50).selected)
    turned = model.select(X, 50, decision="no", by="rank")
    chance = model.label_proba(X)[:, 1]
    assert chance[turned.selected].mean() < chance.mean()


def test_switches_of_cells_match_a_count_of_pairs():
    from equipoise.game.switches import pairs
    from equipoise.oracles.agreement import agreement

    class Fixed:
        def __init__(self, decided):
            self.decided = np.asarray(decided)

        def predict(self, X):
            return self.decided

    rng = np.random.default_rng(0)
    before, after = rng.integers(0, 4, size=(2, 50))
    cells = Cells.from_columns(
        rng.integers(0, 4, 50), {"g": rng.integers(0, 2, 50)}, decisions=tuple("abcd")
    )
    asked = [Fixed(after), Fixed(before)]
    found = agreement(asked, np.zeros((50, 1)), cells, reference=Fixed(before)).switches
    assert found.shape == (2, 12, cells.n_cells)
    assert not found[1].any()
    for number, (u, v) in enumerate(pairs(4)):
        for c in range(cells.n_cells):
            expected = ((before == u) & (after == v) & (cells.code == c)).sum()
            assert found[0, number, c] == expected
