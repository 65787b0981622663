"""A receiver in a process of its own, which tests kill: it writes a line for each time that messages become durable.

python -m tests.connectors.receiving mqtt /tmp/log '{"url": "mqtt://localhost:1883", "topic": "a"}'
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.connectors import source_kind_of
from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.intake.options import IntakeOptions
from engine.connectors.intake.receiver import Reception
from tests.connectors.tables import NUMBERS, between, rows, source, start, table


def log_rows(kind: str, log: Path, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table whose intake log is there."""
    of = replace(table(kind, NUMBERS, type="source", **options), intake=log)
    reader = source(of)
    begin = start(reader)
    return rows(between(reader, begin, reader.advance(begin, None)))


@contextmanager
def receiver_process(kind: str, log: Path, options: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """A receiver that writes into a log, and is killed at the end of the block."""
    command = [sys.executable, "-m", "tests.connectors.receiving", kind, str(log), json.dumps(options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def durable(process: subprocess.Popen[str]) -> int:
    """How many messages have become durable in this process, once there are more."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the receiver has ended"
    return int(line)


async def _no_pause(_: float) -> None:
    await asyncio.sleep(0)


def main() -> None:
    kind, log, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    of = replace(table(kind, NUMBERS, type="source", **options), intake=log)
    writer = LogWriter(log, 2**30)
    count = 0
    append = writer.append

    def note(messages: Sequence[Message]) -> bool:
        nonlocal count
        done = append(messages)
        count += len(messages)
        print(count, flush=True)  # noqa: T201 - the test reads it
        return done

    writer.append = note  # type: ignore[method-assign]
    receive = source_kind_of(of).receive
    assert receive is not None
    assert isinstance(of.options, IntakeOptions)
    print(asyncio.run(Reception("t", of.options, receive(of), writer, _no_pause).run()))  # noqa: T201


if __name__ == "__main__":
    main()
