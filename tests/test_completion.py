"""The shell completes verbs, options, choices and files."""

import subprocess
from pathlib import Path

import pytest

from engine.cli.main import make_parser
from engine.cli.scripts.install import completion_script


def completed(words: list[str], folder: Path) -> list[str]:
    """What bash offers for the last of the words."""
    script = completion_script(make_parser(), "bash")
    command = 'COMP_WORDS=(arroyo "$@"); COMP_CWORD=$#; $function arroyo "${!#}"; printf "%s\\n" "${COMPREPLY[@]}"'
    function = r"function=$(complete -p arroyo | sed 's/.*-F \([^ ]*\).*/\1/')"
    answer = subprocess.run(
        ["bash", "-c", "\n".join([script, function, command]), "bash", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return answer.stdout.split()


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["exp"], ["explain"]),
        (["pla"], ["plan"]),
        (["plan", "orders.sql", "--for"], ["--format"]),
        (["run", "--stat"], ["--state-dir"]),
        (["run", "orders.sql", "--js"], ["--json-progress"]),
        (["stop", "--mode", "gr"], ["graceful"]),
        (["run", "ord"], ["orders.sql"]),
        (["deploy", "--udf", "ord"], ["orders.sql"]),
    ],
    ids=" ".join,
)
def test_bash_completes_the_last_word(words: list[str], offers: list[str], tmp_path: Path) -> None:
    (tmp_path / "orders.sql").touch()

    assert completed(words, tmp_path) == offers


def test_zsh_has_a_script_of_its_own_which_can_be_sourced() -> None:
    script = completion_script(make_parser(), "zsh")

    assert script.startswith("eval '#compdef arroyo")
    assert "zsh_eval_context" in script
