"""Tests that fork what has used a Delta table run in a process of their own: its library refuses to work in a fork of
one that has used it, as other tests of the same process have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FRESH = "ARROYO_TESTS_FRESH"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of Delta tables as a whole in a new process, and take over how it ended."""
    callspec = getattr(pyfuncitem, "callspec", None)
    if callspec is None or "delta" not in callspec.params.values() or FRESH in os.environ:
        return None
    options = ["-q", "-p", "no:xdist", "-p", "no:randomly", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**os.environ, FRESH: "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return True
