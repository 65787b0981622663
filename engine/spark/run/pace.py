"""How long a pipeline rests after an epoch before it looks for input again.

An epoch costs something before its first row: its fixed part, which is what the shortest of the last epochs took.

    linger 250 ms, fixed part 200 ms
    epoch 7    took 200 ms                              rests for 250 ms
    epoch 8    took 1,100 ms, half of ten fixed parts   rests for 125 ms: rows have taken its place
    epoch 9    took 2,000 ms                            none: the fixed part is a tenth of it
    epoch 10   took 200 ms, and has left rows unread    none: it is behind
    epoch 11   took 200 ms, beside two pipelines with fixed parts of 200 ms, on two cores: 600 ms in a quarter of
               these are a distance of 1,200 ms         rests for 1,000 ms

See docs/decisions/pipelines-rest-between-epochs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

LONGEST_STRETCH = timedelta(seconds=2)
"""As what neighbours make of a shorter one."""
_NONE = timedelta(0)
_ROWS_TO_FIXED = 9
"""An epoch whose rows take nine times its fixed part spends a tenth on that."""
_SHARE_OF_MACHINE = 0.25
"""What the fixed parts of all pipelines on a machine may take of it."""
_SILENT_LOOKS = 40
"""So many looks without an epoch in between, some ten seconds, are a silence."""
_SILENT_INTERVAL = timedelta(seconds=1.5)
"""From one look to the next in a silence: each costs some milliseconds, in Java and in Python."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Its processors, and the pipelines that have epochs on it: how many, and their fixed parts together."""

    processors: int
    pipelines: int = 1
    fixed: timedelta = _NONE


@dataclass(frozen=True, slots=True)
class EndedEpoch:
    """How long an epoch took, and its fixed part. One that `goes_on` has left work that need not wait: unread rows, a
    watermark that it has moved without rows, the end of the input."""

    took: timedelta
    fixed: timedelta
    goes_on: bool = False


def rest_after(epoch: EndedEpoch, linger: timedelta, machine: Machine) -> timedelta:
    """Return the pause after an epoch."""
    if epoch.goes_on or not linger:
        return _NONE
    rows = epoch.took - epoch.fixed
    saved = 1 - rows / (_ROWS_TO_FIXED * epoch.fixed) if epoch.fixed else 1.0
    rest = max(_NONE, linger * saved)
    if machine.pipelines < 2:
        return rest
    distance = machine.fixed / (machine.processors * _SHARE_OF_MACHINE)
    return max(rest, min(distance - epoch.took, max(linger, LONGEST_STRETCH)))


def look_after(idle_looks: int, linger: timedelta) -> timedelta:
    """Return the pause after a look that led to no epoch, given the number of such looks in a row."""
    return linger if idle_looks < _SILENT_LOOKS else max(linger, _SILENT_INTERVAL)
