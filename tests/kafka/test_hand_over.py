"""Thirty days of hourly files and a topic that grows: a pipeline that reads what comes hands over to one that has read
all of it, with real drivers, of which somebody is killed five times: what both have written is the batch answer, each
row once. Which and when follows from SEED."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest

from engine.errors import UnreachableError
from engine.jobs.processes import processes
from engine.jobs.processes.process_usage import is_java
from tests.kafka.broker import Broker
from tests.kills.stories import ArmedPlane
from tests.system.conftest import until

pytestmark = [pytest.mark.timeout(3600)]
SQL = """
CREATE TABLE archive (at TIMESTAMP NOT NULL, shop TEXT, n BIGINT, WATERMARK FOR at AS at) WITH (
  connector = 'filesystem', path = '{folder}/archive', type = 'source', format = 'json', source.watch = true,
  source.settle_time = '0 seconds', quiet_after = '2 seconds'
);
CREATE TABLE orders (at TIMESTAMP NOT NULL, shop TEXT, n BIGINT, WATERMARK FOR at AS at) WITH (
  connector = 'kafka', bootstrap_servers = '{broker}', topic = '{topic}', type = 'source', format = 'json',
  source.offset = 'earliest'
);
CREATE TABLE hours (hour TIMESTAMP, shop TEXT, n BIGINT, total BIGINT) WITH (
  connector = 'single_file', path = '{folder}/hours.json', type = 'sink', format = 'json'
);
INSERT INTO hours SELECT w.start, shop, n, total FROM (
  SELECT tumble(INTERVAL '1 hour') AS w, shop, count(*) AS n, sum(n) AS total FROM (
    SELECT at, shop, n FROM archive UNION ALL SELECT at, shop, n FROM orders
  ) GROUP BY 1, 2);
"""
SINCE = datetime(2024, 1, 1, tzinfo=UTC)
HOURS = 30 * 24
LIVE = SINCE + timedelta(hours=HOURS)
PARTITIONS = 3
PATIENCE = 1800.0
LIMITS = {"HEARTBEAT_LIMIT": "300s", "STOP_GRACE": "300s", "START_LIMIT": "20m"}
IN_ORDER = ("waiting", "holding", "passing", "stopping", "finishing", "meeting", "met", "switching", "over")
SEED = int(os.environ.get("SEED", "1"))

Row = dict[str, object]
Answer = list[tuple[Any, ...]]
Victim = Literal["driver", "java", "server"]


@dataclass(frozen=True, slots=True)
class Kill:
    """Who is killed with -9, and how many looks after the hand-over has come to a step."""

    who: Victim
    step: str
    looks: int


def kills(seed: int) -> list[Kill]:
    """One before the two come to one place, three on the way, one behind it; each kind of process is among them."""
    chance = random.Random(seed)
    victims: list[Victim] = ["driver", "java", "server", "driver", "java"]
    chance.shuffle(victims)
    steps = ("waiting", "holding", "meeting", "switching", "over")
    return [Kill(who, step, chance.randrange(20)) for who, step in zip(victims, steps, strict=True)]


def is_driver(pid: int) -> bool:
    try:
        return b"engine.driver.main" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def rows_from(at: datetime, first: int, count: int) -> list[Row]:
    """Some rows, ten minutes apart."""
    return [
        {
            "at": f"{at + timedelta(minutes=10 * number):%Y-%m-%dT%H:%M:%SZ}",
            "shop": f"s{(first + number) % 2}",
            "n": number,
        }
        for number in range(count)
    ]


@dataclass
class HandOver:
    """`orders` reads the topic from its beginning and of the archive what comes; `orders-again` reads all of both, and
    takes over. The topic grows with each look at them."""

    plane: ArmedPlane
    broker: Broker
    folder: Path
    rows: list[Row] = field(default_factory=list)
    """What has come into the topic."""
    steps: list[str] = field(default_factory=list)
    """The steps that the hand-over was seen at."""
    killed: list[str] = field(default_factory=list)
    """Who was killed, and the step that was seen last then."""

    def __post_init__(self) -> None:
        self.topic = self.broker.create_topic(partitions=PARTITIONS, retention_ms=-1)
        (self.folder / "archive").mkdir()
        self.archived: list[Row] = []
        for hour in range(HOURS):
            rows = rows_from(SINCE + timedelta(hours=hour), 3 * hour, 3)
            (self.folder / "archive" / f"{hour:03}.json").write_text(lines(rows))
            self.archived += rows

    def begin(self) -> None:
        """Deploy the original, and once it writes have all read again beside it."""
        sql = SQL.format(folder=self.folder, broker=self.broker.address, topic=self.topic)
        settings = {"quick": "true", "memory": "600m", "max_epoch_rows": "700", "start_from": "archive=latest"}
        wish = {"query": sql, "settings": settings, "checkpoint_interval_micros": 1_000_000}
        self.plane.client.send("PUT", "/pipelines/by-name/orders", wish)
        self.until(lambda: self.written("hours.json"), bool)
        start = "archive=earliest; orders=earliest"
        self.plane.client.send(
            "POST", "/pipelines/orders/reprocess", {"into": "again", "start_from": start, "hand_over": True}
        )

    def come(self) -> None:
        """Half an hour of rows, one for each partition."""
        rows = rows_from(LIVE + timedelta(minutes=10 * len(self.rows)), len(self.rows), PARTITIONS)
        for partition, row in enumerate(rows):
            self.broker.produce(self.topic, json.dumps(row), partition=partition)
        self.rows += rows

    def until(self, look: Callable[[], Any], holds: Callable[[Any], bool], within: float = PATIENCE) -> Any:
        """Look until it holds. Each time more rows come, and who was killed is started again."""

        def look_on() -> Any:
            self.plane.revive()
            self.come()
            try:
                return look()
            except UnreachableError:
                return None

        return until(look_on, lambda seen: seen is not None and holds(seen), within)

    def shown(self) -> dict[str, Any]:
        """How far the hand-over is."""
        answer: Any = self.plane.client.get("/pipelines/orders-again/hand-over")
        if answer["step"] not in self.steps[-1:]:
            self.steps.append(answer["step"])
        return dict(answer)

    def until_step(self, step: str) -> dict[str, Any]:
        """Look until the hand-over has come to a step, or further."""
        places = (*IN_ORDER, "given_up")

        def is_there(shown: dict[str, Any]) -> bool:
            assert shown["step"] != "given_up", shown
            return places.index(shown["step"]) >= places.index(step)

        shown: dict[str, Any] = self.until(self.shown, is_there)
        return shown

    def die(self, kill: Kill) -> None:
        """Kill who is at work so many looks after the hand-over came to that step."""
        self.until_step(kill.step)
        looks = itertools.count()

        def at_work() -> list[int]:
            self.shown()
            return self.at_work(kill.who) if next(looks) >= kill.looks else []

        pid = self.until(at_work, bool)[0]
        os.kill(pid, signal.SIGKILL)
        self.killed.append(f"{kill.who} in {self.steps[-1]}")

    def at_work(self, who: Victim) -> list[int]:
        """The processes of that kind, those of the copy first."""
        if who == "server":
            return [] if self.plane.process is None else [self.plane.process.pid]
        jobs = [self.plane.job(name) for name in ("orders-again", "orders")]
        pids = [pid for job in jobs for pid in processes.marked(f"{job['id']}/{job['run_id']}")]
        return list(filter(is_java if who == "java" else is_driver, pids))

    def written(self, name: str) -> Answer:
        """What a pipeline has written, in order."""
        path = self.folder / name
        if not path.exists() or not path.stat().st_size:
            return []
        return duckdb.execute(f"SELECT hour::TIMESTAMP, shop, n, total FROM '{path}' ORDER BY 1, 2").fetchall()

    def close(self) -> Answer:
        """Have rows come of a day later, once nothing older is in the same epoch, until all before them is written: the
        batch answer over all rows."""
        (self.folder / "all.json").write_text(lines([*self.archived, *self.rows]))
        expected = duckdb.execute(
            f"""SELECT date_trunc('hour', "at"), shop, count(*), sum(n)
            FROM read_json('{self.folder}/all.json', columns = {{"at": 'TIMESTAMP', shop: 'TEXT', n: 'BIGINT'}})
            GROUP BY 1, 2 ORDER BY 1, 2"""
        ).fetchall()
        live = [row for row in expected if row[0] >= LIVE.replace(tzinfo=None)]
        later = LIVE + timedelta(minutes=10 * len(self.rows), days=1)

        def look() -> Answer:
            self.plane.revive()
            for partition in range(PARTITIONS):
                self.broker.produce(self.topic, lines(rows_from(later, 0, 1)).strip(), partition=partition)
            return self.written("hours.json")

        until(look, lambda written: len(written) >= len(live), PATIENCE)
        return expected


def lines(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def hand_over(broker: Broker, tmp_path: Path) -> Iterator[HandOver]:
    data_dir = tmp_path / "plane"
    data_dir.mkdir()
    plane = ArmedPlane(data_dir, LIMITS, None)
    plane.start()
    yield HandOver(plane, broker, tmp_path)
    plane.close()


def test_five_kills_in_a_hand_over_change_nothing_of_what_is_written(hand_over: HandOver) -> None:
    hand_over.begin()

    for kill in kills(SEED):
        hand_over.die(kill)

    expected = hand_over.close()
    live = [row for row in expected if row[0] >= LIVE.replace(tzinfo=None)]
    assert hand_over.written("hours.json") == live, hand_over.killed
    again = hand_over.written("again/hours.json")
    assert again == expected[: len(again)], hand_over.killed
    assert len(again) > len(expected) - len(live), "it has written all of the archive, and some of what has come since"
    hand_over.plane.until("orders", state="Running", within=PATIENCE)
    assert hand_over.plane.job("orders-again")["state"] == "Stopped"
