"""Where data come from: folders, cache, download; and what is done when they are not what they say.

Nothing outside this machine is asked: the servers run on 127.0.0.1, and the files they serve are
made here in the publishers' formats.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets._openml as sklearn_openml

from equipoise.datasets import (
    acs_income,
    credit_default,
    diabetes130,
    dutch_census,
    german_credit,
    law_school,
    load_acs_income,
    load_compas,
    load_credit_default,
    load_diabetes130,
    load_dutch_census,
    load_german_credit,
    load_law_school,
)
from equipoise.datasets import (
    compas as compas_module,
)
from equipoise.datasets import (
    download as downloading,
)
from equipoise.datasets.download import DownloadError, fetch
from equipoise.datasets.source import Facts
from equipoise.exceptions import EquipoiseWarning


class Server(ThreadingHTTPServer):
    """Answers each path with what `answers` says, and counts the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = {}, []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.server.requests.append(path)
        answer = self.server.answers.get(path, 404)
        if callable(answer):
            answer(self)
        elif isinstance(answer, int):
            self.send_error(answer)
        else:
            self.reply(answer)

    def reply(self, body: bytes, length: int | None = None) -> None:
        self.send_response(200)
        if length != -1:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Keep quiet."""


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for every test, no folder of the user's, and no patience."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EQUIPOISE_CACHE", str(folder))
    monkeypatch.delenv("EQUIPOISE_DATA", raising=False)
    monkeypatch.setattr(downloading, "PAUSE", 0.001)
    monkeypatch.setattr(downloading, "TIMEOUT", 0.3)
    return folder


def kept(cache) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


# Single files


def test_fetch(server):
    server.answers["/file"] = b"abc"
    digest = hashlib.sha256(b"abc").hexdigest()
    assert fetch(server.url("/file"), digest) == b"abc"
    assert server.requests == ["/file"]


def test_missing_file_is_not_asked_for_again(server):
    with pytest.raises(DownloadError, match="answers 404 Not Found"):
        fetch(server.url("/nothing"))
    assert len(server.requests) == 1


def test_faults_of_the_server_may_pass(server):
    answers = iter([503, 500, b"abc"])
    server.answers["/file"] = lambda handler: (
        handler.reply(a) if isinstance(a := next(answers), bytes) else handler.send_error(a)
    )
    assert fetch(server.url("/file")) == b"abc"
    server.answers["/file"] = 503
    with pytest.raises(DownloadError, match=r"answers 503 .* \(tried 3 times\)"):
        fetch(server.url("/file"))
    assert len(server.requests) == 6


def test_truncated_file(server):
    server.answers["/file"] = lambda handler: handler.reply(b"abc", length=1000)
    with pytest.raises(DownloadError, match=r"broke off after 3 of 1,000 bytes \(tried 3"):
        fetch(server.url("/file"))


def test_truncated_file_that_does_not_say_its_length(server):
    server.answers["/file"] = lambda handler: handler.reply(b"ab", length=-1)
    with pytest.raises(DownloadError, match=r"has sha256 fb8e20.*, expected ba7816"):
        fetch(server.url("/file"), hashlib.sha256(b"abc").hexdigest())


def test_wrong_file(server):
    server.answers["/file"] = b"abd"
    with pytest.raises(DownloadError, match="not the published file"):
        fetch(server.url("/file"), hashlib.sha256(b"abc").hexdigest())


def test_silent_server(server):
    release = threading.Event()
    server.answers["/file"] = lambda handler: release.wait(10)
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"sends nothing for 0\.3 s"):
        fetch(server.url("/file"))
    release.set()
    assert time.monotonic() - start < 8


def test_server_that_drips(server, monkeypatch):
    monkeypatch.setattr(downloading, "DEADLINE", 0.3)
    monkeypatch.setattr(downloading, "ATTEMPTS", 1)

    def drip(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b".")
            time.sleep(0.02)

    server.answers["/file"] = drip
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"takes more than 0\.3 s"):
        fetch(server.url("/file"))
    assert time.monotonic() - start < 5


def test_no_connection():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
    with pytest.raises(DownloadError, match=r"refused \(tried 3 times\)"):
        fetch(url)


# The publishers' formats, with made-up people

COMPAS_COLUMNS = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,"
    "juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,"
    "c_case_number,c_offense_date,c_arrest_date,c_days_from_compas,c_charge_degree,c_charge_desc,"
    "is_recid,num_r_cases,r_case_number,r_charge_degree,r_days_from_arrest,r_offense_date,"
    "r_charge_desc,r_jail_in,r_jail_out,is_violent_recid,num_vr_cases,vr_case_number,"
    "vr_charge_degree,vr_offense_date,vr_charge_desc,v_type_of_assessment,v_decile_score,"
    "v_score_text,v_screening_date,type_of_assessment,decile_score,score_text,screening_date"
)
COMPAS_HEADER = COMPAS_COLUMNS.split(",")


def defendant(**fields: object) -> dict[str, object]:
    blank = dict.fromkeys(COMPAS_HEADER, "")
    person = {
        "id": 1,
        "name": "jane doe",
        "compas_screening_date": "2013-08-14",
        "sex": "Female",
        "dob": "1980-01-01",
        "age": 33,
        "age_cat": "25 - 45",
        "race": "Caucasian",
        "juv_fel_count": 0,
        "decile_score": 7,
        "juv_misd_count": 0,
        "juv_other_count": 1,
        "priors_count": 2,
        "days_b_screening_arrest": -1,
        "c_jail_in": "2013-08-13 06:00:00",
        "c_jail_out": "2013-08-14 18:00:00",
        "c_case_number": "13000000CF10A",
        "c_days_from_compas": 1,
        "c_charge_degree": "F",
        "c_charge_desc": "Poss 3,4 Something",
        "is_recid": 1,
        "r_charge_degree": "M",
        "r_offense_date": "2014-01-01",
        "is_violent_recid": 0,
        "v_decile_score": 3,
        "v_score_text": "Low",
        "score_text": "High",
    }
    return blank | person | fields


DEFENDANTS = [
    defendant(),
    defendant(id=2, race="African-American", is_recid=0, sex="Male"),
    defendant(id=3, race="Hispanic"),  # of another race
    defendant(id=4, days_b_screening_arrest=31),  # screened too late
    defendant(id=5, days_b_screening_arrest="", c_jail_in="", c_jail_out=""),  # never in jail
    defendant(id=6, is_recid=-1),  # outcome unknown
    defendant(id=7, c_charge_degree="O"),  # traffic
    defendant(id=8, score_text="N/A", decile_score=-1),  # no score
]


def compas_csv(people=DEFENDANTS) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COMPAS_HEADER)
    for person in people:
        # decile_score is there twice, as published
        writer.writerow([person[name] for name in COMPAS_HEADER])
    return text.getvalue().encode()


LAW_COLUMNS = (
    "decile1b,decile3,id,decile1,sex,race,cluster,lsat,ugpa,zfygpa,dob_yr,grad,zgpa,bar1,bar1_yr,"
    "bar2,bar2_yr,fulltime,fam_inc,age,gender,parttime,male,race1,race2,dropout,other,asian,black,"
    "hisp,pass_bar,bar,tier,index604,indxgrp,indxgrp2"
)


def student(**fields: object) -> str:
    # Numbers that are not known are a blank, words are nothing at all, and deciles have a zero.
    blank = dict.fromkeys(LAW_COLUMNS.split(","), " ")
    words = {"bar1": "", "bar2": "", "bar": "", "decile1b": "", "decile3": "", "decile1": "07"}
    made_up = {"lsat": 33.5, "ugpa": 2.75, "dob_yr": 66, "gender": "female", "pass_bar": 1}
    person = blank | words | made_up | {"race1": "white", "fulltime": 1, "tier": 3} | fields
    return ",".join(map(str, person.values()))


LAW_CSV = "\n".join(
    [
        LAW_COLUMNS,
        student(id=1),
        student(id=2, race1="black", gender="male", lsat=28, ugpa=" ", pass_bar=0),
        student(id=3, race1="asian"),  # of another race
        student(id=4, pass_bar=" "),  # outcome unknown
        student(id=5, gender=""),  # gender unknown
        "",
    ]
).encode()

DUTCH_ARFF = b"""\
@relation dutch_census_data-weka.filters

@attribute sex {2,1}
@attribute age {17,15,16,13,14,11,12,3,2,1,10,7,6,5,4,9,8}
@attribute household_position {1110,1132,1210,1131,1121,1140,1122,1220}
@attribute household_size {125,126,114,112,113,111}
@attribute prev_residence_place {2,1,9}
@attribute citizenship {3,2,1}
@attribute country_birth {3,2,1}
@attribute edu_level {3,2,1,0,5,4,9}
@attribute economic_status {221,222,210,223,112,224,111,120}
@attribute cur_eco_activity {134,135,132,133,138,122,139,200,136,137,124,111,131}
@attribute Marital_status {3,2,1,4}
@attribute occupation {5_4_9,2_1}

@data

1,6,1220,126,2,3,3,0,112,200,3,2_1
2,10,1220,126,2,3,3,0,112,200,3,5_4_9
2,9,1220,126,2,3,3,0,112,200,3,2_1
"""

GERMAN_DATA = b"""\
A14 10 A30 A48 1000 A65 A71 1 A91 A103 1 A124 60 A141 A153 1 A174 1 A192 A202 1
A14 20 A30 A48 2000 A65 A71 1 A92 A103 1 A124 25 A141 A153 1 A174 1 A192 A202 2
"""


@pytest.fixture
def publish(server, monkeypatch):
    """Return a function that serves a file as the publisher's, with facts to match."""

    def serve(module, content: bytes, rows: int, attribute: str = "_SOURCE", **changes) -> str:
        source = getattr(module, attribute)
        path = f"/{source.file}"
        server.answers[path] = content
        facts = {"facts": (Facts(rows, {}),), "url": server.url(path), "sha256": None}
        changed = dataclasses.replace(source, **(facts | changes))
        monkeypatch.setattr(module, attribute, changed)
        return path

    return serve


def test_compas_from_the_publisher(publish, cache, server):
    path = publish(compas_module, compas_csv(), 8, "_FULL_SOURCE")
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
    publish(compas_module, compas_csv(), 8, "_FULL_SOURCE")
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
    publish(compas_module, lines.getvalue().encode(), 8, "_TWO_YEARS_SOURCE")
    compas = load_compas(subset="two_years", as_frame=True)
    assert compas.frame["id"].tolist() == [1, 2]
    assert compas.target.tolist() == [0, 0]


def test_law_school_from_the_publisher(publish):
    publish(law_school, LAW_CSV, 5)
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
    publish(german_credit, GERMAN_DATA, 2)
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
    changed = dataclasses.replace(dutch_census._SOURCE, facts=(Facts(3, {}),))
    monkeypatch.setattr(dutch_census, "_SOURCE", changed)
    dutch = load_dutch_census(data_home=tmp_path, as_frame=True)
    assert dutch.target.tolist() == [1, 0, 1]
    assert dutch.sensitive["gender"].tolist() == ["male", "female", "female"]
    assert dutch.data["age"].cat.categories.tolist() == ["6", "9", "10"]
    assert "sex" not in dutch.data


def test_publishers_checksum_is_asked_for(publish, cache):
    publish(german_credit, GERMAN_DATA, 2, sha256="0" * 64)
    with pytest.raises(OSError, match=r"could not be downloaded .*: it has sha256 .*expected 0000"):
        load_german_credit()
    assert kept(cache) == []


def test_the_real_checksums_and_addresses():
    """Known bytes have a checksum; the others are pinned to a commit, and verified by content."""
    assert len(german_credit._SOURCE.sha256) == len(compas_module._TWO_YEARS_SOURCE.sha256) == 64
    for source in (compas_module._FULL_SOURCE, compas_module._TWO_YEARS_SOURCE, law_school._SOURCE):
        (commit,) = (part for part in source.url.split("/") if len(part) == 40)
        assert set(commit) <= set("0123456789abcdef")
        assert source.url.startswith("https://raw.githubusercontent.com/")
        assert source.url.endswith(source.file)
        assert source.facts[0].groups
    assert german_credit._SOURCE.url.startswith("https://archive.ics.uci.edu/")
    assert dutch_census._SOURCE.url is None


# What does not fit


@pytest.mark.parametrize(
    ("content", "facts", "message"),
    [
        (compas_csv()[:-200], None, "row 8 has .* fields; expected 47: the file is cut off"),
        (compas_csv(DEFENDANTS[:5]), None, "expected 8 rows, found 5"),
        (b"<html>not found</html>", None, "the column 'id' is absent"),
        (b"", None, "could not be downloaded"),
        (
            compas_csv(),
            Facts(8, {"race": {"Caucasian": (6, 1)}}),
            "expected 6 rows with race Caucasian, 1 of them positive, found 6 and 5",
        ),
        (
            compas_csv(),
            Facts(8, {"paper_subset": {"1": (3, 1)}}),
            "expected 3 rows with paper_subset 1, .* found 2",
        ),
    ],
    ids=["cut off", "rows", "web page", "empty", "base rates", "subset"],
)
def test_a_download_of_something_else(publish, cache, content, facts, message):
    changes = {} if facts is None else {"facts": (facts,)}
    publish(compas_module, content, 8, "_FULL_SOURCE", **changes)
    with pytest.raises(OSError, match=message) as raised:
        load_compas()
    assert "data_home=" in str(raised.value)
    assert kept(cache) == []


@pytest.mark.parametrize("answer", [404, lambda handler: handler.reply(b"id", length=99)])
def test_failed_downloads_leave_nothing_and_say_what_to_do(publish, server, cache, answer):
    server.answers[publish(compas_module, b"", 8, "_FULL_SOURCE")] = answer
    with pytest.raises(OSError, match="compas could not be downloaded from http://127") as raised:
        load_compas()
    assert "copy of compas.parquet or compas-scores.csv in a folder of yours" in str(raised.value)
    assert "EQUIPOISE_DATA" in str(raised.value)
    assert kept(cache) == []


def test_no_download_on_request(publish, server):
    publish(compas_module, compas_csv(), 8, "_FULL_SOURCE")
    with pytest.raises(FileNotFoundError, match="download_if_missing=False"):
        load_compas(download_if_missing=False)
    assert server.requests == []


def test_facts_with_a_tolerance():
    from equipoise.datasets.bunch import Column

    table = {
        "sex": Column.from_strings(["f"] * 50 + ["m"] * 50),
        "label": Column(np.r_[np.repeat([0, 1], [30, 20]), np.repeat([0, 1], [20, 30])]),
    }
    Facts(100, {"sex": {"f": (500, 210), "m": (500, 310)}}, tolerance=0.03).check(table)
    with pytest.raises(ValueError, match="expected 500 rows with sex f, 250 of them"):
        Facts(100, {"sex": {"f": (500, 250), "m": (500, 310)}}, tolerance=0.03).check(table)
    with pytest.raises(ValueError, match="rows with sex f"):
        Facts(100, {"sex": {"f": (600, 240), "m": (400, 240)}}, tolerance=0.03).check(table)


# The order of sources


@pytest.fixture
def parquet(tmp_path):
    """Return a function that writes a Parquet file of our layout into a folder."""
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")

    def write(table, name: str):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        frame = pd.DataFrame({key: column.to_pandas() for key, column in table.items()})
        frame.to_parquet(folder / name)
        return folder

    return write


def test_folder_then_cache_then_download(publish, server, cache, parquet, monkeypatch):
    publish(compas_module, compas_csv(), 8, "_FULL_SOURCE")
    changed = [person | {"age": 50} for person in DEFENDANTS]
    folder = parquet(compas_module._parse_full(compas_csv(changed)), "compas.parquet")
    assert load_compas(data_home=folder, as_frame=True).data["age"].tolist() == [50, 50]
    monkeypatch.setenv("EQUIPOISE_DATA", str(folder))
    assert load_compas(as_frame=True).data["age"].tolist() == [50, 50]
    assert server.requests == []
    assert kept(cache) == []
    empty = folder.parent / "empty"
    empty.mkdir()
    assert load_compas(data_home=empty, as_frame=True).data["age"].tolist() == [33, 33]
    assert len(server.requests) == 1
    assert load_compas(data_home=empty, as_frame=True).data["age"].tolist() == [33, 33]
    assert len(server.requests) == 1
    assert load_compas(as_frame=True).data["age"].tolist() == [50, 50]


def test_parquet_equals_the_publishers_file(publish, parquet):
    for module, attribute, content, rows, load in (
        (compas_module, "_FULL_SOURCE", compas_csv(), 8, load_compas),
        (law_school, "_SOURCE", LAW_CSV, 5, load_law_school),
        (german_credit, "_SOURCE", GERMAN_DATA, 2, load_german_credit),
    ):
        publish(module, content, rows, attribute)
        source = getattr(module, attribute)
        folder = parquet(source.parse(content), f"{source.name}.parquet")
        frames = [load(data_home=folder, as_frame=True).frame, load(as_frame=True).frame]
        pd.testing.assert_frame_equal(
            *(f.dropna(axis=1, how="all") for f in frames), check_like=True
        )


def test_publishers_file_in_a_folder(tmp_path, publish, server):
    publish(german_credit, b"", 2)
    (tmp_path / "german.data").write_bytes(GERMAN_DATA)
    assert load_german_credit(data_home=str(tmp_path)).target.tolist() == [1, 0]
    assert server.requests == []


@pytest.mark.parametrize("damage", ["truncated", "empty", "other"])
def test_a_damaged_cache_is_written_again(publish, server, cache, damage):
    publish(german_credit, GERMAN_DATA, 2)
    load_german_credit()
    file = cache / "german_credit.npz"
    if damage == "other":
        np.savez(file, label=np.zeros(3))
    else:
        file.write_bytes(file.read_bytes()[:500] if damage == "truncated" else b"")
    assert load_german_credit().target.tolist() == [1, 0]
    assert len(server.requests) == 2
    assert load_german_credit().target.tolist() == [1, 0]
    assert len(server.requests) == 2


def test_an_interrupted_write_leaves_no_cache(publish, cache, monkeypatch):
    publish(german_credit, GERMAN_DATA, 2)

    def interrupt(stream, **_):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_german_credit()
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written_is_no_obstacle(publish, monkeypatch, tmp_path):
    publish(german_credit, GERMAN_DATA, 2)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(EquipoiseWarning, match="cannot be kept in .* Set EQUIPOISE_CACHE"):
        assert load_german_credit().target.tolist() == [1, 0]


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("EQUIPOISE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert downloading.cache_folder() == tmp_path / "equipoise"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert downloading.cache_folder().parts[-2:] == (".cache", "equipoise")


def test_bad_folders_and_files(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"data_home is .*nowhere'; expected a folder"):
        load_compas(data_home=tmp_path / "nowhere")
    (tmp_path / "compas.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(OSError, match=r"compas\.parquet is not the compas data: it cannot be read"):
        load_compas(data_home=tmp_path)
    pd.DataFrame({"label": [1]}).to_parquet(tmp_path / "compas.parquet")
    with pytest.raises(OSError, match="the column 'id' is absent"):
        load_compas(data_home=tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        load_compas(data_home=tmp_path)
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="EQUIPOISE_DATA is"):
        load_compas()


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


# OpenML, through scikit-learn


def arff(frame: pd.DataFrame) -> bytes:
    """Write a data frame as OpenML does: categories are nominal, '?' is missing."""
    lines = ["@RELATION made"]
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = ",".join(f"'{value}'" for value in column.cat.categories)
            lines.append(f"@ATTRIBUTE {name} {{{values}}}")
        else:
            lines.append(f"@ATTRIBUTE {name} NUMERIC")
    lines.append("@DATA")
    for row in frame.astype(object).itertuples(index=False):
        quoted = (f"'{v}'" if isinstance(v, str) else "?" if v != v else str(v) for v in row)
        lines.append(",".join(quoted))
    return "\n".join(lines).encode()


@pytest.fixture
def openml(server, monkeypatch):
    """Return a function that serves a frame as one of OpenML's data sets."""
    monkeypatch.setattr(downloading, "TIMEOUT", 0.15)
    monkeypatch.setattr(sklearn_openml, "time", SimpleNamespace(sleep=lambda seconds: None))
    for name, path in (("_DATA_INFO", "data"), ("_DATA_FEATURES", "features")):
        monkeypatch.setattr(sklearn_openml, name, server.url(f"/{path}/{{}}"))
    monkeypatch.setattr(sklearn_openml, "_DATA_QUALITIES", server.url("/qualities/{}"))

    def serve(module, frame: pd.DataFrame, target: str, **changes) -> None:
        data_id, content = module._SOURCE.openml, arff(frame)
        server.answers["/made.arff"] = content
        description = {
            "id": str(data_id),
            "name": "made",
            "description": "made up",
            "version": "1",
            "format": "ARFF",
            "url": server.url("/made.arff"),
            "file_id": "1",
            "default_target_attribute": target,
            "status": "active",
            "md5_checksum": hashlib.md5(content).hexdigest(),
        }
        features = [
            {
                "index": str(at),
                "name": name,
                "data_type": "nominal"
                if isinstance(frame[name].dtype, pd.CategoricalDtype)
                else "numeric",
                "is_target": str(name == target).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": str(frame[name].isna().sum()),
            }
            for at, name in enumerate(frame)
        ]
        for path, body in (
            ("data", {"data_set_description": description | changes}),
            ("features", {"data_features": {"feature": features}}),
            ("qualities", {"data_qualities": {"quality": []}}),
        ):
            server.answers[f"/{path}/{data_id}"] = json.dumps(body).encode()
        facts = (Facts(len(frame), {}),)
        monkeypatch.setattr(module, "_SOURCE", dataclasses.replace(module._SOURCE, facts=facts))

    return serve


def clients(nominal: bool) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.integers(0, 5, 20) for i in range(1, 24)})
    frame["x2"] = np.tile([1, 2], 10)
    frame["y"] = np.arange(20) % 2
    if nominal:
        codes = ["x2", "x3", "x4", "y"]
        return frame.astype(dict.fromkeys(codes, "str")).astype(dict.fromkeys(codes, "category"))
    return frame.astype({"x1": float})


@pytest.mark.parametrize("nominal", [False, True])
def test_credit_default_from_openml(openml, cache, server, nominal):
    frame = clients(nominal)
    openml(credit_default, frame, "y")
    credit = load_credit_default(as_frame=True)
    assert credit.target.tolist() == [0, 1] * 10
    assert credit.sensitive["gender"].tolist() == ["male", "female"] * 10
    assert credit.data["pay_amt6"].tolist() == frame["x23"].tolist()
    assert credit.data["education"].tolist() == frame["x3"].astype(str).tolist()
    assert credit.data["limit_bal"].dtype == np.int64
    assert kept(cache) == ["credit_default.npz"]
    asked = len(server.requests)
    pd.testing.assert_frame_equal(load_credit_default(as_frame=True).frame, credit.frame)
    assert len(server.requests) == asked


def test_credit_default_with_other_columns(openml):
    openml(credit_default, clients(nominal=False).drop(columns="x5"), "y")
    with pytest.raises(OSError, match="expected 24 columns, found 23"):
        load_credit_default()


def test_acs_income_from_openml(openml):
    frame = pd.DataFrame(
        {
            "AGEP": [30.0, 40.0, 50.0],
            "COW": [1.0, 2.0, 1.0],
            "SCHL": [21.0, 16.0, 24.0],
            "MAR": [1.0, 5.0, 1.0],
            "OCCP": [10.0, 3255.0, 9830.0],
            "POBP": [6.0, 303.0, 72.0],
            "RELP": [0.0, 17.0, 1.0],
            "WKHP": [40.0, 20.0, 60.0],
            "SEX": [1.0, 2.0, 2.0],
            "RAC1P": [1.0, 9.0, 6.0],
            "ST": [6.0, 72.0, 36.0],
            "PINCP": [50_000.0, 50_001.0, 90_000.0],
        }
    )
    openml(acs_income, frame, "PINCP")
    acs = load_acs_income(as_frame=True)
    assert acs.target.tolist() == [0, 1, 1]
    assert acs.state.tolist() == ["CA", "PR", "NY"]
    assert acs.sensitive["sex"].tolist() == ["male", "female", "female"]
    assert acs.sensitive["race"].tolist() == ["White", "Two or more", "Asian"]
    assert acs.data["OCCP"].tolist() == ["10", "3255", "9830"]
    assert "PINCP" not in acs.frame
    arrays = load_acs_income(states=["CA", "PR"])
    for name in ("OCCP=management", "OCCP=medicine", "POBP=United States", "POBP=Americas"):
        assert name in arrays.feature_names
    assert arrays.data.shape[0] == 2


def test_diabetes130_from_openml(openml):
    kinds = diabetes130._KINDS
    frame = pd.DataFrame(
        {
            name.replace("_", "-") if name.startswith("gl") else name: (
                [1, 2, 3] if kind == "integer" else pd.Categorical(["No", "Up", "No"])
            )
            for name, kind in kinds.items()
        }
    )
    frame["race"] = pd.Categorical(["Asian", np.nan, "Other"])
    frame["diag_1"] = pd.Categorical(["250.83", "V57", "410"])
    frame["admission_type_id"] = [1, 2, 1]
    frame["readmitted"] = pd.Categorical(["<30", ">30", "NO"])
    frame["max_glu_serum"] = pd.Categorical(["None", ">300", "Norm"])
    openml(diabetes130, frame, "readmitted")
    diabetes = load_diabetes130(as_frame=True)
    assert diabetes.target.tolist() == [1, 0, 0]
    assert diabetes.sensitive["race"].tolist() == ["Asian", "Unknown", "Other"]
    assert diabetes.data["race"].isna().tolist() == [False, True, False]
    assert diabetes.data["max_glu_serum"].tolist() == ["None", ">300", "Norm"]
    assert diabetes.data["admission_type_id"].tolist() == ["1", "2", "1"]
    assert diabetes.patient.tolist() == [1, 2, 3]
    arrays = load_diabetes130()
    assert {"diag_1=circulatory", "diag_1=diabetes", "diag_1=other"} <= set(arrays.feature_names)


@pytest.mark.filterwarnings("ignore:A network error")
@pytest.mark.filterwarnings("ignore:Invalid cache")
@pytest.mark.parametrize(
    ("answers", "changes", "message"),
    [
        ({"/made.arff": 404}, {}, "OpenML's data set 42477: .*Not Found"),
        ({"/data/42477": 412}, {}, "Dataset with data_id 42477 not found"),
        ({"/made.arff": b"@DATA"}, {}, "md5 checksum .* does not match"),
        ({}, {"md5_checksum": "0" * 32}, "md5 checksum"),
        ({"/data/42477": lambda handler: time.sleep(1)}, {}, "timed out"),
        ({"/features/42477": b"not json"}, {}, "OpenML's data set 42477"),
    ],
    ids=["missing", "unknown", "cut off", "checksum", "slow", "nonsense"],
)
def test_openml_that_fails(openml, server, cache, answers, changes, message):
    openml(credit_default, clients(nominal=False), "y", **changes)
    server.answers |= answers
    before = socket.getdefaulttimeout()
    with pytest.raises(OSError, match=message) as raised:
        load_credit_default()
    assert "credit_default could not be downloaded from https://www.openml.org/d/42477" in str(
        raised.value
    )
    assert kept(cache) == []
    assert socket.getdefaulttimeout() == before
