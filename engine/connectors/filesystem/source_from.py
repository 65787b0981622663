"""Watch files from a later start position: after the existing files, or after an instant of change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from engine.connectors.base import Position
from engine.connectors.files.listing import ListedFile
from engine.connectors.files.read_files import REMEMBERED
from engine.connectors.filesystem.watched import WatchedFilesystemSource, moved

_NANOS = 1000


class FilesystemSourceFrom(WatchedFilesystemSource):
    """A source with a moving start, which is therefore stored before anything is read."""

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Return the position after the files that are not to be read."""
        return dict.fromkeys(partitions, self._passed())

    def _passed(self) -> Position:
        """Return the position after the existing files; rows that are appended to them from now on are read."""
        old = [file for file in self._list() if self._is_old(file) and self._is_settled(file)]
        passed = {file: self._whole(file) for file in old[-REMEMBERED:]}
        return moved({}, {}, passed, sum(file.size for file in old))

    def _is_old(self, file: ListedFile) -> bool:
        start = self._table.start
        assert start is not None
        if start.instant is None:
            return True
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return file.key.time < (start.instant - epoch) // timedelta(microseconds=1) * _NANOS
