"""A pool that survives its process: every classifier is on disk as soon as it is trained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import joblib

from equipoise.cells.rows import Array
from equipoise.engines import Engine
from equipoise.exceptions import EngineError
from equipoise.game.pool import Oracle, Pool, Respond, Response, key_of, one_by_one


class CheckpointedPool(Pool):
    """A pool that writes each answer of the oracle to a folder, and never asks for it again.

    What an algorithm asks depends on the answers alone, so one that starts over asks the same
    questions, finds them answered, and goes on where the last process ended, however it did. A
    file is written under another name first and then renamed: it is there whole or not at all.

    Parameters
    ----------
    folder : str or Path, optional
        Made if it does not exist. None is a new folder among the temporary ones, see `keeping`.
    identity : str
        What the answers belong to, see `fingerprint`; a folder of something else is refused.
    respond : callable, optional
        As for `Pool`.
    """

    def __init__(
        self, folder: str | Path | None, identity: str, respond: Respond | None = None
    ) -> None:
        super().__init__(self._remembered)
        self._train = respond or one_by_one
        self.is_temporary = folder is None
        self.folder = Path(mkdtemp(prefix="equipoise-") if folder is None else folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_identity(identity)
        self._answers: dict[bytes, Response] = {}
        for path in sorted(self.folder.glob("answer-*.joblib")):
            key, response = joblib.load(path)
            self._answers[key] = Response(*response)

    def _remembered(self, oracle: Oracle, costs: list[Array]) -> Iterator[Response]:
        """Yield the answers, training only for costs that were never asked before."""
        new = [c for c in costs if key_of(c) not in self._answers]
        for c, response in zip(new, self._train(oracle, new), strict=True):
            self._write(key_of(c), response)
        yield from (self._answers[key_of(c)] for c in costs)

    def _write(self, key: bytes, response: Response) -> None:
        self._answers[key] = response
        path = self.folder / f"answer-{len(self._answers):05d}.joblib"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            joblib.dump((key, tuple(response)), file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def _check_identity(self, identity: str) -> None:
        path = self.folder / "identity"
        if not path.exists():
            path.write_text(identity)
        elif path.read_text() != identity:
            raise ValueError(
                f"the checkpoint in {self.folder} belongs to other data or another learner. Name "
                "another folder, or delete this one to start over."
            )


@contextmanager
def keeping(pool: Pool) -> Iterator[None]:
    """Tell, if the cluster fails, where the pool is kept; remove a temporary one otherwise."""
    try:
        yield
    except EngineError as error:
        if not isinstance(pool, CheckpointedPool):
            raise
        raise EngineError(
            f"{error} The {pool.n_calls} classifiers found until then are kept: "
            f"checkpoint={str(pool.folder)!r} goes on from there."
        ) from error
    except BaseException:
        _remove_temporary(pool)
        raise
    _remove_temporary(pool)


def _remove_temporary(pool: Pool) -> None:
    if isinstance(pool, CheckpointedPool) and pool.is_temporary:
        rmtree(pool.folder, ignore_errors=True)


def fingerprint(how: Any, data: Engine) -> str:
    """Return a digest of all that an answer depends on besides the costs: how, and on what."""
    digest = blake2b(digest_size=16)
    digest.update(repr(how).encode())
    for part in data.identity():
        digest.update(part)
    return digest.hexdigest()
