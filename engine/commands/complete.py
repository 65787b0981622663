"""`arroyo completion`: the shell's share of the work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.commands.base import Command

_BASH = """_arroyo() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}}
  case "$verb" in
{cases}
    *) COMPREPLY=($(compgen -W "{verbs}" -- "$word")); return ;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _arroyo arroyo
"""


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="Complete the commands of this shell")


def _run(arguments: Namespace) -> int:
    script = completion_script(arguments.parser)
    if arguments.shell == "zsh":
        script = "autoload -U +X bashcompinit && bashcompinit\n" + script
    print(script, end="")  # noqa: T201 - the command's answer
    return 0


def completion_script(parser: ArgumentParser) -> str:
    """A bash function that knows the verbs and their options."""
    verbs = next(action for action in parser._actions if isinstance(action, _SubParsersAction))  # noqa: SLF001
    cases = [
        f'    {name}) local options="{" ".join(sorted(_options(verb)))}" ;;' for name, verb in verbs.choices.items()
    ]
    return _BASH.format(cases="\n".join(cases), verbs=" ".join(verbs.choices))


def _options(parser: ArgumentParser) -> list[str]:
    return [text for action in parser._actions for text in action.option_strings if text.startswith("--")]  # noqa: SLF001


COMPLETION = Command(
    "completion", "Print a completion script for a shell: source <(arroyo completion bash)", _arguments, _run
)
