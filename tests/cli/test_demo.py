"""demo: models side by side."""

import pytest


def test_demo_shows_models_side_by_side(run, tmp_path):
    pytest.importorskip("matplotlib")
    ran = run("demo", "-o", "picture.png")
    assert ran.code == 0
    assert "32,561 people to learn from, 16,281 held out" in ran.out
    assert "CERTIFICATE of EO 0.01" in ran.out
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
