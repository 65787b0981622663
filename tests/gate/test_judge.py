"""What is promised too much is found, and what is promised too late; without Spark.

The output is that of an engine on one page: minutes of one table, closed by the watermark of the epoch before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.spark.read.planner import Offset
from engine.values.epoch_report import SinkProgress
from engine.values.instants import FAR_FUTURE, to_micros
from tests.gate.judge import faults
from tests.gate.plays import Play
from tests.gate.scripts import Script
from tests.gate.shapes import DELAY, WINDOWS, Pipeline
from tests.streams.play import START, Step, at

TABLE = Pipeline({"a": ("p",)}, {"tumble": WINDOWS.shapes["tumble"]})
EPOCHS = 12
HALF_MINUTE, MINUTE = timedelta(seconds=30), timedelta(minutes=1)
SCRIPT: Script = [
    Step(HALF_MINUTE * epoch, {"p": [{"id": epoch, "k": "x", "v": 1, "ts": at(epoch / 2)}]}) for epoch in range(EPOCHS)
]
"""Two rows in each minute, one in an epoch."""


def mark(epoch: int) -> datetime | None:
    """The watermark of the rows of an epoch: what the epoch before has shown."""
    return None if epoch < 1 else START + HALF_MINUTE * (epoch - 1) - DELAY


def settled(epoch: int) -> datetime | None:
    """Up to where an epoch has closed windows."""
    return FAR_FUTURE if epoch == EPOCHS else mark(epoch - 1)


def edge(instant: datetime | None) -> datetime | None:
    """The begin of the minute."""
    return instant and (instant if instant == FAR_FUTURE else instant.replace(second=0, microsecond=0))


def row(minute: int) -> str:
    begin = (START + MINUTE * minute).replace(tzinfo=None)
    content = {"b": begin.isoformat(), "e": (begin + MINUTE).isoformat(), "k": "x", "n": 2, "s": 2}
    return json.dumps(content) + "\n"


def played(folder: Path, *, held_back: int = 0) -> Play:
    """The play; rows can be read so many epochs after they were written."""
    (folder / "out").mkdir()
    (folder / "witnessed").mkdir()
    content = ""
    for epoch in range(EPOCHS + 1):
        until = settled(epoch if epoch == EPOCHS else epoch - held_back)
        done = [minute for minute in range(EPOCHS // 2) if until is not None and START + MINUTE * (minute + 1) <= until]
        content = "".join(map(row, done))
        (folder / "witnessed" / f"{epoch}.json").write_text(
            json.dumps({"tumble.json": len(content)} if content else {})
        )
    (folder / "out" / "tumble.json").write_text(content)
    ends = {epoch: {"a": offset(epoch)} for epoch in range(EPOCHS + 1)}
    return Play(TABLE, folder, {"a": SCRIPT}, {}, ends, promised(lambda epoch: edge(settled(epoch))))


def offset(epoch: int) -> Offset:
    instant = mark(min(epoch, EPOCHS - 1))
    return Offset("a", {"p": min(epoch + 1, EPOCHS)}, {"p": None}, None if instant is None else to_micros(instant))


def promised(until: Callable[[int], datetime | None]) -> Mapping[int, Mapping[str, SinkProgress]]:
    return {epoch: {"tumble": SinkProgress(until(epoch), settled(epoch))} for epoch in range(EPOCHS + 1)}


def test_output_that_matches_the_plan_is_accepted(tmp_path: Path) -> None:
    assert faults(played(tmp_path)) == []


def test_a_promise_that_is_not_floored_to_the_edge_of_a_window_is_found(tmp_path: Path) -> None:
    wrong = faults(replace(played(tmp_path), promises=promised(settled)))

    assert wrong
    assert all("rows are missing" in text for text in wrong)


def test_a_promise_that_forgets_files_that_are_still_open_is_found(tmp_path: Path) -> None:
    wrong = faults(played(tmp_path, held_back=3))

    assert wrong
    assert all("rows are missing" in text for text in wrong)


@pytest.mark.parametrize(("behind", "is_wrong"), [(timedelta(0), False), (MINUTE, True), (3 * MINUTE, True)])
def test_a_promise_that_is_further_behind_than_it_must_be_is_found(
    tmp_path: Path, behind: timedelta, is_wrong: bool
) -> None:
    def until(epoch: int) -> datetime | None:
        least = edge(settled(epoch))
        return least and max(least - behind, datetime(1970, 1, 2, tzinfo=UTC))

    wrong = faults(replace(played(tmp_path), promises=promised(until)))

    assert bool(wrong) is is_wrong
    assert all("it could have been" in text for text in wrong)


def test_a_row_that_nobody_has_read_is_found(tmp_path: Path) -> None:
    play = played(tmp_path)
    output = tmp_path / "out" / "tumble.json"
    output.write_text(output.read_text().replace('"n": 2', '"n": 3', 1))

    assert any("should not be" in text for text in faults(play))
