"""A worker that is short of memory can write to disk what a fit of LightGBM lets it hold."""

import gc

import pytest

pytest.importorskip("distributed", reason="needs equipoise[dask]")
lightgbm_dask = pytest.importorskip("lightgbm.dask", reason="needs LightGBM")
pytest.importorskip("equipoise.engines.dask.spilling")
serialize = pytest.importorskip("distributed.protocol.serialize")


def written(value):
    """Return the bytes that a worker would write to disk."""
    return b"".join(bytes(part) for part in serialize.serialize_bytelist(value, on_error="raise"))


def test_sockets_are_written_as_their_port_and_opened_again():
    held, port = lightgbm_dask._acquire_port()
    data = written(held)
    held.release()  # as Python does once the worker has written it
    again = serialize.deserialize_bytes(data)
    assert again.socket.getsockname()[1] == port
    again.release()


def test_with_the_port_beside_it_as_workers_hold_it():
    data = written(lightgbm_dask._acquire_port())
    gc.collect()
    held, port = serialize.deserialize_bytes(data)
    assert held.socket.getsockname()[1] == port
    held.release()


def test_a_socket_that_was_released():
    held, _ = lightgbm_dask._acquire_port()
    held.release()
    serialize.deserialize_bytes(written(held)).release()
