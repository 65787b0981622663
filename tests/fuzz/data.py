"""Random tables: what rows a stream brings, in which epochs, out of order and with gaps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

from tests.streams.play import Step, write_script

START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Column:
    """The letters that stand for a column's type, and the type in both dialects."""

    kind: str
    engine_sql: str
    oracle_sql: str


TABLE = {
    "id": Column("i", "BIGINT NOT NULL", "BIGINT"),
    "k": Column("t", "TEXT", "TEXT"),
    "g": Column("i", "BIGINT", "BIGINT"),
    "v": Column("i", "BIGINT", "BIGINT"),
    # whole numbers of other sizes are counted with as if they were of this one
    "u": Column("i", "INT UNSIGNED", "BIGINT"),
    "h": Column("i", "INT", "BIGINT"),
    "d": Column("d", "DOUBLE", "DOUBLE"),
    "p": Column("n", "DECIMAL(10, 2)", "DECIMAL(10, 2)"),
    "b": Column("b", "BOOLEAN", "BOOLEAN"),
    "s": Column("t", "TEXT", "TEXT"),
    "xs": Column("[i]", "BIGINT[]", "BIGINT[]"),
    "st": Column("st", "STRUCT<a BIGINT, n DECIMAL(6, 1), t TEXT>", "STRUCT(a BIGINT, n DECIMAL(6, 1), t TEXT)"),
    "j": Column("j", "JSON", "JSON"),
    "ts": Column("ts", "TIMESTAMP NOT NULL", "TIMESTAMP"),
}
"""The columns of every table."""
CHANGES = "c"
"""The name of the table whose rows change."""
COLUMNS = {name: column.kind for name, column in TABLE.items()}
MEMBERS = {"st.a": "i", "st.n": "n", "st.t": "t"}
"""What expressions can read within the columns."""
SCALARS = ("i", "d", "n", "t", "b", "ts")
"""The kinds that values can be compared by."""
TEXTS = ("", "a", "b", "ab", "Zab", "ä", "a%b", "x y")


@dataclass(frozen=True)
class Stream:
    """A table with rows: `steps` says what comes in which epoch, `watermarks` what each epoch starts with."""

    name: str
    delay: timedelta
    steps: tuple[dict[str, list[dict[str, object]]], ...]
    watermarks: tuple[datetime | None, ...]
    has_late_rows: bool
    is_changes: bool = False

    def rows(self) -> list[tuple[object, ...]]:
        """All rows in the order of the columns, with the watermark of their epoch behind; of changes what is left."""
        marked_rows = [
            (row, mark)
            for step, mark in zip(self.steps, self.watermarks, strict=True)
            for part in step.values()
            for row in part
        ]
        if self.is_changes:
            marked_rows = [(row, None) for row in _left([row for row, _ in marked_rows])]
        return [
            (*(_plain(row[name], name) for name in COLUMNS), mark and mark.replace(tzinfo=None))
            for row, mark in marked_rows
        ]

    def write(self, folder: Path) -> Path:
        """The script of the stream."""
        path = folder / f"{self.name}.json"
        write_script(path, [Step(timedelta(seconds=number), rows) for number, rows in enumerate(self.steps)])
        return path

    def declaration(self, script: Path) -> str:
        """The table, as a script declares it."""
        columns = ", ".join(f"{name} {column.engine_sql}" for name, column in TABLE.items())
        delay = f"WATERMARK FOR ts AS ts - INTERVAL '{self.delay.total_seconds():g} seconds'"
        if self.is_changes:
            columns = columns.replace("id BIGINT NOT NULL", "id BIGINT PRIMARY KEY", 1)
            options = f"connector = 'scripted', path = '{script}', format = 'debezium_json'"
            encodings = "'json.timestamp_format' = 'RFC3339', 'json.decimal_encoding' = 'number'"
            return f"CREATE TABLE {self.name} ({columns})\nWITH ({options}, {encodings});\n"
        return f"CREATE TABLE {self.name} ({columns}, {delay})\nWITH (connector = 'scripted', path = '{script}');\n"


def random_stream(random: Random, name: str, *, late: bool) -> Stream:
    """A stream of up to a hundred rows in up to five epochs. Without `late` none is behind the watermark."""
    disorder = random.choice([0, 1, 5, 20])
    parts = random.choice([["p"], ["p"], ["p", "q"], ["p", "q", "r"]])
    clock, number = random.randrange(0, 3600) / 1.0, 0
    steps = []
    for _ in range(random.choice([1, 2, 2, 3, 5])):
        step: dict[str, list[dict[str, object]]] = {}
        for part in parts:
            rows = []
            for _ in range(random.choice([0, 1, 3, 8, 25])):
                clock += random.choice([0, 0, 0.25, 1, 1, 3, 10, 60])
                behind = random.random() * disorder * (8 if late and random.random() < 0.2 else 1)
                rows.append(random_row(random, number, clock - round(behind, 3)))
                number += 1
            step[part] = rows
        steps.append(step)
    delay = timedelta(seconds=disorder)
    return Stream(name, delay, tuple(steps), tuple(watermarks_of(steps, delay)), late)


def random_changes(random: Random) -> Stream:
    """A stream of changes as Debezium writes them, of rows that are known by their id."""
    living: dict[int, dict[str, object]] = {}
    steps: list[dict[str, list[dict[str, object]]]] = []
    number = 0
    for _ in range(random.choice([1, 2, 2, 3, 5])):
        changes: list[dict[str, object]] = []
        for _ in range(random.choice([0, 1, 3, 8, 15])):
            operation = random.choice("ccuud") if living else "c"
            key = number if operation == "c" else random.choice(list(living))
            before = living.pop(key, None)
            if operation != "d":
                living[key] = random_row(random, key, random.randrange(0, 3600))
            number += operation == "c"
            changes.append({"before": before, "after": living.get(key), "op": operation})
        steps.append({"p": changes})
    return Stream(CHANGES, timedelta(0), tuple(steps), (None,) * len(steps), has_late_rows=False, is_changes=True)


def _left(changes: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """The rows that are there after all changes."""
    living: dict[object, dict[str, object]] = {}
    for change in changes:
        before, after = change["before"], change["after"]
        if isinstance(before, dict):
            del living[before["id"]]
        if isinstance(after, dict):
            living[after["id"]] = after
    return list(living.values())


def watermarks_of(steps: Sequence[dict[str, list[dict[str, object]]]], delay: timedelta) -> list[datetime | None]:
    """What each epoch starts with: of each partition the greatest of the least times of its epochs before, and the
    least of those. A partition that has shown nothing yet holds back the others, one that has ended does not."""
    marks: list[datetime | None] = []
    shown: dict[str, datetime] = {}
    mark: datetime | None = None
    for number, step in enumerate(steps):
        active = [name for name, rows in step.items() if rows or number < len(steps) - 1]
        if active and all(name in shown for name in active):
            least = min(shown[name] for name in active)
            mark = least if mark is None else max(mark, least)
        marks.append(mark)
        for name, rows in step.items():
            times = [datetime.fromisoformat(str(row["ts"])) - delay for row in rows]
            if times:
                shown[name] = max(shown.get(name, min(times)), min(times))
    return marks


def random_row(random: Random, number: int, seconds: float) -> dict[str, object]:
    """A row with that id and time, and whatever else."""

    def maybe(value: object) -> object:
        return None if random.random() < 0.15 else value

    return {
        "id": number,
        "k": maybe(random.choice(TEXTS[:4])),
        "g": maybe(random.randint(0, 3)),
        "v": maybe(random.randint(-20, 20)),
        "u": maybe(random.choice([0, 1, 2, 3, 7, 300])),
        "h": maybe(random.randint(-5, 5)),
        "d": maybe(random.randint(-40, 40) / 4),
        "p": maybe(random.randint(-500, 500) / 100),
        "b": maybe(random.random() < 0.5),
        "s": maybe(random.choice(TEXTS)),
        "xs": maybe([maybe(random.randint(0, 5)) for _ in range(random.randint(0, 3))]),
        "st": maybe(
            {
                "a": maybe(random.randint(0, 3)),
                "n": maybe(random.randint(-30, 30) / 10),
                "t": maybe(random.choice(TEXTS)),
            }
        ),
        "j": maybe(_json(random)),
        "ts": (START + timedelta(seconds=round(seconds, 3))).isoformat().replace("+00:00", "Z"),
    }


def _json(random: Random) -> dict[str, object]:
    """An object whose members have always the same kinds, if they are there at all."""
    members: dict[str, object] = {
        "i": random.choice([None, random.randint(-9, 9)]),
        "f": random.randint(-8, 8) / 4 + 0.125,
        "b": random.random() < 0.5,
        "t": random.choice([None, *TEXTS]),
        "l": [random.randint(0, 3) for _ in range(random.randint(0, 3))],
        "o": {"t": random.choice(TEXTS)},
    }
    return {name: value for name, value in members.items() if random.random() < 0.8}


def _plain(value: object, name: str) -> object:
    if value is None:
        return None
    match COLUMNS[name]:
        case "ts":
            return datetime.fromisoformat(str(value)).replace(tzinfo=None)
        case "n":
            return Decimal(str(value))
        case "j":
            return json.dumps(value)
    return value


def shown(stream: Stream) -> str:
    """The rows of a stream, for whoever reads of a difference."""
    return "\n".join(json.dumps(row) for step in stream.steps for part in step.values() for row in part)
