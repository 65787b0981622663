"""Two hours of event time that close a minute at a time, while control plane, driver and both readers are killed and
paused, and the pipeline goes back to savepoints: each minute is told once and in order, once more where rows came late
for it, and again where a restore has made it void; and whatever was read of it is the batch answer.

    KILLS=100 SEED=7 .venv/bin/python -m pytest tests/system/test_partition_kills.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.partition_kills.play import play

pytestmark = [pytest.mark.system, pytest.mark.timeout(7200)]
ASKED = os.environ.get("KILLS", "5")
KILLS = 100 if ASKED == "all" else int(ASKED)
SEED = int(os.environ.get("SEED", "17"))


def test_each_minute_is_told_once_and_what_is_read_is_the_batch_answer_whoever_is_killed(tmp_path: Path) -> None:
    figures = play(tmp_path, KILLS, SEED)

    assert figures["happened"]["restore"], figures
    for name in ("pull", "watch"):
        assert figures[name]["closed"] >= 120
        assert figures[name]["reopened"], figures
        assert figures[name]["voided"], figures
