"""Group the rows of sessions into bursts: in a burst, each row of a key comes less than the gap after the previous one.

    gap 10 s, watermark 12:00:10         burst
    auction 3   12:00:00   late            0
    auction 3   12:00:08                   1     less than 10 s later, but not late
    auction 3   12:00:17                   1
    auction 3   12:00:27                   2     exactly the gap later
    auction 4   12:00:17                   3

A row is late if a session of it alone would have ended: its time plus the gap is not after the watermark. No burst has
both late and other rows, so its first row represents all. Spark's watermark is in whole milliseconds and never after
ours, but its sessions are a microsecond shorter. So rows of the one instant at which a row is late for Spark and not
for us form bursts of their own as well. See docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.tree import EVENT_TIME

_TICK = timedelta(microseconds=1)
_LONGEST = 10**16
"""Largest distance of merged rows in microseconds (three centuries): a burst must fit into an interval of Spark."""


def may_be_in_bursts(times: pa.Array) -> bool:
    """Whether all rows have a time, and none is far from the others."""
    if times.null_count or not len(times):
        return False
    extremes = pc.min_max(times.cast(pa.int64())).as_py()
    return int(extremes["max"]) - int(extremes["min"]) <= _LONGEST


def in_bursts(
    rows: pa.RecordBatch, keys: Sequence[pa.Array], gap: timedelta, watermark: int
) -> tuple[pa.RecordBatch, pa.Array]:
    """The rows by key and time, and the number of the burst of each."""
    times = np.asarray(rows.column(EVENT_TIME).cast(pa.int64()))
    groups = _numbers_of_groups(keys, rows.num_rows)
    order = np.lexsort((times, groups))
    times, groups = times[order], groups[order]
    last_late = watermark - gap // _TICK
    begins = np.zeros(len(times), dtype=bool)
    begins[1:] = np.diff(groups) != 0
    begins[1:] |= np.diff(times) >= gap // _TICK
    for bound in (last_late, last_late + 1):
        begins[1:] |= np.diff(times > bound)
    return rows.take(pa.array(order)), pa.array(np.cumsum(begins, dtype=np.int64))


def _numbers_of_groups(keys: Sequence[pa.Array], count: int) -> npt.NDArray[np.int64]:
    """A number for each row, the same for equal keys, of which NULL is one."""
    numbers = np.zeros(count, dtype=np.int64)
    for key in keys:
        encoded = key.dictionary_encode(null_encoding="encode")
        pairs = numbers * len(encoded.dictionary) + np.asarray(encoded.indices, dtype=np.int64)
        # as small as they can be, so that the next ones do not leave the range
        numbers = np.unique(pairs, return_inverse=True)[1] if len(keys) > 1 else pairs
    return numbers
