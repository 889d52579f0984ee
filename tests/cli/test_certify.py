"""certify: the exit code says whether a bound is exceeded beyond its interval."""

import numpy as np
import pytest
from hiring import COLUMNS, make_table, write_table


def test_the_data_of_the_fit_pass(run, model, data):
    ran = run("certify", model, data)
    assert ran.code == 0
    assert "No bound is exceeded beyond its 95% interval." in ran.out


def test_other_people_fail_beyond_the_interval_only(run, model, data):
    """Women of far less skill are selected far less often than the bound allows."""
    new = make_table(3000, seed=1)
    women = np.array(new["sex"]) == "F"
    new["skill"] = (np.array(new["skill"]) - 3 * women).tolist()
    write_table(new, data.parent / "new.csv")
    ran = run("certify", model, "new.csv", "--json")
    assert ran.code == 1
    assert ran.json["exceeded"] is True
    run("predict", model, "new.csv", "-o", "out.parquet")
    import pyarrow.parquet

    selected = np.array(pyarrow.parquet.read_table("out.parquet")["probability"])
    gap = selected.mean() - selected[women].mean()
    below = next(r for r in ran.json["measured"]["rows"] if r["text"].endswith("F below overall"))
    assert below["excess"][0] == pytest.approx(gap - 0.05, abs=1e-9)
    assert below["excess"][1] > 0
    assert below["people"] == women.sum()
    assert below["verdict"] == "EXCEEDED"

    ran = run("certify", model, "new.csv", "--json", "--min-people", 5000)
    assert ran.code == 0
    verdicts = {row["text"]: row["verdict"] for row in ran.json["measured"]["rows"]}
    assert verdicts[below["text"]] == "exceeded, too few people to tell"


def test_a_frontier_is_certified_at_a_bound(run, frontier, data):
    assert run("certify", frontier, data).code == 2
    assert run("certify", frontier, data, "--eps", 0.2).code == 0


def test_labels_and_groups_of_the_new_data_are_checked(run, model, data):
    new = make_table(100, seed=1)
    for columns, message in [
        (new | {"hired": ["maybe"] * 100}, "has the label 'maybe'"),
        (new | {"sex": [None, *new["sex"][1:]]}, "--drop-missing"),
        ({k: v for k, v in new.items() if k != "hired"}, "has no column 'hired'"),
    ]:
        write_table(columns, data.parent / "new.csv")
        ran = run("certify", model, "new.csv")
        assert ran.code == 2
        assert message in ran.err
    assert run("certify", model, "new.csv", "--drop-missing").code == 2


def test_models_of_other_types_need_trust(run, data):
    (data.parent / "strange_learner.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Strange(LogisticRegression):\n    pass\n"
    )
    assert run("fit", data, *COLUMNS, "--learner", "strange_learner:Strange").code == 0
    ran = run("certify", "model.equipoise", data)
    assert ran.code == 2
    assert "strange_learner.Strange" in ran.err
    trusted = ("--trust", "strange_learner.Strange")
    assert run("certify", "model.equipoise", data, *trusted).code == 0
