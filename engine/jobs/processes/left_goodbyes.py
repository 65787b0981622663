"""The last word of a driver that nobody has answered, as a file beside its assignment. The control plane takes it in
once the driver is gone: a job that has finished while nobody listened is not started again.

What drivers and their control plane say to each other has a version, since a driver outlives the control plane that
started it, and the next one may be of another version.

    driver says 2, control plane speaks 1 and 2      adopted: it works on
    driver says nothing: it is from before versions  1
    driver says 1, control plane speaks 2 and 3      it stops after its epoch, and is started anew as it is now
    driver says 3, control plane speaks 1 and 2      adopted: what is not understood of its words is let pass

Whoever changes what is said in a way that the other side cannot let pass moves `WIRE` on; `OLDEST_WIRE` follows one
release later. Even a driver that is too old is understood so far that it can be told to stop.
"""

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


WIRE = 2
"""The version that drivers of this package speak."""
OLDEST_WIRE = 1
"""The oldest version that a control plane of this package works with."""


def is_spoken(wire: int) -> bool:
    """Whether a control plane of this package works with such a driver."""
    return wire >= OLDEST_WIRE
