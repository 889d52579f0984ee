"""The demonstration: its table is recomputed from raw arrays, its picture is written."""

import re

import numpy as np
import pytest

from equipoise.experiments import demo
from equipoise.experiments.panels import Part


class Randomly:
    """Selects people with probabilities that are known."""

    is_randomized, classes_ = True, (0, 1)

    def __init__(self, probability):
        self.probability = probability

    def predict_proba(self, X):
        return np.column_stack([1 - self.probability, self.probability])


def some_people(n, seed):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], n)
    X = rng.normal(size=(n, 3)) + (sex == "Male")[:, None]
    y = (X.sum(axis=1) + rng.normal(size=n) > 2).astype(int)
    return Part(X, y, sex)


def read_table(text):
    """Rates by (words, group), one list entry a model, as fractions."""
    rates, words = {}, ""
    for line in text.splitlines():
        words = line[:16].strip() or words
        group = line[16:27].strip()
        if group:
            numbers = re.findall(r"[\d.]+", line[27:])
            rates[words, group] = [float(number) / 100 for number in numbers]
    return rates


def test_the_table_has_every_rate_of_every_group():
    people = some_people(400, 0)
    probability = np.random.default_rng(1).random(400)
    shown = read_table(demo.side_by_side({"a": Randomly(probability)}, people))
    assert len(shown) == 12
    wrong = np.where(people.y == 1, 1 - probability, probability)
    everybody = np.ones(400, dtype=bool)
    for words, value, given in [
        ("selected", probability, everybody),
        ("true positives", probability, people.y == 1),
        ("false positives", probability, people.y == 0),
        ("wrong", wrong, everybody),
    ]:
        women, men = (value[given & (sex == people.A)].mean() for sex in ("Female", "Male"))
        assert shown[words, "Female"] == [pytest.approx(women, abs=0.0005)]
        assert shown[words, "Male"] == [pytest.approx(men, abs=0.0005)]
        if words == "wrong":
            assert shown[words, "everybody"] == [pytest.approx(wrong.mean(), abs=0.0005)]
        else:
            assert shown[words, "difference"] == [pytest.approx(abs(women - men), abs=0.0005)]


def test_labels_count_like_certain_probabilities():
    people = some_people(100, 0)

    class Deterministic:
        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    same = Randomly((people.X[:, 0] > 0).astype(float))
    first, second = (demo.side_by_side({"m": model}, people) for model in (Deterministic(), same))
    assert first == second


def test_the_report_keeps_its_bounds_and_saves_the_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    path = tmp_path / "new" / "frontier.png"
    demo.report(some_people(1500, 2), some_people(500, 3), path)
    printed = capsys.readouterr().out
    _, learned, held_out = re.split("PEOPLE LEARNED FROM|PEOPLE HELD OUT", printed)
    shown = read_table(learned)  # columns: ordinary, DP 0.05, DP 0.01, EO 0.05, EO 0.01
    rounding = 0.0006
    assert shown["selected", "difference"][0] > 0.05
    assert shown["selected", "difference"][1] <= 0.05 + rounding
    assert shown["selected", "difference"][2] <= 0.01 + rounding
    for words in ("true positives", "false positives"):
        assert shown[words, "difference"][3] <= 0.05 + rounding
        assert shown[words, "difference"][4] <= 0.01 + rounding
    assert len(read_table(held_out.split("CERTIFICATE")[0])) == 12
    assert "CERTIFICATE of DP 0.01" in printed
    assert "CERTIFICATE of EO 0.01" in printed
    assert path.read_bytes().startswith(b"\x89PNG")
