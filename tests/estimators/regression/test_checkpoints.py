"""Checkpoints of regressors: what was trained is not trained again, and belongs to one fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from equipoise import BoundedGroupLoss, DemographicParity, FairRegressor, Frontier, MinimaxGroupLoss
from equipoise.exceptions import CheckpointWarning


class Counted(LinearRegression):
    fits = 0
    stop_at = None

    def fit(self, X, y, sample_weight=None):
        if type(self).fits == self.stop_at:
            raise RuntimeError("killed")
        type(self).fits += 1
        return super().fit(X, y, sample_weight=sample_weight)


def made():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, 200)
    X = np.column_stack([A + rng.normal(size=200), rng.normal(size=200)])
    return X, X[:, 0] + A * X[:, 1] + rng.normal(size=200), A


HERE = Path(__file__)
X, Y, A = made()
CONSTRAINTS = {
    "plugin": {"constraint": DemographicParity(0.1), "thresholds": 5, "cv": 3},
    "refit": {"constraint": DemographicParity(0.1), "thresholds": 5, "oracle": "refit"},
    "losses": {"constraint": MinimaxGroupLoss()},
    "frontier": {"constraint": BoundedGroupLoss(), "bounds": [1.75, 1.9]},
}


def fit(folder, which="losses", y=Y, stop_at=None, learner=None, **more):
    """Return a model, and how often the learner was trained for it."""
    Counted.fits, Counted.stop_at = 0, stop_at
    given = {**CONSTRAINTS[which], **more}
    kind = Frontier if "bounds" in given else FairRegressor
    model = kind(learner or Counted(), **given, max_iter=60, checkpoint=folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("error", CheckpointWarning)
        model.fit(X, y, sensitive_features=A)
    return model, Counted.fits


def outcome(model):
    if hasattr(model, "points_"):
        return [(point.error, point.mixture.weights.tolist()) for point in model.points_]
    return model.certificate_.error, model.predict_members(X).tolist()


@pytest.mark.filterwarnings("ignore:stopped")
@pytest.mark.parametrize("which", CONSTRAINTS)
def test_a_fit_that_was_ended_goes_on(which, tmp_path):
    plain, fits = fit(None, which)
    assert fits > 2
    with pytest.raises(RuntimeError, match="killed"):
        fit(tmp_path, which, stop_at=2)
    assert len(list(tmp_path.glob("answer-*"))) == 2
    again, rest = fit(tmp_path, which)
    assert rest == fits - 2
    assert outcome(again) == outcome(plain)
    assert fit(tmp_path, which)[1] == 0


@pytest.mark.parametrize(
    ("which", "more", "part"),
    [
        ("losses", {"y": -Y}, "data"),
        ("losses", {"loss": "absolute"}, "oracle"),
        ("losses", {"learner": LinearRegression(fit_intercept=False)}, "learner"),
        ("plugin", {"cv": 4}, "oracle"),
        ("plugin", {"group_estimator": LogisticRegression(C=0.1)}, "oracle"),
        ("refit", {"thresholds": 4}, "oracle"),
    ],
)
def test_another_fit_is_refused_with_what_differs(which, more, part, tmp_path):
    fit(tmp_path, which)
    with pytest.raises(ValueError, match=f"belongs to another fit: other {part}"):
        fit(tmp_path, which, **more)


@pytest.mark.parametrize("which", ["plugin", "losses"])
def test_damaged_files_are_named_and_made_again(which, tmp_path):
    model, _ = fit(tmp_path, which)
    path = sorted(tmp_path.glob("answer-*"))[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-20] + bytes(20))
    with pytest.raises(CheckpointWarning, match=path.name):
        fit(tmp_path, which)
    given = {**CONSTRAINTS[which], "max_iter": 60, "checkpoint": tmp_path}
    Counted.fits = 0
    with pytest.warns(CheckpointWarning, match="is damaged"):
        again = FairRegressor(Counted(), **given).fit(X, Y, sensitive_features=A)
    assert Counted.fits == 1
    assert outcome(again) == outcome(model)
    assert path.read_bytes()[:100] == whole[:100]


@pytest.mark.processes
def test_a_process_that_is_killed_leaves_whole_answers(tmp_path):
    script = """
        import os, signal, sys
        from pathlib import Path
        sys.path[:0] = sys.argv[2:]
        import test_checkpoints as here

        write = Path.write_bytes
        def die_while_writing(path, data):
            if len(list(path.parent.glob("answer-*"))) == 2:
                write(path, data[:50])
                os.kill(os.getpid(), signal.SIGKILL)
            return write(path, data)
        Path.write_bytes = die_while_writing
        here.fit(Path(sys.argv[1]), learner=here.LinearRegression())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), str(HERE.parent)]
    ended = subprocess.run(command, check=False, capture_output=True, env={**os.environ})
    assert ended.returncode == -9, ended.stderr
    assert len(list(tmp_path.glob("answer-*"))) == 2
    assert json.loads((tmp_path / "identity.json").read_text())["learner"]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("answer-*")}
    (plain, _), (again, _) = (
        fit(folder, learner=LinearRegression()) for folder in (None, tmp_path)
    )
    assert outcome(again) == outcome(plain)
    assert len(list(tmp_path.glob("answer-*"))) > 2
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
