"""Rows and busy time of operators, from the text of an executed plan; without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.compile import compile_script
from engine.spark.run.operator_times import PlanReader, PlanWork, Work, busy_share

WINDOW = """\
0 WholeStageCodegen pipelineTime=228
1 HashAggregate numOutputRows=4
2 InputAdapter
3 StateStoreSave commitTimeMs=2 numOutputRows=4 allRemovalsTimeMs=73 allUpdatesTimeMs=27
4 WholeStageCodegen pipelineTime=71
5 HashAggregate numOutputRows=2
6 InputAdapter
7 StateStoreRestore numOutputRows=3
8 WholeStageCodegen pipelineTime=109
9 HashAggregate numOutputRows=2
10 InputAdapter
11 Exchange
12 WholeStageCodegen pipelineTime=140
13 HashAggregate numOutputRows=2
14 Project
15 Filter numOutputRows=449
16 InputAdapter
17 CollectMetrics
18 WholeStageCodegen pipelineTime=139
19 Project
20 Filter numOutputRows=449
21 Filter numOutputRows=1347
22 InputAdapter
23 EventTimeWatermark
24 WholeStageCodegen pipelineTime=141
25 Project
26 Filter numOutputRows=1348
27 InputAdapter
28 MicroBatchScan tasks=1 numOutputRows=1348
"""
UPDATING = """\
0 WholeStageCodegen pipelineTime=711
1 MapInArrow pythonNumRowsReceived=20
2 TransformWithStateInPySpark commitTimeMs=2 numOutputRows=1 allRemovalsTimeMs=0 allUpdatesTimeMs=278
3 WholeStageCodegen pipelineTime=432
4 Sort
5 Exchange
6 WholeStageCodegen pipelineTime=95
7 MapInArrow pythonNumRowsReceived=9
8 WholeStageCodegen pipelineTime=270
9 Project
10 Filter numOutputRows=587
11 MicroBatchScan tasks=1 numOutputRows=1760
3 PlanLater
"""
HOP = """\
0 StateStoreSave commitTimeMs=1 numOutputRows=6 allRemovalsTimeMs=0 allUpdatesTimeMs=9
1 Exchange
2 WholeStageCodegen pipelineTime=50
3 HashAggregate numOutputRows=12
4 Filter numOutputRows=600
5 Expand numOutputRows=700
6 Filter numOutputRows=100
7 MicroBatchScan tasks=4 numOutputRows=101
"""


def deeper(plan: str) -> str:
    lines = (line.partition(" ") for line in plan.splitlines())
    return "".join(f"{int(depth) + 1} {node}\n" for depth, _, node in lines)


TWO_BRANCHES = (
    f"0 Union\n{deeper(WINDOW)}1 Project\n2 Filter numOutputRows=10\n3 MicroBatchScan tasks=3 numOutputRows=50\n"
)


def milliseconds(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def reader(*operators: str, tables: tuple[str, ...] = ("orders",)) -> PlanReader:
    return PlanReader([(operator, False) for operator in operators], tables)


def test_a_window_has_the_rows_below_its_first_merge_and_the_time_of_its_state() -> None:
    assert reader("tumble-1").read(WINDOW) == PlanWork(
        {"tumble-1": Work(449, 4, milliseconds(102))}, {"orders": Work(time=milliseconds(141), tasks=1)}
    )


def test_rows_of_an_updating_operator_are_those_before_they_are_prepared_for_its_state() -> None:
    assert reader("updating-1").read(UPDATING) == PlanWork(
        {"updating-1": Work(587, 20, milliseconds(280))}, {"orders": Work(time=milliseconds(270), tasks=1)}
    )


def test_an_operator_over_another_gets_the_rows_that_are_unpacked_between_them() -> None:
    above = "0 MapInArrow pythonNumRowsReceived=7\n1 TransformWithStateInPySpark commitTimeMs=1 numOutputRows=1 "
    text = f"{above}allRemovalsTimeMs=0 allUpdatesTimeMs=1\n2 Exchange\n3 MapInArrow pythonNumRowsReceived=2\n"

    works = reader("top-1", "updating-1").read(text + deeper(deeper(deeper(deeper(UPDATING))))).operators
    assert [(work.rows_in, work.rows_out) for work in works.values()] == [(20, 7), (587, 20)]


def test_a_row_in_many_windows_counts_once() -> None:
    assert reader("hop-1").read(HOP).operators["hop-1"].rows_in == 100


def test_tables_have_the_time_of_their_own_tasks() -> None:
    sources = reader("tumble-1", tables=("orders", "clicks")).read(TWO_BRANCHES).sources

    assert sources == {"orders": Work(time=milliseconds(141), tasks=1), "clicks": Work(time=None, tasks=3)}


def test_a_table_that_is_read_twice_has_the_time_of_both() -> None:
    above, shuffle, below = WINDOW.partition("11 Exchange\n")
    text = above + shuffle + "12 Union\n" + deeper(below) * 2

    work = reader("tumble-1", tables=("orders", "orders")).read(text)
    assert work.sources == {"orders": Work(time=milliseconds(282), tasks=2)}
    assert work.operators["tumble-1"].rows_in == 898


@pytest.mark.parametrize(
    ("text", "operators", "tables"),
    [("", ("tumble-1",), ("orders",)), (WINDOW, ("tumble-1", "tumble-2"), ("orders", "clicks"))],
)
def test_metrics_that_do_not_match_the_plan_are_unknown(
    text: str, operators: tuple[str, ...], tables: tuple[str, ...]
) -> None:
    assert reader(*operators, tables=tables).read(text) == PlanWork()


def test_rows_are_unknown_where_source_tasks_merge_them() -> None:
    sql = """
    CREATE TABLE orders WITH (connector = 'impulse', event_rate = 10);
    SELECT count(*) FROM orders GROUP BY tumble(INTERVAL '1 minute');
    """
    program = replace(compile_script(sql), is_fused=True)
    [operator] = program.operators

    merged = PlanReader.of([operator.id], program.running_parts)
    assert merged.tables == ("orders",)
    assert merged.read(WINDOW).operators[operator.id].rows_in is None
    assert PlanReader.of([operator.id], program.parts).read(WINDOW).operators[operator.id].rows_in == 449


@pytest.mark.parametrize(
    ("work", "parallelism", "share"),
    [
        (Work(time=milliseconds(500), tasks=1), 4, 0.5),
        (Work(time=milliseconds(500)), 2, 0.25),
        (Work(time=milliseconds(500), tasks=8), 2, 0.25),
        (Work(time=milliseconds(1500), tasks=1), 1, 1.0),
        (Work(), 1, None),
    ],
)
def test_busy_is_the_share_of_the_time_that_tasks_have(work: Work, parallelism: int, share: float | None) -> None:
    assert busy_share(work, timedelta(seconds=1), parallelism) == share
    assert busy_share(work, timedelta(0), parallelism) is None
