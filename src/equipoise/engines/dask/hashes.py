"""Hashes of rows, made and kept by the workers, for the fingerprint of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from equipoise.engines.dask.collections import split
from equipoise.engines.dask.retry import gather, retry
from equipoise.engines.dask.shards import current_client
from equipoise.rows.fingerprint import hash_people
from equipoise.rows.people import People


class DaskHashes:
    """The hashes of the rows of Dask collections: eight bytes a row, on the workers.

    They are of the rows as they were passed, before any transformer, so that a table in memory has
    the same ones.
    """

    def __init__(self, people: People, classes: NDArray) -> None:
        from dask import delayed

        self.client = current_client()
        parts = split(people.X, people.y)
        self._parts = self.client.persist(
            [delayed(hash_people, pure=False)(X, y, classes[1]) for X, y in parts]
        )

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(hashes, *args)`` for each partition, run where it is."""
        from dask import delayed

        def run(limit: float) -> list[Any]:
            tasks = [delayed(function, pure=False)(part, *args) for part in self._parts]
            return gather(self.client, self.client.compute(tasks), limit)

        return retry(self.client, "comparing rows", run)
