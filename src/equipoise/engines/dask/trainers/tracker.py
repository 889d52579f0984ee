"""The tracker: where the workers of an XGBoost fit meet. A process of its own, since it may crash.

When a worker dies at a bad moment XGBoost's tracker may end the process it runs in, which must not
be the scheduler or the driver. This file is imported by the scheduler and run as a script by it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import Any

#: Seconds until workers that do not come are given up.
_TIMEOUT = 60
_process: subprocess.Popen[str] | None = None


def start_tracker(n_workers: int, host: str) -> dict[str, Any]:
    """Return the address by which workers meet, of a tracker started for one fit."""
    global _process
    for _ in range(2):
        if _process is None or _process.poll() is not None:
            _process = subprocess.Popen(
                # -P: the folder of this file is not to be searched for modules.
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        with suppress(OSError):
            if answer := _ask(_process, {"n_workers": n_workers, "host_ip": host}):
                return answer
        _process.kill()
        _process = None
    raise OSError("the tracker, through which XGBoost's workers find each other, does not start")


def stop_tracker() -> None:
    """End the tracker: workers that wait for one that will not come have nobody to wait for."""
    if _process is not None:
        _process.kill()


def _ask(process: subprocess.Popen[str], question: dict[str, Any]) -> dict[str, Any] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("{"):  # XGBoost may print something of its own
            return json.loads(line)
    return None  # it ended


def serve() -> None:
    """Start a tracker for every line on the standard input, until that is closed."""
    from xgboost.tracker import RabitTracker

    kept: deque[Any] = deque(maxlen=8)
    for line in sys.stdin:
        tracker = RabitTracker(**json.loads(line), sortby="task", timeout=_TIMEOUT)
        tracker.start()
        Thread(target=_wait_for, args=[tracker], daemon=True).start()
        kept.append(tracker)
        print(json.dumps(tracker.worker_args()), flush=True)


def _wait_for(tracker: Any) -> None:
    with suppress(Exception):
        tracker.wait_for()


if __name__ == "__main__":
    serve()
