"""What a fork keeps of a state, and what it may not share with its original."""

from __future__ import annotations

import pytest

from engine.changes.hand_over import plan_fork, shared_places
from engine.changes.verdict import Change
from engine.compile import Program, compile_script

SOURCE = "CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 10);"
COUNTS = """INSERT INTO out SELECT count(*) AS n FROM numbers GROUP BY tumble(INTERVAL '1 second');"""
KAFKA = "connector = 'kafka', type = 'sink', bootstrap_servers = '{}', topic = '{}', format = 'json'"
FILES = "connector = 'filesystem', type = 'sink', path = '{}', format = 'parquet'"
FILE = "connector = 'single_file', type = 'sink', path = '{}', format = 'json'"
REDIS = (
    "connector = 'redis', type = 'sink', address = 'redis://r:6379', target = 'string', 'target.key_prefix' = '{}', "
    "format = 'json'"
)


def script(options: str, query: str = COUNTS) -> Program:
    return compile_script(f"{SOURCE} CREATE TABLE out (n BIGINT) WITH ({options}); {query}")


@pytest.mark.parametrize(
    ("original", "fork", "is_shared"),
    [
        (FILE.format("/x/a"), FILE.format("/x/a"), True),
        (FILE.format("/x/a"), FILE.format("/x/b"), False),
        (FILES.format("/x/a"), FILES.format("/x/a/b"), True),
        (KAFKA.format("b:1", "t"), KAFKA.format("b:1", "t"), True),
        (KAFKA.format("b:1", "t"), KAFKA.format("b:1", "u"), False),
        (KAFKA.format("b:1", "t") + ", 'sink.commit_mode' = 'exactly_once'", KAFKA.format("b:1", "t"), True),
        (REDIS.format("a"), REDIS.format("a"), True),
        (REDIS.format("a"), REDIS.format("b"), False),
        ("connector = 'blackhole'", "connector = 'blackhole'", False),
    ],
)
def test_a_place_has_one_of_both(original: str, fork: str, is_shared: bool) -> None:
    shared = list(shared_places(script(original), script(fork)))

    assert bool(shared) is is_shared
    assert all("as out of the original does" in words for words in shared)


def test_state_is_kept_as_in_an_upgrade_and_sinks_begin_anew() -> None:
    before, after = (
        script(FILES.format("/x/a")),
        script(FILES.format("/x/b"), COUNTS.replace("count(*)", "count(*) + 1")),
    )

    plan = plan_fork(before, after)

    assert plan.loses_nothing
    assert {verdict.change for verdict in plan.verdicts if verdict.subject == "sink"} == {Change.STATE_NEW}
    assert plan.kept == {0: 0}


def test_fork_refuses_the_same_states_as_an_upgrade() -> None:
    before = script(FILE.format("/x/a"))
    after = script(FILE.format("/x/b"), COUNTS.replace("1 second", "2 seconds"))

    assert plan_fork(before, after).is_refused


CLICKS = """
CREATE TABLE clicks (n BIGINT)
WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', topic = 't', format = 'json'{});
 CREATE TABLE out (n BIGINT) WITH (connector = 'blackhole'); INSERT INTO out SELECT n FROM clicks;"""


@pytest.mark.parametrize(("fork", "is_shared"), [("g", True), ("h", False), (None, False)])
def test_a_consumer_group_is_the_forks_own(fork: str | None, is_shared: bool) -> None:
    group = "" if fork is None else f", 'source.group_id' = '{fork}'"
    before = compile_script(CLICKS.format(", 'source.group_id' = 'g'"))

    assert bool(list(shared_places(before, compile_script(CLICKS.format(group))))) is is_shared
