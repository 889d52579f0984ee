"""Intervals choose what stands first, not the estimates of a few people."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equipoise import DemographicParity, FairClassifier
from equipoise.report import model_card, report_of, write_report
from equipoise.report.chart import marks_of
from equipoise.report.text import findings

#: Of each group of the test data: how many people, and how many the model selects.
COUNTS = {"F": (900, 405), "M": (300, 180), "rare": (12, 8)}


@pytest.fixture(scope="module")
def contents():
    rng = np.random.default_rng(0)
    A, x = np.repeat(list(COUNTS), 200), rng.choice([-1.0, 1.0], 600)
    y = (x + rng.normal(size=600) > 0).astype(int)
    model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.2))
    model.fit(x[:, None], y, sensitive_features=A)
    assert (model.predict(x[:, None]) == (x > 0)).all()
    A_test = np.repeat(list(COUNTS), [n for n, _ in COUNTS.values()])
    x_test = np.concatenate([np.where(np.arange(n) < k, 1.0, -1.0) for n, k in COUNTS.values()])
    return report_of(
        model,
        x[:, None],
        y,
        sensitive_features=A,
        X_test=x_test[:, None],
        y_test=(x_test > 0).astype(int),
        sensitive_features_test=A_test,
    )


def test_the_headline_is_of_many_people(contents):
    entry = contents.points[0].on("test")
    everybody = sum(k for _, k in COUNTS.values()) / sum(n for n, _ in COUNTS.values())
    assert "rare above overall" in entry.worst
    assert entry.disparity.estimate == pytest.approx(8 / 12 - everybody)
    assert entry.headline.text == "demographic parity: M above overall"
    assert entry.headline.people == 300
    assert entry.difference.estimate == pytest.approx(180 / 300 - everybody)
    assert entry.estimated.people == 12
    lows = [row.excess.low for row in entry.rows]
    assert entry.headline.excess.low == max(lows)
    (mark,) = [mark for mark in marks_of(contents.points[0]) if mark.data == "test"]
    assert mark.disparity == entry.difference


def test_sentences_page_and_card_say_it(contents, tmp_path):
    entry = contents.points[0].on("test")
    line = next(text for text in findings(contents) if text.startswith("For the bound"))
    shown = f"{entry.difference.estimate:.4f} [{entry.difference.low:.4f}, "
    assert f"largest difference {shown}" in line
    assert "(demographic parity: M above overall, 300 people)" in line
    assert "(demographic parity: rare above overall, 12 people)" in line
    # 8 of 12 are more than 180 of 300, and 5 of 12 might be the truth.
    assert "M (60.0% [54.4, 65.4] of 300) is selected most often" in line
    assert "F (45.0% [41.8, 48.3] of 900) least often" in line
    write_report(tmp_path / "page.html", contents)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tile = page[page.index("Largest difference</dt>") :][:900]
    assert f">{entry.difference.estimate:.4f}</strong>" in tile
    assert "M above overall, 300 people" in tile
    below = page[page.index("Test data, the largest estimate: ") :][:300]
    assert f"{entry.disparity.estimate:.4f} [" in below
    assert "rare above overall, 12 people" in below
    card = model_card(contents).replace("\\", "")
    (row,) = (text for text in card.splitlines() if text.startswith("| test | 1,212 |"))
    assert "M above overall, 300 people" in row
    assert f"{entry.headline.excess.estimate:+.4f}" in row


def test_without_intervals_the_estimate_decides(contents):
    point = contents.points[0]
    groups = [
        replace(group, rates={k: r._replace(low=None, high=None) for k, r in group.rates.items()})
        for group in point.groups["test"]
    ]
    bare = replace(contents, points=[replace(point, groups={"test": groups})])
    line = next(text for text in findings(bare) if text.startswith("For the bound"))
    assert "rare (66.7% of 12) is selected most often" in line
