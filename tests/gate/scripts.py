"""Random input: what comes in which partition at which step, out of order, in jumps, with silences and late rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import timedelta
from pathlib import Path
from random import Random

from tests.gate.shapes import DELAY, Pipeline
from tests.streams.play import START, Row, Step, write_script

Script = Sequence[Step]
"""What a table plays."""


def random_scripts(random: Random, pipeline: Pipeline, steps: int) -> Mapping[str, Script]:
    """Return a script for each table; all go through the same time, in so many steps. After some of them all tables are
    looked at once more, and are at their ends."""
    spans = [random.choice([1, 4, 10, 20, 30, 75]) for _ in range(steps)]
    scripts = {
        table: list(_steps(random, partitions, spans, has_late_rows=table in pipeline.late_tables))
        for table, partitions in pipeline.tables.items()
    }
    pauses = {step for step in range(steps) if random.random() < 0.4}
    return {table: list(_with_pauses(script, pauses)) for table, script in scripts.items()}


def write_scripts(folder: Path, scripts: Mapping[str, Script]) -> None:
    """Write the scripts where the tables read them."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, script in scripts.items():
        write_script(folder / f"{table}.json", script, knows_end=True)


def _steps(random: Random, partitions: Sequence[str], spans: Sequence[int], *, has_late_rows: bool) -> Iterator[Step]:
    clock, number = 0.0, 0
    silent_until = dict.fromkeys(partitions, 0)
    for step, span in enumerate(spans):
        rows: dict[str, list[Row]] = {}
        for partition in partitions:
            # the first partition always has rows, another may be silent for some steps, also for longer than idle_time
            if partition != partitions[0] and step >= silent_until[partition] and random.random() < 0.15:
                silent_until[partition] = step + random.randint(1, 8)
            count = 0 if step < silent_until[partition] else random.randint(1, 5)
            instants = sorted(random.uniform(clock, clock + span) for _ in range(count))
            rows[partition] = []
            for instant in instants:
                behind = random.choice([0, 0, random.uniform(0, DELAY.total_seconds())])
                if has_late_rows and random.random() < 0.1:
                    behind = random.uniform(60, 240)
                rows[partition].append(_row(random, number, instant - behind))
                number += 1
        clock += span
        yield Step(timedelta(seconds=clock), rows)


def _with_pauses(script: Script, pauses: Set[int]) -> Iterator[Step]:
    """Yield the steps, with one that has no rows after each of those."""
    for number, step in enumerate(script):
        yield step
        if number in pauses:
            yield Step(step.now, {})


def _row(random: Random, number: int, seconds: float) -> Row:
    instant = START + timedelta(seconds=round(seconds, 3))
    return {
        "id": number,
        "k": random.choice(["x", "y", "z", None]),
        "v": random.choice([None, *range(9)]),
        "ts": instant.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
