"""What is promised too much is found; without Spark."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from engine.plan.times import OPEN_SESSIONS
from engine.values.epoch_report import SinkProgress
from tests.fuzz.data import START, Stream, random_row
from tests.fuzz.oracle import Oracle, Row
from tests.fuzz.promises import broken_promise
from tests.fuzz.queries import Relation

SECONDS = (10, 70, 100)
STREAM = Stream(
    "t1",
    timedelta(0),
    ({"p": [random_row(Random(number), number, seconds) for number, seconds in enumerate(SECONDS)]},),
    (None,),
    has_late_rows=False,
)
START_OF_MINUTE = "time_bucket(INTERVAL '1 minute', ts, TIMESTAMP '1970-01-01')"
WINDOW = f'struct_pack("start" := {START_OF_MINUTE}, "end" := {START_OF_MINUTE} + INTERVAL \'1 minute\')'
MINUTES = Relation(
    (),
    (f"q0 AS (SELECT {WINDOW} AS w, count(*) AS n FROM t1 GROUP BY ALL)",),
    "q0",
    {"w": "w", "n": "i"},
    window="tumble(INTERVAL '60 seconds')",
)
ROWS = Relation((), ("q0 AS (SELECT id FROM t1)",), "q0", {"id": "i"})
COUNT = Relation((), ("q0 AS (SELECT count(*) AS n FROM t1)",), "q0", {"n": "i"}, is_updating=True)


def answer(query: Relation, rows: int) -> list[Row]:
    """The batch answer over the first rows."""
    [step] = STREAM.steps
    oracle = Oracle([Stream("t1", STREAM.delay, ({"p": step["p"][:rows]},), (None,), has_late_rows=False)])
    try:
        return oracle.answer(query.query(for_engine=False), query.columns)
    finally:
        oracle.close()


def until(seconds: int) -> SinkProgress:
    return SinkProgress(START + timedelta(seconds=seconds), START + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("query", "rows", "sink", "is_broken"),
    [
        (MINUTES, 1, until(60), False),
        (MINUTES, 1, until(61), True),
        (MINUTES, 2, until(60), False),
        (MINUTES, 2, until(100), True),
        (MINUTES, 1, SinkProgress(None, START + timedelta(seconds=119), OPEN_SESSIONS), False),
        (MINUTES, 1, SinkProgress(None, START + timedelta(seconds=120), OPEN_SESSIONS), True),
        (MINUTES, 0, SinkProgress(), False),
        (ROWS, 1, until(70), False),
        (ROWS, 1, until(71), True),
        (ROWS, 3, until(71), False),
        (COUNT, 3, until(0), False),
        (COUNT, 2, until(0), True),
    ],
)
def test_a_promise_holds_for_what_is_written_and_for_no_more(
    query: Relation, rows: int, sink: SinkProgress, is_broken: bool
) -> None:
    assert bool(broken_promise(query, answer(query, rows), [STREAM], sink)) is is_broken
