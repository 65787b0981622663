from __future__ import annotations

from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.delivery.target_names import collide
from engine.errors import ScriptRefused


def names_of(*tables: str) -> dict[str, tuple[str, ...]]:
    """The targets of a script that writes to tables with these options."""
    script = "CREATE TABLE i (a INT) WITH (connector = 'impulse', event_rate = '1');\n"
    for number, options in enumerate(tables):
        script += f"CREATE TABLE t{number} (a BIGINT) WITH ({options}, type = 'sink');\n"
        script += f"INSERT INTO t{number} SELECT counter FROM impulse;\n"
    script = script.replace("CREATE TABLE i (a INT)", "CREATE TABLE impulse")
    return dict(compile_script(script).target_names)


KAFKA = "connector = 'kafka', format = 'json', topic = 't', bootstrap_servers"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("connector = 'single_file', format = 'json', path = '/out/../out//x.json'", ("file:///out/x.json",)),
        ("connector = 'single_file', format = 'json', path = '//out/x.json'", ("file:///out/x.json",)),
        ("connector = 'single_file', format = 'json', path = 'x'", (f"file://{Path.cwd()}/x",)),
        ("connector = 'filesystem', format = 'json', path = 'file:///out/'", ("file:///out",)),
        ("connector = 'filesystem', format = 'json', path = 's3://bucket/a/b/'", ("s3://bucket/a/b",)),
        ("connector = 'filesystem', format = 'json', path = 's3://bucket'", ("s3://bucket",)),
        (
            "connector = 'filesystem', format = 'json', path = 's3::http://Store:9000/bucket/a'",
            ("s3::http://store:9000/bucket/a",),
        ),
        (
            "connector = 'delta', path = 's3://bucket/a', storage.endpoint = 'http://store:9000/'",
            ("s3::http://store:9000/bucket/a",),
        ),
        ("connector = 'delta', path = '/lake/t'", ("file:///lake/t",)),
        (
            f"{KAFKA} = 'B:9093, a', sink.commit_mode = 'exactly_once'",
            ("kafka://a:9092,b:9093/t/arroyo.",),
        ),
        (f"{KAFKA} = 'a'", ()),
        ("connector = 'blackhole'", ()),
        ("connector = 'stdout', format = 'json'", ()),
        ("connector = 'webhook', format = 'json', endpoint = 'https://example.org/x'", ()),
        (
            "connector = 'redis', format = 'json', address = 'redis://r', target = 'list', target.key_prefix = 'k'",
            (),
        ),
    ],
)
def test_a_sink_names_the_places_that_it_must_have_to_itself(options: str, names: tuple[str, ...]) -> None:
    assert names_of(options)["t0"] == names


@pytest.mark.parametrize(
    ("name", "other", "is_same"),
    [
        ("file:///out", "file:///out", True),
        ("file:///out", "file:///out/day", True),
        ("file:///out/day", "file:///out", True),
        ("file:///out", "file:///outer", False),
        ("s3://b/a", "s3::http://store/b/a", False),
        ("kafka://k:9092/t/arroyo.", "kafka://k:9092/t/billing.", False),
    ],
)
def test_two_places_collide_when_one_lies_in_the_other(name: str, other: str, is_same: bool) -> None:
    assert collide(name, other) is is_same


def test_two_tables_of_a_script_cannot_write_to_one_place() -> None:
    first = "connector = 'single_file', format = 'json', path = '/out/x'"
    second = "connector = 'filesystem', format = 'json', path = '/out'"

    with pytest.raises(ScriptRefused) as refused:
        names_of(first, second)

    [complaint] = refused.value.complaints
    assert complaint.code == "sql.shared_target"
    assert complaint.message == "tables t0 and t1 write to the same place: file:///out/x and file:///out"


def test_a_table_that_several_statements_write_is_one_writer() -> None:
    script = """
    CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '1');
    CREATE TABLE t (a BIGINT) WITH (connector = 'single_file', format = 'json', path = '/out/x', type = 'sink');
    INSERT INTO t SELECT counter FROM impulse;
    INSERT INTO t SELECT counter + 1 FROM impulse;
    """
    assert compile_script(script).target_names == {"t": ("file:///out/x",)}
