"""The compiler is loaded once the control plane answers, and not by the first who deploys."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from engine import server
from engine.jobs.disk import DataDirectory
from engine.server import Address, Listener

PROGRAM = """
import sys
from engine.control.upgrades.plan_query import load_compiler, plan_query

assert "engine.compile" not in sys.modules
load_compiler()
before = set(sys.modules)
plan_query('''
CREATE TABLE bids (auction BIGINT, price BIGINT) WITH (
  connector = 'single_file', path = '/bids.json', format = 'json', type = 'source'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT auction, sum(price) AS total FROM bids WHERE auction % 2 = 0 GROUP BY auction;
''', ())
print(*sorted(set(sys.modules) - before))
"""


def test_another_script_is_compiled_with_what_is_loaded() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert output.strip() == ""


def test_compiler_is_loaded_when_the_address_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, is_loaded = DataDirectory(tmp_path), threading.Event()
    context: Any = SimpleNamespace(instance="one")

    async def startup(_: uvicorn.Server, sockets: object = None) -> None:
        """Nobody listens."""

    def load() -> None:
        assert directory.server.exists()
        is_loaded.set()

    monkeypatch.setattr(uvicorn.Server, "startup", startup)
    monkeypatch.setattr(server, "load_compiler", load)
    listener = Listener(uvicorn.Config("nobody:app"), context, Address(directory, "http://127.0.0.1:1"))
    asyncio.run(listener.startup())
    assert is_loaded.wait(60)
