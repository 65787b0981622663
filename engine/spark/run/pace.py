"""Compute the pause after an epoch.

Each epoch has an overhead before its first row, estimated by the shortest of the last epochs.

    linger 250 ms, overhead 200 ms
    epoch 7    took 200 ms                              pause of 250 ms
    epoch 8    took 1,100 ms, half of ten overheads     pause of 125 ms: rows took most of its time
    epoch 9    took 2,000 ms                            no pause: the overhead is a tenth of it
    epoch 10   took 200 ms, and left rows unread        no pause: the pipeline is behind
    epoch 11   took 200 ms, next to two pipelines with an overhead of 200 ms, on two cores: 600 ms in a quarter of the
               machine need an interval of 1,200 ms     pause of 1,000 ms

See docs/decisions/pipelines-rest-between-epochs.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

LONGEST_STRETCH = timedelta(seconds=2)
"""Longest pause that other pipelines can cause."""
_NONE = timedelta(0)
_ROWS_TO_FIXED = 9
"""An epoch whose rows take nine times its overhead spends a tenth of its time on overhead."""
_SHARE_OF_MACHINE = 0.25
"""Share of a machine for the per-epoch overhead of all pipelines."""
_SILENT_LOOKS = 40
"""Number of polls without an epoch, about ten seconds, after which a source counts as silent."""
_SILENT_INTERVAL = timedelta(seconds=1.5)
"""Interval of polling a silent source. Each poll costs some milliseconds in Java and in Python."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Number of processors, of active pipelines on them, and the sum of their per-epoch overheads."""

    processors: int
    pipelines: int = 1
    fixed: timedelta = _NONE


@dataclass(frozen=True, slots=True)
class EndedEpoch:
    """Duration of an epoch, and its overhead. `goes_on` if it left work that need not wait: unread rows, a watermark
    that moved without rows, or the end of the input."""

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
    """Return the pause after a poll that led to no epoch, given the number of such polls in a row."""
    return linger if idle_looks < _SILENT_LOOKS else max(linger, _SILENT_INTERVAL)
