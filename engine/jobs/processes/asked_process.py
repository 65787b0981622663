"""A process that is given an order on its standard input, answers on its standard output, and is ended with all that it
has started when that takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from engine.errors import StateRowsError
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment

_MOST_OF_ANSWER = 8 * 1024 * 1024


def ask_process(module: str, order: Mapping[str, Any], inherited: Sequence[str], limit: timedelta) -> dict[str, Any]:
    """Run a module of the engine with an order, in the environment of a driver, and return its answer."""
    mark = f"asked/{uuid.uuid4().hex}"
    try:
        return _answer(module, order, {**driver_environment(os.environ, inherited), processes.MARK: mark}, limit)
    finally:
        processes.kill(processes.marked(mark))


def _answer(module: str, order: Mapping[str, Any], environment: Mapping[str, str], limit: timedelta) -> dict[str, Any]:
    seconds = limit.total_seconds()
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=seconds,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StateRowsError(
            f"the rows could not be read within {seconds:g} seconds", hint="ask for fewer, or by key"
        ) from error
    if len(done.stdout) > _MOST_OF_ANSWER:
        raise StateRowsError("these rows are longer than 8 MiB", hint="ask for fewer, or by key")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise StateRowsError(f"the process that was to read the rows has ended with code {done.returncode}") from error
    return answer
