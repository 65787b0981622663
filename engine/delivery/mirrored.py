"""State directories that are mirrored: each durable change is stored elsewhere before the run continues.

    sync_directory(/s/sinks/out/ledger)      /s is mirrored: its mirror stores what has changed below /s, and returns
    sync_directory(/s/sinks/out/ledger)      /s is an ordinary state directory: nothing more happens
    check_fence(/s/sinks/out, ...)           its mirror tells whether another run has taken over

See docs/decisions/a-state-in-a-bucket-is-a-journal.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class Mirror(Protocol):
    """The mirror of a directory."""

    def append(self) -> None:
        """Store what has changed below the directory; raise SupersededError if another run has it now."""

    def look(self) -> None:
        """Raise SupersededError if another run has it now."""

    def refuse_lost(self) -> None:
        """Raise SupersededError if it is known already that another run has it."""


_mirrors: dict[Path, Mirror] = {}


@contextmanager
def mirrored(root: Path, mirror: Mirror) -> Iterator[None]:
    """Mirror a directory for this process while the context lasts."""
    _mirrors[root.absolute()] = mirror
    try:
        yield
    finally:
        del _mirrors[root.absolute()]


def append_changes(path: Path) -> None:
    """Store what has changed in the directory that `path` belongs to, if that is mirrored."""
    if _mirrors and (mirror := _mirror_of(path)) is not None:
        mirror.append()


def look_for_successor(path: Path) -> None:
    """Raise SupersededError if `path` belongs to a mirrored directory that another run has taken over."""
    if _mirrors and (mirror := _mirror_of(path)) is not None:
        mirror.look()


def refuse_lost(path: Path) -> None:
    """Raise SupersededError if another run is known to have the mirrored directory of `path`; send no request."""
    if _mirrors and (mirror := _mirror_of(path)) is not None:
        mirror.refuse_lost()


def _mirror_of(path: Path) -> Mirror | None:
    absolute = path.absolute()
    return next((mirror for root, mirror in _mirrors.items() if absolute.is_relative_to(root)), None)
