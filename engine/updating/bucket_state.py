"""What an operator keeps of a bucket, and what a step gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa

from engine.updating.chunks import Chunks

NEVER = -(1 << 62)
"""Before every event time, and far enough from the least number that a time to live can be taken from it."""
_SWEEPS_IN_TTL = 16
"""A sweep looks at all that is kept. At a sixteenth of the time to live it costs little, and what it forgets has stayed
at most a sixteenth longer than it should."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """The tables of a bucket, the newest event time it has seen, how many values it has numbered, when it was last
    swept of what is forgotten, of which aggregates its tables are, where it says so, and by which retelling all of its
    rows were told anew."""

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
    """What is kept after a step, and the changes that it sends out."""

    state: BucketState
    out: pa.Table


@dataclass(frozen=True, slots=True)
class StepsResult:
    """What is kept of some buckets after their steps, by their numbers, and the changes that all of them send out."""

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
