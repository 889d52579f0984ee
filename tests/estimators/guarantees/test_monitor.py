"""The monitor: counts against raw arrays, corners of days, and its state in a file."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from equipoise import (
    DemographicParity,
    EqualizedOdds,
    FairClassifier,
    Frontier,
    GridSearch,
    Monitor,
    load,
    save,
)
from equipoise.exceptions import (
    MonitorStateError,
    NothingComparedWarning,
    RepeatedBatchWarning,
    SeenPeopleWarning,
)
from equipoise.guarantees.detector import Detector


def people(seed, n=300, drift=0.0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    X = rng.normal(size=(n, 2)) + (1 + drift) * (sex == "M")[:, None] * [1, 0]
    y = np.where(X.sum(axis=1) + rng.logistic(size=n) > 0.5, "yes", "no")
    return X, y, sex


def fit(constraint, seed=0):
    X, y, sex = people(seed, n=3000)
    return FairClassifier(LogisticRegression(), constraint).fit(X, y, sensitive_features=sex)


@pytest.fixture(scope="module")
def parity():
    return fit(DemographicParity(0.05, reference="pairwise"))


@pytest.fixture(scope="module")
def odds():
    return fit(EqualizedOdds(0.05, reference="pairwise"))


def test_values_are_those_of_the_raw_counts(parity):
    """Two rows, F above M and F below M, with the counts of each day."""
    monitor = Monitor(parity, run_length=5000, detect=0.04, period=700)
    X, _, sex = people(0, n=3000)
    h = parity.predict_proba(X)[:, 1]
    rates = [[h[sex == "F"].mean(), h[sex == "M"].mean()]] * 2
    raw = Detector([[1, -1], [-1, 1]], [0.05, 0.05], rates, [0.04, 0.04], 5000, 700)
    for seed in range(1, 6):
        X, _, sex = people(seed, drift=0.5)
        monitor.update(X, sensitive_features=sex)
        h, groups = parity.predict_proba(X)[:, 1], [sex == "F", sex == "M"]
        raw.update([[h[g].sum() for g in groups]] * 2, [[g.sum() for g in groups]] * 2, 300)
    assert [row.evidence for row in monitor.rows_] == pytest.approx(raw.evidence(), rel=1e-9)
    above, below = monitor.rows_
    assert above.name == "demographic parity: F above M by at most 0.05"
    assert above.people == below.people == 1500
    # The second period began with the fourth day.
    days = [people(seed, drift=0.5) for seed in (4, 5)]
    counts = [[(sex == group).sum() for group in "FM"] for _, _, sex in days]
    weights = [1 / (1 / n_f + 1 / n_m) for n_f, n_m in counts]
    gaps = []
    for X, _, sex in days:
        h = parity.predict_proba(X)[:, 1]
        gaps.append(h[sex == "M"].mean() - h[sex == "F"].mean())
    assert below.present == pytest.approx(np.average(gaps, weights=weights))
    assert below.low < below.present < below.high
    assert below.bound == pytest.approx(0.05)


def test_people_who_come_one_by_one_are_seen(parity):
    """Nobody alone is of both groups: people wait, and the evidence is that of days, nearly."""
    X, _, sex = people(1, n=900, drift=4.0)
    alone, together = Monitor(parity), Monitor(parity)
    for i in range(len(X)):
        alone.update(X[i : i + 1], sensitive_features=sex[i : i + 1])
    for day in range(0, len(X), 100):
        together.update(X[day : day + 100], sensitive_features=sex[day : day + 100])
    assert alone.alarms_
    assert together.alarms_
    assert alone.alarms_[0].people < 3 * together.alarms_[0].people
    row = alone.rows_[1]
    assert row.people + row.waiting == 900
    assert row.low < together.rows_[1].present < row.high


def test_who_is_compared_with_nobody_is_told(parity):
    X, _, sex = people(1, n=400)
    women = sex == "F"
    X, sex, many = X[women], sex[women], int(women.sum())
    monitor = Monitor(parity, period=100).update(X, sensitive_features=sex)
    assert [(row.people, row.waiting, row.dropped) for row in monitor.rows_] == [(0, many, 0)] * 2
    assert "2 of 2 bounds are not tested yet" in str(monitor)
    monitor.update(X[:5], sensitive_features=sex[:5])
    assert [(row.waiting, row.dropped) for row in monitor.rows_] == [(5, many)] * 2
    assert f"Up to {many} people of a bound were dropped" in str(monitor)


def test_drawn_decisions_count_as_they_were_made(parity):
    X, _, sex = people(1)
    decided = np.where(sex == "M", "yes", "no")  # whatever the model would say
    monitor = Monitor(parity).update(X, sensitive_features=sex, decisions=decided)
    assert [row.present for row in monitor.rows_] == [-1.0, 1.0]
    assert [(row.low < row.present, row.present < row.high) for row in monitor.rows_] == [
        (False, True),
        (True, False),
    ]
    with pytest.raises(ValueError, match="decisions has 'perhaps'"):
        Monitor(parity).update(X, sensitive_features=sex, decisions=["perhaps"] * len(X))


def test_alarms_stay_and_the_evidence_starts_again(parity):
    monitor = Monitor(parity)
    assert "No alarm: 0 days" in str(monitor)
    day = 0
    while not monitor.alarm_:
        day += 1
        X, _, sex = people(day, drift=1.5)
        monitor.update(X, sensitive_features=sex)
    (alarm,) = monitor.alarms_
    assert (alarm.day, alarm.people) == (day, 300 * day)
    assert alarm.row == "demographic parity: F below M by at most 0.05"
    assert alarm.low < alarm.present < alarm.high
    assert monitor.history_[-1].evidence >= 150_000
    assert f"ALARM on day {day}: {alarm.row}; present value {alarm.present:.4g} [" in str(monitor)
    for seed in range(100, 140):  # far within the bounds
        X, _, sex = people(seed, n=600, drift=-1.0)
        monitor.update(X, sensitive_features=sex)
    assert monitor.rows_[1].evidence < 2000
    assert list(monitor.alarms_) == [alarm]
    assert monitor.alarm_
    while len(monitor.alarms_) < 2:
        day += 1
        X, _, sex = people(day, drift=1.5)
        monitor.update(X, sensitive_features=sex)
    assert monitor.alarms_[-1].day == len(monitor.history_)
    assert f"2 ALARMS, the last on day {len(monitor.history_)}" in str(monitor)
    monitor.update(X[:0], sensitive_features=sex[:0])  # nobody raises no alarm
    assert len(monitor.alarms_) == 2


def test_days_without_a_group_or_a_label_move_the_other_rows_only(odds, parity):
    X, y, sex = people(1)
    monitor = Monitor(odds).update(X[y == "yes"], y[y == "yes"], sensitive_features=sex[y == "yes"])
    for row in monitor.rows_:
        assert (row.evidence != 0) == ("label 1" in row.name)
        assert (row.present is not None) == ("label 1" in row.name)
    assert "2 of 4 bounds are not tested yet" in str(monitor)
    women = sex == "F"
    monitor = Monitor(parity).update(X[women], sensitive_features=sex[women])
    monitor.update(X[:0], sensitive_features=sex[:0])
    assert [row.evidence for row in monitor.rows_] == [0, 0]
    for person in range(5):  # days of one or two people
        two = slice(person, person + 2)
        monitor.update(X[two], sensitive_features=sex[two])
    assert len(monitor.history_) == 7


def test_labels_where_they_are_needed(odds, parity):
    X, y, sex = people(1)
    with pytest.raises(ValueError, match="y is missing"):
        Monitor(odds).update(X, sensitive_features=sex)
    with pytest.raises(ValueError, match="y has 'maybe'"):
        Monitor(odds).update(X, ["maybe"] * len(X), sensitive_features=sex)
    with_labels = Monitor(parity).update(X, y, sensitive_features=sex)
    assert with_labels.rows_ == Monitor(parity).update(X, sensitive_features=sex).rows_
    assert Monitor(odds).needs_labels
    assert not Monitor(parity).needs_labels


def test_the_same_people_twice_warn(parity):
    X, _, sex = people(1)
    monitor = Monitor(parity).update(X, sensitive_features=sex)
    with pytest.warns(RepeatedBatchWarning, match="300 people were counted before"):
        monitor.update(X[::-1], sensitive_features=sex[::-1])
    monitor.update(X[1:], sensitive_features=sex[1:])  # other people
    for _ in range(2):  # other people may be just like these two
        monitor.update(X[:2], sensitive_features=sex[:2])


def test_people_of_the_fit_are_told(parity):
    X, y, sex = people(0, n=3000)
    with pytest.warns(SeenPeopleWarning, match="of these 200 people, all of them were learned"):
        Monitor(parity).update(X[:200], y[:200], sensitive_features=sex[:200])


def test_a_saved_state_goes_on_as_if_nothing_had_been(odds, tmp_path):
    path = tmp_path / "watch.json"
    whole, saved = Monitor(odds, 500, 0.03, 700), Monitor(odds, 500, 0.03, 700)
    for seed in range(1, 9):
        X, y, sex = people(seed, drift=0.6)
        one = slice(None) if seed > 1 else y == "yes"  # rows that have not moved yet
        for monitor in (whole, saved):
            monitor.update(X[one], y[one], sensitive_features=sex[one])
        saved.save(path)
        saved = Monitor.load(path, odds)
        assert saved.rows_ == whole.rows_
    assert saved.history_ == whole.history_
    assert saved.alarms_ == whole.alarms_ != []
    assert str(saved) == str(whole)
    assert (saved.run_length, saved.detect, saved.period) == (500, 0.03, 700)
    assert path.stat().st_size < 10_000
    with pytest.warns(RepeatedBatchWarning):
        saved.update(X, y, sensitive_features=sex)


def test_states_are_checked_when_read(parity, odds, tmp_path):
    path = tmp_path / "watch.json"
    X, _, sex = people(1)
    monitor = Monitor(parity).update(X, sensitive_features=sex)
    monitor.save(path)
    with pytest.raises(MonitorStateError, match="another model"):
        Monitor.load(path, odds)
    with pytest.raises(MonitorStateError, match="another model"):
        Monitor.load(path, fit(DemographicParity(0.05, reference="pairwise"), seed=99))
    text, contents = path.read_text(), json.loads(path.read_text())
    for damaged, message in [
        (text[: len(text) // 2], "damaged"),
        ("[1, 2]", "not the state"),
        ("[" * 100_000, "cannot be read as JSON"),
        (json.dumps(contents | {"version": 3}), "version 3; expected 4"),
        (json.dumps(contents | {"run_length": 5}), "damaged"),
    ]:
        path.write_text(damaged)
        with pytest.raises(MonitorStateError, match=message):
            Monitor.load(path, parity)
        with pytest.raises(MonitorStateError, match=message):
            monitor.save(path)  # it replaces states only
        assert path.read_text() == damaged


def test_days_in_a_file_are_not_lost(parity, tmp_path):
    path = tmp_path / "watch.json"
    X, _, sex = people(1)
    Monitor(parity).update(X, sensitive_features=sex).save(path)
    first, second = Monitor.load(path, parity), Monitor.load(path, parity)
    for monitor, seed in ((first, 2), (second, 3)):
        X, _, sex = people(seed)
        monitor.update(X, sensitive_features=sex)
    first.save(path)
    with pytest.raises(MonitorStateError, match="would be lost"):
        second.save(path)


def test_a_grid_search_is_watched(tmp_path):
    """Its one classifier's decisions, 0 and 1, with the rates of the fit as they were."""
    X, y, sex = people(0, n=800)
    grid = GridSearch(
        LogisticRegression(), DemographicParity(0.1, reference="pairwise"), grid_size=5
    )
    grid.fit(X, y, sensitive_features=sex)
    selected, groups = grid.predict(X) == "yes", [sex == "F", sex == "M"]
    rates = [[selected[g].mean() for g in groups]] * 2
    raw = Detector([[1, -1], [-1, 1]], [0.1, 0.1], rates, [0.05, 0.05], 2e5, 1e4)
    save(grid, tmp_path / "grid.equipoise")
    watch = Monitor(load(tmp_path / "grid.equipoise"))
    X, _, sex = people(1, drift=1.0)
    watch.update(X, sensitive_features=sex)
    selected, groups = grid.predict(X) == "yes", [sex == "F", sex == "M"]
    raw.update([[selected[g].sum() for g in groups]] * 2, [[g.sum() for g in groups]] * 2, 300)
    assert [row.evidence for row in watch.rows_] == pytest.approx(raw.evidence())
    watch.save(tmp_path / "watch.json")
    assert Monitor.load(tmp_path / "watch.json", grid).rows_ == watch.rows_
    other = grid.use(0 if grid.best_index_ else 1)
    with pytest.raises(MonitorStateError, match="another model"):
        Monitor.load(tmp_path / "watch.json", other)


def test_what_it_takes(parity):
    with pytest.raises(NotFittedError):
        Monitor(GridSearch(LogisticRegression(), DemographicParity()))
    with pytest.raises(TypeError, match=r"frontier.at\(eps\)"):
        Monitor(Frontier(LogisticRegression(), DemographicParity()))
    for wrong in (0, -5, 0.5, "x", True):
        with pytest.raises(ValueError, match="run_length"):
            Monitor(parity, wrong)
        with pytest.raises(ValueError, match="period"):
            Monitor(parity, period=wrong)
    for wrong in (0, 1, "x", True):
        with pytest.raises(ValueError, match="detect"):
            Monitor(parity, detect=wrong)
    X, _, sex = people(1)
    with pytest.raises(ValueError, match="expected 'group', as in the fit"):
        Monitor(parity).update(X, sensitive_features={"sex": sex, "age": sex})
    with pytest.raises(ValueError, match="control_features"):
        Monitor(parity).update(X, sensitive_features=sex, control_features=sex)
    alone = np.full(len(X), "F")
    with pytest.warns(NothingComparedWarning):
        model = FairClassifier(LogisticRegression(), DemographicParity(0.05)).fit(
            X, people(1)[1], sensitive_features=alone
        )
    with pytest.raises(ValueError, match="nothing to watch"):
        Monitor(model)
