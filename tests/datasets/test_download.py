"""Single files: whole and unchanged, or an error that says why."""

from __future__ import annotations

import hashlib
import socket
import time

import pytest

from equipoise.datasets import download as downloading
from equipoise.datasets.download import DownloadError, fetch


def test_fetch(server):
    server.answers["/file"] = b"abc"
    digest = hashlib.sha256(b"abc").hexdigest()
    assert fetch(server.url("/file"), digest) == b"abc"
    assert server.requests == ["/file"]


def test_missing_file_is_not_asked_for_again(server):
    with pytest.raises(DownloadError, match="answers 404 Not Found"):
        fetch(server.url("/nothing"))
    assert len(server.requests) == 1


def test_faults_of_the_server_may_pass(server):
    answers = iter([503, 500, b"abc"])
    server.answers["/file"] = lambda handler: (
        handler.reply(a) if isinstance(a := next(answers), bytes) else handler.send_error(a)
    )
    assert fetch(server.url("/file")) == b"abc"
    server.answers["/file"] = 503
    with pytest.raises(DownloadError, match=r"answers 503 .* \(tried 3 times\)"):
        fetch(server.url("/file"))
    assert len(server.requests) == 6


def test_truncated_file(server):
    server.answers["/file"] = lambda handler: handler.reply(b"abc", length=1000)
    with pytest.raises(DownloadError, match=r"broke off after 3 of 1,000 bytes \(tried 3"):
        fetch(server.url("/file"))


def test_truncated_file_that_does_not_say_its_length(server):
    server.answers["/file"] = lambda handler: handler.reply(b"ab", length=-1)
    with pytest.raises(DownloadError, match=r"has sha256 fb8e20.*, expected ba7816"):
        fetch(server.url("/file"), hashlib.sha256(b"abc").hexdigest())


def test_wrong_file(server):
    server.answers["/file"] = b"abd"
    with pytest.raises(DownloadError, match="not the published file"):
        fetch(server.url("/file"), hashlib.sha256(b"abc").hexdigest())


def test_silent_server(server, silence):
    server.answers["/file"] = silence
    with pytest.raises(DownloadError, match=r"sends nothing for 0\.3 s"):
        fetch(server.url("/file"))


def test_server_that_drips(server, monkeypatch):
    monkeypatch.setattr(downloading, "DEADLINE", 0.3)
    monkeypatch.setattr(downloading, "ATTEMPTS", 1)
    sent = []

    def drip(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b".")
            sent.append(b".")
            time.sleep(0.02)

    server.answers["/file"] = drip
    with pytest.raises(DownloadError, match=r"takes more than 0\.3 s"):
        fetch(server.url("/file"))
    assert 0 < len(sent) < 1000  # given up long before the end


def test_no_connection():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
    with pytest.raises(DownloadError, match=r"refused \(tried 3 times\)"):
        fetch(url)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("EQUIPOISE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert downloading.cache_folder() == tmp_path / "equipoise"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert downloading.cache_folder().parts[-2:] == (".cache", "equipoise")
