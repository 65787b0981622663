"""Connectors of tests: only where the environment says that it is a test."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.connectors import CONNECTORS, EXTRA, EXTRA_ALLOWED, find_connector
from tests.scripted import SCRIPTED


def test_a_test_has_its_connectors() -> None:
    assert find_connector("scripted") is SCRIPTED
    assert SCRIPTED not in CONNECTORS


@pytest.mark.parametrize("missing", [EXTRA, EXTRA_ALLOWED])
def test_neither_variable_adds_connectors_by_itself(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(missing)

    assert find_connector("scripted") is None


def test_a_process_that_a_test_starts_has_them_too() -> None:
    code = "from engine.connectors import find_connector; print(find_connector('scripted').summary)"

    process = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True)

    assert process.stdout.strip() == SCRIPTED.summary
