"""report writes the page itself, and the model card beside it."""

from pathlib import Path


def test_a_frontier_has_a_page_and_a_card(run, frontier):
    assert run("report", frontier, "-o", "page.html", "--card", "card.md").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("data-panel=") == 4  # three bounds, and none
    assert "--eps 0.05 --output model.equipoise" in page
    assert Path("card.md").read_text(encoding="utf-8").startswith("# Model card: ")

    again = run("report", frontier, "-o", "other.html", "--card", "card.md")
    assert again.code == 2
    assert "exists already" in again.err
    assert not Path("other.html").exists()
    assert run("report", frontier, "-o", "page.html", "--card", "card.md", "--force").code == 0
