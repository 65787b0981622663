"""What can be rehearsed, and what the report says of it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from engine.changes.row_difference import (
    DifferentRow,
    RehearsalReport,
    SinkDifference,
    refuse_unrepeatable,
    remarks,
    to_json,
    to_text,
    with_kept_rows,
)
from engine.cli.main import main
from engine.cli.upgrades.rehearse import _usual_scratch
from engine.compile import Program, compile_script
from engine.connectors.rehearsal import REHEARSAL
from engine.errors import RehearsalError, RequestError, ScriptRefused
from engine.udf.declared import UdfFile

FILE = "CREATE TABLE clicks (ts TIMESTAMP NOT NULL, user TEXT, WATERMARK FOR ts) WITH ({});"
LINES = "connector = 'single_file', type = 'source', path = '/in', format = 'json'"
OUT = "CREATE TABLE out (n BIGINT) WITH (connector = 'single_file', type = 'sink', path = '/out', format = 'json');"
COUNT = "INSERT INTO out SELECT count(*) AS n FROM clicks GROUP BY tumble(INTERVAL '1 second');"
WATCHED = "connector = 'filesystem', type = 'source', path = '/in', format = 'json', 'source.watch' = true"
KAFKA = "connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', format = 'json', type = 'source'"


def program(source: str, query: str = COUNT, **functions: UdfFile) -> Program:
    return compile_script(f"{source} {OUT} {query}", udfs=tuple(functions.values()))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("CREATE TABLE clicks WITH (connector = 'impulse', event_rate = 10);", "clicks .* by the clock"),
        (
            "CREATE TABLE clicks WITH (connector = 'impulse', event_rate = 10, message_count = 100);",
            "clicks .* by the clock",
        ),
        ("CREATE TABLE clicks WITH (connector = 'nexmark', event_rate = 10);", "clicks .* by the clock"),
        (f"CREATE TABLE clicks (user TEXT) WITH ({LINES});", "clicks .* has no event time"),
    ],
)
def test_a_source_that_cannot_be_read_again_is_refused_by_name(source: str, reason: str) -> None:
    with pytest.raises(RehearsalError, match=reason):
        refuse_unrepeatable(program(source))


@pytest.mark.parametrize(
    "read",
    [
        program(FILE.format(LINES)),
        program(FILE.format(KAFKA)),
        program(FILE.format(WATCHED)),
        program("CREATE TABLE clicks WITH (connector = 'nexmark', message_count = 100);"),
        program(f"CREATE TABLE clicks (n BIGINT) WITH ({LINES});", "INSERT INTO out SELECT n FROM clicks;"),
    ],
)
def test_sources_that_can_be_read_again_are_not_refused(read: Program) -> None:
    refuse_unrepeatable(read)


def test_sinks_are_replaced_and_the_plan_stays() -> None:
    bad = LINES + ", bad_data = 'dead_letter', 'dead_letter.path' = '/dead'"
    written = program(FILE.format(bad))

    kept = with_kept_rows(written)

    assert kept.tables["out"].connector == REHEARSAL.name
    assert kept.tables["out"].schema == written.tables["out"].schema
    assert (kept.fingerprint, kept.parts) == (written.fingerprint, written.parts)
    assert (kept.tables["clicks"].bad_data, kept.tables["clicks"].dead_letter_directory) == ("drop", None)
    assert kept.dead_letter_tables == {}


def test_no_script_can_name_the_sink_of_rehearsals() -> None:
    with pytest.raises(ScriptRefused) as refused:
        compile_script("CREATE TABLE out (n BIGINT) WITH (connector = 'rehearsal'); INSERT INTO out SELECT 1;")

    assert "there is no connector 'rehearsal'" in str(refused.value)


def test_rehearsal_names_nondeterministic_columns() -> None:
    udf = UdfFile("f.py", "from engine.udf import udf\n\n@udf\ndef tell(n: int) -> int:\n    return n\n")
    lookup = (
        "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT) WITH "
        "(connector = 'filesystem', type = 'lookup', path = '/users', format = 'json');"
    )
    query = (
        "INSERT INTO out SELECT tell(c.n) FROM clicks c LEFT JOIN users u ON c.n = u.id WHERE random() < 0.5 "
        "AND u.name IS NOT NULL;"
    )
    source = f"CREATE TABLE clicks (n BIGINT) WITH ({LINES}); {lookup}"

    told = "\n".join(remarks(program(source, query, udf=udf)))

    assert "looked up in users as it is now" in told
    assert "the function tell() is run once more" in told
    assert "random() gives another value each time" in told
    assert list(remarks(program(FILE.format(LINES)))) == []


def report(*sinks: SinkDifference) -> RehearsalReport:
    return RehearsalReport("3f0c", 41, {"clicks": 1000}, sinks, ("rows are looked up in users as it is now",))


def test_a_report_is_shown_as_text_and_as_json() -> None:
    examples = (DifferentRow('{"n":1}', is_new=False, times=1), DifferentRow('{"n":2}', is_new=True, times=3))
    same = SinkDifference("a", 5, 5, columns=("n",), added_columns=("m",))
    different = SinkDifference("b", 1, 3, 1, 3, columns=("n",), examples=examples)
    shown = report(same, different, SinkDifference("c", None, 7))

    assert to_text(shown).splitlines() == [
        "rows read since epoch 41: 1,000 of clicks",
        "",
        "a: 5 rows in the old query, 5 in the new one; 0 only in the old one, 0 only in the new one",
        "    columns that are new, not compared: m",
        "b: 1 rows in the old query, 3 in the new one; 1 only in the old one, 3 only in the new one",
        '    - {"n":1}',
        '    + {"n":2}  (3 times)',
        "c: written by the new query only, 7 rows",
        "note: rows are looked up in users as it is now",
        "",
        "plan 3f0c: b differs",
    ]
    content = json.loads(json.dumps(to_json(shown)))
    assert content["differs"] is True
    assert [sink["differs"] for sink in content["sinks"]] == [False, True, False]
    assert content["sinks"][1]["examples"][1] == {"row": '{"n":2}', "in": "new", "times": 3}


@pytest.mark.parametrize(
    ("sink", "differs"),
    [
        (SinkDifference("a", 5, 5), False),
        (SinkDifference("a", 5, 5, added_columns=("m",)), False),
        (SinkDifference("a", None, 7), False),
        (SinkDifference("a", 0, None), False),
        (SinkDifference("a", 7, None), True),
        (SinkDifference("a", 5, 5, removed_columns=("m",)), True),
        (SinkDifference("a", 5, 5, incomparable_columns=("m",)), True),
        (SinkDifference("a", 5, 6, only_new=1), True),
    ],
)
def test_difference_visible_to_a_reader_is_reported(sink: SinkDifference, differs: bool) -> None:
    assert report(sink).differs is differs
    assert ("no row differs" in to_text(report(sink))) is not differs


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The command, with a script that can be read."""
    script = tmp_path / "new.sql"
    script.write_text("SELECT 1")
    return ["rehearse", str(script), "--state-dir", str(tmp_path / "state")]


def test_an_amount_of_memory_that_is_none_is_refused_before_anything_is_copied(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--memory", "lots"]) == 2
    assert "memory must be a whole number and a unit" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["a link", "of another user"])
def test_a_scratch_directory_that_somebody_else_has_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    usual = tmp_path / f"arroyo-rehearsals-{os.getuid()}"
    assert _usual_scratch() == usual
    usual.rmdir()
    if other == "a link":
        (tmp_path / "theirs").mkdir()
        usual.symlink_to(tmp_path / "theirs")
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        (tmp_path / "arroyo-rehearsals-4711").mkdir()

    with pytest.raises(RequestError, match="is not a directory of yours"):
        _usual_scratch()
