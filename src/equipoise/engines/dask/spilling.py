"""What workers may write to disk when their memory is short.

A worker near its memory limit writes what it holds to disk. LightGBM lets workers hold the sockets
of a fit, which cannot be pickled: Dask tries again and again, with a traceback each time. Here a
socket is written as its port, and opened again where it is needed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from distributed.protocol.serialize import dask_deserialize, dask_serialize


@dask_serialize.register_lazy("lightgbm")
@dask_deserialize.register_lazy("lightgbm")
def register_sockets() -> None:
    """Tell Dask how to write the sockets of LightGBM, once LightGBM is in use."""
    from lightgbm import dask as lightgbm_dask

    kind = getattr(lightgbm_dask, "_RemoteSocket", None)
    if kind is None:  # a version that holds none
        return

    def write(held: Any) -> tuple[dict[str, Any], list[bytes]]:
        port = None
        with suppress(AttributeError, OSError):  # never opened, or released
            port = held.socket.getsockname()[1]
        return {"port": port}, []

    def read(header: dict[str, Any], frames: list[bytes]) -> Any:
        held = kind()
        held.acquire()
        if header["port"] is not None:
            held.release()
            held.socket = _bound(header["port"])
        return held

    dask_serialize.register(kind)(write)
    dask_deserialize.register(kind)(read)


def _bound(port: int) -> Any:
    import socket

    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.bind(("", port))
    return opened
