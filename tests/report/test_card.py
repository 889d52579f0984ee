"""The model card: filled from the fit, open where a fit cannot know, safe as Markdown."""

import re

from unkind import UNKIND, rates_by_hand

from equipoise.report import model_card, write_model_card
from equipoise.report.page import render


def test_the_card_is_about_the_point_asked_for(made, tmp_path):
    path = tmp_path / "card.md"
    write_model_card(path, made.contents, eps=0.019)
    text = path.read_text(encoding="utf-8")
    assert "- Bound: 0.02." in text
    error, selected, _ = rates_by_hand(made.frontier.at(0.02), made.test)
    assert f"| test | 400 | {error:.4f} \\[" in text
    assert re.search(rf"^\| sex: F \|.*\| {selected['F']:.1%} ", text, re.M)
    for heading in (
        "Model",
        "Intended use",
        "Factors",
        "Metrics",
        "Data",
        "Ethical considerations",
    ):
        assert f"\n## {heading}\n" in text
    assert text.count("To be completed") == 3


def test_where_a_learner_answers_the_gap_is_a_search_gap(made):
    """On page, card and in print it is said what the certificate is relative to."""
    printed = str(made.frontier.at(0.02).certificate_)
    assert re.search(r"search gap closed at nu = \S+, relative to the oracle", printed)
    assert "relative to the oracle" in model_card(made.contents, eps=0.02)
    page = render(made.contents).decode()
    assert re.search(r"Search gap.*?, relative to the oracle", page, re.S)
    assert "Distance from the best" not in page


def test_names_are_shown_as_they_are(made):
    text = model_card(made.contents)
    assert UNKIND not in text
    assert r"\<script\>alert(1)\</script\>" in text
    lines = text.splitlines()
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("| sex")}
    assert widths == {8, 7}  # rates, and who is decided on differently


def test_the_card_is_in_the_page(made):
    page = made.page.read_text(encoding="utf-8")
    assert '<template id="card-text"># Model card: ' in page
    assert "<h3>Intended use</h3>" in page
