"""Runs: tasks in parallel, one file each, so that a run that was stopped goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from equipoise.experiments.tasks import Task, read_result, run_task


@dataclass
class RunReport:
    """What a run did: how many tasks it found done, did itself, and could not do."""

    found: int = 0
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def run_all(
    tasks: Sequence[Task],
    folder: Path,
    sizes: Mapping[str, int],
    *,
    n_jobs: int = 1,
    echo: Callable[[str], object] = print,
) -> RunReport:
    """Run the tasks whose files are not there yet, ``n_jobs`` processes of one thread at a time.

    ``sizes`` are the rows of each problem, for the estimate of what remains; ``echo`` gets a line
    for each task that ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    todo = [task for task in tasks if read_result(task, folder) is None]
    report = RunReport(found=len(tasks) - len(todo))
    if report.found:
        echo(f"{report.found} of {len(tasks)} tasks were done before.")
    if not todo:
        return report
    clock = _Clock([task.cost(sizes[task.panel.problem]) for task in todo])
    with parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1):
        ended = Parallel(return_as="generator_unordered")(
            delayed(_attempt)(number, task, folder) for number, task in enumerate(todo)
        )
        for number, seconds, failure in ended:
            if failure:
                report.failed[str(todo[number])] = failure
            else:
                report.done += 1
            line = f"{clock.tick(number)}  {todo[number]} ({seconds:.1f} s)"
            echo(f"{line} FAILED: {failure}" if failure else line)
    return report


def _attempt(number: int, task: Task, folder: Path) -> tuple[int, float, str]:
    """Run a task; that one fails must not take the others down."""
    start = time.perf_counter()
    try:
        if read_result(task, folder) is None:  # by now, another run may have done it
            run_task(task, folder)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    else:
        failure = ""
    return number, time.perf_counter() - start, failure


class _Clock:
    """Estimates what remains from the cost of what is done."""

    def __init__(self, costs: Sequence[float]) -> None:
        self.costs, self.left, self.ended = costs, sum(costs), 0
        self.total, self.start = self.left, time.perf_counter()

    def tick(self, number: int) -> str:
        """Note that a task ended; return how far the run is."""
        self.left, self.ended = self.left - self.costs[number], self.ended + 1
        elapsed = time.perf_counter() - self.start
        remaining = elapsed * self.left / max(self.total - self.left, 1e-9)
        return f"[{self.ended}/{len(self.costs)}, about {_duration(remaining)} left]"


def _duration(seconds: float) -> str:
    """Say it in words of the right size.

    >>> _duration(42.0), _duration(600.0), _duration(9000.0)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
