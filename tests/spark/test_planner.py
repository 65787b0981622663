"""Planning epochs: watermarks per partition, idleness by an injected clock, the end of an input."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from engine.connectors.base import Chunk, Position, Slice
from engine.spark.read import notes
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.pulses import Pulses
from engine.spark.read.watermarks import END_OF_TIME, Activity, Marks, Shown, advance, follow

START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class FakeSource:
    ends: dict[str, int]
    bounded: bool = False
    now: datetime = START
    finished: set[str] = field(default_factory=set)

    def partitions(self) -> Sequence[str]:
        return sorted(self.ends)

    def start(self, partition: str) -> Position:
        return 0

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        return {name: self.ends[name] for name in at}

    def is_finished(self, partition: str, at: Position) -> bool:
        return self.bounded and at == self.ends[partition]

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        return [Slice(partition, start, end)]

    def read(self, piece: Slice) -> Iterator[Chunk]:
        raise AssertionError


def planner(source: FakeSource, folder: Path, other_folders: tuple[Path, ...] = ()) -> Planner:
    activity = Activity(timedelta(minutes=5), {})
    return Planner(PlanSpec("t", folder, other_folders), source, activity, lambda: source.now)


def note(folder: Path, partition: str, end: int, candidate: int | None, dropped: int = 0) -> None:
    notes.leave(folder, partition, 0, notes.ReaderNote(end, candidate, dropped))


def test_the_watermark_is_that_of_the_slowest_partition(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "b": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    note(tmp_path, "a", 10, 500)
    note(tmp_path, "b", 10, 200)

    assert plan.next(first).watermark == 200


@dataclass
class MovingSource(FakeSource):
    """Its partitions begin somewhere else every time one asks."""

    begins: list[bool] = field(default_factory=list)

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        self.begins.append(is_first)
        return {name: 100 * len(self.begins) for name in partitions}


def test_start_of_a_moving_source_is_stored_before_it_is_read(tmp_path: Path) -> None:
    source = MovingSource({"a": 150})
    plan = planner(source, tmp_path)

    first_offset = plan.next(plan.first())
    read = planner(source, tmp_path).next(first_offset)

    assert (first_offset.positions, first_offset.moved) == ({"a": 100}, {})
    assert (read.positions, read.moved) == ({"a": 150}, {"a": 1})
    assert source.begins == [True, False]


def test_partitions_found_later_are_written_down_while_the_others_are_read(tmp_path: Path) -> None:
    source = MovingSource({"a": 150})
    plan = planner(source, tmp_path)
    first_offset = plan.next(plan.first())
    source.ends = {"a": 170, "b": 500}

    read = plan.next(first_offset)

    assert (read.positions, read.moved) == ({"a": 170, "b": 200}, {"a": 1})
    assert plan.next(read).positions == {"a": 170, "b": 500}
    assert source.begins == [True, False, False]


def test_a_moving_source_without_partitions_has_begun_all_the_same(tmp_path: Path) -> None:
    source = MovingSource({})
    plan = planner(source, tmp_path)

    first_offset = plan.next(plan.first())
    source.ends = {"a": 150}
    plan.next(first_offset)

    assert first_offset.sequence == 1
    assert source.begins == [True, False]


def test_a_partition_that_has_shown_nothing_holds_the_watermark_back(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "silent": 0})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    note(tmp_path, "a", 10, 500)

    assert plan.next(first) is first


def test_an_idle_partition_is_left_out_after_its_time_and_not_before(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "silent": 0})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 10, 500)
    source.now, source.ends["a"] = START + timedelta(minutes=5), 20
    offset = plan.next(offset)
    assert offset.watermark is None

    note(tmp_path, "a", 20, 700)
    source.now = START + timedelta(minutes=5, seconds=1)

    assert plan.next(offset).watermark == 700


def test_a_partition_that_wakes_up_does_not_pull_the_watermark_back(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "silent": 0})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 10, 500)
    source.now, source.ends["a"] = START + timedelta(minutes=6), 20
    offset = plan.next(offset)
    assert offset.watermark == 500

    source.ends["silent"] = 5
    offset = plan.next(offset)
    note(tmp_path, "silent", 5, 100)

    assert plan.next(offset).watermark == 500


def test_the_end_of_a_bounded_input_ends_time(tmp_path: Path) -> None:
    source = FakeSource({"a": 10}, bounded=True)
    plan = planner(source, tmp_path)
    end = plan.next(plan.first())

    assert (end.watermark, end.promise) == (None, END_OF_TIME), "its own rows are measured by what was known before"
    assert plan.next(end) is end


def test_offset_is_unchanged_without_new_rows(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 10, 5)
    offset = plan.next(offset)

    assert plan.next(offset) is offset


def test_a_planner_that_drains_reads_nothing_more_and_says_what_was_shown(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    spec = PlanSpec("t", tmp_path, pulse=tmp_path / "pulse")
    plan = Planner(spec, source, Activity(timedelta(minutes=5), {}), lambda: source.now)
    first = plan.next(plan.first())
    note(tmp_path, "a", 10, 500, dropped=2)
    source.ends.update({"a": 20, "b": 5})
    Pulses([tmp_path / "pulse"]).drain()

    drained = plan.next(first)

    assert (drained.positions, drained.moved) == (first.positions, {})
    assert (drained.watermark, drained.dropped) == (500, 2)
    source.now += timedelta(hours=1)
    assert plan.next(drained) is drained


def draining(planned: Planner, folder: Path) -> Planner:
    """The same planner, told to read nothing more."""
    planned.spec = replace(planned.spec, pulse=folder / "pulse")
    Pulses([folder / "pulse"]).drain()
    return planned


def test_an_idle_partition_holds_nothing_back_in_a_drain_either(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "silent": 0})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    source.now, source.ends["a"] = START + timedelta(minutes=6), 20
    offset = plan.next(offset)
    note(tmp_path, "a", 20, 700)

    assert draining(plan, tmp_path).next(offset).watermark == 700


def test_a_partition_with_rows_that_nobody_reads_is_not_idle_in_a_drain(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "silent": 0})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    source.now, source.ends["a"] = START + timedelta(minutes=6), 20
    offset = plan.next(offset)
    note(tmp_path, "a", 20, 700)
    source.ends["silent"] = 5

    assert draining(plan, tmp_path).next(offset) is offset


def test_an_idle_source_follows_in_a_drain_what_the_others_say_then(tmp_path: Path) -> None:
    folder, other_folder = tmp_path / "mine", tmp_path / "other"
    silent, busy = FakeSource({"a": 0}), FakeSource({"b": 10})
    plan, other_plan = planner(silent, folder, (other_folder,)), planner(busy, other_folder, (folder,))
    other_offset, offset = other_plan.next(other_plan.first()), plan.next(plan.first())
    note(other_folder, "b", 10, 800)
    silent.now, busy.ends["b"] = START + timedelta(minutes=6), 20
    other_offset, offset = other_plan.next(other_offset), plan.next(offset)
    assert offset.watermark == 800
    note(other_folder, "b", 20, 900)

    drained = draining(other_plan, other_folder).next(other_offset)

    assert drained.watermark == 900
    assert draining(plan, folder).next(offset).watermark == 900


def test_start_of_a_moving_source_is_stored_in_a_drain(tmp_path: Path) -> None:
    source = MovingSource({"a": 150})
    plan = draining(planner(source, tmp_path), tmp_path)

    first_offset = plan.next(plan.first())

    assert (first_offset.positions, first_offset.moved, first_offset.sequence) == ({"a": 100}, {}, 1)
    assert plan.next(first_offset) is first_offset


def test_after_a_restart_the_watermark_is_said_once_more(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    offset = Offset("t", {"a": 10}, {"a": 7}, watermark=7)
    plan = planner(source, tmp_path)

    again = plan.next(offset)

    assert (again.watermark, again.positions) == (7, offset.positions)
    assert again.to_json() != offset.to_json()
    assert plan.next(again) is again


def test_a_note_about_another_range_is_not_believed(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 99, 5000)

    assert plan.next(offset) is offset


def test_dropped_records_are_counted_once_however_often_is_asked(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 10, None, dropped=3)
    assert plan.next(offset) is offset
    source.ends["a"] = 20
    offset = plan.next(offset)
    note(tmp_path, "a", 20, 1, dropped=0)

    assert (offset.dropped, plan.next(offset).dropped) == (3, 3)


class Backlog(FakeSource):
    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        return {name: min(end, _whole(at[name]) + 4) for name, end in self.ends.items()}

    def waiting(self, at: Mapping[str, Position]) -> Mapping[str, int]:
        return {name: end - _whole(at[name]) for name, end in self.ends.items()}


def _whole(position: Position) -> int:
    assert isinstance(position, int)
    return position


def test_an_epoch_says_how_many_rows_wait_behind_it(tmp_path: Path) -> None:
    plan = planner(Backlog({"a": 10, "b": 3}), tmp_path)
    first = plan.next(plan.first())
    offset = Offset.from_json(first.to_json())

    assert (offset.waiting, plan.next(offset).waiting) == (6, 2)
    assert planner(FakeSource({"a": 10}), tmp_path).next(plan.first()).waiting is None


class OneByOne(Backlog):
    """Reads a partition only once those before it have nothing more."""

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        first = next((name for name, end in self.ends.items() if at[name] != end), None)
        return {name: min(end, _whole(at[name]) + 4 * (name == first)) for name, end in self.ends.items()}


def test_a_partition_whose_rows_wait_is_not_idle(tmp_path: Path) -> None:
    source = OneByOne({"a": 8, "b": 4})
    plan = planner(source, tmp_path)
    offset = plan.next(plan.first())
    note(tmp_path, "a", 4, 700)
    source.now = START + timedelta(minutes=6)
    offset = plan.next(offset)
    note(tmp_path, "a", 8, 800)
    source.now = START + timedelta(minutes=12)

    assert (offset.watermark, plan.next(offset).watermark) == (None, None)


def test_an_idle_source_follows_the_slowest_active_one(tmp_path: Path) -> None:
    second, third = tmp_path / "other", tmp_path / "third"
    notes.write_mark(second, notes.SourceMark(900, idle=False, ended=False))
    notes.write_mark(third, notes.SourceMark(800, idle=False, ended=False))
    source = FakeSource({"a": 0})
    plan = planner(source, tmp_path / "mine", (second, third))
    offset = plan.next(plan.first())
    source.now = START + timedelta(minutes=6)

    assert plan.next(offset).watermark == 800


def test_an_idle_source_does_not_follow_idle_or_ended_ones(tmp_path: Path) -> None:
    second, third = tmp_path / "other", tmp_path / "third"
    notes.write_mark(second, notes.SourceMark(END_OF_TIME, idle=False, ended=True))
    notes.write_mark(third, notes.SourceMark(800, idle=True, ended=False))
    source = FakeSource({"a": 0})
    plan = planner(source, tmp_path / "mine", (second, third))
    offset = plan.next(plan.first())
    source.now = START + timedelta(minutes=6)

    assert plan.next(offset) is offset


def test_an_offset_survives_its_json() -> None:
    offset = Offset("t", {"a": {"byte": 3}}, {"a": None}, 5, {"a": 2}, 1, 99, 4)

    assert Offset.from_json(offset.to_json()) == offset


def test_marks_never_go_back() -> None:
    after = advance(Marks({"a": 50}, 50), {"a": Shown(10)}, finished=(), idle=())

    assert after == Marks({"a": 50}, 50, holder="a")


def test_planner_without_a_leader_stays() -> None:
    assert follow(5, []) == 5
    assert follow(5, [None, 9]) == 5


def test_a_sink_that_waits_for_the_clock_gets_an_epoch_after_a_silence(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    plan = planner(source, tmp_path)
    plan.spec = replace(plan.spec, wakes_after=timedelta(seconds=30))
    first = plan.next(plan.first())
    source.now = START + timedelta(seconds=29)
    assert plan.next(first) is first

    source.now = START + timedelta(seconds=30)
    woken = plan.next(first)

    assert woken != first
    assert (woken.positions, woken.moved) == (first.positions, {})
    assert plan.next(woken) is woken


@dataclass
class EndingSource(FakeSource):
    """It knows how far its partitions go, also where the next epoch does not go so far."""

    most: dict[str, int] = field(default_factory=dict)

    def is_at_end(self, partition: str, at: Position) -> bool:
        return at == max(self.ends[partition], self.most.get(partition, 0))


def shown(folder: Path, partition: str, end: int, least: int, largest: int) -> None:
    notes.leave(folder, partition, 0, notes.ReaderNote(end, least, 0, 1, largest))


def test_a_partition_read_to_its_end_has_the_largest_value_it_has_shown(tmp_path: Path) -> None:
    source = EndingSource({"files": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    shown(tmp_path, "files", 10, 500, 900)

    second = plan.next(first)

    assert (second.watermark, second.moved, dict(second.largest)) == (900, {}, {})


def test_rows_that_wait_are_not_late_by_the_largest_value_of_those_before(tmp_path: Path) -> None:
    source = EndingSource({"files": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    shown(tmp_path, "files", 10, 500, 900)
    source.ends["files"] = 20

    second = plan.next(first)
    assert (second.watermark, second.largest) == (500, {"files": 900})
    shown(tmp_path, "files", 20, 600, 700)

    assert plan.next(second).watermark == 900


def test_a_partition_whose_epoch_ends_before_it_does_has_the_least_value(tmp_path: Path) -> None:
    source = EndingSource({"files": 10}, most={"files": 15})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    shown(tmp_path, "files", 10, 500, 900)
    second = plan.next(first)
    assert second.watermark == 500

    source.most = {}

    assert plan.next(Offset.from_json(second.to_json())).watermark == 900, "the offset log says what it was"


def test_the_source_has_the_mark_of_the_slowest_partition_also_at_its_end(tmp_path: Path) -> None:
    source = EndingSource({"a": 10, "b": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    shown(tmp_path, "a", 10, 100, 900)
    shown(tmp_path, "b", 10, 300, 400)

    assert plan.next(first).watermark == 400


def test_a_drain_does_not_ask_whether_a_partition_is_read_to_its_end(tmp_path: Path) -> None:
    source = EndingSource({"files": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    shown(tmp_path, "files", 10, 500, 900)

    drained = draining(plan, tmp_path).next(first)

    assert (drained.watermark, drained.largest) == (500, {"files": 900})


def test_no_more_rows_are_late_than_by_the_largest_value_seen(tmp_path: Path) -> None:
    """Over random input: whatever is late was late by the plain rule, the largest value of the expression so far."""
    for seed in range(30):
        random = Random(seed)
        source = EndingSource({"a": 0, "b": 0})
        plan = planner(source, tmp_path / str(seed))
        offset = plan.first()
        seen: dict[str, int] = {}
        for _ in range(20):
            at = dict(offset.positions)
            source.most = {name: source.ends[name] + random.choice((0, 0, 2)) for name in source.ends}
            for name in source.ends:
                source.ends[name] += random.choice((0, 3))
            offset = plan.next(offset)
            if len(seen) == 2:
                assert offset.watermark is None or offset.watermark <= min(seen.values())
            else:
                assert offset.watermark is None
            for name, end in offset.positions.items():
                if end != at.get(name, 0):
                    values = [random.randrange(1000) for _ in range(3)]
                    shown(tmp_path / str(seed), name, int(str(end)), min(values), max(values))
                    seen[name] = max(seen.get(name, 0), *values)


def test_the_offset_says_which_partition_holds_the_watermark_and_since_when(tmp_path: Path) -> None:
    source = FakeSource({"a": 10, "b": 10})
    plan = planner(source, tmp_path)
    first = plan.next(plan.first())
    note(tmp_path, "a", 10, 500)
    note(tmp_path, "b", 10, 200)
    source.now, source.ends["a"] = START + timedelta(seconds=1), 20
    second = plan.next(first)
    note(tmp_path, "a", 20, 600)
    source.now, source.ends["a"] = START + timedelta(seconds=2), 30
    third = Offset.from_json(plan.next(second).to_json())

    since = int(START.timestamp() * 1_000_000)
    assert first.held == ("a", since)
    assert (second.held, third.held) == (("b", since + 1_000_000), ("b", since + 1_000_000))
