"""Event time that closes a minute at a time, while control plane, driver and whoever is told of it are killed: each
minute is told once and in order, and once more where rows came late for it."""

from __future__ import annotations

import json
import os
import random
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UnreachableError
from tests.system.conftest import Served, until
from tests.system.fake_driver import BEGIN, late_minute

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]
KILLS = 100 if os.environ.get("KILLS") == "all" else 5
LATE_EVERY = 7
MINUTE = 60_000_000
QUERY = f"""-- late: {LATE_EVERY}
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '10', late_rows = 'too_late');
CREATE TABLE out (n BIGINT) WITH (connector = 'blackhole', type = 'sink');
CREATE TABLE too_late (counter BIGINT UNSIGNED) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO out SELECT count(*) FROM impulse GROUP BY tumble(INTERVAL '1 minute');
"""


@dataclass
class Follower:
    """Writes down what it is told, and then acknowledges it; may be killed between the two."""

    plane: Served
    chance: random.Random
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    again: int = 0

    def follow(self) -> None:
        """Ask once, while the control plane may be dead."""
        with suppress(UnreachableError):
            page: Any = self.plane.client.get("/partitions/minutes/next", {"limit": 1000, "timeout_seconds": 1})
            for each in page["data"]:
                self.again += each["id"] in self.told
                assert self.told.setdefault(each["id"], each) == each, "the same id is the same delivery"
            if page["data"] and self.chance.random() < 0.7:
                body = {"up_to": page["data"][-1]["sequence"]}
                self.plane.client.send("POST", "/partitions/minutes/ack", body)

    def until_all(self, epoch: int) -> None:
        """Follow until the minutes of all epochs were told, and acknowledged."""

        def look() -> Any:
            self.follow()
            return self.plane.client.get("/partitions/minutes")

        self.until_epoch(epoch)
        until(look, lambda consumer: consumer["acked"] == consumer["delivered"])

    def until_epoch(self, epoch: int) -> int:
        """Follow until the minute of an epoch was told; how many were."""

        def look() -> int:
            self.follow()
            return sum(each["kind"] == "closed" for each in self.told.values())

        return until(look, lambda closed: closed >= epoch)


def test_each_minute_is_told_once_and_once_more_for_late_rows_whoever_is_killed(plane: Served) -> None:
    chance = random.Random(17)
    plane.start().client.send("PUT", "/pipelines/by-name/orders", {"query": QUERY})
    body = {"pipeline": "orders", "every": "1 minute", "start": BEGIN.isoformat(), "late": "reopen"}
    plane.client.send("PUT", "/partitions/minutes", body)
    follower, closed = Follower(plane, chance), 0

    for number in range(KILLS):
        closed = follower.until_epoch(closed + chance.randrange(60, 100))
        if number % 2:
            plane.end(signal.SIGKILL)
            follower.follow()
            plane.start()
        else:
            with suppress(ProcessLookupError):
                os.kill(plane.holder()["pid"], signal.SIGKILL)
    plane.until_epoch(_committed(plane) + 2 * LATE_EVERY)  # by a run that nobody kills
    plane.patch(stop="checkpoint")
    plane.until(state="Stopped")
    follower.until_all(_committed(plane))

    assert follower.again, "it was killed before it acknowledged"
    judge(list(follower.told.values()), _committed(plane))


def judge(told: list[dict[str, Any]], committed: int) -> None:
    """Each minute was closed once and in order, and those that rows came late for since, once more."""
    assert [each["sequence"] for each in told] == list(range(1, len(told) + 1))
    closed = [each for each in told if each["kind"] == "closed"]
    first = int(BEGIN.timestamp()) * 1_000_000
    assert [each["start"] for each in closed] == [first + number * MINUTE for number in range(committed)]
    reopened = [each for each in told if each["kind"] == "reopened"]
    assert len(closed) + len(reopened) == len(told)
    by_start = {each["start"]: each for each in closed}
    expected = set[int]()
    for epoch in range(LATE_EVERY, committed + 1, LATE_EVERY):
        start = late_minute(epoch) * MINUTE
        if start in by_start and by_start[start]["certificate"]["epoch"] < epoch:
            expected.add(start)
    starts = [each["start"] for each in reopened]
    assert len(starts) == len(set(starts)), "once for a batch"
    assert set(starts) == expected
    assert expected, "rows came late for what was told"
    for each in reopened:
        assert each["certificate"]["epoch"] >= (each["start"] - first) // MINUTE + 50
        assert each["sequence"] > by_start[each["start"]]["sequence"]


def _committed(plane: Served) -> int:
    pipeline: Any = plane.client.get("/pipelines/orders")
    count: dict[str, int] = json.loads((Path(pipeline["state_dir"]) / "count.json").read_text())
    return count["epoch"]
