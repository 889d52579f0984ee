"""More than two labels: random problems against a linear program, and two data sets.

    python benchmarks/multiclass.py --problems 1000
    python benchmarks/multiclass.py --calls 5000
    python benchmarks/multiclass.py --data communities --learner logistic
    python benchmarks/multiclass.py --data diabetes130 --learner lightgbm --seeds 5
    python benchmarks/multiclass.py --data communities --splits linearpost --learner lightgbm
    python benchmarks/multiclass.py --data communities --peer PYTHON --peer-bounds 0.001 0.1

The first compares the game with the linear program over the whole class, for problems of 2 to 6
labels and 2 to 5 groups, ten notions in turn, with and without weights, costs of pairs of label and
decision, and control features, impossible ones included. The others bound the rate of every
decision between every pair of groups: accuracy and the largest such difference on people set apart,
in expectation over the draw, computed from raw arrays. Beside them the class that is most frequent,
and the chord: what mixing the unconstrained model with that class would do at the same difference.

"Program" is a linear program in the way of LinearPost (Xian and Zhao), written here:
probabilities of label and group from one half of the people to fit, and prices from a program over
the other half. ``--race`` leaves the shares of races of Communities among the features; the group
itself is not given to any of these models either way. ``--splits linearpost`` takes columns,
learners and rows of LinearPost's own notebook, of which ``Plugin()`` gets both parts to fit.

``--peer PYTHON`` adds MLDebiaser of holisticai (Alabdulmohsin and Lucic), with its own defaults,
run by a Python that has that package (``pip install "holisticai[bias]"``). It is given more than
the others: the groups of the people set apart, all of whom it looks at before it decides on any.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _linearpost import LinearPost, notebook_learner, notebook_split, read_notebook
from _machine import machine, markdown_table, parse
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from equipoise import DemographicParity, Frontier
from equipoise.cells import Cells
from equipoise.oracles import Plugin, Refit
from equipoise.oracles.trainers import Trainer, choose_trainer

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

#: Features, labels, groups, and the person of each row.
Data = tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]
BOUNDS = (0.001, 0.02, 0.05, 0.1, 0.2, 0.4)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=0)
    parser.add_argument("--calls", type=int, default=0, help="rows of calls that are timed")
    parser.add_argument("--data", choices=["communities", "diabetes130"])
    parser.add_argument("--learner", choices=["logistic", "lightgbm"], default="logistic")
    parser.add_argument("--splits", choices=["own", "linearpost"], default="own")
    parser.add_argument("--oracle", choices=["plugin", "refit"], default="plugin")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--race", action="store_true")
    parser.add_argument("--nu", type=float, help="the gap at which to stop")
    parser.add_argument("--peer", help="a Python that has holisticai")
    parser.add_argument("--peer-bounds", type=float, nargs="*", default=[0.001, 0.1])
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("EQUIPOISE_DATA", ".")))
    options = parse(parser, problems=10, calls=500)
    if options.splits == "linearpost" and (options.data != "communities" or options.race):
        parser.error("--splits linearpost is for --data communities, without --race")
    print(machine(), flush=True)
    if options.problems:
        random_problems(options.problems)
    if options.calls:
        soft_calls(options.calls)
    if options.data:
        data_set(options)


def soft_calls(n: int, n_calls: int = 4) -> None:
    """Time calls with soft labels against calls with copies of rows, in turns."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(n, 20)), rng.integers(0, 4, n)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * group + rng.normal(size=n), [0, 1, 2, 3])
    cells = Cells.from_columns(y, {"group": group}, decisions=tuple("abcde"))
    _, base = cells.total((cells.label[:, None] != np.arange(5)).astype(float))
    rows = []
    for name, one in (
        ("logistic regression", LogisticRegression(max_iter=500)),
        ("LightGBM", LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)),
        ("XGBoost", XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1)),
    ):
        trainer, seconds, alike = choose_trainer(one, X), np.zeros((2, n_calls)), []
        for call in range(n_calls):
            asked = cells.relabel_rows(base + 0.05 * call * rng.normal(size=base.shape))
            decided = []
            for way, fit in enumerate((trainer.fit_soft, partial(Trainer.fit_soft, trainer))):
                start = time.process_time()
                trained = fit(asked)
                told = trained.selected
                decided.append(trained.classifier.predict(X) if told is None else told)
                seconds[way, call] = time.process_time() - start
                if way == 0:
                    trainer.start_from(trained.classifier)
            alike.append((decided[0] == decided[1]).mean())
        first, later = seconds[:, 0], np.median(seconds[:, 1:], axis=1)
        rows.append([name, *(f"{v:.2f}" for v in (*first, *later)), f"{np.mean(alike):.4f}"])
    print(f"{n:,} rows, 20 features, 5 labels, 4 groups; CPU seconds of the first and later calls.")
    names = ["learner", "first, soft", "first, copies", "later, soft", "later, copies"]
    print(markdown_table([*names, "same decisions"], rows))


def random_problems(n: int) -> None:
    """Compare the game with the program over the whole class."""
    from labelled_problems import NOTIONS, LabelledProblem

    start, worst, slack = time.process_time(), 0.0, 0.0
    labels, impossible = np.zeros(7, dtype=int), dict.fromkeys(NOTIONS, 0)
    for seed in range(n):
        problem = LabelledProblem(seed)
        best, least = problem.optimum()
        found = problem.solved()
        labels[problem.V] += 1
        slack = max(slack, abs(found.least_slack - max(least, 0.0)))
        if best is None:
            impossible[problem.notion] += 1
        else:
            worst = max(worst, abs(found.error - best), abs(found.lower - best), found.violation)
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1}: worst {worst:.1e}, slack {slack:.1e}", flush=True)
    print(
        f"{n} problems of {', '.join(f'{v} labels ({labels[v]})' for v in range(2, 7))}: error, "
        f"lower value and violation within {worst:.1e} of the program; "
        f"{sum(impossible.values())} impossible ones, least slack within {slack:.1e}; "
        f"{time.process_time() - start:.0f} CPU seconds. Impossible by notion: "
        f"{', '.join(f'{notion} {k}' for notion, k in impossible.items())}."
    )


def communities(folder: Path, race: bool) -> Data:
    """Return features, without race or with it, five labels, four groups, and each row's number."""
    table = pd.read_parquet(folder / "communities.parquet")
    columns = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    left_out = ["ViolentCrimesPerPop", "label5", "group4", "majority_white"]
    left_out += [] if race else columns
    X = table.drop(columns=left_out)
    X = X.loc[:, X.isna().mean() < 0.5]
    return X.fillna(X.mean()), *_arrays(table, "label5", "group4"), np.arange(len(X))


def diabetes130(folder: Path) -> Data:
    """Return features without race, three labels, four groups of race, and each row's patient."""
    table = pd.read_parquet(folder / "diabetes130.parquet")
    table["race"] = table["race"].astype(object).fillna("Other").replace("Asian", "Other")
    left_out = ["encounter_id", "patient_nbr", "race", "readmitted", "label", "weight"]
    X = table.drop(columns=[*left_out, "diag_1", "diag_2", "diag_3", "examide", "citoglipton"])
    for name in X.select_dtypes("category"):
        X[name] = X[name].astype(str)
    return X, *_arrays(table, "readmitted", "race"), table["patient_nbr"].to_numpy()


def _arrays(table: pd.DataFrame, label: str, group: str) -> tuple[np.ndarray, np.ndarray]:
    return table[label].to_numpy(), table[group].astype(object).to_numpy()


def learner(name: str) -> Any:
    """Return the learner, behind an encoder of text."""
    text = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=100)
    encoder = make_column_transformer(
        (text, make_column_selector(dtype_include=object)),
        remainder=StandardScaler(),
        sparse_threshold=0.0,
    )
    encoder.set_output(transform="default")
    last: Any = LogisticRegression(max_iter=200)
    if name == "lightgbm":
        last = LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
    return make_pipeline(encoder, last)


def data_set(options: argparse.Namespace) -> None:
    """Trace a frontier on each split, and print means over the splits."""
    X, y, A, unit = _read(options)
    as_theirs = options.splits == "linearpost"
    one = notebook_learner(options.learner) if as_theirs else learner(options.learner)
    oracle = Refit(cv=3) if options.oracle == "refit" else Plugin() if as_theirs else Plugin(cv=3)
    peers: dict[float, list[tuple[float, ...]]] = {}
    found: dict[float, list[tuple[float, ...]]] = {}
    plain, majority, seconds = [], [], []
    for seed in range(33, 33 + options.seeds):
        fit, first, second, test = _split(options, y, unit, seed)
        start = time.process_time()
        frontier = Frontier(
            one,
            DemographicParity(reference="pairwise"),
            bounds=BOUNDS,
            oracle=oracle,
            nu=options.nu,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frontier.fit(X.iloc[fit], y[fit], sensitive_features=A[fit])
        seconds.append(time.process_time() - start)
        free = frontier.at(1.0)
        plain.append(measured(free, X.iloc[test], y[test], A[test]))
        values, counts = np.unique(y[fit], return_counts=True)
        majority.append(float((y[test] == values[counts.argmax()]).mean()))
        post = LinearPost(one, X, y, A, first, second, joint=as_theirs)
        for eps in BOUNDS:
            accuracy, gap = measured(frontier.at(eps), X.iloc[test], y[test], A[test])
            theirs = measured(post.at(eps), X.iloc[test], y[test], A[test])
            share = min(gap / plain[-1][1], 1.0)
            chord = majority[-1] + share * (plain[-1][0] - majority[-1])
            found.setdefault(eps, []).append((accuracy, gap, chord, *theirs))
        if options.peer:
            people = X.iloc[fit], y[fit], X.iloc[test], y[test], A[test]
            for eps, decided in peer(options, *people).items():
                peers.setdefault(eps, []).append(decided)
        print(f"split {seed}: {seconds[-1]:.0f} CPU s, {frontier.n_calls_} calls", flush=True)
    _print(options, found, peers, np.array(plain), np.array(majority), len(fit), len(test), seconds)


def _read(options: argparse.Namespace) -> Data:
    if options.splits == "linearpost":
        X, y, A = read_notebook(options.folder)
        return X, y, A, np.arange(len(y))
    if options.data == "communities":
        return communities(options.folder, options.race)
    return diabetes130(options.folder)


def _split(
    options: argparse.Namespace, y: np.ndarray, unit: np.ndarray, seed: int
) -> tuple[np.ndarray, ...]:
    """Return the rows to fit, the two parts of them that the program gets, and those to test."""
    rows = np.arange(len(y))
    if options.splits == "linearpost":
        first, second, test = notebook_split(len(y), seed)
        return np.union1d(first, second), first, second, test
    if options.data == "communities":
        fit, test = train_test_split(rows, train_size=0.7, random_state=seed)
    else:
        splits = GroupShuffleSplit(1, train_size=0.2, random_state=seed)
        fit, test = next(splits.split(rows, groups=unit))
    first, second = train_test_split(fit, test_size=0.5, random_state=seed)
    return fit, first, second, test


def measured(model: Any, X: Any, y: np.ndarray, A: np.ndarray) -> tuple[float, float]:
    """Return accuracy and the largest difference of a decision's rate between two groups."""
    return _of_decisions(model.predict_proba(X), model.classes_, y, A)


def peer(
    options: argparse.Namespace, X: Any, y: np.ndarray, X_test: Any, y_test: Any, A_test: Any
) -> dict[float, tuple[float, ...]]:
    """Return the same of the peer's decisions, and of draws by its probabilities, by bound."""
    model = learner(options.learner).fit(X, y)
    chance, group = model.predict_proba(X_test), np.unique(A_test, return_inverse=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, chance=chance, group=group, bounds=options.peer_bounds)
        script = Path(__file__).with_name("_holisticai.py")
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([options.peer, script, given, found], check=True, env=bare)
        decided = dict(np.load(found))
    one_hot = np.eye(chance.shape[1])[decided["y_pred"]]
    return {
        eps: (
            *_of_decisions(one_hot[at], model.classes_, y_test, A_test),
            *_of_decisions(decided["y_proba"][at], model.classes_, y_test, A_test),
        )
        for at, eps in enumerate(options.peer_bounds)
    }


def _of_decisions(
    pmf: np.ndarray, classes: np.ndarray, y: np.ndarray, A: np.ndarray
) -> tuple[float, float]:
    right = pmf[np.arange(len(y)), np.searchsorted(classes.astype(str), y.astype(str))]
    rates = np.array([pmf[group == A].mean(axis=0) for group in np.unique(A)])
    return float(right.mean()), float(np.ptp(rates, axis=0).max())


def _print(
    options: argparse.Namespace,
    found: dict[float, list[tuple[float, ...]]],
    peers: dict[float, list[tuple[float, ...]]],
    plain: np.ndarray,
    majority: np.ndarray,
    n_fit: int,
    n_test: int,
    seconds: list[float],
) -> None:
    race = ", race among the features" if options.race else ""
    race += ", LinearPost's splits" if options.splits == "linearpost" else ""
    race += "" if options.nu is None else f", nu={options.nu:g}"
    print(
        f"\n{options.data}, {options.learner}{race}, {options.oracle}, "
        f"{options.seeds} splits: {n_fit:,} to fit and {n_test:,} to test; "
        f"{np.mean(seconds):.0f} CPU seconds a frontier of "
        f"{len(BOUNDS)} bounds. Majority class {majority.mean():.4f} at 0; without constraint "
        f"{plain[:, 0].mean():.4f} at {plain[:, 1].mean():.3f}."
    )
    rows = []
    for eps, each in found.items():
        accuracy, gap, chord, theirs, their_gap = np.array(each).T
        rows.append(
            [
                f"{eps:g}",
                _mean(gap, 3),
                _mean(accuracy, 4),
                f"{chord.mean():.4f}",
                _mean(their_gap, 3),
                _mean(theirs, 4),
            ]
        )
    names = ["asked", "difference on test", "accuracy", "chord there", "program: difference"]
    print(markdown_table([*names, "program: accuracy"], rows))
    for eps, pairs in peers.items():
        accuracy, gap, drawn, drawn_gap = np.array(pairs).T
        print(
            f"holisticai, asked {eps:g}: {_mean(accuracy, 4)} at {_mean(gap, 3)}; drawn by its "
            f"probabilities {_mean(drawn, 4)} at {_mean(drawn_gap, 3)}"
        )


def _mean(values: np.ndarray, digits: int) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
