"""Past one machine: rows on the workers of a Dask cluster, the reduction on the driver.

The rule of cells is the seam. A table of signed costs, one for each cell, goes out; a classifier
and one sum for each cell come back. No row ever reaches the driver, and nothing is shuffled.

This package imports Dask only when a collection of Dask's is met.
"""

from equipoise.engines.dask.collections import example_of, is_collection
from equipoise.engines.dask.lazy import computed_score, lazily, lazy_pmf, lazy_predict
from equipoise.engines.dask.opening import open_rows, oracle_over
from equipoise.engines.dask.shards import Shards

__all__ = [
    "Shards",
    "computed_score",
    "example_of",
    "is_collection",
    "lazily",
    "lazy_pmf",
    "lazy_predict",
    "open_rows",
    "oracle_over",
]
