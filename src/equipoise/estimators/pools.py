"""Pools of a fit: answers several at a time, and answers that survive their process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import joblib
from joblib import Parallel, delayed

from equipoise.atomic_files import new_file
from equipoise.cells.table import Array
from equipoise.engines.base import Engine
from equipoise.exceptions import EngineError
from equipoise.game.pool import Oracle, Pool, Respond, Response, key_of, one_by_one


def open_pool(
    engine: Engine, how: Any, checkpoint: str | Path | None, n_jobs: int | None
) -> tuple[Pool, AbstractContextManager]:
    """Return an empty pool, and the context in which it may be asked.

    Parameters
    ----------
    how : object
        What an answer depends on besides data and costs: the learner and the oracle.
    checkpoint : str, Path or None
        Where answers are kept; an engine that may lose its workers keeps them in any case.
    """
    at_a_time = engine.fits_at_a_time(n_jobs)
    train = in_parallel(at_a_time) if at_a_time > 1 else one_by_one
    if checkpoint is None and not engine.keeps_answers:
        return Pool(train), nullcontext()
    kept = Checkpoint(checkpoint, fingerprint(how, engine))
    return Pool(kept.responder(train)), kept


def in_parallel(n_jobs: int) -> Respond:
    """Return a function that puts a list of costs to an oracle, ``n_jobs`` at a time."""

    def respond(oracle: Oracle, costs: list[Array]) -> Sequence[Response]:
        return Parallel(n_jobs=n_jobs)(delayed(oracle.best_response)(c) for c in costs)

    return respond


class Checkpoint:
    """A folder that keeps each answer of an oracle, so that it is never trained again.

    What a solver asks depends on the answers alone, so one that starts over asks the same
    questions, finds them answered, and goes on where the last process ended, however it did. Used
    as a context, it says where the answers are if the engine fails, and removes a temporary folder
    otherwise.

    Parameters
    ----------
    folder : str or Path, optional
        Made if it does not exist. None is a new temporary folder.
    identity : str
        What the answers belong to, see `fingerprint`; a folder of something else is refused.
    """

    def __init__(self, folder: str | Path | None, identity: str) -> None:
        self.is_temporary = folder is None
        self.folder = Path(mkdtemp(prefix="equipoise-") if folder is None else folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_identity(identity)
        self._answers: dict[bytes, Response] = {}
        for path in sorted(self.folder.glob("answer-*.joblib")):
            key, response = joblib.load(path)
            self._answers[key] = Response(*response)

    def responder(self, train: Respond) -> Respond:
        """Return a function that answers from the folder, and trains for new costs only."""

        def respond(oracle: Oracle, costs: list[Array]) -> Iterator[Response]:
            new = [c for c in costs if key_of(c) not in self._answers]
            for c, response in zip(new, train(oracle, new), strict=True):
                self._write(key_of(c), response)
            yield from (self._answers[key_of(c)] for c in costs)

        return respond

    def _write(self, key: bytes, response: Response) -> None:
        self._answers[key] = response
        path = self.folder / f"answer-{len(self._answers):05d}.joblib"
        with new_file(path, overwrite=True) as partial:
            joblib.dump((key, tuple(response)), partial)

    def _check_identity(self, identity: str) -> None:
        path = self.folder / "identity"
        if not path.exists():
            path.write_text(identity)
        elif path.read_text() != identity:
            raise ValueError(
                f"the checkpoint in {self.folder} belongs to other data or another learner. Name "
                "another folder, or delete this one to start over."
            )

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, EngineError):
            raise EngineError(
                f"{error} The {len(self._answers)} classifiers found until then are kept: "
                f"checkpoint={str(self.folder)!r} goes on from there."
            ) from error
        if self.is_temporary:
            rmtree(self.folder, ignore_errors=True)


def fingerprint(how: Any, engine: Engine) -> str:
    """Return a digest of all that an answer depends on besides the costs: how, and on what."""
    digest = blake2b(digest_size=16)
    digest.update(repr(how).encode())
    for part in engine.identity():
        digest.update(part)
    return digest.hexdigest()
