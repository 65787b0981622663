"""`make demo` begins with an empty folder, so that two at once would empty it under each other."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from dags_examples.demo import main


def test_two_demonstrations_at_once_do_not_take_the_folder_from_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("of the other")
    with (tmp_path / "shown.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main([str(folder)]) == 1

    assert capsys.readouterr().err == f"another demonstration runs in {folder}: wait until it has ended\n"
    assert (folder / "journal.jsonl").read_text() == "of the other"
