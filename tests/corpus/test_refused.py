"""Scripts that must be refused: each says in its head with which error, and where.

    -- A sentence that says why.
    --: error sql.unknown_column 6:3

A place of `-` means that the error is about the script as a whole.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.errors import EngineError, ScriptRefused

HEAD = re.compile(r"^-- (?P<sentence>.+\.)\n--: error (?P<code>[a-z_.]+) (?P<place>\d+:\d+|-)\n")
CASES = sorted(Path(__file__).parent.joinpath("refused").glob("*.sql"))


@dataclass(frozen=True, slots=True)
class Expected:
    """The error that a script asks for in its head."""

    code: str
    place: str


def expected(text: str) -> Expected:
    """What the head of a script says."""
    head = HEAD.match(text)
    assert head, "the head is a sentence, then `--: error code line:column`"
    return Expected(head["code"], head["place"])


def complaints(text: str) -> list[EngineError]:
    """Everything that is said against a script."""
    with pytest.raises(EngineError) as refused:
        compile_script(text)
    error = refused.value
    return list(error.complaints) if isinstance(error, ScriptRefused) else [error]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_it_is_refused_with_the_error_and_at_the_place_of_its_head(case: Path) -> None:
    text = case.read_text()

    found = complaints(text)

    assert expected(text) in [Expected(one.code, str(one.at or "-")) for one in found]
    assert all(one.message for one in found)


def test_every_attack_is_among_them() -> None:
    attacks = {case.stem.removeprefix("attack_") for case in CASES if case.stem.startswith("attack_")}

    assert {
        "reflect", "reflect_in_view", "reflect_in_generated_column", "java_method_in_cte", "transform", "path_as_table",
        "add_jar", "create_function", "insert_directory", "set_spark",
    } <= attacks  # fmt: skip


def test_all_complaints_about_a_script_come_at_once() -> None:
    script = """
        CREATE TABLE events (key TEXT) WITH (connector = 'single_file', pat = 'x', format = 'json', type = 'source');
        CREATE TABLE out (k TEXT) WITH (connector = 'blackhole', colour = 'red');
        SELECT nothing FROM nowhere;
    """

    assert {one.code for one in complaints(script)} >= {"option.unknown", "option.missing", "sql.unknown_table"}
