from __future__ import annotations

from pathlib import Path

import pytest

from engine.compile import Program, compile_script
from engine.connectors.redirected import describe_redirected
from engine.errors import ScriptRefused
from engine.values.sink_prefix import writing_under

pytestmark = pytest.mark.unit

KAFKA = "connector = 'kafka', format = 'json', bootstrap_servers = 'k'"
REDIS = "connector = 'redis', format = 'json', address = 'redis://r', target = 'list'"


def script(*tables: str, source: str = "connector = 'impulse', event_rate = '1'") -> str:
    """A script that writes to tables with these options."""
    is_impulse = "impulse" in source
    text = f"CREATE TABLE source {'' if is_impulse else '(counter BIGINT)'} WITH ({source});\n"
    for number, options in enumerate(tables):
        text += f"CREATE TABLE t{number} (a BIGINT) WITH ({options}, type = 'sink');\n"
        text += f"INSERT INTO t{number} SELECT counter FROM source;\n"
    return text


def redirected(*tables: str, prefix: str = "january") -> Program:
    return compile_script(writing_under(script(*tables), prefix))


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ("connector = 'single_file', format = 'json', path = '/out/x.json'", "/out/january/x.json"),
        ("connector = 'single_file', format = 'json', path = 'x.json'", "january/x.json"),
        ("connector = 'filesystem', format = 'json', path = '/out/x/'", "/out/january/x"),
        ("connector = 'filesystem', format = 'json', path = 'file:///out/x'", "/out/january/x"),
        ("connector = 'filesystem', format = 'json', path = 's3://lake/x'", "s3://lake/january/x"),
        ("connector = 'delta', path = 's3://lake/raw/x'", "s3://lake/raw/january/x"),
        ("connector = 'delta', path = 's3::http://store:9000/lake/x'", "s3::http://store:9000/lake/january/x"),
        (f"{KAFKA}, topic = 'x'", "january-x"),
        (f"{REDIS}, target.key_prefix = 'x'", "january-x"),
    ],
)
def test_a_sink_writes_under_the_prefix(options: str, place: str) -> None:
    program = redirected(options)
    (line,) = describe_redirected(program.without_prefix, program.declared)
    assert line.startswith(f"t0: {place} instead of ")


@pytest.mark.parametrize("options", ["connector = 'stdout', format = 'json'", "connector = 'blackhole'"])
def test_redirect_leaves_private_outputs_unchanged(options: str) -> None:
    text = script(options)
    plain, moved = compile_script(text), compile_script(writing_under(text, "january"))
    assert moved.tables == plain.tables
    assert moved.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("connector = 'webhook', format = 'json', endpoint = 'https://example.org/x'", "writes to a webhook"),
        ("connector = 'filesystem', format = 'json', path = 's3://lake'", "is a whole bucket"),
        ("connector = 'filesystem', format = 'json', path = '/'", "has no folder around it"),
        ("connector = 'filesystem', format = 'json', path = 'x/..'", "has no folder around it"),
    ],
)
def test_a_sink_without_room_for_a_prefix_is_refused_by_name(options: str, complaint: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        redirected("connector = 'blackhole'", options)
    (error,) = refused.value.complaints
    assert (error.code, complaint in error.message, "t1" in error.message) == ("sql.sink_prefix", True, True)


@pytest.mark.parametrize(
    "tables",
    [
        (f"{KAFKA}, topic = 'x'", f"{KAFKA}, topic = 'january-x'"),
        (
            "connector = 'single_file', format = 'json', path = '/january/x'",
            "connector = 'single_file', format = 'json', path = '/x'",
        ),
    ],
)
def test_no_table_gets_to_where_another_one_writes_without_the_prefix(tables: tuple[str, ...]) -> None:
    with pytest.raises(ScriptRefused, match=r"where t[01] writes without a prefix"):
        redirected(*tables)


def test_a_source_reads_the_same_and_commits_to_a_group_of_its_own() -> None:
    source = f"{KAFKA}, topic = 'clicks', type = 'source', source.group_id = 'g'"
    text = script(f"{KAFKA}, topic = 'x'", source=source)
    plain, moved = compile_script(text), compile_script(writing_under(text, "january"))
    group = plain.tables["source"].options.model_copy(update={"group_id": "january-g"})
    assert moved.tables["source"].options == group


def test_dead_letters_go_along() -> None:
    source = f"{KAFKA}, topic = 'c', type = 'source', bad_data = 'dead_letter', dead_letter.path = '/letters'"
    moved = compile_script(writing_under(script("connector = 'blackhole'", source=source), "january"))
    assert moved.tables["source"].dead_letter_directory == Path("/january/letters")


def test_the_state_is_bound_to_the_prefix() -> None:
    options = "connector = 'single_file', format = 'json', path = '/out/x.json'"
    fingerprints = {redirected(options, prefix=prefix).fingerprint for prefix in ("january", "february")}
    assert len(fingerprints | {compile_script(script(options)).fingerprint}) == 3


@pytest.mark.parametrize("end", ["", ";", " -- the end", ";\n-- the end"])
def test_a_script_may_end_as_it_likes(end: str) -> None:
    text = script("connector = 'single_file', format = 'json', path = '/out/x.json'").rstrip(";\n") + end
    assert compile_script(writing_under(text, "p")).target_names == {"t0": ("file:///out/p/x.json",)}
