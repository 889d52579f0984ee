"""Retry: work on a cluster that is repeated when a worker is lost, and given up in the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, TypeVar

from equipoise.exceptions import EngineError

T = TypeVar("T")
_log = logging.getLogger("equipoise.engines.dask")

#: Defaults of what Dask's configuration may say otherwise: equipoise.tries, equipoise.time-limit.
TRIES, TIME_LIMIT = 5, "10 minutes"
#: Seconds: between looks at the cluster, until a dead worker is noticed, until a task has stopped.
_LOOK, _NOTICE, _STOP = 0.5, 5.0, 5.0


class WorkerLost(Exception):
    """A worker that was needed is gone."""


def retry(client: Any, what: str, work: Callable[[float], T]) -> T:
    """Return the result of the work, which is repeated if a worker was lost or it took too long.

    ``what`` is being done, for messages. The work gets the seconds it may take; what it leaves on
    workers must be rebuilt when it is called again.
    """
    import dask
    from dask.utils import parse_timedelta

    tries = int(dask.config.get("equipoise.tries", TRIES))
    limit = parse_timedelta(dask.config.get("equipoise.time-limit", TIME_LIMIT))
    for number in range(1, tries + 1):
        before: set[str] = set()
        try:
            if client.scheduler is None or client.status in ("closed", "closing"):
                raise OSError("the connection to the scheduler is closed")
            if not (before := set(client.nthreads())):
                client.wait_for_workers(1, timeout=limit)
                before = set(client.nthreads())
            return work(limit)
        except Exception as error:
            if not _passes(error, client, before):
                raise
            reason = f"{type(error).__name__}: {error}".strip(": ")
            if number == tries:
                raise EngineError(
                    f"{what} was given up after {tries} tries; the last ended with {reason}. See "
                    "that workers live and have memory enough, or raise equipoise.tries and "
                    "equipoise.time-limit in Dask's configuration."
                ) from error
            _log.warning("%s: %s; try %d of %d.", what, reason, number + 1, tries)
    raise AssertionError("unreachable")


def gather(
    client: Any,
    tasks: Sequence[Any],
    limit: float,
    pinned: Collection[str] = (),
    let_go: Callable[[], object] | None = None,
) -> list[Any]:
    """Return the results of tasks; an error once one fails, its worker is lost or time is up.

    ``limit`` is in seconds. Without the workers at the addresses ``pinned`` tasks can never end.
    ``let_go`` frees tasks that wait for each other; it is called when they have failed.
    """
    from distributed import wait

    end, pending = monotonic() + limit, list(tasks)
    try:
        while pending:
            quiet = False
            try:
                with client.as_current():  # not that of another cluster, if there are several
                    wait(pending, timeout=_LOOK, return_when="FIRST_COMPLETED")
            except TimeoutError:
                quiet = True
            for task in pending:
                if task.status in ("error", "cancelled", "lost"):
                    task.result(timeout=_LOOK)  # raises
            pending = [task for task in pending if task.status == "pending"]
            if quiet:
                _check_alive(client, pinned)
            if pending and monotonic() > end:
                raise TimeoutError(f"not done after {limit:g} seconds")
        if not pinned:
            return client.gather(list(tasks))
        return [_fetch(client, task, pinned, end) for task in tasks]
    except BaseException:
        with suppress(Exception):
            if let_go is not None:
                let_go()
        _stop(client, tasks)
        raise


def _fetch(client: Any, task: Any, pinned: Collection[str], end: float) -> Any:
    """Return a result, unless the worker that had it is lost: a plain gather would wait for it."""
    while True:
        try:
            return task.result(timeout=4 * _LOOK)
        except TimeoutError:
            _check_alive(client, pinned)
            if monotonic() > end:
                raise


def _check_alive(client: Any, workers: Collection[str]) -> None:
    if workers and (lost := set(workers) - set(client.nthreads())):
        raise WorkerLost(f"{', '.join(sorted(lost))} is gone")


def _stop(client: Any, tasks: Sequence[Any]) -> None:
    """Cancel tasks; workers on which one goes on running all the same are started anew."""
    with suppress(Exception):
        keys = {task.key for task in tasks}
        client.cancel(list(tasks), force=True)
        end = monotonic() + _STOP
        while stuck := [worker for worker, running in _running(client).items() if keys & running]:
            if monotonic() > end:
                _log.warning("a task on %s does not end; restarting.", ", ".join(stuck))
                client.restart_workers(stuck, timeout=60)
                return
            sleep(_LOOK / 5)


def _running(client: Any) -> dict[str, set[str]]:
    found = client.run(_executing, on_error="ignore")
    return {worker: keys for worker, keys in found.items() if isinstance(keys, set)}


def _executing(dask_worker: Any) -> set[str]:
    """Return the keys of tasks that a worker is executing, cancelled or not."""
    return set(dask_worker.active_keys)


def _passes(error: Exception, client: Any, before: set[str]) -> bool:
    """Whether an error comes from the cluster and not from the work."""
    from asyncio import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = WorkerLost, CommClosedError, KilledWorker, CancelledError, TimeoutError, OSError
    if isinstance(error, lost) or "Cancelled" in type(error).__name__:
        return not isinstance(error, FileNotFoundError)
    # Others fail because a worker died under them, which the scheduler notices a little later.
    end = monotonic() + _NOTICE
    while type(error).__name__ in ("XGBoostError", "LightGBMError", "RuntimeError"):
        if not before <= set(client.nthreads()):
            return True
        if monotonic() > end:
            return False
        sleep(_LOOK)
    return False
