"""Of a log only the end is read, however long it is."""

from __future__ import annotations

import os
from pathlib import Path

from engine.jobs.processes.processes import log_tail


def test_a_log_that_is_larger_than_the_memory_has_last_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        os.truncate(log, 2**36)
        file.seek(2**36)
        file.write("\nno memory is left, sagt der Käfer\n".encode())

    assert log_tail(log).splitlines()[-1] == "no memory is left, sagt der Käfer"


def test_a_log_that_says_nothing_or_is_not_there_has_none(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n")

    assert (log_tail(tmp_path / "log"), log_tail(tmp_path / "other")) == ("", "")
