"""The cluster of a command: one that is told, or one of this machine that ends with it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

#: What stands for a cluster of this machine.
LOCAL = "local"
#: Seconds until a scheduler that does not answer is given up.
_PATIENCE = 10
#: The share of the memory that workers get; the rest is the command's and the system's.
_MEMORY_SHARE = 0.8
#: An address: tcp://host:8786, or host:8786.
_ADDRESS = re.compile(r"[a-z]+://\S+|[\w.\-\[\]]+:\d+")
#: What workers of this machine run first: they leave Ctrl-C to the command, which ends them when it
#: has put its things away; and what they print is no result (LightGBM tells of its sockets).
_PRELOAD = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.dup2(2, 1)
"""


def with_address(arguments: list[str]) -> list[str]:
    """Return arguments in which ``--dask`` has a value: the address that follows, or "local".

    >>> with_address(["--dask", "--seed", "1"]), with_address(["--dask", "tcp://10.0.0.1:8786"])
    (['--dask=local', '--seed', '1'], ['--dask=tcp://10.0.0.1:8786'])
    """
    result: list[str] = []
    for argument in arguments:
        if result and result[-1] == "--dask" and _ADDRESS.fullmatch(argument):
            result[-1] = f"--dask={argument}"
        else:
            result.append(argument)
    return [f"--dask={LOCAL}" if argument == "--dask" else argument for argument in result]


def check_address(address: str) -> None:
    """Refuse what is no address, and what cannot work because Dask is missing."""
    if missing := [name for name in ("dask", "distributed", "pandas") if find_spec(name) is None]:
        raise ImportError(
            f"--dask needs {', '.join(missing)}, which is not installed: "
            "pip install 'equipoise[dask]'."
        )
    if address != LOCAL and not _ADDRESS.fullmatch(address):
        raise ValueError(
            f"--dask is {address!r}; expected the address of a scheduler, such as "
            "tcp://10.0.0.1:8786, or nothing for a cluster of this machine."
        )


@contextmanager
def opened(address: str) -> Iterator[Any]:
    """Open the cluster for the length of a command; yield the client."""
    from distributed import Client

    if address == LOCAL:
        with _local_cluster() as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError):
        raise ConnectionError(
            f"no scheduler answers at {address} within {_PATIENCE} seconds. See that it runs, or "
            "leave the address out for a cluster of this machine."
        ) from None
    with client:
        if not client.nthreads():
            raise ConnectionError(f"the scheduler at {address} has no workers; start some first.")
        yield client


def _local_cluster() -> Any:
    from dask.system import CPU_COUNT
    from distributed import LocalCluster
    from distributed.system import MEMORY_LIMIT

    return LocalCluster(
        n_workers=CPU_COUNT,
        threads_per_worker=1,
        memory_limit=int(_MEMORY_SHARE * MEMORY_LIMIT / CPU_COUNT),
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.ERROR,
        preload=[_PRELOAD],
    )
