"""The last word of a driver that nobody has answered, as a file beside its assignment. The control plane takes it in
once the driver is gone: a job that has finished while nobody listened is not started again."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from engine.delivery.durable import replace_durably

LOG = logging.getLogger(__name__)


def leave_goodbye(lock: Path, generation: int, body: Mapping[str, object]) -> None:
    """Write down what the run would have said; one that cannot be written is lost, as it would be without."""
    try:
        replace_durably(_path(lock, generation), json.dumps(body).encode())
    except OSError as error:
        LOG.warning("the last word cannot be left behind: %s", error)


def left_goodbye(lock: Path, generation: int) -> object | None:
    """Return the exit message that a run left behind; None if there is none that can be read."""
    try:
        content: object = json.loads(_path(lock, generation).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        LOG.warning("the last word of run %s cannot be read: %s", generation, error)
        return None
    return content


def forget_goodbye(lock: Path, generation: int) -> None:
    """Delete an exit message that was delivered."""
    try:
        _path(lock, generation).unlink(missing_ok=True)
    except OSError as error:
        LOG.warning("the last word of run %s, which was heard, cannot be removed: %s", generation, error)


def _path(lock: Path, generation: int) -> Path:
    return lock.with_name(f"{generation:06}.goodbye")
