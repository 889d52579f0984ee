"""--dask: the same models from Parquet files that the workers of a cluster read."""

import os
import re
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import client_of, two_workers
from hiring import COLUMNS, make_table

from equipoise.cli.dask import cluster
from equipoise.cli.tables.files import read_table
from equipoise.files import read_manifest

FIT = ("--label", "hired", "--sensitive", "sex")
NEEDS = "needs equipoise[dask]"


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed", reason=NEEDS)
    pytest.importorskip("dask.dataframe", reason=NEEDS)
    with two_workers() as workers, client_of(workers) as client:
        yield client


@pytest.fixture
def address(client):
    return client.scheduler.address


@pytest.fixture
def parts(tmp_path):
    """Write 600 people into three files, of several row groups each."""
    return write_parts(make_table(), tmp_path / "parts", [0, 150, 390, 600])


def write_parts(columns, folder, ends):
    folder.mkdir()
    table = pa.table(columns)
    for number, (start, end) in enumerate(pairwise(ends)):
        part = table.slice(start, end - start)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=100)
    return folder


def logistic(folder):
    """Write a learner that ends at the same place however it gets there."""
    (folder / "far.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "from xgboost import XGBClassifier\n"
        "exact = LogisticRegression(C=0.1, solver='newton-cholesky', tol=1e-12)\n"
        "trees = XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)\n"
    )


def test_a_model_is_that_of_the_table_in_memory(run, address, parts, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    logistic(tmp_path)
    columns = make_table()
    pq.write_table(pa.table(columns), "people.parquet")
    options = (*COLUMNS, "--learner", "far:exact", "--eps", 0.1, "--test-size", 0, "--json")
    options += ("--weight", "importance")
    memory = run("fit", "people.parquet", *options, "-o", "memory.equipoise")
    far = run("fit", "parts/*.parquet", *options, "-o", "far.equipoise", "--dask", address)
    assert far.code == 0, far.err
    assert far.json["error"] == pytest.approx(memory.json["error"], abs=1e-6)
    ours, theirs = (ran.json["groups"]["training"] for ran in (far, memory))
    assert [row["group"] for row in ours] == [row["group"] for row in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine["count"] == other["count"]
        for rate, (value, low, high) in mine["rates"].items():
            assert value == pytest.approx(other["rates"][rate][0], abs=1e-6)
            assert low <= value <= high
    # Both know their people, wherever these were.
    known = [read_manifest(name)["people"] for name in ("far.equipoise", "memory.equipoise")]
    assert known[0] == known[1]
    # The file decides about a table like any other, and what is said about it is true.
    assert run("predict", "far.equipoise", "people.parquet", "-o", "out.parquet").code == 0
    selected = pq.read_table("out.parquet")["probability"].to_numpy()
    weight, man = np.array(columns["importance"]), np.array(columns["sex"]) == "M"
    rates = [np.average(selected[who], weights=weight[who]) for who in (man, ~man, man | True)]
    assert max(abs(rate - rates[2]) for rate in rates) <= 0.1 + 1e-9
    good = np.array(columns["hired"]) == "yes"
    wrong = np.average(np.where(good, 1 - selected, selected), weights=weight)
    assert far.json["error"] == pytest.approx(wrong, abs=1e-9)


def test_the_rows_held_out_are_written(run, address, parts, tmp_path):
    options = (*COLUMNS, "--test-size", 0.3, "--held-out", "rest.csv", "--json")
    ran = run("fit", "parts/*.parquet", *options, "--dask", address)
    assert ran.code == 0, ran.err
    rest = read_table(tmp_path / "rest.csv").num_rows
    assert rest == ran.json["measured"][-1]["people"] > 100
    assert run("certify", "model.equipoise", "rest.csv", "--json").json["learned_from"]["high"] == 0
    whole = run("certify", "model.equipoise", parts / "part-1.parquet", "--json")
    assert 0 < whole.json["learned_from"]["estimate"] < 240


def test_a_frontier_of_trees_with_people_held_out(run, address, parts, tmp_path, monkeypatch):
    pytest.importorskip("xgboost", reason=NEEDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    logistic(tmp_path)
    options = (*COLUMNS, "--learner", "far:trees", "--bounds", "0.05,0.3", "--max-iter", 5)
    options += ("--json", "--test-size", 0.3, "--checkpoint", "kept", "--dask", address)
    ran = run("frontier", "parts", *options)
    assert ran.code == 0, ran.err
    assert Path("frontier.html").is_file()
    data = ran.json["data"]
    assert data["source"] == "parts"
    assert (data["rows"], data["train_rows"] + data["test_rows"]) == (600, 600)
    assert 130 < data["test_rows"] < 230  # 180, five standard errors either way
    columns = make_table()
    assert data["base_rate"] == pytest.approx(np.mean(np.array(columns["hired"]) == "yes"))
    assert {col["name"]: col["missing"] for col in data["columns"] if col["missing"]} == {
        name: sum(value is None for value in columns[name]) for name in ("age", "town")
    }
    # Training and test together are everybody, whom the model file decides about.
    pq.write_table(pa.table(columns), "people.parquet")
    assert (
        run("predict", "frontier.equipoise", "people.parquet", "--eps", 0.3, "-o", "o.parquet").code
        == 0
    )
    selected = pq.read_table("o.parquet")["probability"].to_numpy()
    wrong = np.where(np.array(columns["hired"]) == "yes", 1 - selected, selected)
    measured = ran.json["points"][1]["measured"]
    assert [entry["data"] for entry in measured] == ["training", "test"]
    total = sum(entry["error"][0] * entry["people"] for entry in measured)
    assert total == pytest.approx(wrong.sum(), abs=1e-6)
    again = run("certify", "frontier.equipoise", "people.parquet", "--eps", 0.3, "--json")
    assert again.code == 0, again.err
    kept = {path.name: path.stat().st_mtime_ns for path in Path("kept").iterdir()}
    assert len(kept) == ran.json["fits"] + 1
    again = run("frontier", "parts", *options, "--force")
    assert again.json["points"] == ran.json["points"]
    assert kept == {path.name: path.stat().st_mtime_ns for path in Path("kept").iterdir()}


def test_who_is_held_out_depends_on_the_number_of_the_row_and_the_seed(client, parts):
    from equipoise.cli.dask.people import DaskReader
    from equipoise.cli.tables.request import Request

    whole = parts.parent / "people.parquet"
    pq.write_table(pa.table(make_table()), whole, row_group_size=250)
    request = Request("hired", ["sex"], exclude=["person", "town"])
    drawn = [(whole, 1), (parts, 1), (parts, 2)]
    once, again, other = (
        DaskReader(client).training(data, request, 0.25, seed).test.X.compute()["skill"].tolist()
        for data, seed in drawn
    )
    assert once == again
    assert other != once


def odd_table(n=400):
    """A table whose columns are hard to encode: ties, gaps, constants, many and few categories."""
    rng = np.random.default_rng(5)
    many = np.array([f"v{number % 70:02d}" for number in range(n)], dtype=object)
    many[rng.random(n) < 0.2] = None
    odd = np.round(rng.normal(size=n) * 10.0 ** rng.integers(-6, 7, n), 9)
    gaps = np.where(rng.random(n) < 0.5, np.nan, -rng.integers(0, 9, n))
    return pa.table(
        {
            "label": rng.integers(0, 2, n),
            "group": rng.integers(0, 3, n).astype(float),
            "many": pa.array(many.tolist(), pa.string()),
            "few": pa.array(rng.choice(["b", "a"], n)).dictionary_encode(),
            "odd": odd,
            "gaps": pa.array(gaps, from_pandas=True),
            "constant": np.full(n, 0.1),
            "flag": rng.random(n) < 0.5,
            "empty": pa.nulls(n, pa.float64()),
        }
    )


def test_the_encoding_is_that_of_memory(client, tmp_path):
    from equipoise.cli.dask.people import DaskReader
    from equipoise.cli.tables.encoding import make_encoder
    from equipoise.cli.tables.people import Reader
    from equipoise.cli.tables.request import Request

    path, notes = tmp_path / "odd.parquet", []
    pq.write_table(odd_table(), path, row_group_size=90)
    request = Request("label", ["group"], keep_text=["many"])
    people, columns = Reader().training(Reader().whole(path, request), request)
    expected = make_encoder(columns.features, people.X).fit_transform(people.X)
    found = DaskReader(client, notes.append).training(path, request, 0.0, 0)
    assert found.columns == columns
    assert found.test is None
    assert any("'empty' has no values" in note for note in notes)
    X, y, groups = (
        c.compute() for c in (found.train.X, found.train.y, found.train.sensitive_features)
    )
    np.testing.assert_array_equal(found.encoder.transform(X), expected)
    assert y.tolist() == people.y.tolist()
    assert groups["group"].tolist() == people.sensitive_features["group"].tolist()
    # Also for values that were not there.
    new = people.X.slice(0, 2).set_column(0, "many", pa.array(["never seen", None]))
    fitted = make_encoder(columns.features, people.X).fit(people.X)
    np.testing.assert_allclose(found.encoder.transform(new), fitted.transform(new), atol=1e-9)


def test_larger_tables_are_encoded_as_a_sample_of_them(client, tmp_path, monkeypatch):
    from equipoise.cli.dask import people
    from equipoise.cli.tables.request import Request

    monkeypatch.setattr(people, "SAMPLE_ROWS", 200)
    columns = make_table()
    columns["town"] = [f"t{n % 300}" if n < 300 else "Rome" for n in range(600)]  # 300 are rare
    table, encoders = pa.table(columns), []
    for size in (100, 250):
        path, notes = tmp_path / f"{size}.parquet", []
        pq.write_table(table, path, row_group_size=size)
        request = Request("hired", ["sex"], exclude=["person"])
        found = people.DaskReader(client, notes.append).training(path, request, 0.0, 3)
        assert len(found.train) == 600
        encoders.append(found.encoder)
        scale = found.encoder.named_transformers_["numbers"].named_steps["scale"]
        seen = int(scale.n_samples_seen_)
        assert 130 < seen < 270  # 200, six standard errors either way
        (note,) = [note for note in notes if "'town'" in note]
        (known,) = found.encoder.named_transformers_["categories"].categories_
        assert known.tolist() == ["Rome", "(rare values)"]
        values, rows = re.search(r"(\d+) different values, in (\d+) rows, are not", note).groups()
        assert values == rows
        assert int(values) > 100
        assert f"the {seen} rows that the encoding was learned from" in note
    X = found.train.X.compute()
    once, again = (encoder.transform(X) for encoder in encoders)
    np.testing.assert_array_equal(once, again)  # whatever the row groups
    assert np.isfinite(once).all()
    # All rare towns, seen or not, are one column.
    np.testing.assert_array_equal(once[:, -1], np.array(columns["town"]) != "Rome")


WRONG = {
    "learner": ((*FIT, "--learner", "forest"), "expected logistic, xgboost, lightgbm"),
    "missing": ((*FIT, "--missing", "?"), "--missing is for CSV files"),
    "test size": ((*FIT, "--test-size", 1), "--test-size is 1"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_work_is_refused_before_any_work(run, parts, what, monkeypatch):
    pytest.importorskip("dask", reason=NEEDS)
    monkeypatch.setattr(cluster, "opened", lambda address: pytest.fail("a cluster was opened"))
    options, message = WRONG[what]
    ran = run("frontier", "parts", *options, "--dask")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_files_that_are_not_there(run, parts):
    pytest.importorskip("dask", reason=NEEDS)
    (parts / "notes.txt").write_text("")
    (parts.parent / "nothing").mkdir()
    for data, message in {
        "nowhere.parquet": "there is no file nowhere.parquet",
        "parts/*.pq": "no file is called like parts/*.pq",
        "nothing": "has no file that ends in .parquet",
        "parts/*": "notes.txt is not a Parquet file",
    }.items():
        ran = run("fit", data, *FIT, "--dask")
        assert ran.code == 2
        assert message in ran.err


def test_a_scheduler_that_does_not_answer(run, parts, monkeypatch):
    pytest.importorskip("dask", reason=NEEDS)
    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    ran = run("fit", "parts", *FIT, "--dask", "tcp://127.0.0.1:1")
    assert ran.code == 2
    assert "no scheduler answers at tcp://127.0.0.1:1 within 1 seconds" in ran.err
    ran = run("fit", "parts", *FIT, "--dask=somewhere")
    assert "expected the address of a scheduler" in ran.err


def test_dask_that_is_not_installed(run, parts, monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    ran = run("fit", "parts", *FIT, "--dask")
    assert ran.code == 2
    assert "pip install 'equipoise[dask]'" in ran.err


def changed(**columns):
    return {**make_table(), **columns}


UNREADABLE = {
    "list": (changed(age=[[1, 2]] * 600), "column 'age' is of type list"),
    "groups": (changed(sex=[None] * 2 + ["F", "M"] * 299), "missing in 2 of 600 rows"),
    "infinite": (changed(skill=[np.inf] + [0.0] * 599), "column 'skill' has infinite values"),
    "labels": (changed(hired=list(range(600))), "Say with --positive"),
    "a column too little": ({"sex": ["F"] * 600, "hired": ["no"] * 600}, "Did you mean"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_columns_that_cannot_be_read(run, address, tmp_path, what):
    columns, message = UNREADABLE[what]
    write_parts(columns, tmp_path / "parts", [0, 300, 600])
    names = ("--label", "hird") if "too little" in what else ("--label", "hired")
    ran = run("fit", "parts", *names, "--sensitive", "sex", "--dask", address)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_files_that_do_not_fit_together(run, address, tmp_path):
    folder = write_parts(make_table(), tmp_path / "parts", [0, 300])
    other = changed(age=["old"] * 600)
    pq.write_table(pa.table(other), folder / "z.parquet")
    ran = run("fit", "parts", *FIT, "--dask", address)
    assert "column 'age' is a number in part-0.parquet and a category in z.parquet" in ran.err
    pq.write_table(pa.table(other).drop_columns(["age"]), folder / "z.parquet")
    assert "z.parquet has no column 'age'" in run("fit", "parts", *FIT, "--dask", address).err


def test_a_cluster_of_this_machine_ends_with_the_command(monkeypatch):
    pytest.importorskip("distributed", reason=NEEDS)
    psutil = pytest.importorskip("psutil", reason=NEEDS)
    monkeypatch.setattr("dask.system.CPU_COUNT", 1)

    def interrupted():
        with cluster.opened(cluster.LOCAL) as client:
            pids = list(client.run(os.getpid).values())
            for pid in pids:  # Ctrl-C reaches workers too, which must not end before their time
                os.kill(pid, signal.SIGINT)
            assert client.submit(sum, [1, 2]).result(timeout=300) == 3
            running.extend(psutil.Process(pid) for pid in pids)
            raise KeyboardInterrupt

    running = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(running) == 1
    gone, alive = psutil.wait_procs(running, timeout=300)
    assert not alive
    assert gone


def test_bins_are_those_of_the_table_in_memory(run, address, parts):
    pq.write_table(pa.table(make_table()), "people.parquet")
    options = ("--label", "hired", "--sensitive", "age", "--exclude", "person", "--drop-missing")
    options += ("--bins", "age=3", "--weight", "importance", "--eps", 0.2, "--json")
    memory = run("fit", "people.parquet", *options, "--test-size", 0, "-o", "memory.equipoise")
    far = run("fit", "parts", *options, "--test-size", 0, "-o", "far.equipoise", "--dask", address)
    assert far.code == 0, far.err
    ours, theirs = (ran.json["groups"]["training"] for ran in (far, memory))
    assert [row["group"] for row in ours] == [row["group"] for row in theirs]
    assert [row["count"] for row in ours] == [row["count"] for row in theirs]
    edges = [
        read_manifest(f"{name}.equipoise")["metadata"]["columns"]["bins"]["age"]
        for name in ("far", "memory")
    ]
    ages = [age for age in make_table()["age"] if age is not None]
    assert edges == [np.quantile(ages, [1 / 3, 2 / 3]).tolist()] * 2
    rows = {(row["group"], row["label"]): row for row in far.json["switched"]["training"]}
    assert sum(row["people"] for (group, _), row in rows.items() if group == "overall") == len(ages)


@pytest.mark.parametrize("numbers", [False, True])
def test_people_whose_group_is_missing_are_in_no_group(
    run, address, tmp_path, monkeypatch, numbers
):
    monkeypatch.syspath_prepend(str(tmp_path))
    logistic(tmp_path)
    columns = make_table()
    gone = np.random.default_rng(5).random(600) < 0.2
    code = {"F": 1.5, "M": 2.5} if numbers else {"F": "F", "M": "M"}
    columns["sex"] = [
        None if hide else code[sex] for sex, hide in zip(columns["sex"], gone, strict=True)
    ]
    write_parts(columns, tmp_path / "parts", [0, 150, 390, 600])
    pq.write_table(pa.table(columns), "people.parquet")
    options = (*COLUMNS, "--learner", "far:exact", "--eps", 0.1, "--test-size", 0, "--json")
    ran = run("fit", "parts", *options, "--dask", address)
    assert ran.code == 2
    assert "--missing-groups ignore" in ran.err
    options += ("--missing-groups", "ignore")
    memory = run("fit", "people.parquet", *options, "-o", "memory.equipoise")
    far = run("fit", "parts", *options, "-o", "far.equipoise", "--dask", address)
    assert far.code == 0, far.err
    assert far.json["error"] == pytest.approx(memory.json["error"], abs=1e-6)
    ours, theirs = (ran.json["groups"]["training"] for ran in (far, memory))
    assert [(row["group"], row["count"]) for row in ours] == [
        (row["group"], row["count"]) for row in theirs
    ]
    assert sum(row["count"] for row in ours[1:]) == (~gone).sum()
    assert any("is unknown" in text for text in far.json["remarks"])
