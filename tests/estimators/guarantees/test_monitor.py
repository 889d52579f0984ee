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
from equipoise.guarantees.e_process import EProcess


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
    monitor = Monitor(parity, delta=0.1, detect=0.04)
    X, _, sex = people(0, n=3000)
    h = parity.predict_proba(X)[:, 1]
    rates = [[h[sex == "F"].mean(), h[sex == "M"].mean()]] * 2
    raw = EProcess([[1, -1], [-1, 1]], [0.05, 0.05], rates, [0.04, 0.04])
    for seed in range(1, 6):
        X, _, sex = people(seed, drift=0.5)
        monitor.update(X, sensitive_features=sex)
        h, groups = parity.predict_proba(X)[:, 1], [sex == "F", sex == "M"]
        raw.update([[h[g].sum() for g in groups]] * 2, [[g.sum() for g in groups]] * 2)
    values = np.exp(raw.log_values())
    assert [row.e_value for row in monitor.rows_] == pytest.approx(values, rel=1e-9)
    room = [0.05 - (rates[0][0] - rates[0][1]), 0.05 - (rates[0][1] - rates[0][0])]
    weights = (1 + np.maximum(room, 0) / 0.04) ** -2.0
    assert monitor.e_value_ == pytest.approx(values @ weights / weights.sum(), rel=1e-9)
    above, below = monitor.rows_
    assert above.name == "demographic parity: F above M by at most 0.05"
    assert above.people == below.people == 1500
    rates = raw.successes[0] / raw.people[0]
    assert below.value == pytest.approx(rates[1] - rates[0])
    assert below.bound == pytest.approx(0.05)


def test_drawn_decisions_count_as_they_were_made(parity):
    X, _, sex = people(1)
    decided = np.where(sex == "M", "yes", "no")  # whatever the model would say
    monitor = Monitor(parity).update(X, sensitive_features=sex, decisions=decided)
    assert [row.value for row in monitor.rows_] == [-1.0, 1.0]
    with pytest.raises(ValueError, match="decisions has 'perhaps'"):
        Monitor(parity).update(X, sensitive_features=sex, decisions=["perhaps"] * len(X))


def test_the_alarm_stays_and_speaks_of_some_time(parity):
    monitor = Monitor(parity)
    assert "No alarm: 0 days" in str(monitor)
    day = 0
    while not monitor.alarm_:
        day += 1
        X, _, sex = people(day, drift=1.5)
        monitor.update(X, sensitive_features=sex)
    assert monitor.alarm_day_ == day
    assert monitor.history_[-1].e_value >= 20
    row = monitor.alarm_row
    assert row.startswith("demographic parity: F below M by at most 0.05; so far 0.")
    for more in range(day + 1, day + 40):  # far within the bounds
        X, _, sex = people(more, n=600, drift=-1.0)
        monitor.update(X, sensitive_features=sex)
    assert monitor.e_value_ < 20
    assert monitor.alarm_
    assert monitor.alarm_row == row
    assert f"ALARM on day {day}" in str(monitor)
    assert "at some time since the start" in str(monitor)


def test_days_without_a_group_or_a_label_move_the_other_rows_only(odds, parity):
    X, y, sex = people(1)
    monitor = Monitor(odds).update(X[y == "yes"], y[y == "yes"], sensitive_features=sex[y == "yes"])
    for row in monitor.rows_:
        assert (row.e_value != 1) == ("label 1" in row.name)
        assert (row.value is not None) == ("label 1" in row.name)
    women = sex == "F"
    monitor = Monitor(parity).update(X[women], sensitive_features=sex[women])
    assert monitor.e_value_ == pytest.approx(1)
    assert monitor.update(X[:0], sensitive_features=sex[:0]).e_value_ == pytest.approx(1)
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
    assert with_labels.e_value_ == Monitor(parity).update(X, sensitive_features=sex).e_value_
    assert Monitor(odds).needs_labels
    assert not Monitor(parity).needs_labels


def test_the_same_people_twice_warn(parity):
    X, _, sex = people(1)
    monitor = Monitor(parity).update(X, sensitive_features=sex)
    with pytest.warns(RepeatedBatchWarning, match="300 people were counted before"):
        monitor.update(X[::-1], sensitive_features=sex[::-1])
    monitor.update(X[1:], sensitive_features=sex[1:])  # other people


def test_people_of_the_fit_are_told(parity):
    X, y, sex = people(0, n=3000)
    with pytest.warns(SeenPeopleWarning, match="of these 200 people, all of them were learned"):
        Monitor(parity).update(X[:200], y[:200], sensitive_features=sex[:200])


def test_a_saved_state_goes_on_as_if_nothing_had_been(odds, tmp_path):
    path = tmp_path / "watch.json"
    whole, saved = Monitor(odds, 0.1, 0.03), Monitor(odds, 0.1, 0.03)
    for seed in range(1, 9):
        X, y, sex = people(seed, drift=0.6)
        one = slice(None) if seed > 1 else y == "yes"  # rows that have not moved yet
        for monitor in (whole, saved):
            monitor.update(X[one], y[one], sensitive_features=sex[one])
        saved.save(path)
        saved = Monitor.load(path, odds)
        assert saved.e_value_ == whole.e_value_
    assert saved.rows_ == whole.rows_
    assert saved.history_ == whole.history_
    assert str(saved) == str(whole)
    assert (saved.delta, saved.detect, saved.alarm_row) == (0.1, 0.03, whole.alarm_row)
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
        (json.dumps(contents | {"version": 9}), "version 9"),
        (json.dumps(contents | {"delta": 0.5}), "damaged"),
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
    raw = EProcess([[1, -1], [-1, 1]], [0.1, 0.1], rates, [0.05, 0.05])
    save(grid, tmp_path / "grid.equipoise")
    watch = Monitor(load(tmp_path / "grid.equipoise"))
    X, _, sex = people(1, drift=1.0)
    watch.update(X, sensitive_features=sex)
    selected, groups = grid.predict(X) == "yes", [sex == "F", sex == "M"]
    raw.update([[selected[g].sum() for g in groups]] * 2, [[g.sum() for g in groups]] * 2)
    assert [row.e_value for row in watch.rows_] == pytest.approx(np.exp(raw.log_values()))
    watch.save(tmp_path / "watch.json")
    assert Monitor.load(tmp_path / "watch.json", grid).e_value_ == watch.e_value_
    other = grid.use(0 if grid.best_index_ else 1)
    with pytest.raises(MonitorStateError, match="another model"):
        Monitor.load(tmp_path / "watch.json", other)


def test_what_it_takes(parity):
    with pytest.raises(NotFittedError):
        Monitor(GridSearch(LogisticRegression(), DemographicParity()))
    with pytest.raises(TypeError, match=r"frontier.at\(eps\)"):
        Monitor(Frontier(LogisticRegression(), DemographicParity()))
    for wrong in (0, 1, "x", True):
        with pytest.raises(ValueError, match="delta"):
            Monitor(parity, wrong)
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
