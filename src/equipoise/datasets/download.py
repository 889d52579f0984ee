"""Downloads: a file from its publisher or a table from OpenML, whole and unchanged, or an error."""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Seconds without a byte after which a connection counts as dead, and for a whole file.
TIMEOUT, DEADLINE = 30.0, 600.0
#: How often to try, and how long to wait before trying again (twice as long each time).
ATTEMPTS, PAUSE = 3, 1.0
_CHUNK = 1 << 16
#: Answers that may be different the next time.
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class DownloadError(OSError):
    """A file could not be downloaded; the message says why."""


def fetch(url: str, sha256: str | None = None) -> bytes:
    """Return the file at a URL; try again after faults that may pass.

    A DownloadError says that there is no connection or no answer in time, or that the answer is an
    error, shorter than it says itself, or does not have the checksum.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            content = _get(url)
            _check(content, sha256)
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server answers {error.code} {error.reason}"
            if error.code not in _PASSING:
                raise DownloadError(reason) from error
        except TimeoutError:
            reason = (
                f"the server sends nothing for {TIMEOUT:g} s, or takes more than {DEADLINE:g} s"
            )
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        else:
            return content
        if attempt < ATTEMPTS:
            time.sleep(PAUSE * 2 ** (attempt - 1))
    raise DownloadError(f"{reason} (tried {ATTEMPTS} times)")


def _get(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "equipoise"})
    end = time.monotonic() + DEADLINE
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        expected = response.headers.get("Content-Length")
        chunks = []
        # read1 returns what has come; read would wait for a slow server to fill the chunk.
        while chunk := response.read1(_CHUNK):
            chunks.append(chunk)
            if time.monotonic() > end:
                raise TimeoutError
    content = b"".join(chunks)
    if expected is not None and len(content) != int(expected):
        raise DownloadError(f"it broke off after {len(content):,} of {int(expected):,} bytes")
    return content


def _check(content: bytes, sha256: str | None) -> None:
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise DownloadError(f"it has sha256 {found}, expected {sha256}: not the published file")


def fetch_openml(data_id: int) -> Any:
    """Return a data set of OpenML as a data frame, through scikit-learn, which checks its MD5."""
    from sklearn.datasets import fetch_openml as fetch_from_openml

    try:
        with _timeout(TIMEOUT), tempfile.TemporaryDirectory() as folder:
            bunch = fetch_from_openml(
                data_id=data_id,
                data_home=folder,
                as_frame=True,
                n_retries=ATTEMPTS - 1,
                delay=PAUSE,
            )
    except ImportError:
        raise
    except Exception as error:  # whatever an answer that makes no sense does to scikit-learn
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DownloadError(f"OpenML's data set {data_id}: {reason}") from error
    return bunch.frame


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    # scikit-learn opens URLs without a timeout of its own, so the process's default must serve.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def cache_folder() -> Path:
    """Return where downloads are kept: $EQUIPOISE_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("EQUIPOISE_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "equipoise"
