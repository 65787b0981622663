"""What Spark says of an epoch, in our words; without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from engine.plan.nodes import Tumble
from engine.plan.times import RowPath
from engine.spark.read.planner import Offset
from engine.spark.run.progress import ReadSlices, WrittenEpoch, read_progress
from engine.values.epoch_report import PHASES, EpochReport, SinkProgress, TableFigures

AT = datetime(2026, 1, 1, 5, 30, tzinfo=UTC)
SETTLED = datetime(2026, 1, 1, 5, 29, 51, tzinfo=UTC)
END = Offset("clicks", {"p": 7}, {"p": None}, watermark=int(SETTLED.timestamp()) * 1_000_000)
PROGRESS = {
    "batchId": 7,
    "timestamp": "2026-01-01T05:30:00.000Z",
    "durationMs": {"triggerExecution": 2500},
    "eventTime": {"watermark": "2026-01-01T05:29:51.000Z"},
}


def report(end: Offset = END) -> EpochReport:
    paths = {"counts": {RowPath("clicks", (Tumble(timedelta(minutes=1)),))}, "copy": {RowPath("clicks")}}
    held_from = {"copy": [END.watermark and END.watermark - 1_000_000]}
    written = WrittenEpoch(5, 0, END.watermark, held_from, read={"clicks": ReadSlices(10)})
    progress = {**PROGRESS, "sources": [{"endOffset": json.dumps(end.to_json())}]}
    return read_progress(progress, written, keeps_dead_letters=lambda _: False, paths=paths, closes_windows=True)


def test_an_epoch_was_committed_when_its_trigger_was_over_and_not_when_it_began() -> None:
    assert report().at == AT + timedelta(seconds=2.5)
    assert report().at - report().duration == AT


def test_a_rest_before_an_epoch_is_no_part_of_it() -> None:
    rested = read_progress(
        {**PROGRESS, "durationMs": {"triggerExecution": 2500, "latestOffset": 2100}, "sources": []},
        WrittenEpoch(5, 0, waited=timedelta(seconds=2)),
        keeps_dead_letters=lambda _: False,
        paths={},
        closes_windows=True,
    )

    assert rested.duration == timedelta(seconds=0.5)
    assert rested.phases["find"] == timedelta(seconds=0.1)
    assert rested.at == AT + timedelta(seconds=2.5)


def test_each_sink_is_as_far_as_its_own_plan_and_its_open_files_say() -> None:
    edge, before = SETTLED.replace(second=0), SETTLED - timedelta(seconds=1)

    sinks = {name: replace(sink, held_by=None) for name, sink in report().sinks.items()}
    assert sinks == {"counts": SinkProgress(edge, SETTLED), "copy": SinkProgress(before, before)}


def test_each_sink_says_what_holds_it() -> None:
    sinks = report(replace(END, held=("p", 5))).sinks
    holders = {name: sink.held_by and (sink.held_by.reason, sink.held_by.partition) for name, sink in sinks.items()}

    assert holders == {"counts": ("no_rows", "p"), "copy": ("open_files", None)}


def test_each_sink_names_its_sources_whose_watermark_is_that_of_the_clock() -> None:
    by_clock = {name: sink.by_clock for name, sink in report(replace(END, is_by_clock=True)).sinks.items()}

    assert by_clock == {"counts": ("clicks",), "copy": ("clicks",)}
    assert {sink.by_clock for sink in report(replace(END, is_by_clock=True, is_end=True)).sinks.values()} == {()}


def two_tables(*, counts_state: bool = False) -> EpochReport:
    """Clicks, of which some are late and dropped, and prices, both into a copy; the webhook leaves rows out."""
    prices = replace(END, table="prices", waiting=70)
    progress = {
        **PROGRESS,
        "durationMs": {
            "latestOffset": 100,
            "walCommit": 20,
            "getBatch": 1,
            "queryPlanning": 30,
            "addBatch": 1900,
            "commitOffsets": 40,
            "triggerExecution": 2500,
        },
        "sources": [
            {"endOffset": json.dumps(END.to_json())},
            {"endOffset": json.dumps(prices.to_json())},
        ],
        "observedMetrics": {"late0 clicks": {"late": 3}, "late1": {"late": 2}, "late2 clicks": {"late": 1}},
        "stateOperators": [
            {
                "operatorName": "stateStoreSave",
                "numRowsTotal": 7,
                "numRowsUpdated": 5,
                "numRowsRemoved": 2,
                "memoryUsedBytes": 100,
            },
            {
                "operatorName": "transformWithStateExec",
                "numRowsTotal": 3,
                "numRowsUpdated": 1,
                "numRowsRemoved": 0,
                "memoryUsedBytes": 10,
            },
        ],
    }
    written = WrittenEpoch(
        9,
        6,
        END.watermark,
        rows_of={"copy": 8, "hook": 1},
        refused_of={"hook": 6},
        refused_in_epoch=2,
        delivery=timedelta(milliseconds=700),
        read={"clicks": ReadSlices(10, dropped=4, dropped_in_epoch=1), "prices": ReadSlices(14)},
    )
    paths = {"copy": {RowPath("clicks")}, "hook": {RowPath("prices")}}
    keeps_dead_letters = frozenset({"clicks", "hook"}).__contains__
    return read_progress(
        progress,
        written,
        keeps_dead_letters=keeps_dead_letters,
        paths=paths,
        closes_windows=True,
        counts_state=counts_state,
    )


def test_sink_results_are_reported_by_table() -> None:
    assert two_tables().tables == {
        "clicks": TableFigures(rows_in=10, late_rows=4, dropped_rows=4, dead_letters=4),
        "copy": TableFigures(rows_out=8),
        "hook": TableFigures(rows_out=1, dropped_rows=6, dead_letters=6),
        "prices": TableFigures(rows_in=14, rows_waiting=70, dropped_rows=0),
    }


def test_the_figures_of_tables_add_up_to_those_of_the_epoch() -> None:
    figures, tables = two_tables(), two_tables().tables.values()

    assert figures.rows_in == sum(table.rows_in or 0 for table in tables) == 24
    assert figures.rows_out == sum(table.rows_out or 0 for table in tables) == 9
    assert figures.dropped_rows == sum(table.dropped_rows or 0 for table in tables) == 10
    assert figures.dropped_in_epoch == 3, "one is of this epoch's slices, two the webhook refused in it"
    assert figures.rows_waiting == sum(table.rows_waiting or 0 for table in tables) == 70
    assert figures.late_rows == 6, "two of them come out of both tables"


def test_an_epoch_says_how_long_each_phase_took_and_how_large_its_state_is() -> None:
    phases = {name: length // timedelta(milliseconds=1) for name, length in two_tables().phases.items()}

    assert phases == {"find": 100, "log": 20, "plan": 31, "compute": 1200, "deliver": 700, "commit": 40}
    assert set(phases) == set(PHASES)
    assert (two_tables().state_changes, two_tables().state_bytes) == (8, 110)


def test_rows_of_state_are_told_of_windows_alone_and_only_where_spark_counts_them() -> None:
    assert two_tables().state_rows == {}
    assert two_tables(counts_state=True).state_rows == {"windows": 7}


def test_the_watermark_that_closes_all_windows_is_reported_as_the_end_of_the_input() -> None:
    ended = replace(END, is_end=True)
    progress = {**PROGRESS, "eventTime": {"watermark": "+75037-01-01T00:00:00.000Z"}}
    found = read_progress(
        {**progress, "sources": [{"endOffset": json.dumps(ended.to_json())}]},
        WrittenEpoch(5, 0, read={"clicks": ReadSlices()}),
        keeps_dead_letters=lambda _: False,
        paths={},
        closes_windows=True,
    )

    assert found.watermark == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert found.is_last
