"""Exit message of a driver that was not acknowledged, in a file next to its assignment. The control plane reads it once
the driver is gone, so that a job that finished meanwhile is not restarted.

Version of the protocol between drivers and control plane. A driver outlives its control plane, and the next one may be
of another version.

    driver says 2, control plane speaks 1 and 2      adopted: it continues
    driver sends no version: it is an old one        1
    driver says 1, control plane speaks 2 and 3      stopped after its epoch, and restarted with the current version
    driver says 3, control plane speaks 1 and 2      adopted: unknown fields are ignored

After an incompatible change of the protocol, raise `WIRE`; `OLDEST_WIRE` follows one release later. Even a driver that
is too old understands a stop command.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from engine.delivery.durable import replace_durably

LOG = logging.getLogger(__name__)


def leave_goodbye(lock: Path, generation: int, body: Mapping[str, object]) -> None:
    """Write down an exit message that could not be delivered; if that fails, it is lost."""
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


WIRE = 2
"""Protocol version of this package's drivers."""
OLDEST_WIRE = 1
"""Oldest protocol version that this package's control plane supports."""


def is_spoken(wire: int) -> bool:
    """Whether a control plane of this package supports a driver's protocol version."""
    return wire >= OLDEST_WIRE
