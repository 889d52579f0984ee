"""report: the page and the model card of a file, also on new data."""

import json
import re
from pathlib import Path

from equipoise.report.contents import ReportContents


def points_of(page):
    """The points whose numbers a page has."""
    (numbers,) = re.findall(r'id="numbers">(.*?)</script>', page)
    return [point["key"] for point in json.loads(numbers)["points"]]


def test_a_frontier_has_a_page_and_a_card(run, frontier):
    assert run("report", frontier, "-o", "page.html", "--card", "card.md").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert points_of(page) == ["0", "1", "2", "free"]
    assert "--eps 0.05 --output model.equipoise" in page
    assert Path("card.md").read_text(encoding="utf-8").startswith("# Model card: ")

    again = run("report", frontier, "-o", "other.html", "--card", "card.md")
    assert again.code == 2
    assert "exists already" in again.err
    assert not Path("other.html").exists()
    assert run("report", frontier, "-o", "page.html", "--card", "card.md", "--force").code == 0


def test_a_page_can_be_made_again_from_the_file_alone_or_with_new_data(run, data, frontier):
    alone = run("report", frontier, "--json")
    assert alone.code == 0
    assert (data.parent / "f.html").exists()
    ran = run("report", frontier, data, "-o", "new.html", "--json")
    assert ran.code == 0
    alone, with_data = alone.json["report"], ran.json["report"]
    before = alone["points"][0]["measured"]
    assert [(entry["data"], entry["people"]) for entry in before] == [
        ("training", 480),
        ("test", 120),
    ]
    assert with_data["points"][0]["measured"][-1]["people"] == 600
    assert with_data["data"]["test_rows"] == 600
    read = ReportContents.from_dict(alone)
    assert ReportContents.from_dict(read.to_dict()) == read
    assert "people.csv; test: people.csv" in Path("new.html").read_text(encoding="utf-8")


def test_the_page_of_a_model(run, data, model):
    ran = run("report", model, data, "-o", "m.html", "--json")
    assert ran.code == 0
    contents = ran.json["report"]
    assert contents["kind"] == "model"
    assert contents["points"][0]["eps"] == 0.05
    assert [entry["data"] for entry in contents["points"][0]["measured"]] == ["training", "test"]
    free = contents["unconstrained"]  # kept in the file, and measured on the new people
    assert [entry["data"] for entry in free["measured"]] == ["test"]
    assert points_of(Path("m.html").read_text(encoding="utf-8")) == ["0", "free"]
