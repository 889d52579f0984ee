"""A frontier on a Parquet table four times as large as the memory that the process may use.

    python benchmarks/out_of_core.py [--rows 1400000] [--features 512] [--limit 683] [--quick]

Writes the table in pieces, then fits in fresh processes that may allocate ``--limit`` MiB more than
they have after their imports (``RLIMIT_DATA``: heap and private anonymous mappings, stacks of
threads included; the kernel's cache of files is not counted). First the table is loaded into
memory, as other learners need it, which must fail; then it is passed as `ParquetRows`; then it is
loaded without a limit, and the certificates of the two are compared. Peak memory is the largest
resident set of anonymous pages, less that after the imports, as /proc tells it. Errors and excesses
are those of a report on decisions made anew, batch by batch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from _machine import machine, markdown_table

BOUNDS = np.geomspace(0.005, 0.1, 10)
PIECE = 1 << 12

NO_LIMIT = "in memory, no limit"


def write_table(file: Path, rows: int, features: int) -> int:
    """Write made-up people, piece by piece; return the bytes that the features take as numbers."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(features)]
    schema = pyarrow.schema(
        [(name, pyarrow.float32()) for name in names]
        + [("group", pyarrow.int8()), ("label", pyarrow.int8())]
    )
    with pyarrow.parquet.ParquetWriter(
        file, schema, compression="none", use_dictionary=False
    ) as writer:
        for start in range(0, rows, PIECE):
            n = min(PIECE, rows - start)
            group = rng.integers(0, 2, n)
            X = rng.normal(size=(n, features)).astype(np.float32)
            X[:, 0] += group
            label = X[:, :4].sum(axis=1) + rng.logistic(size=n) > 0.5
            columns = [*X.T, group.astype(np.int8), label.astype(np.int8)]
            writer.write_table(pyarrow.table(columns, schema=schema))
    return 4 * rows * features


def memory(field: str) -> int:
    """Read a field of this process's status, in bytes."""
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith(f"{field}:")
    )
    return int(line.split()[1]) * 1024


class PeakMemory(threading.Thread):
    """Watches the anonymous pages of this process, twenty times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = memory("RssAnon")
        self.peak = 0

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, memory("RssAnon") - self.before)
            time.sleep(0.05)


def limit_memory(megabytes: int) -> None:
    import resource

    limit = memory("VmData") + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def fit(file: Path, kind: str, trees: int, megabytes: int) -> dict[str, object]:
    """Fit a frontier in this process; return what it took, and what it found."""
    from xgboost import XGBClassifier

    from equipoise import DemographicParity, Frontier, ParquetRows

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    if kind != NO_LIMIT:
        limit_memory(megabytes)
    watched = PeakMemory()
    watched.start()
    start = time.perf_counter()
    names = pyarrow.parquet.read_schema(file).names[:-2]
    rows = ParquetRows(file, features=names, batch_size=PIECE)
    y, A = rows.column("label"), rows.column("group")
    try:
        X = rows if kind == "on disk" else np.concatenate(list(rows.batches()))
        learner = XGBClassifier(n_estimators=trees, max_depth=4, max_bin=32, n_jobs=1)
        frontier = Frontier(learner, DemographicParity(), bounds=BOUNDS, nu=3e-3)
        frontier.fit(X, y, sensitive_features=A)
    except MemoryError as error:
        return {"kind": kind, "failed": str(error) or "MemoryError", "peak": watched.peak}
    seconds = time.perf_counter() - start
    report = frontier.report(rows, y, sensitive_features=A)["test"]
    return {
        "kind": kind,
        "seconds": seconds,
        "fits": frontier.n_calls_,
        "peak": watched.peak,
        "excess": max(entry.excess.estimate for entry in report),
        "certificates": [[p.error, p.lower, p.gap, p.disparity] for p in frontier.points_],
        "errors": [report[0].error.estimate, report[-1].error.estimate],
    }


def small_stacks() -> None:
    """Let stacks of threads be of 2 MiB, not of the usual 8: they count as memory allocated."""
    import resource

    resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, 2 << 20))


def fit_apart(*arguments: object) -> dict[str, object]:
    # glibc would set an arena aside for each thread, and Arrow's own allocator more than it uses.
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1")
    one["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    done = subprocess.run(
        [sys.executable, __file__, "--fit", *map(str, arguments)],
        env=os.environ | one,
        preexec_fn=small_stacks,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"kind": str(arguments[1]), "failed": last[:80], "peak": float("nan")}
    return json.loads(done.stdout.splitlines()[-1])


def row_of(found: dict) -> list[object]:
    peak = f"{found['peak'] / 2**20:.0f}"
    if "failed" in found:
        return [found["kind"], f"fails: {found['failed']}", "", peak, "", "", ""]
    tight, loose = found["errors"]
    errors = f"{tight:.4f}", f"{loose:.4f}", f"{found['excess']:.1e}"
    return [found["kind"], f"{found['seconds']:.0f}", found["fits"], peak, *errors]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_400_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--trees", type=int, default=2)
    parser.add_argument("--limit", type=int, default=683, help="MiB that a process may allocate")
    parser.add_argument("--quick", action="store_true", help="a small table")
    parser.add_argument("--fit", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        file, kind, trees, limit = asked.fit
        print(json.dumps(fit(Path(file), kind, int(trees), int(limit))))
        return
    rows, limit = asked.rows, asked.limit
    if asked.quick:
        rows = 10_000
        limit = 300
        asked.features = 64
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        size = write_table(file, rows, asked.features)
        print(f"{machine()}\n")
        print(
            f"{rows:,} rows of {asked.features} features, {size / 2**20:.0f} MiB as 32-bit "
            f"numbers; each process may allocate {limit} MiB more; {asked.trees} trees, "
            f"{len(BOUNDS)} bounds.\n"
        )
        kinds = ("in memory", "on disk", NO_LIMIT)
        found = [fit_apart(file, kind, asked.trees, limit) for kind in kinds]
    header = [
        "table",
        "seconds",
        "fits",
        "peak MiB",
        "error, eps 0.005",
        "error, eps 0.1",
        "largest excess",
    ]
    print(markdown_table(header, map(row_of, found)))
    disk, free = (one.get("certificates") for one in found[1:])
    if disk and free:
        print(f"\nLargest difference of certificates: {np.abs(np.subtract(disk, free)).max():.1e}.")


if __name__ == "__main__":
    main()
