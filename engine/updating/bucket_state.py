"""State of a shard, and the result of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa

from engine.updating.chunks import Chunks

NEVER = -(1 << 62)
"""Before every event time, with room to subtract a time to live."""
_SWEEPS_IN_TTL = 16
"""Number of sweeps per time to live. A sweep reads all state of a shard; expired rows stay at most a sixteenth longer
than they should."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """Tables of a shard, its newest event time, the number of values that it has numbered, the time of its last sweep,
    the form of its tables if recorded, and the last re-emission that it has done."""

    tables: Mapping[str, Chunks] = field(default_factory=lambda: MappingProxyType({}))
    newest: int = NEVER
    rows_seen: int = 0
    swept: int = NEVER
    form: tuple[str, ...] | None = None
    told: str | None = None

    def is_due_for_sweep(self, ttl: int) -> bool:
        """Whether a part of the time to live has passed since the last sweep, in event time: a replay sweeps again."""
        return self.newest - self.swept >= max(ttl // _SWEEPS_IN_TTL, 1)


@dataclass(frozen=True, slots=True)
class StepResult:
    """New state after a step, and the changelog rows that it emits."""

    state: BucketState
    out: pa.Table


@dataclass(frozen=True, slots=True)
class StepsResult:
    """New states of some shards, by number, and the changelog rows that all of them emit."""

    states: Mapping[int, BucketState]
    out: pa.Table


def one_by_one(
    step: Callable[[BucketState, Sequence[bytes]], StepResult],
    states: Mapping[int, BucketState],
    payloads: Mapping[int, Sequence[bytes]],
) -> StepsResult:
    """The steps of some buckets, each taken on its own."""
    results = {number: step(state, payloads[number]) for number, state in states.items()}
    # where nothing goes out a step need not even say which columns there would be
    outs = [result.out for result in results.values() if result.out.num_rows]
    out = pa.concat_tables(outs) if outs else pa.table({})
    return StepsResult({number: result.state for number, result in results.items()}, out)
