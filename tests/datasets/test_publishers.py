"""The publishers' own files, downloaded and read."""

from __future__ import annotations

import csv
import dataclasses
import io

import numpy as np
import pytest
from publishers import COMPAS_HEADER, DEFENDANTS, DUTCH_ARFF, GERMAN_DATA, LAW_CSV, compas_csv, kept

from equipoise.datasets import (
    load_acs_income,
    load_compas,
    load_dutch_census,
    load_german_credit,
    load_law_school,
)
from equipoise.datasets.loaders import SOURCES
from equipoise.datasets.source import Facts


def test_compas_from_the_publisher(publish, cache, server):
    path = publish("compas", compas_csv(), 8)
    compas = load_compas(as_frame=True)
    assert compas.frame["id"].tolist() == [1, 2]
    assert compas.target.tolist() == [1, 0]
    assert compas.sensitive["race"].tolist() == ["Caucasian", "African-American"]
    assert compas.data["c_jail_days"].tolist() == [1.5, 1.5]
    assert compas.data["decile_score"].tolist() == [7, 7]
    assert compas.frame["c_charge_desc"].tolist() == ["Poss 3,4 Something"] * 2
    assert compas.frame["compas_screening_date"].dt.year.tolist() == [2013, 2013]
    everybody = load_compas(subset="all", as_frame=True)
    assert everybody.frame["id"].tolist() == [1, 2, 3, 4, 5, 7, 8]
    assert everybody.frame["score_text"].isna().tolist() == [False] * 6 + [True]
    assert np.isnan(everybody.data["c_jail_days"].iloc[4])
    assert server.requests == [path]  # the second time it came from the cache
    assert kept(cache) == ["compas.npz"]


def test_names_are_not_kept(publish, cache):
    publish("compas", compas_csv(), 8)
    compas = load_compas(as_frame=True)
    assert not {"name", "first", "last", "dob", "c_case_number"} & set(compas.frame)
    with np.load(cache / "compas.npz") as archive:
        text = " ".join(str(archive[name]) for name in archive.files)
        assert not {"name", "first", "last", "dob", "c_case_number"} & set(archive.files)
    assert "jane" not in text
    assert "1980" not in text


def test_two_years_file_is_another(publish):
    people = [
        person | {"two_year_recid": 0, "start": 0, "end": 9, "event": 0} for person in DEFENDANTS
    ]
    header = [*COMPAS_HEADER, "two_year_recid", "start", "end", "event"]
    lines = io.StringIO()
    csv.writer(lines).writerows([header, *([p[name] for name in header] for p in people)])
    publish("compas_two_years", lines.getvalue().encode(), 8)
    compas = load_compas(subset="two_years", as_frame=True)
    assert compas.frame["id"].tolist() == [1, 2]
    assert compas.target.tolist() == [0, 0]


def test_law_school_from_the_publisher(publish):
    publish("law_school", LAW_CSV, 5)
    law = load_law_school(as_frame=True)
    assert law.frame["id"].tolist() == [1, 2]
    assert law.target.tolist() == [1, 0]
    assert law.sensitive["race"].tolist() == ["white", "black"]
    assert law.data["lsat"].tolist() == [33.5, 28.0]
    assert law.frame["decile1"].tolist() == [7, 7]
    assert law.data["ugpa"].isna().tolist() == [False, True]
    arrays = load_law_school()
    at = arrays.feature_names.index("ugpa")
    assert arrays.feature_names[at + 1] == "ugpa=missing"
    assert arrays.data[:, at : at + 2].tolist() == [[2.75, 0.0], [2.75, 1.0]]
    everybody = load_law_school(subset="all", as_frame=True)
    assert everybody.frame["id"].tolist() == [1, 2, 3, 5]
    assert everybody.sensitive["gender"].tolist() == ["female", "male", "female", "unknown"]


def test_german_credit_from_the_publisher(publish):
    publish("german_credit", GERMAN_DATA, 2)
    german = load_german_credit(as_frame=True)
    assert german.target.tolist() == [1, 0]
    assert german.sensitive["sex"].tolist() == ["male", "female"]
    assert german.sensitive["age"].tolist() == ["above 25", "25 or less"]
    assert german.data["credit_amount"].tolist() == [1000, 2000]
    assert german.data["purpose"].tolist() == ["A48", "A48"]


def test_dutch_census_is_not_downloaded(tmp_path, monkeypatch):
    for download in (True, False):
        with pytest.raises(
            FileNotFoundError, match="copyright of Statistics Netherlands"
        ) as raised:
            load_dutch_census(download_if_missing=download)
        assert "dutch_census_2001.arff" in str(raised.value)
    (tmp_path / "dutch_census_2001.arff").write_bytes(DUTCH_ARFF)
    changed = dataclasses.replace(SOURCES["dutch_census"], facts=(Facts(3, {}),))
    monkeypatch.setitem(SOURCES, "dutch_census", changed)
    dutch = load_dutch_census(data_home=tmp_path, as_frame=True)
    assert dutch.target.tolist() == [1, 0, 1]
    assert dutch.sensitive["gender"].tolist() == ["male", "female", "female"]
    assert dutch.data["age"].cat.categories.tolist() == ["6", "9", "10"]
    assert "sex" not in dutch.data


def test_the_real_checksums_and_addresses():
    """Known bytes have a checksum; the others are pinned to a commit, and verified by content."""
    assert len(SOURCES["german_credit"].sha256) == len(SOURCES["compas_two_years"].sha256) == 64
    for source in (SOURCES["compas"], SOURCES["compas_two_years"], SOURCES["law_school"]):
        (commit,) = (part for part in source.url.split("/") if len(part) == 40)
        assert set(commit) <= set("0123456789abcdef")
        assert source.url.startswith("https://raw.githubusercontent.com/")
        assert source.url.endswith(source.file)
        assert source.facts[0].groups
    assert SOURCES["german_credit"].url.startswith("https://archive.ics.uci.edu/")
    assert SOURCES["dutch_census"].url is None


@pytest.mark.parametrize(
    ("load", "arguments", "message"),
    [
        (load_compas, {"subset": "some"}, "subset is 'some'"),
        (load_law_school, {"subset": "two_years"}, "subset is 'two_years'"),
        (load_acs_income, {"states": "CA"}, "states is 'CA'; expected a list"),
        (load_acs_income, {"states": ["XX"]}, "two-letter states"),
    ],
)
def test_bad_arguments(load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)
