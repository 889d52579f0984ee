"""Checkpoints: only whole answers of the same fit are used, and several processes may share one."""

import json
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from people import make_people
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from equipoise import DemographicParity, ExponentiatedGradient, FairClassifier, Frontier, GridSearch
from equipoise.exceptions import CheckpointWarning

PEOPLE = make_people(400)


class Counted(DecisionTreeClassifier):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight=sample_weight)


def fit(folder, learner=None, X=PEOPLE.X, y=PEOPLE.y, **how):
    """Return a model and how often a tree was trained for it."""
    Counted.fits = 0
    learner = Counted(max_depth=3, random_state=0) if learner is None else learner
    fair = FairClassifier(learner, DemographicParity(eps=0.02), checkpoint=folder, **how)
    fair.fit(X, y, sensitive_features=PEOPLE.A)
    return fair, Counted.fits


def answers(folder):
    return sorted(folder.glob("answer-*.joblib"))


@pytest.fixture
def kept(tmp_path):
    """Return a checkpoint, the model that left it, and how often the tree was trained."""
    model, fits = fit(tmp_path)
    assert len(answers(tmp_path)) == fits > 2
    return tmp_path, model, fits


def test_a_second_fit_trains_nothing(kept):
    folder, model, _ = kept
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        again, fits = fit(folder)
    assert fits == 0
    assert (again.predict_proba(PEOPLE.X) == model.predict_proba(PEOPLE.X)).all()


def damaged_bit(data):
    changed = bytearray(data)
    changed[len(data) // 2] ^= 4
    return bytes(changed)


DAMAGES = {
    "a flipped bit": damaged_bit,
    "a flipped bit of the checksum": lambda data: (
        data.replace(b"\n", b"\n", 1)[:90] + bytes([data[90] ^ 1]) + data[91:]
    ),
    "cut off": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "text": lambda data: b"hello",
    "longer": lambda data: data + b"0",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_named_and_made_again(kept, name):
    folder, model, _ = kept
    path = answers(folder)[1]
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[name](whole))
    with pytest.warns(CheckpointWarning, match=path.name):
        again, fits = fit(folder)
    assert fits == 1
    assert (again.predict_proba(PEOPLE.X) == model.predict_proba(PEOPLE.X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        assert fit(folder)[1] == 0  # it is whole again


def test_bit_flips_anywhere_change_nothing(kept):
    folder, model, _ = kept
    rng = np.random.default_rng(0)
    files = answers(folder)
    for number in range(12):
        path = files[number % len(files)]
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        with pytest.warns(CheckpointWarning, match=path.name):
            again, _ = fit(folder)
        assert (again.predict_proba(PEOPLE.X) == model.predict_proba(PEOPLE.X)).all()
        assert again.certificate_.error == model.certificate_.error


class Planted:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (Planted.folder,)


def test_a_pickle_without_a_checksum_is_not_touched(kept, tmp_path):
    folder, _, _ = kept
    Planted.folder = str(tmp_path / "planted")
    path = answers(folder)[0]
    joblib.dump(Planted(), path)
    with pytest.warns(CheckpointWarning, match="is no answer of a checkpoint"):
        fit(folder)
    assert not Path(Planted.folder).exists()


IDENTITIES = {"empty": "", "text": "[1", "deep": "[" * 100_000}


@pytest.mark.parametrize("how", ["lost", *IDENTITIES])
def test_without_its_identity_answers_of_another_fit_are_left_alone(kept, how):
    folder, _, _ = kept
    path = folder / "identity.json"
    path.unlink() if how == "lost" else path.write_text(IDENTITIES[how])
    other = 1 - PEOPLE.y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        resumed, _ = fit(folder, y=other)
    named = [str(w.message) for w in caught if issubclass(w.category, CheckpointWarning)]
    fresh, _ = fit(None, y=other)
    assert (resumed.predict_proba(PEOPLE.X) == fresh.predict_proba(PEOPLE.X)).all()
    assert how == "lost" or "identity.json is damaged" in named[0]
    assert json.loads(path.read_text())["data"]


FRAME = pd.DataFrame(PEOPLE.X).add_prefix("x")
OTHERS = {
    "learner": {"learner": Counted(max_depth=4, random_state=0)},
    "oracle": {"oracle": "best_of"},
    "data": {"y": 1 - PEOPLE.y},
    "columns": {"X": FRAME.rename(columns={"x0": "age"})},
}


@pytest.mark.parametrize("part", OTHERS)
def test_another_fit_is_refused_with_what_differs(part, tmp_path):
    fit(tmp_path, X=FRAME)
    with pytest.raises(ValueError, match=f"belongs to another fit: other {part}"):
        fit(tmp_path, **{"X": FRAME, **OTHERS[part]})


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "people.csv").write_text("age")
    with pytest.raises(ValueError, match="a file; expected a folder"):
        fit(tmp_path / "people.csv")


def test_other_versions_are_refused_by_name(kept):
    folder, _, _ = kept
    path = folder / "identity.json"
    identity = json.loads(path.read_text())
    identity["versions"]["sklearn"] = "0.1"
    path.write_text(json.dumps(identity))
    with pytest.raises(ValueError, match=r"other versions: sklearn 0\.1, not "):
        fit(folder)


def test_weights_that_are_all_the_same_are_no_other_data(kept):
    folder, _, _ = kept
    fair = FairClassifier(
        Counted(max_depth=3, random_state=0), DemographicParity(eps=0.02), checkpoint=folder
    )
    Counted.fits = 0
    weights = np.full(len(PEOPLE.y), 2.0)
    fair.fit(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.A, sample_weight=weights)
    assert Counted.fits == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_members_share_their_transformers_after_a_resume(tmp_path, n_jobs):
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    for _ in range(2):
        frontier = Frontier(
            learner, DemographicParity(), bounds=[0.01, 0.05], checkpoint=tmp_path, n_jobs=n_jobs
        )
        frontier.fit(PEOPLE.X, PEOPLE.y, sensitive_features=PEOPLE.A)
        found = [h for h in frontier.pool_.classifiers if hasattr(h, "classifier")]
        scalers = [member.classifier.steps[0][1] for member in found]
        assert len(scalers) > 1
        assert all(scaler is scalers[0] for scaler in scalers)


@pytest.mark.processes
def test_processes_share_a_folder(tmp_path):
    script = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[2])
        from people import make_people
        from sklearn.tree import DecisionTreeClassifier
        from equipoise import DemographicParity, FairClassifier

        p = make_people(400)
        tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        fair = FairClassifier(tree, DemographicParity(eps=0.02), checkpoint=sys.argv[1])
        fair.fit(p.X, p.y, sensitive_features=p.A)
        print(fair.predict_proba(p.X)[:, 1].tolist())
        """
    )
    here = str(Path(__file__).parents[1])
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path), here]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], printed
    assert len({out for out, _ in printed}) == 1
    assert not list(tmp_path.glob(".*partial"))


def test_checkpoint_of_a_grid_is_read_again(people, tmp_path):
    tree = Counted(max_depth=2, random_state=0)
    plain = GridSearch(tree, DemographicParity(eps=0.3), grid_size=5)
    kept = clone(plain).set_params(checkpoint=tmp_path)
    for grid in (plain, kept):
        grid.fit(people.X, people.y, sensitive_features=people.A)
    fits = Counted.fits
    again = clone(kept).fit(people.X, people.y, sensitive_features=people.A)
    assert Counted.fits == fits
    assert [c.error for c in again.candidates_] == [c.error for c in plain.candidates_]
    assert again.predict(people.X).tolist() == plain.predict(people.X).tolist()


@pytest.mark.parametrize("kind", [FairClassifier, ExponentiatedGradient])
def test_checkpoint_keeps_what_was_trained(people, tmp_path, kind):
    def fitted(**more):
        tree = Counted(max_depth=2, random_state=0)
        clf = kind(tree, DemographicParity(eps=0.02), max_iter=8, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clf.fit(people.X, people.y, sensitive_features=people.A)

    plain = fitted()
    fitted(checkpoint=tmp_path, callback=lambda each: each.iteration == 2)
    kept, fits = len(list(tmp_path.glob("answer-*.joblib"))), Counted.fits
    assert kept > 0
    again = fitted(checkpoint=tmp_path)
    written = len(list(tmp_path.glob("answer-*.joblib")))
    assert Counted.fits - fits <= written - kept  # what is there is not trained again
    assert again.certificate_.error == plain.certificate_.error
    assert again.predict(people.X).tolist() == plain.predict(people.X).tolist()
