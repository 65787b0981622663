r"""Parse server-sent events. Pure.

b"id: 7\ndata: a\ndata: b\n\n"      Event(id "7", kind "message", data b"a\nb")
b": comment\n\n"                    nothing
b"event: quote\ndata: c\n\n"        Event(id "7", kind "quote", data b"c"): the id is the newest that was sent
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """An event. `id` is the newest id of the stream, if there was one."""

    id: str | None
    kind: str
    data: bytes


class TooLongError(Exception):
    """An event is longer than allowed."""


@dataclass(slots=True)
class EventParser:
    """Parses a stream, in blocks of any size. An event may have `most_bytes`."""

    most_bytes: int
    last_id: str | None = None
    _rest: bytearray = field(default_factory=bytearray)
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0
    _kind: str = ""
    _is_begin: bool = True
    _after_return: bool = False

    def feed(self, block: bytes) -> Iterator[Event]:
        """Return the events that end in a block."""
        # a line ends with \n, \r or \r\n, and the block may end between the two
        if self._after_return and block:
            block, self._after_return = block.removeprefix(b"\n"), False
        if block.endswith(b"\r"):
            self._after_return = True
        self._rest += block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event
        if self._size + len(rest) > self.most_bytes:
            raise TooLongError

    def _line(self, line: bytes) -> Event | None:
        if self._is_begin:
            line, self._is_begin = line.removeprefix(b"\xef\xbb\xbf"), False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value) + 1
                if self._size > self.most_bytes:
                    raise TooLongError
            case b"event":
                self._kind = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self.last_id = value.decode("utf-8", "replace") or None
        return None

    def _dispatch(self) -> Event | None:
        data, kind = self._data, self._kind or "message"
        self._data, self._size, self._kind = [], 0, ""
        return Event(self.last_id, kind, b"\n".join(data)) if data else None
