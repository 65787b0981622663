"""Windows that are made of their panes, against the sum of the very rows that each window may have."""

from __future__ import annotations

import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa
import pytest

from engine import types
from engine.plan.tree import EVENT_TIME, ROW_ID, WATERMARK
from engine.schema import Field, Schema
from engine.spark.state.watermarked_buckets import timer_of
from engine.updating import panes
from engine.updating.accumulators import Measure
from engine.updating.bucket_state import NEVER, BucketState
from engine.updating.chunks import Chunks
from engine.updating.panes import END_OF_ALL, TABLE, PaneOperator, PaneSpec, in_form, open_windows, starts_of
from tests.updating.streams import INSTANT, identity

pytestmark = pytest.mark.unit

COUNT, SUM = Measure("count", (), types.BIGINT), Measure("sum", (types.BIGINT,), types.BIGINT)
LEAST, GREATEST = Measure("min", (types.BIGINT,), types.BIGINT), Measure("max", (types.TEXT,), types.TEXT)
SHAPES = {
    "tumble": (10, 10, 10),
    "hop": (2, 10, 2),
    "hop that does not go into its width": (4, 10, 2),
    "hop with gaps": (10, 4, 2),
}


@dataclass(frozen=True)
class Row:
    """A row, the watermark of its source, and what it has."""

    time: int
    watermark: int
    key: str | None
    number: int | None


def spec_of(shape: str, measures: Sequence[Measure] = (COUNT, SUM, LEAST, GREATEST)) -> PaneSpec:
    slide, width, pane = SHAPES[shape]
    results = [Field(f"r{index}", measure.result) for index, measure in enumerate(measures)]
    fields = (Field("k0", types.TEXT), Field("w", types.WINDOW), *results, Field(EVENT_TIME, types.TIMESTAMP))
    return PaneSpec(Schema(fields), 1, tuple(measures), slide, width, pane, tuple(map(str, range(len(measures)))))


def table_of(rows: Sequence[Row]) -> pa.Table:
    numbers, texts = [row.number for row in rows], [None if row.number is None else str(row.number) for row in rows]
    return pa.table(
        {
            ROW_ID: pa.array([identity(row.key) for row in rows], pa.int64()),
            EVENT_TIME: pa.array([row.time for row in rows], INSTANT),
            WATERMARK: pa.array([row.watermark for row in rows], INSTANT),
            "k0": pa.array([row.key for row in rows], pa.string()),
            "a1_0": pa.array(numbers, pa.int64()),
            "a2_0": pa.array(numbers, pa.int64()),
            "a3_0": pa.array(texts, pa.string()),
        }
    )


class Stream:
    """An operator with what its buckets keep. One steps when rows come for it, or when it has said so."""

    def __init__(self, spec: PaneSpec) -> None:
        self.operator = PaneOperator(spec)
        self.states: dict[int, BucketState] = defaultdict(BucketState)

    def epoch(self, tasks: Sequence[Sequence[Row]], watermark: int) -> Iterator[Mapping[str, object]]:
        payloads: dict[int, list[bytes]] = defaultdict(list)
        for rows in filter(None, tasks):
            for bucket, payload in self.operator.pack(table_of(rows)):
                payloads[bucket].append(payload)
        due = {bucket for bucket, state in self.states.items() if 0 < state.newest <= watermark}
        stepping = {bucket: self.states[bucket] for bucket in payloads.keys() | due}
        result = self.operator.steps(stepping, payloads, watermark)
        self.states |= result.states
        yield from result.out.to_pylist()


def windows_of(spec: PaneSpec, time: int) -> Iterator[int]:
    """The starts of the windows that a time is in."""
    first = (time - spec.width) // spec.slide
    yield from (
        start for start in range(first * spec.slide, time + 1, spec.slide) if start <= time < start + spec.width
    )


def micros(value: object) -> int:
    return pa.scalar(value, INSTANT).cast(pa.int64()).as_py()  # no types there


def written(row: Mapping[str, object]) -> tuple[object, ...]:
    window = row["w"]
    assert isinstance(window, dict)
    start, end = micros(window["start"]), micros(window["end"])
    assert micros(row[EVENT_TIME]) == end - 1
    return (row["k0"], start, end, *(row[f"r{place}"] for place in range(4)))


def played(chance: Random) -> Iterator[tuple[list[list[Row]], int]]:
    """Epochs: the rows of two tasks, of two sources that are not equally far, and the watermark."""
    marks = [0, 0]
    for _ in range(12):
        before = min(marks)
        marks = [mark + chance.choice((0, 0, 3, 7, 25)) for mark in marks]
        rows: list[list[Row]] = [[], []]
        for _ in range(chance.choice((0, 1, 30))):
            source = chance.randrange(2)
            # of the last epoch of an input the rows are measured by the watermark of before
            mark = max(before, marks[source] - chance.choice((0, 0, 5)))
            time = max(0, mark + chance.randint(-12, 20))
            number = chance.choice((None, -1, 4, 1 << 40))
            rows[chance.randrange(2)].append(Row(time, mark, chance.choice((None, "a", "b", "c")), number))
        yield rows, min(marks)
    yield [[], []], 1 << 60


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(25))
def test_each_window_has_all_rows_that_were_not_late_for_it_once(shape: str, seed: int) -> None:
    spec, chance = spec_of(shape), Random(f"{shape} {seed}")
    stream = Stream(spec)
    out: list[tuple[object, ...]] = []
    members: dict[tuple[str | None, int], list[Row]] = defaultdict(list)
    for tasks, watermark in played(chance):
        # whoever has no open window is left out before
        open_rows = [
            [row for row in rows if any(start + spec.width > row.watermark for start in windows_of(spec, row.time))]
            for rows in tasks
        ]
        for row in (row for rows in open_rows for row in rows):
            for start in windows_of(spec, row.time):
                if start + spec.width > row.watermark:
                    members[row.key, start].append(row)
        came = [written(row) for row in stream.epoch(open_rows, watermark)]
        assert all(int(str(row[2])) <= watermark for row in came), "a window is open still"
        out += came
        # what is open is what Spark would keep of windows now
        opened = [written(row) for state in stream.states.values() for row in open_windows(spec, state).to_pylist()]
        assert Counter(opened) == Counter(row for row in answers(spec, members) if int(str(row[2])) > watermark)
    assert Counter(out) == Counter(answers(spec, members))
    assert all(state.newest == END_OF_ALL and not state.tables[TABLE].tables for state in stream.states.values())


def answers(spec: PaneSpec, members: Mapping[tuple[str | None, int], Sequence[Row]]) -> Iterator[tuple[object, ...]]:
    """The row of each window and key that has these rows."""
    for (key, start), rows in members.items():
        numbers = [row.number for row in rows if row.number is not None]
        texts = list(map(str, numbers))
        results = (len(rows), sum(numbers) if numbers else None, min(numbers, default=None), max(texts, default=None))
        yield (key, start, start + spec.width, *results)


def test_windows_are_given_out_by_the_first_watermark_that_has_come_to_their_end() -> None:
    stream = Stream(spec_of("hop"))
    assert list(stream.epoch([[Row(11, 0, "a", 1)]], 1)) == []
    ends = [[written(row)[2] for row in stream.epoch([], mark)] for mark in (11, 12, 15, 20, 21)]
    assert ends == [[], [12], [14], [16, 18, 20], []]


@pytest.mark.parametrize(
    ("end", "timer"),
    [(-5_000_000, 0), (0, 0), (1, 0), (4_000_000, 3999), (4_000_001, 4000), (END_OF_ALL, None), (NEVER, None)],
)
def test_a_bucket_wakes_when_its_next_window_ends_and_never_sleeps_for_good(end: int, timer: int | None) -> None:
    assert timer_of(end) == timer


def test_merged_rows_are_added_up_as_the_rows_that_they_are_of() -> None:
    measures = (COUNT, SUM)
    plain, merged = Stream(spec_of("hop", measures)), Stream(replace(spec_of("hop", measures), is_merged=True))
    rows = [Row(3, 0, "a", 5), Row(2, 0, "a", None), Row(3, 0, "b", None)]
    list(plain.epoch([rows], 0))
    partials = table_of([Row(3, 0, "a", 5), Row(3, 0, "b", None)]).append_column("n", pa.array([2, 1], pa.int64()))
    for bucket, payload in merged.operator.pack(partials):
        merged.states |= merged.operator.steps({bucket: BucketState()}, {bucket: [payload]}, 0).states
    answers = [list(stream.epoch([], 100)) for stream in (plain, merged)]
    assert answers[0] == answers[1] != []


def test_a_bucket_of_other_aggregates_goes_on_with_those_that_stay() -> None:
    old, new = spec_of("hop", (COUNT, SUM)), replace(spec_of("hop", (LEAST, SUM)), form=("2", "1"))
    stream = Stream(old)
    list(stream.epoch([[Row(3, 0, "a", 5)]], 0))
    after = Stream(new)
    after.states = {bucket: in_form(new, state) for bucket, state in stream.states.items()}
    rows = list(after.epoch([], 100))
    assert {(row["r0"], row["r1"]) for row in rows} == {(None, 5)}
    assert len(rows) == 5


def test_a_bucket_of_narrower_numbers_goes_on_in_the_wider_types() -> None:
    small = types.Integer(16)
    narrow = Measure("min", (small,), small)
    spec = spec_of("hop", (COUNT, SUM, narrow))
    stream, wide = Stream(spec), replace(spec_of("hop", (COUNT, SUM, LEAST)), formerly=((), (), ("2",)))
    wide = replace(wide, form=("0", "1", "wide"))
    rows = table_of([Row(3, 0, "a", 5)])
    rows = rows.set_column(rows.column_names.index("a2_0"), "a2_0", rows["a2_0"].cast(pa.int16()))
    ((bucket, payload),) = stream.operator.pack(rows)
    state = stream.operator.steps({bucket: BucketState()}, {bucket: [payload]}, 0).states[bucket]
    after = Stream(wide)
    after.states = {bucket: in_form(wide, state)}
    (table,) = after.states[bucket].tables[TABLE].tables
    assert table["m2.0"].type == pa.int64()
    assert {(row["r0"], row["r1"], row["r2"]) for row in after.epoch([], 100)} == {(1, 5, 5)}


def test_an_epoch_without_a_window_that_ends_leaves_large_chunks_as_they_are() -> None:
    spec = spec_of("tumble")
    stream = Stream(spec)
    list(stream.epoch([[Row(time, 0, "a", 1) for time in range(50)]], 0))
    (bucket,) = stream.states
    kept = stream.states[bucket].tables[TABLE]
    assert isinstance(kept, Chunks)
    list(stream.epoch([[Row(3, 0, "a", 1)]], 5))
    assert stream.states[bucket].tables[TABLE].tables[0] is kept.tables[0]


def test_the_windows_of_some_panes_are_named_in_order() -> None:
    panes = pa.table({"_pane": pa.array([4, 0], pa.int64())})
    assert starts_of(panes, 2, 4).tolist() == [-2, 0, 2, 4]


def test_panes_of_many_windows_are_written_out_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # three hundred panes are in 900 windows each, which are 1,199 all the same
    monkeypatch.setattr(panes, "_AT_ONCE", 10_000)
    spec = replace(spec_of("tumble"), slide=10, width=9_000, pane=10)
    times = range(100_000, 103_000, 10)
    stream = Stream(spec)
    payloads = [payload for _, payload in stream.operator.pack(table_of([Row(time, 0, "a", time) for time in times]))]
    bucket = next(iter(stream.operator.pack(table_of([Row(0, 0, "a", 0)]))))[0]
    tracemalloc.start()
    try:
        out = stream.operator.steps({bucket: BucketState()}, {bucket: payloads}, 1 << 40).out
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    starts = range(100_000 - 9_000 + 10, 103_000, 10)
    sums = [sum(range(max(start, 100_000), min(start + 9_000, 103_000), 10)) for start in starts]
    assert out.sort_by(EVENT_TIME)["r1"].to_pylist() == sums
    # all of them at once are 270,000 rows, of which each of half a dozen columns is two million bytes
    assert peak < 4_000_000
