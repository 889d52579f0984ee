"""The benchmarks run, at a small size, and what they claim besides time holds there too."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fairlearn")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return pytest.importorskip


def run(module, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
    module.main()
    return capsys.readouterr().out


def read_tables(text):
    """Return every Markdown table as a list of dictionaries."""
    tables, header = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells
            tables.append([])
        elif set(cells) != {"---"}:
            tables[-1].append(dict(zip(header, cells, strict=True)))
    return tables


def test_overhead(script, monkeypatch, capsys):
    overhead = script("overhead")

    def measure_here(library, *arguments):
        if arguments[0] == "--load":
            data = partial(overhead._load, arguments[1])
        else:
            data = partial(overhead.make_data, *arguments[1::2])
        # Peak memory can be told in a fresh process only: see the next test.
        return replace(overhead.measure(library, data), bytes_per_row=1.0)

    monkeypatch.setattr(overhead, "measure_apart", measure_here)
    monkeypatch.setattr(overhead, "passes_apart", overhead.measure_passes)
    small = ("--rows", 4000, "--groups", 2, 5, "--features", 2, "--repeats", 1)
    text = run(overhead, monkeypatch, capsys, *small)
    each, ratios, passes, longer = read_tables(text)
    assert [(row["groups"], row["library"]) for row in each] == [
        (groups, library) for groups in ("2", "5") for library in ("equipoise", "fairlearn")
    ]
    for ours, theirs in zip(each[::2], each[1::2], strict=True):
        assert 0 < int(ours["calls"]) < int(theirs["calls"])
        assert float(ours["violation"]) <= overhead.EPS + 1e-4
        assert float(ours["error"]) <= float(theirs["error"]) + 0.005
        assert float(ours["CPU s"]) > 0
        assert float(ours["total / learner"]) > 1
    assert list(ratios[0]) == ["groups", "features", "time", "overhead a call", "extra memory"]
    assert [float(row["5 groups"]) >= 0 for row in passes] == [True] * (len(overhead.PASSES) + 2)
    assert float(longer[0]["the stump"]) > float(longer[0]["1000 ms"]) >= 1
    assert "equipoise" in text.splitlines()[0]  # the machine and the versions


@pytest.mark.parametrize("more", [(), ("--scores",)], ids=["decisions", "scores"])
def test_extra_memory_is_below_sixty_bytes_a_row(script, tmp_path, more):
    overhead = script("overhead")
    np.savez(tmp_path / "data.npz", **overhead.make_data(400_000, 20, 2))
    measured = overhead.measure_apart("equipoise", "--load", tmp_path / "data.npz", *more)
    if np.isnan(measured.bytes_per_row):
        pytest.skip("the peak of the resident set is read from /proc")
    assert measured.bytes_per_row < 60


def test_calls(script, monkeypatch, capsys):
    calls = script("calls")
    ratios, each = read_tables(run(calls, monkeypatch, capsys, "--quick"))
    assert [row["constraint"] for row in ratios] == list(calls.CONSTRAINTS)
    for row in ratios:
        theirs, ours = int(row["calls, fairlearn"]), int(row["calls, FairClassifier"])
        assert 0 < 3 * ours <= theirs
    found = {(row["constraint"], row["method"]): row for row in each}
    assert len(found) == len(calls.CONSTRAINTS) * len(calls.METHODS)
    for row in each:
        assert float(row["violation"]) <= float(row["eps"]) + 1e-4
        assert float(row["gap"]) <= float(row["nu"])
        theirs = found[row["constraint"], "fairlearn"]
        if row["method"].startswith("FairClassifier"):
            assert float(row["error"]) <= float(theirs["error"]) + float(theirs["nu"])


def test_coverage_with_weights(script, monkeypatch, capsys):
    small = ("--weights", "--quick", "--samples", 40, "--groups", 2)
    (lines,) = read_tables(run(script("coverage"), monkeypatch, capsys, *small))
    assert {line["weights"] for line in lines} == {"one in 50", "lognormal"}
    for line in lines:
        for name in ("selection rate", "DP difference", "report"):
            assert 0.8 <= float(line[name].split()[0]) <= 1


def test_shared_trees(script, monkeypatch, capsys):
    pytest.importorskip("lightgbm")
    (lines,) = read_tables(run(script("shared_trees"), monkeypatch, capsys, "--quick"))
    assert [line["problem"] for line in lines] == ["made up DP", "made up EO"]
    for line in lines:
        assert float(line["ratio"]) > 0
        assert abs(float(line["training error, shared minus whole"])) < 0.1


def test_raw_measures_by_hand(script):
    raw = script("_raw")
    y, group = np.array([1, 1, 0, 0]), np.array(["a", "b", "a", "b"])
    expected = np.array([1.0, 0.5, 0.25, 0.0])
    assert raw.error(expected, y) == pytest.approx((0 + 0.5 + 0.25 + 0) / 4)
    assert raw.demographic_parity(expected, y, group) == pytest.approx(0.625 - 0.4375)
    assert raw.equalized_odds(expected, y, group) == pytest.approx(0.25)


def test_model_file(script, monkeypatch, capsys):
    pytest.importorskip("skops.io", reason="model files need skops: equipoise[files]")
    model_file = script("model_file")
    text = run(model_file, monkeypatch, capsys, "--rows", 600)
    ((default, kept),) = read_tables(text)
    assert [default["options"], kept["options"]] == ["default", "--keep-text, three times"]
    for row in (default, kept):
        whole = ("file, bytes", "expanded, bytes", "names in it")
        size, expanded, names = (int(row[name].replace(",", "")) for name in whole)
        assert 0 < size < expanded
        assert names == 0
        assert float(row["CPU s to open"]) > 0
        assert float(row["MiB to open"]) >= 0


def test_truth(script, monkeypatch, capsys):
    truth = script("truth")
    text = run(truth, monkeypatch, capsys, "--problems", 2, "--only", "parity")
    (table,) = read_tables(text)
    assert table[-1]["kind"] == "all"
    assert {table[-1][column] for column in truth.COLUMNS[1:]} == {"0"}


@pytest.mark.parametrize(
    ("column", "changes"),
    [
        ("stated", {"error": 0.001}),
        ("lower", {"lower": 0.3}),
        ("price", {"free_error": 1.0}),
    ],
)
def test_truth_finds_what_is_false(script, monkeypatch, column, changes):
    truth = script("truth")
    told = script("_truth")
    case = truth.KINDS["DemographicParity"](np.random.default_rng([0, 0]))
    clf = told.solved(case, nu=1e-6)
    found = clf.certificate_
    assert found.shadow_prices()  # the bounds cost something
    clf.certificate_ = replace(
        found, **{name: getattr(found, name) + by for name, by in changes.items()}
    )
    known = told.Truth(case)
    wrong = {*told.check_numbers(known, clf), *told.check_complete(known, clf)}
    assert column in wrong
