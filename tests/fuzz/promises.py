"""What a pipeline promises at the end of an epoch: up to `complete_until` its output is what it will stay.

A run that was stopped has written what its last epoch reports, and no more. Then:

    windows     those that begin before `complete_until` are there as the batch answer over the rows read has them,
                and of sessions those that end before `output_until`
    rows        what the rows before `complete_until` give is there; later rows may have given more
                if they look ahead, what the rows read so far give, of rows before `complete_until`
    changes     folded, they are the batch answer over the rows read so far, unless the rows had to wait
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.spark.read.offset_log import read_ends
from engine.values.epoch_report import EpochReport, SinkProgress
from engine.values.instants import FAR_FUTURE
from tests.fuzz.data import Stream
from tests.fuzz.oracle import Oracle, Row, difference
from tests.fuzz.queries import Relation


def read_so_far(streams: Sequence[Stream], state: Path, epoch: int) -> list[Stream]:
    """The streams with the rows that were read up to the end of an epoch."""
    ends = {end.table: end.positions for end in read_ends(StatePaths(state).checkpoint, epoch)}
    return [_cut(stream, ends.get(stream.name, {})) for stream in streams]


def broken_promise(query: Relation, written: Sequence[Row], streams: Sequence[Stream], sink: SinkProgress) -> str:
    """What a reader finds who relies on what was reported of a sink, and should not; `streams` are what was read."""
    if query.is_updating and query.waits:
        return ""
    if query.is_updating:
        return difference(written, _answer(query, streams))
    window = next((place for place, kind in enumerate(query.columns.values()) if kind == "w"), None)
    if window is not None and query.window is not None:
        return _broken_windows(query, window, written, streams, sink)
    if sink.complete_until is None or query.window is not None:
        return ""
    if query.looks_ahead:
        promised = _ahead(query, streams, sink.complete_until)
    else:
        promised = _answer(query, [_before(stream, sink.complete_until) for stream in streams])
    missing = Counter(promised) - Counter(written)
    found = difference([], list(missing.elements()))
    return found and f"rows before {sink.complete_until} are missing: {found}"


def _ahead(query: Relation, streams: Sequence[Stream], until: datetime) -> list[Row]:
    """The rows before an instant of the answer over all that was read; none if they have lost their time."""
    times = [place for place, (name, kind) in enumerate(query.columns.items()) if (name, kind) == ("ts", "ts")]
    limit = min(until, FAR_FUTURE).replace(tzinfo=None).isoformat()
    return [row for row in _answer(query, streams) if all(str(row[place]) < limit for place in times)] if times else []


def _broken_windows(
    query: Relation, place: int, written: Sequence[Row], streams: Sequence[Stream], sink: SinkProgress
) -> str:
    if sink.unknown is None:
        member, until, begins = "start", sink.complete_until, True
    else:
        member, until, begins = "end", sink.output_until, False
    if until is None:
        return ""
    limit = min(until, FAR_FUTURE).replace(tzinfo=None).isoformat()

    def is_promised(row: Row) -> bool:
        window = row[place]
        assert isinstance(window, tuple)
        return bool(window[0] < limit if begins else window[1] <= limit)

    found = difference(*(_those(rows, is_promised) for rows in (written, _answer(query, streams))))
    return found and f"windows whose {member} is before {limit} differ: {found}"


def reported(reports: Sequence[EpochReport], number: int) -> SinkProgress:
    """What the last epoch said of the sink of a query."""
    return reports[-1].sinks[f"out{number}"]


def _those(rows: Sequence[Row], is_promised: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if is_promised(row)]


def _answer(query: Relation, streams: Sequence[Stream]) -> list[Row]:
    oracle = Oracle(streams)
    try:
        return oracle.answer(query.query(for_engine=False), query.columns)
    finally:
        oracle.close()


def _cut(stream: Stream, positions: Mapping[str, object]) -> Stream:
    """The rows of a stream up to those positions, which count the rows of each partition."""
    steps, counts = [], Counter[str]()
    for step in stream.steps:
        rest = {part: int(str(positions.get(part, 0))) - counts[part] for part in step}
        steps.append({part: rows[: max(0, rest[part])] for part, rows in step.items()})
        counts.update({part: len(rows) for part, rows in step.items()})
    return replace(stream, steps=tuple(steps))


def _before(stream: Stream, until: datetime) -> Stream:
    if stream.is_changes:
        return stream
    steps = [
        {part: [row for row in rows if datetime.fromisoformat(str(row["ts"])) < until] for part, rows in step.items()}
        for step in stream.steps
    ]
    return replace(stream, steps=tuple(steps))
