"""predict: the same person always gets the same decision, whatever the file and the batch."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hiring import COLUMNS, make_table, write_table

import equipoise
from equipoise.cli.tables import csv_tables
from equipoise.cli.tables import files as tables


def read(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path).to_pydict()
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path).read_all().to_pydict()
    return pa.csv.read_csv(path).to_pydict()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_formats_and_batches_give_the_same_decisions(run, model, data, ending, monkeypatch):
    new = make_table(700, seed=1)
    source = data.parent / f"new.{ending}"
    write_table(new, source)
    assert run("predict", model, source, "--id", "person", "-o", f"whole.{ending}").code == 0
    whole = read(data.parent / f"whole.{ending}")
    monkeypatch.setattr(tables, "_BATCH_ROWS", 64)
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 4096)
    assert run("predict", model, source, "--id", "person", "-o", "parts.csv").code == 0
    parts = read(data.parent / "parts.csv")
    assert parts == whole
    assert whole["person"] == new["person"]

    fair = equipoise.load(model)
    X = pa.table(
        {
            "age": pa.array(new["age"], pa.float64()),
            "skill": new["skill"],
            "town": new["town"],
            "member": [float(value) for value in new["member"]],
            "importance": new["importance"],
        }
    )
    expected = fair.predict(X, key=np.array(new["person"], dtype=object))
    assert whole["decision"] == expected.tolist()
    np.testing.assert_allclose(whole["probability"], fair.predict_proba(X)[:, 1])


def test_a_batch_is_small(run, model, data, monkeypatch):
    write_table(make_table(2000, seed=1), data.parent / "new.csv")
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 8192)
    sizes = []
    predict = equipoise.FairClassifier.predict

    def spy(self, X, **how):
        sizes.append(len(X))
        return predict(self, X, **how)

    monkeypatch.setattr(equipoise.FairClassifier, "predict", spy)
    assert run("predict", model, data.parent / "new.csv", "-o", "out.csv").code == 0
    assert sum(sizes) == 2000
    assert max(sizes) < 400


def test_numbers_as_ids_draw_the_same_in_every_format(run, model, data):
    new = make_table(300, seed=1) | {"person": list(range(300))}
    results = []
    for ending in ("csv", "parquet"):
        write_table(new, data.parent / f"new.{ending}")
        run("predict", model, f"new.{ending}", "--id", "person", "-o", f"out-{ending}.parquet")
        results.append(read(data.parent / f"out-{ending}.parquet")["decision"])
    assert results[0] == results[1]


def test_the_order_of_rows_and_columns_does_not_matter(run, model, data):
    new = make_table(300, seed=1)
    turned = {name: values[::-1] for name, values in reversed(new.items())}
    write_table(new, data.parent / "new.csv")
    write_table(turned, data.parent / "turned.csv")
    outputs = []
    for name in ("new", "turned"):
        run("predict", model, f"{name}.csv", "-o", f"out-{name}.csv")
        outputs.append(read(data.parent / f"out-{name}.csv")["decision"])
    assert outputs[0] == outputs[1][::-1]


def test_decisions_are_printed_where_no_file_is_named(run, model, data):
    ran = run("predict", model, data, "--id", "person")
    lines = ran.out.strip().splitlines()
    assert lines[0] == "person,decision,probability"
    assert len(lines) == 601
    assert lines[1].startswith("p0-0,")
    ran = run("predict", model, data, "-o", "out.csv", "--json")
    decided = read(data.parent / "out.csv")["decision"]
    assert ran.json["rows"] == 600
    assert ran.json["selected"] == decided.count("yes")
    assert run("predict", model, data, "--json").code == 2


def test_new_categories_and_missing_values_are_decided_on(run, model, data):
    new = make_table(4, seed=1) | {"town": ["Paris", None, "Rome", None], "age": [None] * 4}
    write_table(new, data.parent / "new.csv")
    ran = run("predict", model, "new.csv", "-o", "out.csv", "--json")
    assert ran.json["rows"] == 4


def test_a_frontier_needs_a_bound(run, frontier, data):
    assert "--eps" in run("predict", frontier, data).err
    assert run("predict", frontier, data, "--eps", 0.1, "-o", "out.csv").code == 0


def test_what_is_wrong_with_the_rows_is_said(run, model, data):
    new = make_table(50, seed=1)
    cases = {
        "no column 'skill'. Did you mean 'skil'?": {
            k if k != "skill" else "skil": v for k, v in new.items()
        },
        "column 'age' held numbers|conversion error": new | {"age": ["old"] * 50},
        "id column 'person' is missing in row 3": new | {"person": ["a", "b", None] + ["c"] * 47},
    }
    for message, columns in cases.items():
        for ending in ("csv", "parquet"):
            write_table(columns, data.parent / f"new.{ending}")
            ran = run("predict", model, f"new.{ending}", "--id", "person", "-o", "never.csv")
            assert ran.code == 2
            assert any(part in ran.err for part in message.split("|")), ran.err
            assert not (data.parent / "never.csv").exists()


def test_text_that_a_spreadsheet_would_run_is_written_as_text(run, model, data, tmp_path):
    table = make_table()
    table["person"][:5] = ["=1+1", "+cmd|x", "-2", "@SUM(A1)", "plain"]
    write_table(table, tmp_path / "odd.parquet")
    printed = run("predict", model, tmp_path / "odd.parquet", "--id", "person")
    ids = [line.split(",")[0] for line in printed.out.splitlines()[1:6]]
    assert ids == ["'=1+1", "'+cmd|x", "-2", "'@SUM(A1)", "plain"]
    written = run("predict", model, tmp_path / "odd.parquet", "--id", "person", "-o", "d.parquet")
    assert written.code == 0
    kept = read(tmp_path / "d.parquet")["person"]
    assert kept[:5] == table["person"][:5]  # no spreadsheet reads it


def test_rows_held_out_with_formulas_are_written_as_text_and_read_as_they_were(run, data):
    """Certify says that they were held out by a hash of their values, names of columns too."""
    table = make_table(300)
    table["sex"] = ["-" if sex == "F" else "+" for sex in table["sex"]]
    table["town"] = ["=Oslo" if town == "Oslo" else town for town in table["town"]]
    table["@skill"] = table.pop("skill")
    write_table(table, data)
    fit = ("fit", data, *COLUMNS, "-o", "m.equipoise", "--held-out", "rest.csv")
    assert run(*fit, "--eps", 0.2).code == 0
    with (data.parent / "rest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["sex"] for row in rows} == {"'-", "'+"}
    assert "'=Oslo" in {row["town"] for row in rows}
    assert "'@skill" in rows[0]
    done = run("certify", "m.equipoise", "rest.csv")
    assert f"Measured on {len(rows)} people held out" in done.out
    assert {"sex: -", "sex: +"} <= {line.strip()[:6] for line in done.out.splitlines()}
    ids = ("--id", "person", "-o", "d.csv")
    assert run("select", "m.equipoise", "rest.csv", "-k", 9, *ids).code == 0
    write_table({**table, "person": ["=1+1", *table["person"][1:]]}, data)
    assert run("select", "m.equipoise", data, "-k", 9, *ids, "--force").code == 0
    with (data.parent / "d.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["person"] == "'=1+1"


def test_categories_that_the_model_does_not_know_are_counted(run, model, data, monkeypatch):
    assert "some have a category" not in run("predict", model, data, "-o", "a.csv").err
    columns = make_table()
    upper = [None if town is None else town.upper() for town in columns["town"]]
    write_table(columns | {"town": upper}, data.parent / "upper.csv")
    known = sum(town is not None for town in upper)
    told = f"By column: 'town' ({known})."
    monkeypatch.setattr(csv_tables, "_BLOCK_BYTES", 8192)  # over several batches
    ran = run("predict", model, "upper.csv", "-o", "b.csv")
    assert ran.code == 0
    assert "of 600 people, some have a category that fewer than 10 people had" in ran.err
    assert told in ran.err
    assert told in run("select", model, "upper.csv", "-k", 20, "-o", "c.csv").err
    assert told in run("certify", model, "upper.csv").err
    assert told in run("report", model, "upper.csv", "-o", "d.html").err
    assert told in run("monitor", model, "upper.csv", "--state", "e.json").err


def test_errors_about_values_name_the_file(run, model, data):
    columns = make_table()
    write_table(columns | {"age": ["old"] * 600}, data.parent / "words.csv")
    for command in (("predict",), ("select", "-k", 5, "-o", "x.csv"), ("certify",)):
        ran = run(command[0], model, "words.csv", *command[1:])
        assert ran.code == 2
        assert "words.csv" in ran.err
        assert "'age' held numbers" in ran.err
