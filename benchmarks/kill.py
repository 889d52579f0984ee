"""A fit that is killed again and again ends with the frontier of one that is left alone.

    python benchmarks/kill.py [--kills 20] [--seed 0] [--quick]

A process fits a frontier of 20 bounds with ``checkpoint=``: LightGBM on Adult, four groups,
equalized odds. It is sent SIGKILL at a moment of the fit that is drawn at random, and started
again, until it was killed ``--kills`` times; then it is left to finish. Points, mixtures and
decisions of the last process are compared with those of an undisturbed fit, byte by byte.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from _machine import machine, markdown_table


def problem(quick: bool) -> tuple[Any, Any, Any, Any, list[float]]:
    """Return a learner, the data and the bounds."""
    from sklearn.tree import DecisionTreeClassifier

    from equipoise.datasets import load_adult

    adult = load_adult()
    X, y, A = adult.data, adult.target, np.asarray(adult.sensitive["sex_race4"])
    if quick:
        some = slice(3000)
        tree = DecisionTreeClassifier(max_depth=5, random_state=0)
        return tree, X[some], y[some], A[some], [0.02, 0.1]
    from lightgbm import LGBMClassifier

    learner = LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)
    return learner, X, y, A, np.geomspace(0.001, 0.1, 20).tolist()


def fit(folder: Path, quick: bool) -> None:
    """Fit, in this process, and print what came out of it."""
    from equipoise import EqualizedOdds, Frontier

    warnings.simplefilter("ignore")
    learner, X, y, A, bounds = problem(quick)
    print("fitting", flush=True)
    start = time.perf_counter()
    frontier = Frontier(learner, EqualizedOdds(), bounds=bounds, checkpoint=folder)
    frontier.fit(X, y, sensitive_features=A)
    seconds = time.perf_counter() - start
    digest = blake2b(digest_size=16)
    for point in frontier.points_:
        numbers = [point.eps, point.error, point.disparity, point.lower, point.gap]
        numbers += point.mixture.weights.tolist()
        digest.update(np.array(numbers).tobytes())
        digest.update(frontier.at(point.eps).predict(X).tobytes())
    errors = [frontier.points_[0].error, frontier.points_[-1].error]
    found = {"digest": digest.hexdigest(), "errors": errors, "calls": frontier.n_calls_}
    print(json.dumps(found | {"seconds": seconds}), flush=True)


def start_fit(folder: Path, quick: bool) -> subprocess.Popen:
    command = [sys.executable, __file__, "--fit", str(folder), *(["--quick"] if quick else [])]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | one_thread)


def finish(process: subprocess.Popen) -> dict[str, Any]:
    output, _ = process.communicate()
    return json.loads(output.splitlines()[-1])


def kept(folder: Path) -> int:
    return len(list(folder.glob("answer-*.joblib")))


def kill_once(folder: Path, quick: bool, delay: float) -> tuple[bool, int, int, int]:
    """Start a fit and kill it; return whether it was, answers before and after, files cut off."""
    before = kept(folder)
    process = start_fit(folder, quick)
    assert process.stdout is not None
    assert process.stdout.readline() == "fitting\n"
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    partial = len(list(folder.glob("*.partial")))
    return process.returncode == -signal.SIGKILL, before, kept(folder), partial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="3 kills of a small fit")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        fit(asked.fit, asked.quick)
        return
    rng, kills = np.random.default_rng(asked.seed), 3 if asked.quick else asked.kills
    with tempfile.TemporaryDirectory() as temporary:
        alone, killed = Path(temporary) / "alone", Path(temporary) / "killed"
        undisturbed = finish(start_fit(alone, asked.quick))
        # Each process gets one share of the fit on average, so that most of it is killed.
        latest = 2 * undisturbed["seconds"] / kills
        rows: list[list[object]] = []
        while len(rows) < kills:
            delay = float(rng.uniform(0, latest))
            done, before, after, partial = kill_once(killed, asked.quick, delay)
            if not done:  # it was over before
                break
            rows.append([len(rows) + 1, f"{delay:.2f}", before, after, partial])
        last = finish(start_fit(killed, asked.quick))
    print(f"{machine()}\n")
    print(markdown_table(["kill", "after, s", "answers before", "after", "cut off"], rows))
    same = "the same" if last["digest"] == undisturbed["digest"] else "DIFFERENT"
    print(
        f"\n{len(rows)} kills. Points, mixtures and decisions are {same}.\n\n"
        + markdown_table(
            ["fit", "calls", "seconds", "error, tightest bound", "loosest", "digest"],
            [
                [name, found["calls"], f"{found['seconds']:.1f}"]
                + [f"{error:.6f}" for error in found["errors"]]
                + [found["digest"]]
                for name, found in (("undisturbed", undisturbed), ("killed, last process", last))
            ],
        )
    )
    sys.exit(last["digest"] != undisturbed["digest"])


if __name__ == "__main__":
    main()
