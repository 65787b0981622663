"""A start on a control plane: from the request that deploys a script to its first committed epoch.

The control plane is a new one each time, and so is what it answers first: it has compiled no script before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.served import served
from benchmarks.start_meter import Meter, Moment
from engine.cli.base import Client

ANSWERED, RUNNING = "the PUT is answered", "the job is running"
_LOOK = 0.02
_PATIENCE = 300.0
_SETTLED = 5.0
"""Seconds from the moment that a control plane answers, or its spare is warm, until it has nothing else to do."""


def play_served(script: str, data: Path, meter: Meter, spares: int, files: Mapping[str, str]) -> Mapping[str, Moment]:
    """One start, with so many spare drivers, from the request to what shows in files of the state and in the job."""
    with served(data, meter.mark, spares) as client:
        _until(lambda: len(list((data / "spares").glob("*/ready"))) == spares)
        time.sleep(_SETTLED)
        return _deploy(client, script, meter, files)


def _deploy(client: Client, script: str, meter: Meter, files: Mapping[str, str]) -> Mapping[str, Moment]:
    meter.look()
    before, begin, moments = meter.used(), time.monotonic(), dict[str, Moment]()

    def note(name: str) -> None:
        moments[name] = meter.moment(time.monotonic() - begin, before)

    pipeline: Any = client.send("PUT", "/pipelines/by-name/start", {"query": script})
    meter.look()
    note(ANSWERED)
    state = Path(pipeline["state_dir"])

    def look() -> bool:
        meter.look()
        for name in [name for name, file in files.items() if name not in moments and (state / file).exists()]:
            note(name)
        return len(moments) > len(files)

    _until(look)
    _until(lambda: _is_up(client))
    meter.look()
    note(RUNNING)
    return moments


def _is_up(client: Client) -> bool:
    answer: Any = client.get("/pipelines/start/jobs")
    job = answer["data"][0]
    if job["state"] in ("Failed", "Recovering"):
        raise SystemExit(job["failure_message"])
    return job["epoch"] is not None and job["state"] not in ("Created", "Scheduling")


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("the start takes too long")
        time.sleep(_LOOK)
