"""Receive the messages of a WebSocket.

One coroutine reads, another makes durable: messages that arrive during a write are written together by the next one.
If the log is full, nothing is read, so the server must wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.connectors.intake.log import Message
from engine.connectors.intake.receiver import Take
from engine.connectors.websocket.client import ClientConnection, connection
from engine.connectors.websocket.options import WebsocketOptions

_MOST_GATHERED = 1_000
_MOST_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WebsocketReceiver:
    """Receives the messages of one URL."""

    options: WebsocketOptions
    wall_clock: Callable[[], int] = time.time_ns

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        """Subscribe, and receive messages until the connection ends."""
        gathered: asyncio.Queue[Message] = asyncio.Queue(_MOST_GATHERED)
        async with connection(self.options) as opened:
            for text in self.options.subscriptions:
                await opened.send(text)
            await take([])
            writing = asyncio.create_task(_write(gathered, take))
            reading = asyncio.create_task(self._read(opened, gathered))
            tasks: list[asyncio.Task[None]] = [reading, writing]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if not writing.done():
                    tasks.append(asyncio.create_task(gathered.join()))
                    await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            for task in (writing, reading):
                if not task.cancelled() and (error := task.exception()) is not None:
                    raise error

    async def _read(self, opened: ClientConnection, gathered: asyncio.Queue[Message]) -> None:
        async for content in opened:
            is_text = isinstance(content, str)
            data = content.encode() if isinstance(content, str) else bytes(content)
            message = Message(data, {"kind": "text" if is_text else "binary"}, self.wall_clock() // 1000)
            await gathered.put(message)


async def _write(gathered: asyncio.Queue[Message], take: Take) -> None:
    while True:
        messages = [await gathered.get()]
        size = len(messages[0].content)
        while not gathered.empty() and size < _MOST_BYTES:
            messages.append(gathered.get_nowait())
            size += len(messages[-1].content)
        await take(messages)
        for _ in messages:
            gathered.task_done()
