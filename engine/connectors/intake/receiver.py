"""Receive the messages of a table in a thread of the driver, and write them to its intake log.

receive()    connects, and passes on messages        take() makes them durable
outage       again after 1, 2, 4, ... 60 seconds     the run fails after `source.retry_timeout`
refusal      the run fails
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.intake.options import IntakeOptions
from engine.errors import EngineError, SourceUnavailableError, message_of

LOG = logging.getLogger(__name__)
Take: TypeAlias = "Callable[[Sequence[Message]], Awaitable[None]]"
"""Makes messages durable, and waits where there is no room. Called with none, it only shows that the server answers."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_ROOM_PAUSE = 0.2
_STOP_SECONDS = 10.0


class Receiver(Protocol):
    """Receives the messages of one table."""

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        """Connect, and pass on messages until the connection ends. `last` is the metadata of the newest durable
        message. Raises an EngineError: one that is an outage if the server may answer later."""


@dataclass(slots=True)
class Reception:
    """Connects, again and again, until it is cancelled or must give up."""

    table: str
    options: IntakeOptions
    receiver: Receiver
    writer: LogWriter
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    pause: float = _FIRST_PAUSE
    failing_since: float | None = None

    async def run(self) -> EngineError:
        """Receive messages until an error that no new connection can remedy; return the error."""
        while True:
            error = await self._receive()
            if not error.is_outage:
                return error
            now = self.clock()
            self.failing_since = now if self.failing_since is None else self.failing_since
            if now - self.failing_since + self.pause > self.options.retry_timeout.total_seconds():
                return error
            LOG.warning("%s: %s; trying again in %.0f s", self.table, error.message, self.pause)
            await self.sleep(self.pause)
            self.pause = min(_LONGEST_PAUSE, self.pause * 2)

    async def _receive(self) -> EngineError:
        last = self.writer.last
        try:
            await self.receiver.receive(None if last is None else last.metadata, self._take)
        except EngineError as error:
            return error
        except OSError as error:
            return SourceUnavailableError(
                f"{self.table}: the intake log cannot be written: {message_of(error)}", hint="check the disk"
            )
        return SourceUnavailableError(f"{self.table}: the server has ended the connection", hint="check the server")

    async def _take(self, messages: Sequence[Message]) -> None:
        self.pause, self.failing_since = _FIRST_PAUSE, None
        if not self.writer.append(messages):
            LOG.warning("%s: the intake log is full, and nothing is received until there is room", self.table)
            while not self.writer.append(messages):
                await self.sleep(_ROOM_PAUSE)


class ReceivingThread:
    """A reception in a thread of its own."""

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[EngineError] | None = None
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"receiver of {reception.table}", daemon=True)

    def start(self) -> None:
        """Begin to receive."""
        self._thread.start()
        self._is_up.wait()

    def raise_failure(self) -> None:
        """Raise the error that has ended the reception, if one has."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End the connection."""
        loop, task = self._loop, self._task
        if loop is not None and task is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._failure = asyncio.run(self._receive())
        except asyncio.CancelledError:
            LOG.debug("%s: the receiver is stopped", self._reception.table)
        except Exception as error:  # noqa: BLE001 - the thread of the run raises it
            self._failure = error
        finally:
            self._is_up.set()
            self._reception.writer.close()

    async def _receive(self) -> EngineError:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.create_task(self._reception.run())
        self._is_up.set()
        return await self._task
