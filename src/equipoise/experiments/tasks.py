"""Tasks: one method on one panel with one split, its result file, and runs of many of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

from equipoise.atomic_files import new_file
from equipoise.cells.table import Array
from equipoise.experiments.learners import LEARNERS, N_BOUNDS, Learner
from equipoise.experiments.measurements import Row, measure_all
from equipoise.experiments.methods import Method, all_methods, outcomes_of
from equipoise.experiments.panels import NOTIONS, Panel, load_split

#: Raised when results computed before mean something else than those computed now.
FORMAT = 1


@dataclass(frozen=True)
class Task:
    """One method on one panel with one split."""

    panel: Panel
    method: str
    seed: int  #: Of the split.
    rows: int | None = None  #: Use no more rows than these; for trials.
    quick: bool = False  #: Whether the learner's settings are the quick ones.

    def __str__(self) -> str:
        return f"{self.panel}, seed {self.seed}: {self.method}"

    @property
    def file_name(self) -> str:
        """The name of its result file, the same in every run."""
        parts = (self.panel.problem, self.panel.learner, self.panel.notion, self.method)
        return "-".join(part.replace(" ", "_") for part in parts) + f"-{self.seed}.npz"

    @property
    def learner(self) -> Learner:
        """The learner and the settings of the methods with it."""
        learner = LEARNERS[self.panel.learner]
        return learner.quickly() if self.quick else learner

    def identity(self) -> str:
        """All that its result depends on; a result with another identity is computed again."""
        settings = asdict(self.learner)
        settings["make"] = " ".join(repr(self.learner.make()).split())
        settings |= {"task": str(self), "rows": self.rows, "bounds": N_BOUNDS, "format": FORMAT}
        del settings["seconds"]
        return json.dumps(settings, sort_keys=True)

    def cost(self, n: int) -> float:
        """Roughly, the seconds it takes with ``n`` rows."""
        fits = all_methods()[self.method].expected_fits(self.learner)
        return 1.0 + fits * self.learner.seconds * min(n, self.rows or n) / 1e4


@dataclass(frozen=True, eq=False)
class Result:
    """What a task found: measurements, and the expected decisions for the people tested on."""

    rows: list[Row]
    test: Array
    y_test: NDArray[np.int64]
    A_test: NDArray[np.int64]


def run_task(task: Task, folder: Path) -> None:
    """Run a task and write its file, whole or not at all."""
    panel, start = task.panel, time.perf_counter()
    learner, notion = task.learner, NOTIONS[panel.notion]
    split = load_split(panel.problem, learner.encoding, task.seed, task.rows)
    method: Method = all_methods()[task.method]
    outcomes = outcomes_of(method, split, notion, learner)
    seconds = round(time.perf_counter() - start, 3)
    rows = [
        asdict(panel) | {"method": task.method, "seed": task.seed, "seconds": seconds} | row
        for row in measure_all(outcomes, split, notion)
    ]
    path = folder / task.file_name
    with new_file(path, overwrite=True) as partial, partial.open("wb") as file:
        np.savez_compressed(
            file,
            identity=task.identity(),
            rows=json.dumps(rows),
            test=np.array([outcome.test for outcome in outcomes], dtype=np.float32),
            y_test=split.test.y.astype(np.int8),
            A_test=split.test.A.astype(np.int8),
        )


def read_result(task: Task, folder: Path) -> Result | None:
    """Return the result of a task; None if there is none, or none that can be used."""
    try:
        with np.load(folder / task.file_name) as stored:
            if str(stored["identity"]) != task.identity():
                return None
            return Result(
                json.loads(str(stored["rows"])),
                stored["test"].astype(float),
                stored["y_test"].astype(np.int64),
                stored["A_test"].astype(np.int64),
            )
    except (OSError, BadZipFile, KeyError, ValueError, EOFError):
        return None


def make_tasks(
    panels: Iterable[Panel],
    methods: Iterable[str],
    seeds: Iterable[int],
    n_groups: dict[str, int],
    rows: int | None = None,
    quick: bool = False,
) -> list[Task]:
    """Return the tasks that make sense, a split after the other, panels in the order given.

    ``n_groups`` is from a problem to its number of groups: relabeling and grid search are for two.
    """
    known, panels, methods = all_methods(), list(panels), list(methods)
    return [
        Task(panel, method, seed, rows, quick)
        for seed in seeds
        for panel in panels
        for method in methods
        if known[method].suits(panel.notion, n_groups[panel.problem])
    ]


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
    """Return a duration in seconds, minutes or hours.

    >>> _duration(42.0), _duration(600.0), _duration(9000.0)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
