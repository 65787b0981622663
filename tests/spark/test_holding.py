"""Who keeps a gate shut: from the planner's offsets to the report, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from engine.compile import compile_script
from engine.plan.nodes import Tumble
from engine.plan.times import RowPath
from engine.spark.read.history import History
from engine.spark.read.planner import Offset
from engine.spark.read.watermarks import END_OF_TIME, Marks, Shown, advance
from engine.spark.run.progress import held_by
from engine.values.epoch_report import HeldBy
from engine.values.instants import from_micros

SECOND = 1_000_000
TABLES = compile_script("""
CREATE TABLE clicks (at TIMESTAMP NOT NULL, WATERMARK FOR at AS at) WITH (connector = 'kafka', type = 'source',
  bootstrap_servers = 'b:1', topic = 'clicks', format = 'json');
CREATE TABLE views (at TIMESTAMP NOT NULL, WATERMARK FOR at AS at) WITH (connector = 'kafka', type = 'source',
  bootstrap_servers = 'b:1', topic = 'views', format = 'json', quiet_after = INTERVAL '10 minutes', idle_time = -1);
SELECT at FROM clicks UNION ALL SELECT at FROM views;
""").tables
WINDOWED = RowPath("clicks", (Tumble(timedelta(minutes=1)),))
CLICKS = Offset("clicks", {"p": 9, "q": 4}, {"p": 90 * SECOND, "q": 60 * SECOND}, 60 * SECOND, held=("q", 5 * SECOND))
VIEWS = Offset("views", {"r": 3}, {"r": 70 * SECOND}, 70 * SECOND, held=("r", 6 * SECOND))


def held(
    clicks: Offset, *others: Offset, path: RowPath = WINDOWED, files: tuple[int | None, ...] = ()
) -> HeldBy | None:
    offsets: Mapping[str, Offset] = {offset.table: offset for offset in (clicks, *others)}
    return held_by([path], offsets, files, TABLES)


def test_the_slowest_partition_of_the_slowest_source_holds_a_window() -> None:
    assert held(CLICKS, VIEWS) == HeldBy(
        "oldest_rows",
        "a row in partition q of clicks whose watermark expression is later; "
        "without rows for 5 minutes (idle_time) it holds the others back no longer",
        "clicks",
        "q",
        from_micros(60 * SECOND),
        from_micros(5 * SECOND),
    )
    slower = held(CLICKS, replace(VIEWS, marks={"r": 50 * SECOND}, watermark=50 * SECOND))
    assert slower is not None
    assert (slower.source, slower.partition) == ("views", "r")
    assert slower.remedy.endswith("after 10 minutes without rows (quiet_after) the clock moves it")


def test_a_sink_without_windows_is_held_by_its_own_source_only() -> None:
    own = held(CLICKS, replace(VIEWS, watermark=None), path=RowPath("clicks"))

    assert own is not None
    assert own.source == "clicks"


def test_a_partition_without_a_row_holds_all_back() -> None:
    nothing = held(replace(CLICKS, marks={"p": 90 * SECOND, "q": None}, watermark=None))

    assert nothing is not None
    assert (nothing.reason, nothing.partition, nothing.watermark) == ("no_rows", "q", None)


def test_other_reasons_have_their_names() -> None:
    reasons = {
        "unread_rows": held(replace(CLICKS, waiting=7)),
        "silent": held(replace(CLICKS, held=(None, SECOND))),
        "history": held(replace(CLICKS, history=History())),
        "open_files": held(CLICKS, files=(70 * SECOND, 10 * SECOND)),
    }

    assert {name: holder and holder.reason for name, holder in reasons.items()} == {name: name for name in reasons}
    assert held(CLICKS, files=(None,)) is not None
    assert held(replace(CLICKS, is_end=True, watermark=END_OF_TIME)) is None


def test_an_offset_of_an_earlier_version_names_the_source() -> None:
    old = held(replace(CLICKS, held=None))

    assert old is not None
    assert (old.source, old.partition, old.since) == ("clicks", None, None)


def test_slowest_active_partition_holds_the_watermark() -> None:
    before = Marks({"a": 50, "b": 40, "c": None}, None)

    assert advance(before, {}, finished=(), idle=()).holder == "c"
    assert advance(before, {}, finished=(), idle=("c",)).holder == "b"
    assert advance(before, {"b": Shown(60)}, finished=(), idle=("c",)).holder == "a"
    assert advance(before, {}, finished=(), idle=("a", "b", "c")).holder is None
