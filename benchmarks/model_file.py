"""Size of a frontier's file, and what it takes to open it, for a table with text of many values.

Run ``python benchmarks/model_file.py``: 200,000 people, three text columns in which nearly every
value is different (name, address, note), one with 5,000 values of 40 people each (shop), a frontier
of five bounds made by the command line. Printed: bytes of the file, bytes that it expands to, CPU
seconds to open it (the least of three), the most memory that opening it takes at a time (as
tracemalloc counts), and how often a name is in it: as the command is by default, which leaves the
columns out, and with ``--keep-text``.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
from _machine import machine, parse

import equipoise

BOUNDS = "0.005,0.01,0.02,0.05,0.1"
TEXTS = ("name", "address", "note")


def write_people(path: Path, rows: int) -> None:
    """Write people with an income, a town, a shop, a sex, texts nearly all unique, and a label."""
    rng = np.random.default_rng(0)
    man = rng.random(rows) < 0.5
    income = rng.normal(size=rows) + man
    paid = (income + rng.logistic(size=rows) > 0.5).astype(int)
    town = rng.choice(["Rome", "Oslo", "Bonn"], rows)
    shop = rng.integers(0, max(rows // 40, 1), rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*TEXTS, "shop", "income", "town", "sex", "paid"])
        for i in range(rows):
            texts = [f"{text} {i} Secretname" if i % 100 else "none" for text in TEXTS]
            who = [round(income[i], 6), town[i], "M" if man[i] else "F", paid[i]]
            out.writerow([*texts, f"Shop {shop[i]}", *who])


def frontier(folder: Path, name: str, *options: str) -> Path:
    """Trace a frontier with the command line."""
    command = [sys.executable, "-m", "equipoise.cli", "frontier", "people.csv", "--label", "paid"]
    command += ["--sensitive", "sex", "--bounds", BOUNDS, "--no-page", "-o", name, *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=dict(os.environ))
    return folder / name


def describe(path: Path) -> str:
    """Return a line of the table."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        equipoise.load(path)
        seconds.append(time.process_time() - start)
    with zipfile.ZipFile(path) as archive:
        expanded = sum(entry.file_size for entry in archive.infolist())
        with zipfile.ZipFile(io.BytesIO(archive.read("members.skops"))) as members:
            names = sum(members.read(entry).count(b"Secretname") for entry in members.namelist())
    tracemalloc.start()
    equipoise.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = path.stat().st_size
    return f"{size:,} | {expanded:,} | {min(seconds):.3f} | {peak / 2**20:.1f} | {names:,}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--default-only", action="store_true", help="without --keep-text")
    given = parse(parser, rows=3000, default_only=True)
    print(machine(), end="\n\n")
    print("| options | file, bytes | expanded, bytes | CPU s to open | MiB to open | names in it |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "people.csv", given.rows)
        print(f"| default | {describe(frontier(folder, 'a.equipoise'))} |", flush=True)
        if not given.default_only:
            options = [part for text in TEXTS for part in ("--keep-text", text)]
            kept = frontier(folder, "b.equipoise", *options)
            print(f"| --keep-text, three times | {describe(kept)} |")


if __name__ == "__main__":
    main()
