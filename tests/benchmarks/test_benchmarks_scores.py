"""The benchmarks of scores and of exactly k run at a small size, and their claims hold there."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.filterwarnings(
    "ignore::equipoise.exceptions.TiedRowsWarning"
)  # rows of few categories
def test_exactly_k(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import exactly_k

    name = "equalized odds"
    monkeypatch.setattr(exactly_k, "RULES", {name: exactly_k.RULES[name]})
    exactly_k.main(["--quick"])
    rows = rows_of(capsys.readouterr().out)
    selected = [row for row in rows if row[2].startswith("select, order=")]
    assert len(selected) == 4
    assert {row[3] for row in selected} == {"40 of 40"}
    for alone, *drawn in (rows[1:4], rows[4:7]):
        assert alone[2] == "independent"
        assert all(float(row[4]) < float(alone[4]) for row in drawn)
    for row in rows[-2:]:
        within, people = row[5].split(" of ")
        assert within == people


def test_scores(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import scores

    monkeypatch.setattr(scores, "SETS", {"Adult": scores.SETS["Adult"]})
    scores.main(["--quick"])
    header, *rows = rows_of(capsys.readouterr().out)
    assert len(rows) == 4
    for row in rows:
        found = dict(zip(header, row, strict=True))
        assert found["sign is predict's"] == "yes"
        assert float(found["predict_proba"]) < float(found["decision_function"])
        assert abs(float(found["label_proba"]) - float(found["plain learner"])) <= 0.002
