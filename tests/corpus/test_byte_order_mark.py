"""A script may begin with the mark by which some editors begin every file, and which nobody sees."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.compile import compile_script
from engine.errors import ScriptRefused

pytestmark = pytest.mark.unit
SCRIPT = "CREATE TABLE o WITH (connector = 'impulse', event_rate = 10);\nSELECT counter FROM o;"


def test_a_script_with_a_mark_is_the_same_one() -> None:
    assert compile_script("\ufeff" + SCRIPT).fingerprint == compile_script(SCRIPT).fingerprint


def test_errors_have_their_position_despite_a_byte_order_mark() -> None:
    with pytest.raises(ScriptRefused) as refused:
        compile_script("\ufeff" + SCRIPT.replace("event_rate = 10", "event_rate = 10, x = 1"))

    assert [str(complaint.at) for complaint in refused.value.complaints] == ["1:63"]


def test_files_with_a_mark_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "orders.sql"
    file.write_bytes(codecs.BOM_UTF8 + SCRIPT.encode())

    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().err == "ok: 1 source, 1 sink\n"
