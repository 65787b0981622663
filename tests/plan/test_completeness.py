"""How far output is complete: a table of plans, and a model that has rows instead of arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.compile import compile_script
from engine.plan.nodes import Calendar, Cumulate, Hop, Period, Session, Tumble
from engine.plan.times import (
    END,
    MOMENT,
    OPEN_SESSIONS,
    ClosingWindow,
    Completeness,
    RowPath,
    Wait,
    closed_before,
    complete_until,
    row_paths,
)
from engine.values.instants import to_micros

MINUTE = timedelta(minutes=1)
FIVE_MINUTES = Cumulate(MINUTE, Tumble(5 * MINUTE))
LOCAL_DAY = Calendar(Period(0, timedelta(days=1)), Period(0, timedelta(days=1)), "Europe/Berlin")
TABLES = """
CREATE TABLE a (id BIGINT, k TEXT, ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts)
WITH (connector = 'single_file', path = 'a.json', format = 'json', type = 'source');
CREATE TABLE b (id BIGINT, k TEXT, ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts)
WITH (connector = 'single_file', path = 'b.json', format = 'json', type = 'source');
CREATE TABLE side (id BIGINT PRIMARY KEY, k TEXT)
WITH (connector = 'filesystem', path = 'side', format = 'json', type = 'lookup');
CREATE TABLE changes (id BIGINT PRIMARY KEY, k TEXT)
WITH (connector = 'single_file', path = 'c.json', format = 'debezium_json', type = 'source');
"""
COUNTS = "(SELECT k, count(*) AS n, tumble(INTERVAL '1 minute') AS w FROM {table} GROUP BY k, w)"
NAMES = {"of_a": COUNTS.format(table="a"), "of_b": COUNTS.format(table="b")}

PLANS: dict[str, tuple[str, set[RowPath]]] = {
    "stateless": ("SELECT id FROM a WHERE id > 3", {RowPath("a")}),
    "looked up": ("SELECT a.id, side.k FROM a LEFT JOIN side ON side.id = a.id", {RowPath("a")}),
    "updating": ("SELECT k, count(*) AS n FROM a GROUP BY k", {RowPath("a")}),
    "changes": ("SELECT k, count(*) AS n FROM changes GROUP BY k", {RowPath("changes")}),
    "joined for all time": ("SELECT a.id FROM a JOIN b ON a.id = b.id", {RowPath("a"), RowPath("b")}),
    "united": ("SELECT id FROM a UNION ALL SELECT id FROM b", {RowPath("a"), RowPath("b")}),
    "tumble": (NAMES["of_a"], {RowPath("a", (Tumble(MINUTE),))}),
    "hop": (
        "SELECT count(*) AS n FROM a GROUP BY hop(INTERVAL '1 minute', INTERVAL '5 minutes')",
        {RowPath("a", (Hop(MINUTE, 5 * MINUTE),))},
    ),
    "session": (
        "SELECT k, count(*) AS n FROM a GROUP BY k, session(INTERVAL '1 minute')",
        {RowPath("a", (Session(MINUTE),))},
    ),
    "rows of a moment": ("SELECT sum(id) OVER (ORDER BY ts) AS s FROM a", {RowPath("a", (MOMENT,))}),
    "rows that wait for a later time": (
        "SELECT sum(id) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '1 minute' FOLLOWING) AS s FROM a",
        {RowPath("a", (Wait(MINUTE),))},
    ),
    "rows that wait for two more": (
        "SELECT lead(id, 2) OVER (ORDER BY ts) AS s FROM a",
        {RowPath("a", (Wait(2 * timedelta(days=1)),))},
    ),
    "local days": (
        "SELECT count(*) AS n FROM a GROUP BY tumble(INTERVAL '1 day', 'Europe/Berlin')",
        {RowPath("a", (LOCAL_DAY,))},
    ),
    "windows that add up": (
        "SELECT count(*) AS n FROM a GROUP BY cumulate(INTERVAL '1 minute', INTERVAL '5 minutes')",
        {RowPath("a", (FIVE_MINUTES,))},
    ),
    "versions": (
        "SELECT a.id, b.k FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.id = b.id",
        {RowPath("a", (MOMENT,)), RowPath("b", (MOMENT,))},
    ),
    "windows of the same windows": (
        f"SELECT w, max(n) AS most FROM {NAMES['of_a']} GROUP BY w",
        {RowPath("a", (Tumble(MINUTE),))},
    ),
    "windows joined": (
        f"SELECT x.n, y.n AS m FROM {NAMES['of_a']} x JOIN {NAMES['of_b']} y ON x.w = y.w AND x.k = y.k",
        {RowPath("a", (Tumble(MINUTE),)), RowPath("b", (Tumble(MINUTE),))},
    ),
    "windows of joined rows": (
        "SELECT count(*) AS n FROM a JOIN b ON a.id = b.id GROUP BY tumble(INTERVAL '1 minute')",
        {RowPath("a", (Tumble(MINUTE),)), RowPath("b", (Tumble(MINUTE),))},
    ),
    "ranked in windows": (
        f"SELECT k, row_number() OVER (PARTITION BY w ORDER BY n) AS r FROM {NAMES['of_a']}",
        {RowPath("a", (Tumble(MINUTE),))},
    ),
    "first of windows": (
        f"SELECT k, n, w FROM {NAMES['of_a']} ORDER BY w, n LIMIT 3",
        {RowPath("a", (Tumble(MINUTE),))},
    ),
    "windows beside rows": (
        f"SELECT k FROM {NAMES['of_a']} UNION ALL SELECT k FROM b",
        {RowPath("a", (Tumble(MINUTE),)), RowPath("b")},
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_paths_of_rows_are_read_off_the_plan(name: str) -> None:
    query, paths = PLANS[name]

    [write] = compile_script(f"{TABLES} {query};").writes

    assert row_paths(write) == paths


def at(text: str) -> int:
    return to_micros(datetime.fromisoformat(f"2026-01-01T{text}").replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("windows", "settled", "until"),
    [
        ((Tumble(MINUTE),), "05:29:51", "05:29:00"),
        ((Tumble(MINUTE),), "05:29:00", "05:29:00"),
        ((Tumble(MINUTE),), "05:28:59.999999", "05:28:00"),
        ((Hop(MINUTE, 5 * MINUTE),), "05:29:51", "05:25:00"),
        ((Hop(MINUTE, 5 * MINUTE),), "05:30:00", "05:26:00"),
        ((Hop(2 * MINUTE, 3 * MINUTE),), "05:29:00", "05:28:00"),
        ((Hop(2 * MINUTE, 3 * MINUTE),), "05:28:59", "05:26:00"),
        ((Tumble(60 * MINUTE), Tumble(MINUTE)), "05:29:51", "05:00:00"),
        ((Hop(MINUTE, 5 * MINUTE), Tumble(10 * MINUTE)), "05:29:51", "05:20:00"),
        ((Tumble(10 * MINUTE), Hop(MINUTE, 5 * MINUTE)), "05:29:51", "05:16:00"),
    ],
)
def test_output_is_complete_up_to_the_oldest_open_window(
    windows: tuple[ClosingWindow, ...], settled: str, until: str
) -> None:
    reached = complete_until([RowPath("a", windows)], at(settled), {})

    assert reached == Completeness(at(until), at(settled))


def test_rows_without_a_window_are_there_up_to_the_watermark_of_their_source() -> None:
    marks = {"a": at("05:10:00"), "b": at("05:12:00"), "c": at("05:01:00")}

    assert complete_until([RowPath("a"), RowPath("b")], at("05:00:00"), marks) == Completeness(marks["a"], marks["a"])


def test_completeness_of_several_tables_is_that_of_the_slowest() -> None:
    paths = [RowPath("a", (Tumble(MINUTE),)), RowPath("b")]

    assert complete_until(paths, at("05:29:51"), {"b": at("05:10:30")}).until == at("05:10:30")
    assert complete_until(paths, at("05:29:51"), {"b": at("05:40:00")}) == Completeness(at("05:29:00"), at("05:29:51"))


def test_completeness_is_unknown_until_every_source_has_a_watermark() -> None:
    assert complete_until([RowPath("a"), RowPath("b")], None, {"a": at("05:10:00"), "b": None}) == Completeness()
    assert complete_until([RowPath("a", (Tumble(MINUTE),))], None, {"a": at("05:10:00")}) == Completeness()


def test_only_the_output_time_of_sessions_is_known_until_all_have_ended() -> None:
    paths = [RowPath("a", (Tumble(MINUTE), Session(MINUTE))), RowPath("b")]

    assert complete_until(paths, at("05:29:51"), {"b": at("05:40:00")}) == Completeness(
        None, at("05:29:51"), OPEN_SESSIONS
    )
    assert complete_until([RowPath("a", (Session(MINUTE),))], None, {}) == Completeness(None, None, OPEN_SESSIONS)
    assert complete_until(paths, END, {"b": END}) == Completeness(END, END)


def test_an_input_that_has_ended_leaves_no_window_open() -> None:
    assert complete_until([RowPath("a", (Hop(MINUTE, 7 * MINUTE),))], END, {}) == Completeness(END, END)


def test_a_file_that_cannot_be_read_yet_holds_what_came_after_it_was_opened() -> None:
    paths = [RowPath("a", (Tumble(MINUTE),))]

    reached = complete_until(paths, at("05:29:51"), {}, [at("05:27:30"), at("05:26:10")])

    assert reached == Completeness(at("05:26:00"), at("05:26:10"))
    assert complete_until(paths, at("05:29:51"), {}, [None]) == Completeness()
    assert complete_until([RowPath("a")], None, {"a": at("05:29:51")}, [at("05:27:30")]).until == at("05:27:30")


MICRO = timedelta(microseconds=1)
LENGTHS = st.integers(1, 7).map(lambda micros: timedelta(microseconds=micros))
TUMBLES = st.builds(Tumble, LENGTHS)
HOPS = st.tuples(LENGTHS, LENGTHS).map(lambda lengths: Hop(min(lengths), max(lengths)))
WINDOWS = st.lists(TUMBLES | HOPS, min_size=1, max_size=3).map(tuple)
"""Windows of some microseconds, that nearest to the sink first."""
START = 200
"""Enough for every window of the model to begin after 1970."""


def ends_of(window: ClosingWindow, instant: int) -> Iterator[int]:
    """The ends of all windows that a row of that time is in, looked for one by one."""
    assert isinstance(window, Tumble | Hop)
    slide, width = (window.slide, window.width) if isinstance(window, Hop) else (window.width, window.width)
    length = width // MICRO
    for begin in range(instant - length + 1, instant + 1):
        if begin % (slide // MICRO) == 0:
            yield begin + length


def is_there(windows: tuple[ClosingWindow, ...], instant: int, settled: int) -> bool:
    """Whether all that comes of a row of that time is in the output, when all windows up to `settled` are closed."""
    *above, nearest_to_source = windows
    for end in ends_of(nearest_to_source, instant):
        if end > settled or (above and not is_there(tuple(above), end - 1, settled)):
            return False
    return True


@settings(deadline=None)
@given(WINDOWS, st.integers(START, START + 60))
def test_all_rows_before_it_are_in_closed_windows_and_none_is_promised_too_little(
    windows: tuple[ClosingWindow, ...], settled: int
) -> None:
    until = complete_until([RowPath("a", windows)], settled, {}).until

    assert until is not None
    assert all(is_there(windows, instant, settled) for instant in range(START - 50, until))
    assert not is_there(windows, until, settled)


@settings(deadline=None)
@given(TUMBLES | HOPS, st.integers(START, START + 60), st.integers(0, 30))
def test_completeness_never_decreases_while_the_watermark_does_not(
    window: ClosingWindow, settled: int, later: int
) -> None:
    assert closed_before(window, settled) <= closed_before(window, settled + later)
    assert closed_before(window, settled) <= settled


def test_rows_that_wait_are_out_when_the_watermark_is_their_delay_after_them() -> None:
    done = complete_until([RowPath("a", (Wait(MINUTE),))], 90_000_000, {})

    assert done == Completeness(30_000_000, 30_000_000)


@pytest.mark.parametrize(
    ("window", "watermark", "until"),
    [
        (LOCAL_DAY, datetime(2024, 3, 31, 21, 59, tzinfo=UTC), datetime(2024, 3, 30, 23, tzinfo=UTC)),
        (LOCAL_DAY, datetime(2024, 3, 31, 22, tzinfo=UTC), datetime(2024, 3, 31, 22, tzinfo=UTC)),
        (Calendar(Period(1), Period(3)), datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
        (
            Cumulate(MINUTE, Tumble(5 * MINUTE)),
            datetime(2024, 1, 1, 0, 9, tzinfo=UTC),
            datetime(2024, 1, 1, 0, 5, tzinfo=UTC),
        ),
        (Cumulate(MINUTE, LOCAL_DAY), datetime(2024, 1, 1, 0, 9, tzinfo=UTC), datetime(2023, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_output_of_calendars_is_complete_up_to_the_oldest_open_window(
    window: ClosingWindow, watermark: datetime, until: datetime
) -> None:
    assert closed_before(window, to_micros(watermark)) == to_micros(until)
