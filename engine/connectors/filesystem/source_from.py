"""Files that are watched, from a later place on: behind those that are there, or that changed before an instant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from engine.connectors.base import Position
from engine.connectors.files.listing import FilePosition, ListedFile, to_position
from engine.connectors.filesystem.source import FilesystemSource

_NANOS = 1000


class FilesystemSourceFrom(FilesystemSource):
    """Begins at another place every time one asks, so its beginning is written down before it is read."""

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Behind the files that are not to be read."""
        return {name: to_position(self._passed()) for name in partitions}

    def _passed(self) -> FilePosition:
        position = FilePosition()
        for file in self._list():
            if not self._is_old(file):
                break
            position = position.enter(file).leave()
        return position

    def _is_old(self, file: ListedFile) -> bool:
        start = self._table.start
        assert start is not None
        if start.instant is None:
            return True
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return file.key.time < (start.instant - epoch) // timedelta(microseconds=1) * _NANOS
