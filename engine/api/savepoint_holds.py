"""The savepoints that are read in this process; `engine/api/savepoint_use.py` says when they are held."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Holds:
    """The readers of this process, by savepoint."""

    removal: Lock = field(default_factory=Lock)
    """Lets those that remove files in by turns."""
    _reasons: dict[str, list[str]] = field(default_factory=dict)

    def reason(self, savepoint_id: str) -> str | None:
        """What a savepoint is held for, if it is."""
        reasons = self._reasons.get(savepoint_id)
        return reasons[0] if reasons else None

    def add(self, savepoint_id: str, reason: str) -> None:
        """Hold it; from within a transaction that writes."""
        self._reasons.setdefault(savepoint_id, []).append(reason)

    def end(self, savepoint_id: str, reason: str) -> None:
        """Let go of it."""
        self._reasons[savepoint_id].remove(reason)
