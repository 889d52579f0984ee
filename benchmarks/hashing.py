"""How many rows a second the draws of predict hash, and how much memory that takes.

python benchmarks/hashing.py
"""

from __future__ import annotations

import tracemalloc
from time import perf_counter

import numpy as np
import pandas as pd
import scipy.sparse as sp

from equipoise.rows.hashing import draw_uniform


def main() -> None:
    """Print a table of rows a second and bytes a row."""
    rng = np.random.default_rng(0)
    n = 200_000
    X = rng.normal(size=(n, 20))
    frame = pd.DataFrame(X).assign(job=rng.choice(list("abcdefgh"), n))
    numbers = np.arange(n)
    few = sp.random(n, 500, density=0.01, format="csr", random_state=0)
    kinds = {
        "20 columns of float64": {"X": X},
        "20 columns of float32": {"X": X.astype(np.float32)},
        "20 columns of int64": {"X": (X * 1e6).astype(np.int64)},
        "frame, 20 floats and a text": {"X": frame},
        "sparse, 5 of 500": {"X": few},
        "keys: integers": {"X": X, "key": numbers},
        "keys: texts of integers": {"X": X, "key": numbers.astype(str).astype(object)},
        "keys: other texts": {"X": X, "key": [f"a-{i}" for i in range(n)]},
    }
    print(f"{'':28} {'rows/s':>12} {'bytes/row':>10}")
    for name, given in kinds.items():
        tries = []
        for _ in range(3):
            start = perf_counter()
            draw_uniform(**given, salt=1)
            tries.append(perf_counter() - start)
        tracemalloc.start()
        draw_uniform(**given, salt=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name:28} {n / min(tries):12,.0f} {peak / n:10.0f}")


if __name__ == "__main__":
    main()
