"""Receive some messages without a job, to test a table or to infer its columns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.intake.receiver import Receiver
from engine.errors import SourceUnavailableError

_CONNECT_SECONDS = 15.0
_MOST_BYTES = 64 * 1024 * 1024


class _EnoughError(Exception):
    """Enough was received."""


def receive_some(receiver: Receiver, directory: Path, count: int, seconds: float = 5.0) -> None:
    """Receive `count` messages into a log, or as many as come in some seconds after the server has answered. With none,
    only wait for the answer. Raise the error of the receiver."""
    writer = LogWriter(directory, _MOST_BYTES)
    try:
        asyncio.run(_receive(receiver, writer, count, seconds))
    finally:
        writer.close()


async def _receive(receiver: Receiver, writer: LogWriter, count: int, seconds: float) -> None:
    answered = asyncio.Event()
    received = 0

    async def take(messages: Sequence[Message]) -> None:
        nonlocal received
        answered.set()
        has_room = writer.append(messages)
        received += len(messages)
        if received >= count or not has_room:
            raise _EnoughError

    receiving = asyncio.create_task(receiver.receive(None, take))
    answering = asyncio.create_task(answered.wait())
    try:
        await asyncio.wait((receiving, answering), timeout=_CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not answered.is_set() and not receiving.done():
            raise SourceUnavailableError("the server does not answer", hint="check that it is up")
        await asyncio.wait((receiving,), timeout=seconds)
        if (
            receiving.done()
            and (error := receiving.exception())
            and not isinstance(error, _EnoughError)
            and not received
        ):
            raise error
    finally:
        for task in (receiving, answering):
            task.cancel()
        await asyncio.wait((receiving, answering))
