"""Read a file that may be damaged: any exception of its reader becomes one sentence about the file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.errors import EngineError, message_of
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.damage import Damage, Kind
from engine.inspection.sums import SumsUnreadableError, has_sums

_OF_DAMAGED_FILES: tuple[type[Exception], ...] = (
    *(EngineError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError),
    *(zipfile.BadZipFile, RecursionError, EOFError, NotImplementedError),
)
"""Exceptions of readers for invalid bytes; the last one is raised by `zipfile` for an unknown compression."""


def attempt(kind: Kind, path: Path, read: Callable[[Path], object]) -> Iterator[Damage]:
    """Yield the damage of a file that must exist, if there is any."""
    try:
        read(path)
    except FileNotFoundError as error:
        missing = Path(str(error.filename)) if error.filename else path
        yield Damage(kind, missing, "is missing")
    except SumsUnreadableError as error:
        yield Damage(Kind.SUM, path, message_of(error))
    except NotAsWrittenError as error:
        yield Damage(kind, path, message_of(error))
    except OSError as error:
        yield Damage(Kind.ACCESS, path, f"cannot be read: {error.strerror or error}")
    except _OF_DAMAGED_FILES:
        yield Damage(kind, path, "is empty" if path.is_file() and not path.stat().st_size else "cannot be understood")


def with_sums(read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Reading a file after it was compared with its sums."""

    def compared(path: Path) -> object:
        has_sums(path)
        return read(path)

    return compared
