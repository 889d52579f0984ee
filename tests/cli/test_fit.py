"""fit: what it prints is true of the data, and what it writes can be used."""

import json
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hiring import COLUMNS, make_table, write_table
from rich.console import Console

import equipoise
from equipoise.cli import terminal
from equipoise.cli.tables.files import read_table
from equipoise.cli.training import Training
from equipoise.files import read_manifest


def read(path):
    table = pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
    return {name: np.array(table[name].to_pylist(), dtype=object) for name in table.column_names}


def selection_rates(columns, selected):
    return {g: selected[columns["sex"] == g].mean() for g in ("F", "M")}


def test_fit_keeps_the_bound_on_all_of_the_data(run, data):
    ran = run("fit", data, *COLUMNS, "--eps", 0.05, "--test-size", 0, "--json")
    assert ran.code == 0
    model = equipoise.load(data.parent / "model.equipoise")
    columns = read(data)
    X = pa.table(
        {
            "sex": columns["sex"].tolist(),
            "age": pa.array(columns["age"].tolist(), pa.float64()),
            "skill": columns["skill"].tolist(),
            "town": columns["town"].tolist(),
            "member": pa.array(columns["member"].tolist()).cast(pa.int8()).cast(pa.float64()),
            "importance": columns["importance"].tolist(),
        }
    ).select(model.feature_names_in_.tolist())
    selected = model.predict_proba(X)[:, 1]
    overall, rates = selected.mean(), selection_rates(columns, selected)
    assert max(abs(rate - overall) for rate in rates.values()) <= 0.05 + 1e-9
    wrong = np.where(columns["hired"] == "yes", 1 - selected, selected).mean()
    assert ran.json["error"] == pytest.approx(wrong, abs=1e-9)
    (training,) = ran.json["measured"]
    assert training["error"][0] == pytest.approx(wrong, abs=1e-9)
    shown = {row["group"]: row["rates"] for row in ran.json["groups"]["training"]}
    assert shown["F"]["selection_rate"][0] == pytest.approx(rates["F"], abs=1e-6)


def test_sensitive_and_excluded_columns_are_no_features(run, data, model):
    assert equipoise.load(model).feature_names_in_.tolist() == [
        "age",
        "skill",
        "town",
        "member",
        "importance",
    ]
    run("fit", data, *COLUMNS, "--use-sensitive", "--weight", "importance", "-o", "with.equipoise")
    names = equipoise.load(data.parent / "with.equipoise").feature_names_in_.tolist()
    assert "sex" in names
    assert "importance" not in names


def test_people_held_out_are_measured_too(run, data):
    ran = run("fit", data, *COLUMNS, "--test-size", 0.25, "--json")
    assert [(m["data"], m["people"]) for m in ran.json["measured"]] == [
        ("training", 450),
        ("test", 150),
    ]
    ran = run("fit", data, *COLUMNS, "--cv", 2, "--json", "--force")
    assert [m["data"] for m in ran.json["measured"]] == ["out of fold", "training", "test"]


def test_the_seed_decides_the_split(run, data):
    def errors(*options):
        ran = run("fit", data, *COLUMNS, "--json", "--force", *options)
        return [measured["error"] for measured in ran.json["measured"]]

    assert errors() == errors("--seed", 0)
    assert errors() != errors("--seed", 1)


def test_weights_count(run, data):
    ran = run(
        "fit", data, *COLUMNS, "--eps", 0.02, "--weight", "importance", "--test-size", 0, "--json"
    )
    columns = read(data)
    weight = columns["importance"].astype(float)
    good = np.average(columns["hired"] == "yes", weights=weight)
    overall = next(row for row in ran.json["groups"]["training"] if row["group"] == "overall")
    assert overall["rates"]["base_rate"][0] == pytest.approx(good)


def test_the_favourable_label_may_be_either(run, data):
    ran = run("fit", data, *COLUMNS, "--positive", "no", "--json", "--test-size", 0)
    columns = read(data)
    overall = next(row for row in ran.json["groups"]["training"] if row["group"] == "overall")
    assert overall["rates"]["base_rate"][0] == pytest.approx((columns["hired"] == "no").mean())
    manifest = read_manifest(data.parent / "model.equipoise")
    assert manifest["metadata"]["columns"]["labels"] == ["yes", "no"]
    assert run("certify", "model.equipoise", data).code == 0
    run("predict", "model.equipoise", data, "-o", "out.csv")
    assert set(read(data.parent / "out.csv")["decision"]) == {"yes", "no"}


@pytest.mark.parametrize("name", ["eo", "tpr", "four-fifths", "group-error", "minimax"])
def test_other_constraints(run, data, name):
    eps = () if name in ("minimax", "four-fifths") else ("--eps", 0.4)
    ran = run("fit", data, *COLUMNS, "--constraint", name, *eps)
    assert ran.code == 0
    assert "search gap closed at nu" in ran.out


def test_options_of_the_constraint(run, data):
    options = ("--reference", "pairwise", "--min-size", 10, "--control", "town", "--drop-missing")
    ran = run("fit", data, *COLUMNS, "--eps", 0.1, *options, "--json")
    assert ran.json["constraint"] == (
        "DemographicParity(eps=0.1, min_size=10, reference='pairwise')"
    )
    assert any("rows that lack" in note for note in ran.json["notes"])
    assert any("within Bonn" in row["text"] for row in ran.json["measured"][0]["rows"])


def test_learners_of_ones_own(run, data):
    (data.parent / "own_learners.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "stump = DecisionTreeClassifier(max_depth=1)\n"
        "def made():\n    return DecisionTreeClassifier(max_depth=2)\n"
    )
    own = ("own_learners:stump", "own_learners:made")
    for name in (*own, "sklearn.tree:DecisionTreeClassifier", "tree"):
        ran = run("fit", data, *COLUMNS, "--learner", name, "--max-iter", 30, "--force")
        assert ran.code == 0, ran.err


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_every_format_gives_the_same_model(run, data, ending):
    write_table(make_table(), data.with_suffix(f".{ending}"))
    results = []
    for path in (data, data.with_suffix(f".{ending}")):
        ran = run("fit", path, *COLUMNS, "--json", "--force")
        assert ran.code == 0, ran.err
        results.append(ran.json["measured"])
    assert results[0] == results[1]


def test_progress_goes_to_the_error_output_as_lines(run, data):
    ran = run("fit", data, *COLUMNS, "--json")
    lines = [line for line in ran.err.splitlines() if line.startswith("Fitting: ")]
    assert lines[0] == "Fitting: the first call of the learner"
    calls = [int(line.split()[1]) for line in lines[1:]]
    assert calls == sorted(calls)
    assert "%" not in "".join(lines)  # of what?
    json.loads(ran.out)


def test_many_calls_make_a_few_lines_in_a_log():
    terminal.start(machine=False)
    terminal.running().err = Console(file=StringIO(), width=200)
    with terminal.progress("Fitting") as tick:
        watch = Training.watcher(None, tick, 10_000)
        for call in range(1, 162):
            gaps = [0.0 if bound < call / 8 else 0.1 for bound in range(20)]
            watch([SimpleNamespace(gap=gap, n_calls=call) for gap in gaps])
    lines = terminal.running().err.file.getvalue().splitlines()
    assert len(lines) <= 12
    assert lines[0] == "Fitting: 1 call, gap closed for 1 of 20 bounds"
    assert "gap closed for 20 of 20 bounds" in lines[-1]


def test_a_share_says_what_it_is_of():
    terminal.start(machine=False)
    terminal.running().err = Console(file=StringIO(), width=200)
    with terminal.progress("Deciding", of="the file") as tick:
        for share in (0.01, 0.02, 0.5):
            tick(share)
    lines = terminal.running().err.file.getvalue().splitlines()
    assert lines == ["Deciding: 1% of the file", "Deciding: 50% of the file"]


def test_bounds_that_cannot_be_met_are_a_note(run, data):
    options = ("--constraint", "group-error", "--eps", 0.01, "--json")
    ran = run("fit", data, *COLUMNS, *options)
    assert ran.code == 0
    assert any("cannot be met" in note for note in ran.json["notes"])


@pytest.mark.parametrize("name", ["rest.csv", "rest.parquet"])
def test_the_rows_held_out_are_written_and_certify_on_them(run, data, name):
    ran = run("fit", data, *COLUMNS, "--eps", 0.05, "--held-out", name, "--json")
    assert ran.code == 0
    assert ran.json["measured"][-1]["overlap"] == [120, 0, 0, 0, True, 0, False, False]
    rest = read_table(data.parent / name).to_pydict()
    whole = read_table(data).to_pydict()
    at = [whole["person"].index(person) for person in rest["person"]]
    assert len(at) == 120
    for column, values in whole.items():
        assert [values[n] for n in at] == rest[column]
    again = run("certify", "model.equipoise", name, "--json")
    assert again.json["learned_from"]["estimate"] == 0
    test = ran.json["measured"][-1]
    assert again.json["measured"]["excess"] == pytest.approx(test["excess"], abs=1e-12)


def test_the_manifest_says_when_and_from_what(run, data, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert run("fit", data, *COLUMNS, "--eps", 0.05, "--seed", 7).code == 0
    manifest = read_manifest(data.parent / "model.equipoise")
    assert manifest["date"] == "1970-01-02"
    made = manifest["metadata"]["made"]
    assert (made["date"], made["seed"]) == ("1970-01-02", 7)
    assert made["command"].startswith("equipoise")
    assert manifest["people"]["rows"] == 480
    assert (
        manifest["metadata"]["report"]["data"]["fingerprint"] == manifest["people"]["fingerprint"]
    )


def test_nobody_selected_is_said(run, data):
    """A rare label that no feature tells: the least error is to select nobody."""
    table = make_table(600)
    table = {"sex": table["sex"], "town": ["Rome"] * 600, "hired": ["no"] * 570 + ["yes"] * 30}
    write_table(table, data)
    ran = run("fit", data, "--label", "hired", "--sensitive", "sex", "--eps", 0.01)
    assert ran.code == 0
    assert "it selects nobody" in ran.err


@pytest.mark.parametrize(
    ("options", "costs"),
    [(("--false-negative-cost", 4), (1, 4)), (("--false-positive-cost", 3), (3, 1))],
)
def test_costs_of_wrong_decisions(run, data, options, costs):
    ran = run("fit", data, *COLUMNS, "--eps", 0.2, "--test-size", 0, *options, "--json")
    assert ran.code == 0, ran.err
    overall = ran.json["groups"]["training"][0]["rates"]
    good = overall["base_rate"][0]
    false_positive = overall["false_positive_rate"][0] * (1 - good) * costs[0]
    false_negative = (1 - overall["true_positive_rate"][0]) * good * costs[1]
    assert ran.json["error"] == pytest.approx(false_positive + false_negative)
    run("at", "model.equipoise", "--eps", 0.1)
    assert equipoise.load(data.parent / "model.equipoise").objective is not None


def test_a_balanced_objective_selects_where_a_label_is_rare(run, data):
    table = make_table(2000)
    rare = [
        "yes" if label == "yes" and skill > 2 else "no"
        for label, skill in zip(table["hired"], table["skill"], strict=True)
    ]
    write_table(table | {"hired": rare}, data)
    options = (*COLUMNS, "--eps", 0.05, "--test-size", 0, "--json")
    rates = {}
    for objective in ("error", "balanced"):
        ran = run("fit", data, *options, "--objective", objective, "-o", f"{objective}.equipoise")
        rates[objective] = ran.json["groups"]["training"][0]["rates"]
    half = rates["balanced"]
    error = (half["false_positive_rate"][0] + 1 - half["true_positive_rate"][0]) / 2
    assert ran.json["error"] == pytest.approx(error)
    assert half["selection_rate"][0] > rates["error"]["selection_rate"][0]
    ran = run("fit", data, *COLUMNS, "--balanced", "--eps", 0.05, "-o", "w.equipoise")
    assert "error is what was minimised: BalancedError" in ran.out
    ran = run("fit", data, *COLUMNS, "--balanced", "--objective", "mine:it", "-o", "v.equipoise")
    assert "--balanced is given, and --objective mine:it; expected one of them" in ran.err


def test_parameters_of_learners(run, data):
    options = ("--learner", "tree:max_depth=2,class_weight=balanced", "--max-iter", 5)
    assert run("fit", data, *COLUMNS, *options).code == 0
    learner = equipoise.load(data.parent / "model.equipoise").estimator.steps[-1][1]
    assert (learner.max_depth, learner.class_weight) == (2, "balanced")
    own = ("--learner", "sklearn.tree:DecisionTreeClassifier:max_depth=3", "--max-iter", 5)
    assert run("fit", data, *COLUMNS, *own, "--force").code == 0
    assert equipoise.load(data.parent / "model.equipoise").estimator.steps[-1][1].max_depth == 3


def test_the_model_without_the_constraint_stands_beside(run, data):
    ran = run("fit", data, *COLUMNS, "--eps", 0.02, "--test-size", 0, "--json")
    free = ran.json["unconstrained"]
    assert free["error"] <= ran.json["error"]
    rates = {group["group"]: group["rates"] for group in free["groups"]["training"]}
    gap = rates["M"]["selection_rate"][0] - rates["F"]["selection_rate"][0]
    assert gap > 0.05
    assert run("report", "model.equipoise").code == 0
    page = (data.parent / "model.html").read_text(encoding="utf-8")
    assert "without the constraint" in page
    assert '<th scope="col" class="free">without</th>' in page


def test_a_bound_that_is_proven(run, data):
    ran = run("fit", data, *COLUMNS, "--eps", 0.5, "--reference", "pairwise", "--confidence", 0.8)
    assert ran.code == 0
    assert "Proof: With probability 80 %" in " ".join(ran.out.split())
    proof = read_manifest(data.parent / "model.equipoise")["proof"]
    assert proof["holds"]
    assert equipoise.load(data.parent / "model.equipoise").proof_.to_dict() == proof


def test_not_proven_is_not_a_model(run, data):
    asked = ("fit", data, *COLUMNS, "--eps", 0.01, "--reference", "pairwise", "--confidence", 0.95)
    ran = run(*asked, "--json")
    assert ran.code == 6
    assert ran.json["file"] is None
    assert not ran.json["promise"]["holds"]
    assert not (data.parent / "model.equipoise").exists()
    ran = run(*asked, "--fallback", "fairest", "--json")
    assert ran.code == 6
    assert equipoise.load(data.parent / "model.equipoise").fallback == "fairest"


@pytest.mark.parametrize("oracle", ["plugin", "refit"])
def test_one_rule(run, data, oracle):
    ran = run("fit", data, *COLUMNS, "--eps", 0.05, "--oracle", oracle, "--deterministic", "--json")
    assert ran.code == 0
    model = equipoise.load(data.parent / "model.equipoise")
    certificate = model.certificate_
    assert ran.json["certificate"]["by_lot"] == certificate.by_lot.share
    assert model.deterministic is True
    # One rule, or the reason: nothing else.
    assert (len(model.classifier_.members) == 1) == (certificate.why_by_lot == "")
    assert certificate.why_by_lot in ran.json["certificate"]["why_by_lot"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--oracle", "best_of"], "Use --oracle plugin"),
        (["--cv", 3], "Use --oracle plugin"),
        (["--dask", "tcp://127.0.0.1:1"], "leave --deterministic out"),
    ],
)
def test_one_rule_is_refused_before_any_work(run, data, options, message):
    ran = run("fit", data, *COLUMNS, "--deterministic", *options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert not (data.parent / "model.equipoise").exists()
