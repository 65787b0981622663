"""Which start positions of a run count, without Spark."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.compile import compile_script
from engine.errors import StartPositionError
from engine.spark.read.planner import Offset
from engine.spark.read.starts import BegunTable, begun_after, counting_starts, with_starts
from engine.values.start_positions import read_starts

TABLE = "CREATE TABLE {name} (n BIGINT) WITH (connector = {options}, type = 'source', format = 'json');"
KAFKA = "'kafka', bootstrap_servers = 'b:1', topic = 't'"
WATCHED = "'filesystem', path = '/in', source.watch = true"
SCRIPT = "".join(
    TABLE.format(name=name, options=options)
    for name, options in {
        "clicks": KAFKA,
        "watched": WATCHED,
        "files": "'filesystem', path = '/other'",
        "unread": KAFKA,
    }.items()
)
PROGRAM = compile_script(f"{SCRIPT} SELECT n FROM clicks; SELECT n FROM watched; SELECT n FROM files;")
AT_NOON = "timestamp:2026-01-01T12:00:00Z"


def counting(text: str, begun: Mapping[str, BegunTable]) -> list[str]:
    return [str(start) for start in counting_starts(PROGRAM, read_starts([text], "--start-from"), begun).values()]


def test_a_position_counts_where_nothing_was_read_yet() -> None:
    for text in ("clicks=earliest", "clicks=group", 'clicks=offsets:{"0": 1}', f"clicks={AT_NOON}"):
        assert counting(text, {"files": BegunTable(None)}) == [text.partition("=")[2]]
    assert counting(f"watched={AT_NOON}", {}) == [AT_NOON]
    assert counting("files=earliest", {}) == ["earliest"]


def test_stored_start_position_may_be_repeated() -> None:
    assert counting("clicks=earliest", {"clicks": BegunTable("earliest")}) == []
    assert counting("clicks=savepoint", {"clicks": BegunTable("earliest")}) == []


@pytest.mark.parametrize(
    ("text", "begun", "complaint"),
    [
        ("clicks=latest", {"clicks": BegunTable("earliest")}, "clicks goes on from where its state has it"),
        ("clicks=earliest", {"clicks": BegunTable(None)}, "clicks goes on from where its state has it"),
        ("clicks=savepoint", {}, "the state has no place of it"),
        ("unread=latest", {}, "does not read unread"),
        ("watched=group", {}, "no such place"),
        ("files=latest", {}, "no such place"),
        (f"files={AT_NOON}", {}, "no such place"),
    ],
)
def test_none_is_ignored(text: str, begun: Mapping[str, BegunTable], complaint: str) -> None:
    with pytest.raises(StartPositionError, match=complaint):
        counting(text, begun)


def test_a_table_that_an_upgrade_reads_anew_may_begin_elsewhere() -> None:
    begun = {"clicks": BegunTable(None), "files": BegunTable(None)}

    assert counting("clicks=latest", begun_after(begun, {"clicks"})) == ["latest"]


def test_the_table_is_told() -> None:
    told = with_starts(PROGRAM, read_starts(["clicks=latest"], "--start-from"))

    assert str(told.tables["clicks"].start) == "latest"
    assert told.tables["files"].start is None


def test_start_position_of_a_table_stays_in_its_offsets() -> None:
    told = Offset("clicks", {}, {}, start="latest")

    assert Offset.from_json(told.to_json()) == told
    assert "start" not in Offset("clicks", {}, {}).to_json()
