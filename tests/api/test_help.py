"""What `--help` says: every line in the same form."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from contextlib import suppress

import pytest

from engine.cli import COMMANDS, main, make_parser


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
    lines = [action.help for action in make_parser()._actions if action.option_strings]

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


@pytest.mark.parametrize("arguments", [["-h"], ["-h", "run"], ["nothing"], ["completion", "bash"]])
def test_what_lists_verbs_lists_all(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        main(arguments)

    said = "".join(capsys.readouterr())
    assert [command.name for command in COMMANDS if command.name not in said] == []
