"""Ctrl-C before a command has begun."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INTERRUPTED_AT = """
import os, runpy, signal, sys

# it is ignored where the tests themselves run in the background of a shell
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["arroyo", "list"]
{start}
"""
STARTS = {
    "as a module": "runpy.run_module('engine', run_name='__main__')",
    "as a script": "from {module} import {function}; sys.exit({function}())",
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("module", ["engine.cli.main", "engine.cli.remote"])
def test_an_interrupt_while_the_command_starts_is_a_line(start: str, module: str) -> None:
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["arroyo"]
    place, function = script.split(":")
    program = INTERRUPTED_AT.format(module=module, start=STARTS[start].format(module=place, function=function))

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")
