"""Guessed groups: the bias that the benchmark prints is that of the formula."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not BENCHMARKS.exists():
    pytest.skip("the benchmarks are not part of this copy", allow_module_level=True)


@pytest.mark.parametrize(("certainty", "effect"), [(0.8, 0.3), (0.8, 0.0), (0.6, 0.3)])
def test_the_bias_is_that_of_the_formula(monkeypatch, certainty, effect):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import proxy_bias

    true, measured, foretold = proxy_bias.simulate(certainty, effect, 200_000)
    assert measured - true == pytest.approx(foretold, abs=0.01)  # four standard errors
    assert foretold == pytest.approx(-4 * effect * certainty * (1 - certainty))


def test_it_prints_a_line_for_each_setting(monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import proxy_bias

    monkeypatch.setattr(sys, "argv", ["proxy_bias", "--people", "2000"])
    proxy_bias.main()
    assert len(capsys.readouterr().out.splitlines()) == 11
