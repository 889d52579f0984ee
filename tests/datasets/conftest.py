"""Servers on 127.0.0.1 in the publishers' place, and a cache of its own for every test."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pandas as pd
import pytest
import sklearn.datasets._openml as sklearn_openml

from equipoise.datasets import download as downloading
from equipoise.datasets.loaders import SOURCES
from equipoise.datasets.source import Facts


class Server(ThreadingHTTPServer):
    """Answers each path with what `answers` says, and counts the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = {}, []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.server.requests.append(path)
        answer = self.server.answers.get(path, 404)
        if callable(answer):
            answer(self)
        elif isinstance(answer, int):
            self.send_error(answer)
        else:
            self.reply(answer)

    def reply(self, body: bytes, length: int | None = None) -> None:
        self.send_response(200)
        if length != -1:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Keep quiet."""


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for every test, no folder of the user's, and no pause between tries."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EQUIPOISE_CACHE", str(folder))
    monkeypatch.delenv("EQUIPOISE_DATA", raising=False)
    monkeypatch.setattr(downloading, "PAUSE", 0.001)
    return folder


@pytest.fixture
def silence(monkeypatch):
    """An answer that does not come before the test is over, and little patience with it."""
    monkeypatch.setattr(downloading, "TIMEOUT", 0.3)
    over = threading.Event()
    yield lambda handler: over.wait(60)
    over.set()


@pytest.fixture
def publish(server, monkeypatch):
    """Return a function that serves a file as the publisher's, with facts to match."""

    def serve(name: str, content: bytes, rows: int, **changes) -> str:
        source = SOURCES[name]
        path = f"/{source.file}"
        server.answers[path] = content
        facts = {"facts": (Facts(rows, {}),), "url": server.url(path), "sha256": None}
        changed = dataclasses.replace(source, **(facts | changes))
        monkeypatch.setitem(SOURCES, name, changed)
        return path

    return serve


@pytest.fixture
def parquet(tmp_path):
    """Return a function that writes a Parquet file of our layout into a folder."""
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")

    def write(table, name: str):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        frame = pd.DataFrame({key: column.to_pandas() for key, column in table.items()})
        frame.to_parquet(folder / name)
        return folder

    return write


def arff(frame: pd.DataFrame) -> bytes:
    """Write a data frame as OpenML does: categories are nominal, '?' is missing."""
    lines = ["@RELATION made"]
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = ",".join(f"'{value}'" for value in column.cat.categories)
            lines.append(f"@ATTRIBUTE {name} {{{values}}}")
        else:
            lines.append(f"@ATTRIBUTE {name} NUMERIC")
    lines.append("@DATA")
    for row in frame.astype(object).itertuples(index=False):
        quoted = (f"'{v}'" if isinstance(v, str) else "?" if v != v else str(v) for v in row)
        lines.append(",".join(quoted))
    return "\n".join(lines).encode()


@pytest.fixture
def openml(server, monkeypatch):
    """Return a function that serves a frame as one of OpenML's data sets."""
    monkeypatch.setattr(sklearn_openml, "time", SimpleNamespace(sleep=lambda seconds: None))
    for name, path in (("_DATA_INFO", "data"), ("_DATA_FEATURES", "features")):
        monkeypatch.setattr(sklearn_openml, name, server.url(f"/{path}/{{}}"))
    monkeypatch.setattr(sklearn_openml, "_DATA_QUALITIES", server.url("/qualities/{}"))

    def serve(name: str, frame: pd.DataFrame, target: str, **changes) -> None:
        data_id, content = SOURCES[name].openml, arff(frame)
        server.answers["/made.arff"] = content
        description = {
            "id": str(data_id),
            "name": "made",
            "description": "made up",
            "version": "1",
            "format": "ARFF",
            "url": server.url("/made.arff"),
            "file_id": "1",
            "default_target_attribute": target,
            "status": "active",
            "md5_checksum": hashlib.md5(content).hexdigest(),
        }
        features = [
            {
                "index": str(at),
                "name": column,
                "data_type": "nominal"
                if isinstance(frame[column].dtype, pd.CategoricalDtype)
                else "numeric",
                "is_target": str(column == target).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": str(frame[column].isna().sum()),
            }
            for at, column in enumerate(frame)
        ]
        for path, body in (
            ("data", {"data_set_description": description | changes}),
            ("features", {"data_features": {"feature": features}}),
            ("qualities", {"data_qualities": {"quality": []}}),
        ):
            server.answers[f"/{path}/{data_id}"] = json.dumps(body).encode()
        facts = (Facts(len(frame), {}),)
        monkeypatch.setitem(SOURCES, name, dataclasses.replace(SOURCES[name], facts=facts))

    return serve
