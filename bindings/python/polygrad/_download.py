"""Files from the network, kept in the user's cache folder."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import urllib.request
from pathlib import Path

from polygrad.progress import track

_LOCAL = ("file:", "data:")
_TIMEOUT = 30  # seconds without an answer
_PART = 1 << 20


def download(url: str, gunzip: bool = False, show: bool | None = False) -> bytes:
    """Return the contents of a URL, unpacked if gunzip is set; show shows the progress.

    >>> download("data:,hello")
    b'hello'
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base, "polygrad", "downloads", hashlib.sha256(url.encode()).hexdigest())
    if url.lower().startswith(_LOCAL):
        data = _read(url, show)
    elif path.is_file():
        data = path.read_bytes()
    else:
        data = _read(url, show)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written under another name and renamed: another process must never see a part of it.
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
            part.write(data)
        Path(part.name).replace(path)
    return gzip.decompress(data) if gunzip else data


def _read(url: str, show: bool | None) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "polygrad"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        parts = iter(lambda: answer.read(_PART), b"")
        total = -(-int(answer.headers.get("Content-Length") or 0) // _PART) or None
        return b"".join(track(parts, url.rpartition("/")[2][:40], total, "MiB", show))
