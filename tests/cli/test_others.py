"""reproduce and demo."""

import pytest


def test_reproduce_and_demo_call_what_they_are_for(run, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    called = {}

    class Made:
        files, left_out, rows = [tmp_path / "verdict.md"], {}, [1, 2]

    def fake(output, **options):
        called.update(options, output=output)
        options["echo"]("task 1")
        return Made()

    monkeypatch.setattr("equipoise.experiments.reproduce", fake)
    ran = run("reproduce", "--quick", "--problem", "adult", "-o", "out", "--json")
    assert ran.code == 0
    assert called["quick"] is True
    assert called["problems"] == ["adult"]
    assert "task 1" in ran.err
    monkeypatch.setattr(
        "equipoise.experiments.demo.main", lambda arguments: called.update(demo=arguments)
    )
    assert run("demo", "-o", "picture.png").code == 0
    assert called["demo"] == ["--output", "picture.png"]
