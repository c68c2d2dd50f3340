"""Counters for tests: none to be had, and a process that cannot reach anybody."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import pytest
import tiktoken.registry

from sapwood.actors.projection import encoding

NO_NETWORK: Final = """
import socket
def refused(*args, **more):
    raise AssertionError("the network is asked for")
socket.socket = socket.create_connection = socket.getaddrinfo = refused
"""
"""Code for the beginning of a process that may not so much as make a socket."""


def without_ranks(monkeypatch: pytest.MonkeyPatch, ranks: Path = Path("nowhere")) -> None:
    """As on a machine where nobody has loaded or fetched an encoding, and with our own ranks gone, or as they are in `ranks`."""
    for name in ("o200k_base", "cl100k_base"):
        monkeypatch.delitem(tiktoken.registry.ENCODINGS, name, raising=False)
    monkeypatch.setenv(encoding.CACHE, "nowhere")
    monkeypatch.setattr(encoding, "RANKS", ranks)


def damaged_ranks(folder: Path) -> Path:
    """A folder of ranks one of which is wrong."""
    data = bytearray(gzip.decompress((encoding.RANKS / "o200k_base.tiktoken.gz").read_bytes()))
    data[1000] ^= 1
    (folder / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(bytes(data), 1))
    return folder
