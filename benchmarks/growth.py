"""How time and memory grow with rows, groups and bounds; ours and fairlearn, until it fails.

    python benchmarks/growth.py [--limit 120] [--plot docs/growth.png] [--quick]

Equalized odds. The learner is the decision stump of benchmarks/overhead.py, which costs next to
nothing, so that what is seen is the reduction. Three series, each varying one size with the others
fixed: rows at 2 groups and 1 bound, groups at 300,000 rows and 1 bound, bounds at 300,000 rows and
2 groups. `Frontier` traces all bounds in one fit; fairlearn fits once for each. Every run is a
fresh process of one thread. Seconds are CPU seconds of the fit. Memory is the peak of the resident
set during the fit less that before it. A run that takes more than ``--limit`` CPU seconds is ended
and shown as "too slow", one that dies as "failed"; larger sizes are then left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _machine import machine, markdown_table
from overhead import Stump, make_data

LIBRARIES = ("equipoise", "fairlearn")


class Size(NamedTuple):
    rows: int = 300_000
    groups: int = 2
    bounds: int = 1


SERIES: dict[str, list[Size]] = {
    "rows": [Size(rows=n) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000)],
    "groups": [Size(groups=k) for k in (2, 5, 10, 20, 50, 100)],
    "bounds": [Size(bounds=k) for k in (1, 2, 5, 10, 20, 50)],
}
QUICK: dict[str, list[Size]] = {
    "rows": [Size(rows=2_000), Size(rows=4_000)],
    "bounds": [Size(rows=2_000), Size(rows=2_000, bounds=2)],
}


def fit(library: str, size: Size, data: dict[str, Any]) -> int:
    """Fit for all bounds; return the calls of the learner."""
    X, y, group = data["X"], data["y"], data["group"]
    bounds = np.geomspace(0.01, 0.1, size.bounds) if size.bounds > 1 else [0.02]
    Stump.calls = 0
    if library == "equipoise":
        from equipoise import EqualizedOdds, Frontier

        Frontier(Stump(), EqualizedOdds(), bounds=bounds).fit(X, y, sensitive_features=group)
        return Stump.calls
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    for eps in bounds:
        reduction = ExponentiatedGradient(Stump(), EqualizedOdds(difference_bound=eps), eps=eps)
        reduction.fit(X, y, sensitive_features=group)
    return Stump.calls


def measure(library: str, size: Size, file: Path, limit: int) -> dict[str, float]:
    """Fit once, in this process, for no more than ``limit`` CPU seconds."""
    warnings.simplefilter("ignore")
    fit(library, Size(500), make_data(500, 2, 2))  # imports and first calls are not what grows
    # Loaded, not made: what making it has freed would hide what the fit takes.
    with np.load(file) as stored:
        data = {name: stored[name] for name in stored.files}
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, -1))
    before = _memory("VmRSS")
    start = time.process_time()
    calls = fit(library, size, data)
    seconds = time.process_time() - start
    return {"seconds": seconds, "bytes": max(_memory("VmHWM") - before, 0), "calls": calls}


def _memory(field: str) -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in status if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024.0


def measure_apart(library: str, size: Size, file: Path, limit: int) -> dict[str, Any]:
    """Measure in a fresh process of one thread."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--measure", library, str(file), *map(str, size)]
    done = subprocess.run(
        [*command, "--limit", str(limit)],
        env=os.environ | one_thread,
        capture_output=True,
        text=True,
    )
    if done.returncode == -signal.SIGXCPU:
        return {"ended": f"too slow (> {limit} s)"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"ended": f"failed: {last[:60]}"}
    return json.loads(done.stdout.splitlines()[-1])


Results = dict[tuple[str, Size, str], dict[str, Any]]


def run_all(series: dict[str, list[Size]], limit: int) -> Results:
    results: Results = {}
    for name, sizes in series.items():
        running = list(LIBRARIES)
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "data.npz"
                np.savez(file, **make_data(size.rows, size.groups, 2))
                for library in tuple(running):
                    found = measure_apart(library, size, file, limit)
                    results[name, size, library] = found
                    print(f"{name} {tuple(size)} {library}: {found}", file=sys.stderr, flush=True)
                    if "ended" in found:
                        running.remove(library)
    return results


def table(name: str, sizes: list[Size], results: Results) -> str:
    rows = []
    for size in sizes:
        row: list[object] = [f"{getattr(size, name):,}"]
        found = [results.get((name, size, library), {"ended": "left out"}) for library in LIBRARIES]
        for one in found:
            if "ended" in one:
                row += [one["ended"], "", ""]
            else:
                row += [f"{one['seconds']:.2f}", f"{one['bytes'] / 2**20:.1f}", one["calls"]]
        if all("seconds" in one for one in found):
            row.append(f"{found[1]['seconds'] / found[0]['seconds']:.0f}")
        else:
            row.append("")
        rows.append(row)
    header = [name, "CPU s", "MiB", "calls", "fairlearn: CPU s", "MiB", "calls", "times as long"]
    return markdown_table(header, rows)


def plot(series: dict[str, list[Size]], results: Results, file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.subplots(2, len(series), squeeze=False)
    colours = {"equipoise": "#0072B2", "fairlearn": "#D55E00"}
    for column, (name, sizes) in zip(axes.T, series.items(), strict=True):
        for library, colour in colours.items():
            found = [(getattr(s, name), results.get((name, s, library), {})) for s in sizes]
            done = [(x, one) for x, one in found if "seconds" in one]
            for ax, what, scale in ((column[0], "seconds", 1), (column[1], "bytes", 2**-20)):
                # A megabyte is about the least that a resident set can tell.
                y = [max(one[what] * scale, 0.01 if what == "seconds" else 1) for _, one in done]
                ax.plot([x for x, _ in done], y, "o-", ms=4, color=colour, label=library)
        for ax, words in zip(column, ("CPU seconds", "extra memory, MiB"), strict=True):
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlabel(name)
            ax.set_ylabel(words)
            ax.grid(alpha=0.25, which="both", lw=0.5)
    axes[0, 0].legend(frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds for one run")
    parser.add_argument("--series", nargs="+", choices=list(SERIES), default=list(SERIES))
    parser.add_argument("--plot", type=Path, help="write the picture here")
    parser.add_argument("--quick", action="store_true", help="a few small sizes")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        library, file, *size = asked.measure
        print(json.dumps(measure(library, Size(*map(int, size)), Path(file), asked.limit)))
        return
    series = QUICK if asked.quick else {name: SERIES[name] for name in asked.series}
    results = run_all(series, asked.limit)
    print(machine())
    for name, sizes in series.items():
        print(f"\n{table(name, sizes, results)}")
    if asked.plot:
        plot(series, results, asked.plot)


if __name__ == "__main__":
    main()
