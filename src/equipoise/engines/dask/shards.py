"""Shards: all rows, spread over the workers of a cluster, as the driver sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.layered import LayeredTable
from equipoise.cells.layers import LayerSums
from equipoise.cells.table import CellTable
from equipoise.cells.values import GroupRules
from equipoise.engines.dask.collections import example_of, split
from equipoise.engines.dask.retry import gather, retry
from equipoise.engines.dask.shard import (
    Combinations,
    combinations_of,
    encode,
    groups_in,
    layer_sums_of,
    numbers_in,
    read_partition,
)
from equipoise.exceptions import needing
from equipoise.rows.bins import quantile_edges, read_bins
from equipoise.rows.hashing import hash_people
from equipoise.rows.people import People, check_missing_choice
from equipoise.rows.validation import LEAST_SHARE, read_labels


class Shards:
    """The rows of Dask collections, read once and kept by the workers.

    Cells are numbered once; from then on tables of the size of the cells go out and come back, and
    no row moves. What is lost with a worker is read again from its source. Features are kept as
    arrays of a ``dtype``, by default as they come.
    """

    def __init__(
        self,
        people: People,
        *,
        dtype: Any = None,
        constraint_weights: bool = True,
        numbers: bool = False,
    ) -> None:
        self.client = current_client()
        self.cells: CellTable
        self.example = example_of(people.X)
        groups = people.sensitive_features, people.control_features
        parts = split(people.X, people.y, *groups, people.sample_weight, people.utilities)
        by_head = not constraint_weights and people.sample_weight is not None
        rules = _rules_of(self.client, people, parts)
        self._read(parts, rules, dtype, by_head, numbers, people.positive)
        if by_head or people.utilities is not None:
            sums = LayerSums.of_parts(self.map(layer_sums_of), self.cells.total_weight)
            self.cells = self.cells.as_kind(LayeredTable, **sums._asdict())

    def _read(
        self,
        partitions: list[tuple[Any, ...]],
        rules: GroupRules,
        dtype: Any,
        by_head: bool,
        numbers: bool,
        positive: Any,
    ) -> None:
        from dask import delayed

        client, called = self.client, delayed(read_partition, pure=False)
        each = enumerate(partitions)
        rows = client.persist([called(i, rules, *part, numbers=numbers) for i, part in each])
        tables = _computed(client, "reading the data", combinations_of, [(part,) for part in rows])
        cells, self.classes, codes = _merge(tables, numbers, positive)
        self.cells = cells.as_kind(CellTable, rules=rules)
        self.sizes = [int(table.count.sum()) for table in tables]
        mean = self.cells.total_weight / len(self) if by_head else None
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(int)
        called, size = delayed(encode, pure=False), (self.cells.n_cells, self.cells.n_decisions)
        shards = [
            called(part, code, int(start), *size, dtype, mean)
            for part, code, start in zip(rows, codes, starts, strict=True)
        ]
        self.futures = client.compute(client.persist(shards))
        self.wait()

    def __len__(self) -> int:
        return self.cells.n_examples

    def wait(self) -> None:
        """Wait until every shard is in some worker's memory; lost ones are made again."""
        from distributed import wait

        def whole(limit: float) -> None:
            with self.client.as_current():
                wait(self.futures, timeout=limit)
            for future in self.futures:
                if future.status != "finished":
                    future.result(timeout=1.0)  # raises

        retry(self.client, "reading the data", whole)

    def map(self, function: Callable[..., Any], *args: Any, each: Sequence[Any] = ()) -> list[Any]:
        """Return ``function(shard, *args)`` for every shard, run where the shard is.

        ``each`` holds further arguments, one list for all shards each.
        """

        def run(limit: float) -> list[Any]:
            tasks = [
                self.client.submit(function, future, *args, *own, pure=False)
                for future, *own in zip(self.futures, *each, strict=True)
            ]
            return gather(self.client, tasks, limit)

        return retry(self.client, function.__name__.replace("_", " ").strip(), run)

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum over all shards, in their order."""
        return sum(self.map(function, *args))

    def total_of_rows(self, rows: Sequence[Any], function: Callable[..., Any], model: Any) -> Any:
        """Return the sum of ``function(shard, model, rows)``, given delayed rows of each shard."""
        from dask import delayed

        shared = delayed(model, traverse=False)
        each = [(shard, shared, X) for shard, X in zip(self.futures, rows, strict=True)]
        return sum(_computed(self.client, "deciding about the rows", function, each))

    def placed(self) -> dict[str, list[int]]:
        """Return the numbers of the shards that each worker holds, each shard once."""
        self.wait()
        held = self.client.who_has(self.futures)
        places: dict[str, list[int]] = {}
        for number, future in enumerate(self.futures):
            addresses = sorted(held.get(future.key) or ())
            # A shard that several hold goes to one that has work already.
            known = [a for a in addresses if a in places] or addresses
            if not known:
                raise OSError(f"shard {number} is on no worker")
            places.setdefault(known[0], []).append(number)
        return dict(sorted(places.items(), key=lambda place: place[1][0]))


def _rules_of(client: Any, people: People, parts: list[tuple[Any, ...]]) -> GroupRules:
    """Return the rules of groups, with edges for bins of equal size counted by the workers."""
    check_missing_choice(people.missing)
    example = example_of(people.sensitive_features)
    columns = groups_in(example, 0, GroupRules(people.missing))
    asked = read_bins(people.bins, list(columns))
    sizes = {name: spec for name, spec in asked.items() if isinstance(spec, int)}
    bins = {name: spec for name, spec in asked.items() if not isinstance(spec, int)}
    if names := list(sizes):
        each = [(part[2], names, people.missing) for part in parts]
        counted = _computed(client, "counting values", numbers_in, each)
        for name in names:
            values = np.concatenate([part[name][0] for part in counted])
            count = np.concatenate([part[name][1] for part in counted])
            distinct, at = np.unique(values, return_inverse=True)
            bins[name] = quantile_edges(distinct, np.bincount(at, count), sizes[name])
    return GroupRules(people.missing, bins)


def _merge(
    tables: Sequence[Combinations], numbers: bool, positive: Any = None
) -> tuple[CellTable, NDArray, list[NDArray]]:
    """Number the cells of all partitions; return them, the classes and the codes of each part.

    Where the target has ``numbers`` there are no classes.
    """
    y = np.concatenate([np.asarray(table.y, dtype=object) for table in tables])
    labels, classes = np.zeros(len(y), np.int8), np.array([])
    if not numbers:
        labels, classes = read_labels(_plain(y), len(y), positive=positive)
    names = [(list(table.sensitive), list(table.control)) for table in tables]
    if any(name != names[0] for name in names):
        raise ValueError(
            "the partitions of sensitive_features or control_features have different columns; "
            "expected the same in all."
        )
    count, weight, square = (
        np.concatenate([getattr(table, of) for table in tables])
        for of in ("count", "weight", "square")
    )
    cells, code = CellTable.from_sums(
        labels,
        {name: _joined(name, [t.sensitive for t in tables]) for name in names[0][0]},
        {name: _joined(name, [t.control for t in tables]) for name in names[0][1]},
        *(count, weight, square),
        decisions=tuple(classes.tolist()) if len(classes) > 2 else (0, 1),
    )
    for name in cells.sensitive:
        if not cells.groups(name):
            raise ValueError(
                f"sensitive_features {name!r} is missing for everybody: there are no groups."
            )
    if not cells.total_weight > 0 and numbers:
        raise ValueError("sample_weight is zero everywhere; give some people a weight.")
    each = np.bincount(cells.label, weights=cells.mass, minlength=len(classes))
    if not cells.total_weight > 0 or not each.all():
        which, all_of = ("two", "both") if len(classes) == 2 else (str(len(classes)), "all")
        raise ValueError(
            f"sample_weight is zero for one of the {which} classes; give {all_of} some weight."
        )
    if (lost := (cells.mass > 0) & (cells.mass < LEAST_SHARE)).any():
        raise ValueError(
            f"sample_weight: the rows of {lost.sum()} combinations of groups and label have less "
            f"than {LEAST_SHARE:g} of all weight, which sums would lose. Set these weights to zero."
        )
    ends = np.cumsum([len(table.count) for table in tables])
    return cells, classes, np.split(code, ends[:-1])


def _joined(name: str, tables: Sequence[Any]) -> NDArray:
    return _plain(np.concatenate([np.asarray(table[name], dtype=object) for table in tables]))


def _plain(values: NDArray) -> NDArray:
    """Return numbers as numbers and the rest as it is."""
    kinds = {type(value) for value in values.tolist()}
    if kinds <= {bool} or kinds <= {int, float}:
        return np.array(values.tolist())
    return values


class DaskHashes:
    """The hashes of the rows of Dask collections: eight bytes a row, on the workers.

    They are of the rows as they were passed, before any transformer, so that a table in memory has
    the same ones.
    """

    def __init__(self, people: People, classes: NDArray) -> None:
        from dask import delayed

        self.client, called = current_client(), delayed(hash_people, pure=False)
        parts = split(people.X, people.y)
        self._parts = self.client.persist([called(X, y, *classes[1:]) for X, y in parts])

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Return ``function(hashes, *args)`` for each partition, run where it is."""
        each = [(part, *args) for part in self._parts]
        return _computed(self.client, "comparing rows", function, each)


def _computed(
    client: Any, what: str, function: Callable[..., Any], each: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Return ``function(*args)`` for each of some delayed arguments, run where they are."""
    from dask import delayed

    def run(limit: float) -> list[Any]:
        tasks = [delayed(function, pure=False)(*args) for args in each]
        return gather(client, client.compute(tasks), limit)

    return retry(client, what, run)


def current_client() -> Any:
    """Return the client of the cluster in use; an error that tells how to start one."""
    with needing("Dask collections need", "'equipoise[dask]'"):
        from distributed import default_client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "X is a Dask collection, but there is no cluster to work on. Start one first: "
            "client = dask.distributed.Client() for this machine, or Client(address)."
        ) from None
