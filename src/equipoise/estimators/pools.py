"""Pools of a fit: answers several at a time, and answers that survive their process."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.pipeline import Pipeline

from equipoise.atomic_files import TemporaryFolder, naming_target, new_file
from equipoise.cells.table import Array
from equipoise.engines.base import Engine
from equipoise.engines.numbers import NumberRows
from equipoise.estimators.identity import Identity
from equipoise.exceptions import CheckpointWarning, EngineError
from equipoise.game.rounds import Oracle, Pool, Respond, Response, key_of
from equipoise.oracles.regression import Keep


def open_pool(
    engine: Engine, how: tuple[Any, Any], checkpoint: str | Path | None, at_a_time: int
) -> tuple[Pool, AbstractContextManager]:
    """Return an empty pool, and the context in which it may be asked.

    Parameters
    ----------
    how : pair of learner and OracleSpec
        What an answer depends on besides data and costs.
    checkpoint : str, Path or None
        Where answers are kept; an engine that may lose its workers keeps them in any case.
    """
    train = in_parallel(at_a_time) if at_a_time > 1 else None
    if checkpoint is None and not engine.keeps_answers:
        return Pool(train), nullcontext()
    kept = Checkpoint(checkpoint, identity_of(engine, *how))
    return Pool(kept.responder(train)), kept


def open_fits(
    rows: NumberRows, how: tuple[Any, Any], checkpoint: str | Path | None
) -> tuple[Respond | None, Keep, AbstractContextManager]:
    """Return how queries are put to an oracle, how named fits are made, and the context for both.

    The parameters are those of `open_pool`.
    """
    if checkpoint is None and not rows.keeps_answers:
        return None, lambda name, train: train(), nullcontext()
    kept = Checkpoint(checkpoint, identity_of(rows, *how))
    return kept.responder(), kept.keep, kept


def in_parallel(n_jobs: int) -> Respond:
    """Return a function that puts a list of costs to an oracle, ``n_jobs`` at a time."""

    share = TransformerSharing()

    def respond(oracle: Oracle, costs: list[Array]) -> Sequence[Response]:
        found = Parallel(n_jobs=n_jobs)(delayed(oracle.best_response)(c) for c in costs)
        for response in found:
            share(response.classifier)
        return found

    return respond


class TransformerSharing:
    """Lets classifiers that come from files or other processes share their transformers again.

    Each of them has come with a copy of its own, which would be kept, and applied, many times.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, classifier: Any) -> None:
        """Replace transformers by equal ones that were met before."""
        if type(classifier) is Pipeline:
            *before, (name, last) = classifier.steps
            classifier.steps = [(step, self._first(value)) for step, value in before]
            classifier.steps.append((name, last))
        elif hasattr(classifier, "transformer"):
            classifier.transformer = self._first(classifier.transformer)
        if (inner := getattr(classifier, "classifier", None)) is not None:
            self(inner)

    def _first(self, transformer: Any) -> Any:
        return self._known.setdefault(Identity(transformer, fitted=True).digest, transformer)


_MAGIC = b"equipoise answer 1\n"
_WORDS = {
    "data": "data (values, labels, groups or weights)",
    "columns": "columns (their names or types, or the kind of table)",
    "learner": "learner or parameters of it",
    "oracle": "oracle or parameters of it",
}


class Checkpoint:
    """A folder that keeps each answer of an oracle, so that it is never trained again.

    What a solver asks depends on the answers alone, so one that starts over asks the same
    questions, finds them answered, and goes on where the last process ended, however it did. Used
    as a context, it says where the answers are if the engine fails, and removes a temporary folder
    otherwise.

    An answer has a file, named by its question: the identity of the fit, a checksum, and a pickle,
    which is not touched unless both are right. Files are written whole or not at all, so that
    several processes may use one folder; they find each other's answers.

    Parameters
    ----------
    folder : str or Path, optional
        Made if it does not exist. None is a new temporary folder.
    identity : dict
        What the answers belong to, see `identity_of`; a folder of something else is refused.
    """

    def __init__(self, folder: str | Path | None, identity: dict[str, Any]) -> None:
        self._temporary: TemporaryFolder | None = None
        if folder is None:
            self._temporary = TemporaryFolder("answers")
            folder = self._temporary.path
        self.folder = Path(folder)
        if self.folder.is_file():
            raise ValueError(f"checkpoint is {str(self.folder)!r}, a file; expected a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_identity(identity)
        text = json.dumps(identity, sort_keys=True).encode()
        self._header = _MAGIC + sha256(text).hexdigest().encode() + b"\n"
        self._answers: dict[bytes, Response] = {}
        self._share = TransformerSharing()

    def responder(self, train: Respond | None = None) -> Respond:
        """Return a function that answers from the folder, and trains for new costs only."""

        def respond(oracle: Oracle, costs: list[Array]) -> Iterator[Response]:
            new = [c for c in costs if not self._knows(key_of(c))]
            found = map(oracle.best_response, new) if train is None else train(oracle, new)
            for c, response in zip(new, found, strict=True):
                self._write(key_of(c), response)
            yield from (self._answers[key_of(c)] for c in costs)

        return respond

    def keep(self, name: str, train: Callable[[], Any]) -> Any:
        """Return the result of a fit of this name: from the folder, or trained now and kept."""
        if not self._knows(key := name.encode()):
            self._write(key, Response(train(), np.zeros(0)))
        return self._answers[key].classifier

    def _path(self, key: bytes) -> Path:
        return self.folder / f"answer-{blake2b(key, digest_size=16).hexdigest()}.joblib"

    def _write(self, key: bytes, response: Response) -> None:
        self._answers[key] = response
        held = io.BytesIO()
        joblib.dump((key, tuple(response)), held)
        checksum = sha256(self._header + held.getvalue()).hexdigest().encode()
        with new_file(self._path(key), overwrite=True) as partial:
            partial.write_bytes(self._header + checksum + b"\n" + held.getvalue())

    def _knows(self, key: bytes) -> bool:
        """Whether there is an answer, in this process or in the folder."""
        if key in self._answers:
            return True
        path = self._path(key)
        try:
            found = self._read(path.read_bytes())
        except FileNotFoundError:
            return False
        except Exception as error:  # unpickling raises whatever it comes to
            words = str(error) or type(error).__name__
            return _warn(f"{path} {words}. Its classifier is trained again, and the file replaced.")
        if found[0] != key:
            return _warn(f"{path} answers another query. Its classifier is trained again.")
        self._answers[key] = Response(*found[1])
        self._share(self._answers[key].classifier)
        return True

    def _read(self, data: bytes) -> tuple[bytes, tuple]:
        header, rest = data[: len(self._header)], data[len(self._header) :]
        checksum, content = rest[:64], rest[65:]
        if not header.startswith(_MAGIC) or len(rest) < 65:
            raise ValueError("is no answer of a checkpoint, or is cut off")
        if sha256(header + content).hexdigest().encode() != checksum:
            raise ValueError("is damaged: its checksum is another")
        if header != self._header:
            raise ValueError("belongs to another fit")
        try:
            return joblib.load(io.BytesIO(content))
        except Exception as error:
            raise ValueError(f"cannot be read by this program ({error})") from error

    def _check_identity(self, identity: dict[str, Any]) -> None:
        path = self.folder / "identity.json"
        with suppress(FileExistsError), new_file(path) as partial:
            partial.write_text(json.dumps(identity, indent=1))
        with naming_target(path):
            text = path.read_bytes()
        try:
            found = dict(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            _warn(f"{path} is damaged, and replaced. Answers of another fit will be left alone.")
            with new_file(path, overwrite=True) as partial:
                partial.write_text(json.dumps(identity, indent=1))
            return
        if other := [_WORDS[part] for part in _WORDS if found.get(part) != identity[part]]:
            raise ValueError(
                f"the checkpoint in {self.folder} belongs to another fit: other "
                f"{', other '.join(other)}. Name another folder, or delete this one to start over."
            )
        if found != identity:
            raise ValueError(
                f"the checkpoint in {self.folder} was made with other versions: "
                f"{_differences(found.get('versions'), identity['versions'])}. Install these, "
                "name another folder, or delete this one to start over."
            )

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, EngineError):
            if self._temporary is not None:
                self._temporary.keep()
            raise EngineError(
                f"{error} The {len(self._answers)} classifiers found until then are kept: "
                f"checkpoint={str(self.folder)!r} goes on from there."
            ) from error
        if self._temporary is not None:
            self._temporary.remove()


def identity_of(engine: Engine | NumberRows, learner: Any, oracle: Any) -> dict[str, Any]:
    """Return digests of all that an answer depends on besides the costs, and library versions."""
    data = blake2b(digest_size=16)
    for part in engine.identity():
        data.update(len(part).to_bytes(8, "little") + part)
    learned = Identity(learner, fitted=isinstance(learner, (list, tuple)))
    return {
        "data": data.hexdigest(),
        "columns": Identity(engine.columns()).digest,
        "learner": learned.digest,
        "oracle": Identity(oracle).digest,
        "versions": learned.versions(),
    }


def _differences(then: Any, now: dict[str, str]) -> str:
    then = then if isinstance(then, dict) else {}
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return ", ".join(f"{name} {then.get(name, 'unknown')}, not {now.get(name)}" for name in changed)


def _warn(text: str) -> bool:
    warnings.warn(text, CheckpointWarning, stacklevel=2)
    return False
