"""Where data come from: folders, cache, download; and data that are not what they should be."""

from __future__ import annotations

import re
import sys
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from publishers import DEFENDANTS, GERMAN_DATA, LAW_CSV, compas_csv, kept

from equipoise import datasets
from equipoise.datasets import (
    load_compas,
    load_german_credit,
    load_law_school,
)
from equipoise.datasets.loaders import SOURCES
from equipoise.datasets.source import Facts
from equipoise.exceptions import EquipoiseWarning


def test_publishers_checksum_is_asked_for(publish, cache):
    publish("german_credit", GERMAN_DATA, 2, sha256="0" * 64)
    with pytest.raises(OSError, match=r"could not be downloaded .*: it has sha256 .*expected 0000"):
        load_german_credit()
    assert kept(cache) == []


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
    publish("compas", content, 8, **changes)
    with pytest.raises(OSError, match=message) as raised:
        load_compas()
    assert "data_home=" in str(raised.value)
    assert kept(cache) == []


@pytest.mark.parametrize("answer", [404, lambda handler: handler.reply(b"id", length=99)])
def test_failed_downloads_leave_nothing_and_say_what_to_do(publish, server, cache, answer):
    server.answers[publish("compas", b"", 8)] = answer
    with pytest.raises(OSError, match="compas could not be downloaded from http://127") as raised:
        load_compas()
    assert "copy of compas.parquet or compas-scores.csv in a folder of yours" in str(raised.value)
    assert "EQUIPOISE_DATA" in str(raised.value)
    assert kept(cache) == []


def test_no_download_on_request(publish, server):
    publish("compas", compas_csv(), 8)
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


def test_folder_then_cache_then_download(publish, server, cache, parquet, monkeypatch):
    publish("compas", compas_csv(), 8)
    changed = [person | {"age": 50} for person in DEFENDANTS]
    folder = parquet(SOURCES["compas"].parse(compas_csv(changed)), "compas.parquet")
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
    for name, content, rows, load in (
        ("compas", compas_csv(), 8, load_compas),
        ("law_school", LAW_CSV, 5, load_law_school),
        ("german_credit", GERMAN_DATA, 2, load_german_credit),
    ):
        publish(name, content, rows)
        folder = parquet(SOURCES[name].parse(content), f"{name}.parquet")
        frames = [load(data_home=folder, as_frame=True).frame, load(as_frame=True).frame]
        pd.testing.assert_frame_equal(
            *(f.dropna(axis=1, how="all") for f in frames), check_like=True
        )


def test_publishers_file_in_a_folder(tmp_path, publish, server):
    publish("german_credit", b"", 2)
    (tmp_path / "german.data").write_bytes(GERMAN_DATA)
    assert load_german_credit(data_home=str(tmp_path)).target.tolist() == [1, 0]
    assert server.requests == []


@pytest.mark.parametrize("damage", ["truncated", "empty", "other"])
def test_a_damaged_cache_is_written_again(publish, server, cache, damage):
    publish("german_credit", GERMAN_DATA, 2)
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
    publish("german_credit", GERMAN_DATA, 2)

    def interrupt(stream, **_):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_german_credit()
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written_is_no_obstacle(publish, monkeypatch, tmp_path):
    publish("german_credit", GERMAN_DATA, 2)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(EquipoiseWarning, match="cannot be kept in .* Set EQUIPOISE_CACHE"):
        assert load_german_credit().target.tolist() == [1, 0]


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


@pytest.mark.parametrize("name", [name for name in datasets.__all__ if name != "load_adult"])
def test_a_loader_tells_all_of_its_options(name):
    loader = getattr(datasets, name)
    options = list(signature(loader).parameters)
    assert options[-4:] == ["data_home", "download_if_missing", "return_X_y", "as_frame"]
    assert all(option in loader.__doc__ for option in options)
    sections = ["Parameters", "Returns", "Raises", "Examples"]
    found = [loader.__doc__.index(f"\n{section}\n---") for section in sections]
    assert found == sorted(found)
    assert f">>> from equipoise.datasets import {name}" in loader.__doc__
    assert not re.search(r"[{}]", loader.__doc__)
    assert max(map(len, loader.__doc__.splitlines())) <= 100
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'rows'"):
        loader(rows=3)
