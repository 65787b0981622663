"""Two batch readers of partitions, each a process that may be killed at any time: `pull` asks over REST, as tasks do,
and `watch` runs the trigger of a watcher, as a triggerer does. What they are told they read, they write down what they
have read, and acknowledge it then.

    python -m tests.partition_kills.readers pull FOLDER URL TOKEN
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.cli.base import Client, is_away
from engine.errors import EngineError

MINUTE = 60
BUCKETS: dict[str, Any] = {
    "pipeline": "seconds",
    "every": "1 minute",
    "start": "1970-01-01T00:00:00+00:00",
    "until": "1970-01-01T02:00:00+00:00",
    "late": "reopen",
}


def read(folder: Path, delivery: Mapping[str, Any]) -> dict[str, Any]:
    """The batch of a bucket: its rows, and those of its late rows that are there by the epoch of the certificate."""
    first, until = int(instant(delivery["start"])), delivery["certificate"]["epoch"]
    seconds = range(first, first + MINUTE)
    rows = [[row["n"], row["history"]] for row in rows_of(folder / "out.json", seconds)]
    late = [[row["n"], row["history"]] for row in rows_of(folder / "too_late.json", seconds) if row["epoch"] <= until]
    return {"rows": sorted(rows), "late": sorted(late)}


def rows_of(file: Path, seconds: range) -> Iterator[dict[str, Any]]:
    """The rows of these seconds in what is whole of a file that may be written right now."""
    is_of = re.compile(r'\{"n": ?(\d+),.*\}$', re.MULTILINE)
    with suppress(FileNotFoundError):
        for row in is_of.finditer(file.read_text()):
            if int(row[1]) in seconds:
                yield json.loads(row[0])


def instant(told: str | int) -> float:
    """Seconds since 1970, of microseconds or of a text."""
    return told / 1e6 if isinstance(told, int) else datetime.fromisoformat(told).timestamp()


def note(folder: Path, name: str, delivery: Mapping[str, Any]) -> None:
    """Do the batch of a delivery, and write it down for good."""
    fields = ("sequence", "kind", "key", "certificate")
    told = {"delivery": delivery.get("delivery", delivery.get("id")), **{field: delivery[field] for field in fields}}
    batch = None if delivery["kind"] == "voided" else read(folder, delivery)
    with (folder / f"{name}.jsonl").open("a") as file:
        file.write(json.dumps({**told, "read": batch}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    (folder / f"{name}.epoch.new").write_text(str(told["certificate"]["epoch"]))
    (folder / f"{name}.epoch.new").replace(folder / f"{name}.epoch")


def pull(folder: Path, url: str, token: str) -> None:
    """Ask, read, acknowledge, for ever."""
    client, pause = Client(url, token), threading.Event()
    while True:
        try:
            page: Any = client.get("/partitions/pull/next", {"limit": 5, "timeout_seconds": 1}, hold=1)
            for each in page["data"]:
                note(folder, "pull", each)
            if page["data"]:
                client.send("POST", "/partitions/pull/ack", {"up_to": page["data"][-1]["sequence"]})
        except EngineError as error:
            if not is_away(error):
                raise
            pause.wait(0.2)


async def watch(folder: Path) -> None:
    """Be a triggerer with one watcher."""
    from airflow.triggers.shared_stream import SharedStreamManager

    from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

    trigger, manager = WatermarkEventTrigger(consumer="watch", **BUCKETS), SharedStreamManager()
    key = trigger.shared_stream_key()
    shared = manager.subscribe(trigger_id=1, trigger=trigger, key=key)
    async for event in trigger.filter_shared_stream(shared):
        number = manager.bind_pending_event(trigger_id=1, key=key)
        note(folder, "watch", event.payload)
        asyncio.get_running_loop().call_soon(manager.confirm_persisted, [number])


if __name__ == "__main__":
    verb, place, *more = sys.argv[1:]
    if verb == "pull":
        pull(Path(place), *more)
    else:
        asyncio.run(watch(Path(place)))
