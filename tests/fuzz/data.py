"""Random tables: what rows a stream brings, in which epochs, out of order and with gaps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.streams.play import Step, write_script

START = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = {"id": "i", "k": "t", "g": "i", "v": "i", "d": "d", "b": "b", "s": "t", "xs": "[i]", "ts": "ts"}
"""The columns of every table and the letters that stand for their types."""
TYPES = {"i": "BIGINT", "t": "TEXT", "d": "DOUBLE", "b": "BOOLEAN", "ts": "TIMESTAMP"}
TEXTS = ("", "a", "b", "ab", "Zab", "ä", "a%b", "x y")
DUCKDB = "id BIGINT, k TEXT, g BIGINT, v BIGINT, d DOUBLE, b BOOLEAN, s TEXT, xs BIGINT[], ts TIMESTAMP"


@dataclass(frozen=True)
class Stream:
    """A table with rows: `steps` says what comes in which epoch, `watermarks` what each epoch starts with."""

    name: str
    delay: timedelta
    steps: tuple[dict[str, list[dict[str, object]]], ...]
    watermarks: tuple[datetime | None, ...]
    has_late_rows: bool

    def rows(self) -> list[tuple[object, ...]]:
        """All rows in the order of the columns, with the watermark of their epoch behind."""
        return [
            (*(_plain(row[name], name) for name in COLUMNS), mark and mark.replace(tzinfo=None))
            for step, mark in zip(self.steps, self.watermarks, strict=True)
            for part in step.values()
            for row in part
        ]

    def write(self, folder: Path) -> Path:
        """The script of the stream."""
        path = folder / f"{self.name}.json"
        write_script(path, [Step(timedelta(seconds=number), rows) for number, rows in enumerate(self.steps)])
        return path

    def declaration(self, script: Path) -> str:
        """The table, as a script declares it."""
        columns = ", ".join(
            f"{name} {'BIGINT[]' if kind == '[i]' else TYPES[kind]}{' NOT NULL' * (name in ('id', 'ts'))}"
            for name, kind in COLUMNS.items()
        )
        delay = f"WATERMARK FOR ts AS ts - INTERVAL '{self.delay.total_seconds():g} seconds'"
        return f"CREATE TABLE {self.name} ({columns}, {delay})\nWITH (connector = 'scripted', path = '{script}');\n"


def random_stream(random: Random, name: str, *, late: bool) -> Stream:
    """A stream of up to a hundred rows in up to five epochs. Without `late` none is behind the watermark."""
    disorder = random.choice([0, 1, 5, 20])
    parts = ["p"] if late else random.choice([["p"], ["p"], ["p", "q"]])
    clock, number = random.randrange(0, 3600) / 1.0, 0
    steps = []
    for _ in range(random.randint(1, 5)):
        step: dict[str, list[dict[str, object]]] = {}
        for part in parts:
            rows = []
            for _ in range(random.choice([0, 1, 3, 8, 25])):
                clock += random.choice([0, 0, 0.25, 1, 1, 3, 10, 60])
                behind = random.random() * disorder * (8 if late and random.random() < 0.2 else 1)
                rows.append(_row(random, number, clock - round(behind, 3)))
                number += 1
            step[part] = rows
        steps.append(step)
    delay = timedelta(seconds=disorder)
    return Stream(name, delay, tuple(steps), tuple(_watermarks(steps, delay)), late)


def _watermarks(steps: Sequence[dict[str, list[dict[str, object]]]], delay: timedelta) -> list[datetime | None]:
    """What each epoch starts with when there is one partition: the greatest of the least times of those before."""
    marks: list[datetime | None] = []
    mark: datetime | None = None
    for step in steps:
        marks.append(mark)
        times = [datetime.fromisoformat(str(row["ts"])) - delay for row in step["p"]]
        if times:
            mark = min(times) if mark is None else max(mark, min(times))
    return marks


def _row(random: Random, number: int, seconds: float) -> dict[str, object]:
    def maybe(value: object) -> object:
        return None if random.random() < 0.15 else value

    return {
        "id": number,
        "k": maybe(random.choice(TEXTS[:4])),
        "g": maybe(random.randint(0, 3)),
        "v": maybe(random.randint(-20, 20)),
        "d": maybe(random.randint(-40, 40) / 4),
        "b": maybe(random.random() < 0.5),
        "s": maybe(random.choice(TEXTS)),
        "xs": maybe([maybe(random.randint(0, 5)) for _ in range(random.randint(0, 3))]),
        "ts": (START + timedelta(seconds=round(seconds, 3))).isoformat().replace("+00:00", "Z"),
    }


def _plain(value: object, name: str) -> object:
    return datetime.fromisoformat(str(value)).replace(tzinfo=None) if name == "ts" else value


def shown(stream: Stream) -> str:
    """The rows of a stream, for whoever reads of a difference."""
    return "\n".join(json.dumps(row) for step in stream.steps for part in step.values() for row in part)
