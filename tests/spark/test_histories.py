"""Which range of history a run may read, without Spark."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.compile import compile_script
from engine.errors import BackfillError
from engine.spark.read.history import History
from engine.spark.read.starts import BegunTable, histories_of, unsaid_starts
from engine.values.start_positions import Backfill, read_backfill, read_time

DAY, NEXT_DAY, HALF_PAST = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01T00:30:00Z"
MICROS = int(read_time(DAY).timestamp()) * 1_000_000
KAFKA = "connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source'"
TABLES = f"""
CREATE TABLE clicks (at TIMESTAMP NOT NULL, n BIGINT) WITH ({KAFKA}, format = 'json', event_time_field = 'at');
CREATE TABLE orders (at TIMESTAMP NOT NULL, n BIGINT) WITH ({KAFKA}, format = 'json', event_time_field = 'at');
CREATE TABLE timeless (n BIGINT) WITH (connector = 'filesystem', path = '/in', type = 'source', format = 'json');
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 10);
CREATE TABLE by_spark (n BIGINT) WITH ({KAFKA}, format = 'json', source.reader = 'jvm');
CREATE TABLE changed (id BIGINT PRIMARY KEY, n BIGINT) WITH ({KAFKA}, format = 'debezium_json');
"""


def backfill(since: str | None = None, until: str | None = None, *stop_at: str, **accepted: bool) -> Backfill:
    read = read_backfill(since, until, stop_at, **{"goes_on": False, "partial_windows": False, **accepted})
    assert read is not None
    return read


def histories(query: str, of: Backfill, begun: Mapping[str, BegunTable] | None = None) -> Mapping[str, History]:
    return histories_of(compile_script(f"{TABLES} {query};"), of, begun or {})


def test_every_table_reads_the_range() -> None:
    both = "SELECT n FROM clicks; SELECT n FROM orders"

    asked = histories(both, backfill(DAY, NEXT_DAY, 'orders=offsets:{"0": 9}'))

    assert asked["clicks"] == History(MICROS, MICROS + 86_400_000_000)
    assert asked["orders"].stop == (("0", 9),)
    assert list(unsaid_starts(asked, {"orders": None})) == ["clicks"]


def test_the_same_command_goes_on_with_its_state() -> None:
    far = History(MICROS, goes_on=True, is_over=True)
    goes_on = backfill(DAY, goes_on=True)

    assert histories("SELECT n FROM clicks", goes_on, {"clicks": BegunTable("earliest", far)}) == {}
    added = "SELECT n FROM clicks; SELECT n FROM orders"
    assert histories(added, goes_on, {"clicks": BegunTable("earliest", far)}) == {}


@pytest.mark.parametrize(
    ("query", "of", "begun", "complaint"),
    [
        ("SELECT n FROM timeless", backfill(DAY), {}, "has no event time"),
        ("SELECT counter FROM numbers", backfill(goes_on=True), {}, "cannot say where it ends"),
        ("SELECT n FROM by_spark", backfill(goes_on=True), {}, "read by Spark"),
        ("SELECT n FROM changed", backfill(DAY), {}, "part of that makes no rows|has no event time"),
        ("SELECT n FROM timeless", backfill(goes_on=True), {}, "every table of the script ends by itself"),
        ("SELECT n FROM timeless", backfill(None, None, 'timeless=offsets:{"0": 1}'), {}, "has no offsets"),
        ("SELECT n FROM clicks", backfill(None, None, 'orders=offsets:{"0": 1}'), {}, "does not read orders"),
        ("SELECT n FROM clicks", backfill(DAY), {"clicks": BegunTable(None)}, "without a range"),
        ("SELECT n FROM clicks", backfill(DAY), {"clicks": BegunTable(None, History(7))}, "another range"),
        (
            "SELECT n FROM clicks; SELECT n FROM orders",
            backfill(DAY),
            {"clicks": BegunTable(None, History(MICROS))},
            "orders is new",
        ),
        ("SELECT tumble(INTERVAL '1 hour'), count(*) FROM clicks GROUP BY 1", backfill(HALF_PAST), {}, "cuts through"),
    ],
)
def test_backfill_option_that_changes_rows_is_refused(
    query: str, of: Backfill, begun: Mapping[str, BegunTable], complaint: str
) -> None:
    with pytest.raises(BackfillError, match=complaint):
        histories(query, of, begun)


def test_windows_with_a_part_of_their_rows_can_be_accepted() -> None:
    query = "SELECT tumble(INTERVAL '1 hour'), count(*) FROM clicks GROUP BY 1"

    assert histories(query, backfill(HALF_PAST, partial_windows=True))["clicks"].since == MICROS + 1_800_000_000


@pytest.mark.parametrize(
    ("since", "until", "stop_at", "goes_on"),
    [
        (DAY, DAY, (), False),
        (NEXT_DAY, DAY, (), False),
        (DAY, NEXT_DAY, (), True),
        (None, None, ('t=offsets:{"0": 1}',), True),
        (None, None, ("t=latest",), False),
        ("yesterday", None, (), False),
    ],
)
def test_a_range_must_make_sense(since: str | None, until: str | None, stop_at: tuple[str, ...], goes_on: bool) -> None:
    with pytest.raises(BackfillError):
        read_backfill(since, until, stop_at, goes_on=goes_on, partial_windows=False)


def test_without_a_range_windows_are_not_cut() -> None:
    assert read_backfill(None, None, (), goes_on=False, partial_windows=False) is None
    with pytest.raises(BackfillError, match="range of history is read"):
        read_backfill(None, None, (), goes_on=False, partial_windows=True)
