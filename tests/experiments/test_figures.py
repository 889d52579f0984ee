"""The figures: arrangement, dashed lines, bands; from made tables."""

import numpy as np
import pytest

from equipoise.experiments.figures import FIGURES, collect, draw, draw_figures

pytest.importorskip("matplotlib", reason="matplotlib is not installed: equipoise[plot]")


def made_rows(problems=("adult", "law"), learners=("logistic", "gbm"), seeds=(0,)):
    methods = {
        "unconstrained": [(0.0, 0.2, 0.15)],
        "post-processing": [(0.0, 0.001, 0.18), (0.1, 0.1, 0.16)],
        "exponentiated gradient": [(0.01, 0.01, 0.17), (0.05, 0.05, 0.165), (0.1, 0.1, 0.155)],
    }
    return [
        {
            "problem": problem,
            "learner": learner,
            "notion": notion,
            "method": method,
            "seed": seed,
            "setting": setting,
            "part": part,
            "n": 100,
            "error": error + 0.01 * seed,
            "error_low": error - 0.01,
            "error_high": error + 0.01,
            "violation": violation,
            "violation_low": 0.0,
            "violation_high": violation + 0.02,
        }
        for learner in learners
        for problem in problems
        for notion in ("DP", "EO")
        for method, points in methods.items()
        for seed in seeds
        for setting, violation, error in points
        for part in ("train", "test")
    ]


def test_arrangement_is_the_papers():
    picture = draw(collect(made_rows()), FIGURES["figure1"])
    titles = [ax.get_title() for ax in picture.axes]
    assert titles == [
        f"{problem} · {notion} · {learner}"
        for notion in ("DP", "EO")
        for learner in ("logistic", "gbm")
        for problem in ("adult", "law")
    ]


def test_dashed_lines_stand_at_the_lowest_violation():
    picture = draw(collect(made_rows()), FIGURES["figure2"])
    lines = picture.axes[0].lines
    dashed = sorted(
        float(np.ravel(line.get_xdata())[0]) for line in lines if line.get_linestyle() == "--"
    )
    assert dashed == pytest.approx([0.001, 0.01])


def test_bands_and_intervals_on_test_data_only():
    panels = collect(made_rows())
    (band,) = draw(panels, FIGURES["figure1"]).axes[0].collections
    corners = band.get_paths()[0].vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == pytest.approx((0.145, 0.18))
    assert not draw(panels, FIGURES["figure2"]).axes[0].collections


def test_an_envelope_leaves_out_what_mixing_beats():
    ax = draw(collect(made_rows()), FIGURES["figure1"]).axes[0]
    (curve,) = [line for line in ax.lines if line.get_label() == "exponentiated gradient"]
    assert curve.get_xdata() == pytest.approx([0.01, 0.1])
    ax = draw(collect(made_rows()), FIGURES["figure2"]).axes[0]
    (curve,) = [line for line in ax.lines if line.get_label() == "exponentiated gradient"]
    assert curve.get_xdata() == pytest.approx([0.01, 0.05, 0.1])


def test_several_splits_are_shown_by_their_mean():
    (panel, *_), curves = zip(*collect(made_rows(seeds=(0, 2))).items(), strict=True)
    assert panel.problem == "adult"
    assert curves[0]["unconstrained"].test["error"] == pytest.approx([0.16])


def test_missing_panels_leave_a_gap():
    rows = [r for r in made_rows() if (r["problem"], r["learner"]) != ("law", "gbm")]
    picture = draw(collect(rows), FIGURES["figure3"])
    assert [ax.axison for ax in picture.axes].count(False) == 2


def test_six_files_are_written(tmp_path):
    rows = made_rows(problems=["law"], learners=["gbm"])
    files = draw_figures(rows, tmp_path, "extension-")
    names = {f"extension-figure{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "svg")}
    assert {path.name for path in files} == names
    assert all(path.stat().st_size > 1000 for path in files)
