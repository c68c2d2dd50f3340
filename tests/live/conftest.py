"""The one server that these tests ask: a real model's, for as long as the run lasts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.live.asking import WINDOW, Live
from tests.sapwood.cli.talked import ROOT, words


@pytest.fixture(name="live", scope="session")
def _live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    log = tmp_path_factory.mktemp("live") / "server.log"
    options = ("--port", "0", "--window", str(WINDOW), "--json", "--verbose", "--until-input-ends")
    pipe = subprocess.PIPE
    with (
        log.open("wb") as told,
        subprocess.Popen(words("serve-local", *options), cwd=ROOT, stdin=pipe, stdout=pipe, stderr=told) as process,
    ):
        assert process.stdout is not None
        yield Live(url=json.loads(process.stdout.readline())["url"], log=log)
        process.kill()
