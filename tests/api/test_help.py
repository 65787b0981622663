"""What `--help` says: every line in the same form."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction

import pytest

from engine.cli import COMMANDS, make_parser


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
