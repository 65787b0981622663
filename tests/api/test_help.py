"""What `--help` says: every line in the same form."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, _SubParsersAction
from contextlib import suppress
from subprocess import run

import pytest

from engine.cli.main import main, make_overview, make_parser
from engine.cli.verbs import COMMANDS, GROUPS


def verbs() -> dict[str, ArgumentParser]:
    [subparsers] = [action for action in make_parser()._actions if isinstance(action, _SubParsersAction)]
    return dict(subparsers.choices)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_line_of_help_is_an_imperative_without_a_full_stop(name: str) -> None:
    parser = verbs()[name]
    lines = [parser.description, *(action.help for action in parser._actions)]

    assert [line for line in lines if line is None or not line[:1].isupper() or line.endswith(".")] == []
    nouns = {"The", "A", "An", "What", "Where", "How", "Whether", "Name of", "Address"}
    assert [line for line in lines if line is not None and line.split()[0] in nouns] == []


def test_the_program_itself_says_the_same_of_its_options() -> None:
    lines = [action.help for action in make_overview()._actions if action.option_strings]

    assert lines == ["Show this help and exit", "Show the version and exit"]


def test_a_verb_answers_wrong_arguments_as_it_does_among_all_others(capsys: pytest.CaptureFixture[str]) -> None:
    complete = make_parser()
    for command in COMMANDS:
        answers = []
        for parser in (complete, make_parser((command,))):
            for arguments in ([command.name, "--no-such"], [command.name, "-h"]):
                with pytest.raises(SystemExit) as ended:
                    parser.parse_args(arguments)
                answers.append((ended.value.code, *capsys.readouterr()))

        assert answers[:2] == answers[2:]


@pytest.mark.parametrize("arguments", [[], ["-h"], ["-h", "run"], ["completion", "bash"]])
def test_overview_of_verbs_lists_every_verb(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        main(arguments)

    said = "".join(capsys.readouterr())
    assert [command.name for command in COMMANDS if command.name not in said] == []


def test_a_verb_that_is_no_verb_names_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["nothing"])

    assert ended.value.code == 2
    assert "there is no command 'nothing'; see `arroyo --help`" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_is_in_groups_within_80_columns_and_no_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code: object
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code

    out, error = capsys.readouterr()
    assert (code, error) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    for title, verbs in GROUPS:
        after = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in after.splitlines()] == [verb.name for verb in verbs]


def test_every_verb_is_once_in_the_help_and_has_a_command() -> None:
    names = [verb.name for verb in COMMANDS]

    assert len(set(names)) == len(names) == len({(verb.module, verb.command) for verb in COMMANDS})
    assert all(verb.load() for verb in COMMANDS)


HEAVY = ("fastapi", "httpx", "numpy", "pyarrow", "pydantic", "pyspark", "rich", "sqlalchemy", "sqlglot", "starlette")


def test_help_of_every_verb_imports_nothing_heavy() -> None:
    """One process for all of them: what one imports would stay for the next, so the first that does is named."""
    script = (
        "import sys\nfrom engine.cli.main import main\n"
        "for arguments in ([], ['--help'], *([name, '--help'] for name in sys.argv[1:])):\n"
        "    before = set(sys.modules)\n"
        "    try:\n        main(arguments)\n    except SystemExit:\n        pass\n"
        f"    heavy = [name for name in {HEAVY} if name in sys.modules and name not in before]\n"
        "    if heavy:\n        sys.stderr.write(f'{arguments} imports {heavy}\\n')\n"
    )
    names = [command.name for command in COMMANDS]

    answered = run([sys.executable, "-c", script, *names], capture_output=True, text=True, check=True)

    assert answered.stdout.count("usage: arroyo") == len(names) + 2
    assert answered.stderr == ""
