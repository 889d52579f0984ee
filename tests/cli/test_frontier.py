"""frontier: a point for every bound, and a page beside the file."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hiring import COLUMNS, make_table, write_table
from pyarrow import csv

import equipoise


def test_a_frontier_has_a_point_for_every_bound_and_a_page_of_data(run, data):
    ran = run("frontier", data, *COLUMNS, "--bounds", "0.02:0.2:4", "--json")
    assert ran.code == 0
    points = ran.json["points"]
    assert [round(p["eps"], 3) for p in points] == [0.02, 0.043, 0.093, 0.2]
    errors = [point["error"] for point in points]
    assert errors == sorted(errors, reverse=True)
    assert ran.json["unconstrained"]["error"] <= errors[-1] + 1e-9
    for point in points:
        assert point["measured"][0]["disparity"][0] <= point["eps"] + 1e-9
        assert {row["group"] for row in point["groups"]["test"]} == {"overall", "F", "M"}
        assert sum(weight for _, weight in point["members"]) == pytest.approx(1)
    assert ran.json["constraint"]["asks"].startswith("Every group is selected equally often")
    missing = {column["name"]: column["missing"] for column in ran.json["data"]["columns"]}
    assert missing["town"] > 0
    assert "Fitting" not in ran.out


def test_a_frontier_comes_with_a_page(run, data):
    ran = run("frontier", data, *COLUMNS, "--bounds", "0.05,0.1", "-o", "f.equipoise", "--json")
    assert ran.json["page"] == "f.html"
    page = (data.parent / "f.html").read_text(encoding="utf-8")
    assert "demographic parity in people.csv" in page.lower()
    first = ran.json["points"][0]
    assert first["command"] == "equipoise at f.equipoise --eps 0.05 --output model.equipoise"
    assert first["command"] in page
    assert first["python"] == "equipoise.load('f.equipoise').at(eps=0.05)"
    again = run("frontier", data, *COLUMNS, "-o", "g.equipoise", "--page", "f.html")
    assert again.code == 2
    assert "f.html exists already" in again.err
    ran = run("frontier", data, *COLUMNS, "--bounds", "0.1", "-o", "g.equipoise", "--no-page")
    assert ran.code == 0
    assert not (data.parent / "g.html").exists()


def test_the_table_counts_who_gains_and_loses(run, data):
    ran = run("frontier", data, *COLUMNS, "--bounds", "0.02,0.2", "--held-out", "rest.csv")
    lines = ran.out.splitlines()
    header = next(line for line in lines if line.strip().startswith("bound"))
    assert header.split()[-4:] == ["price", "gain", "lose", "mixed"]
    rest = csv.read_csv(data.parent / "rest.csv")
    numbers = {name: np.array(rest[name], dtype=float) for name in ("age", "skill", "importance")}
    numbers["member"] = np.array(rest["member"]).astype(float)
    X = pa.table({**numbers, "town": rest["town"]})
    frontier = equipoise.load(data.parent / "frontier.equipoise")
    for eps in (0.02, 0.2):
        model = frontier.at(eps)
        free = model.unconstrained_.predict(X) == model.classes_[1]
        fair = model.predict_proba(X)[:, 1]
        told = next(line.split() for line in lines if line.strip().startswith(f"{eps:.4f}"))
        gain, lose = (float(number.replace(",", "")) for number in told[-3:-1])
        assert gain == pytest.approx(fair[~free].sum(), abs=0.06)
        assert lose == pytest.approx((1 - fair[free]).sum(), abs=0.06)
        assert eps > 0.1 or gain + lose > 0


def test_a_group_of_three_is_written_and_not_told(run, data):
    columns = make_table()
    columns["sex"][:3] = ["X"] * 3
    write_table(columns, data)
    trace = ("frontier", data, *COLUMNS, "--bounds", "0.3", "--json")
    assert run(*trace, "-o", "f.equipoise").code == 0
    ran = run(*trace, "-o", "g.equipoise", "--min-size", 30)
    assert ran.code == 0, ran.err
    page = (data.parent / "g.html").read_text(encoding="utf-8")
    for text in (ran.out, page):
        assert not re.search(r"X \(\d\)", text)  # how many they are is for the owner alone
    assert "people of X" in ran.err
