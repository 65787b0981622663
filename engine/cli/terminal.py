"""Terminal output: colours only on a terminal, progress on standard error, only rows on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.errors import EngineError, RunError, ScriptRefused, message_of

_RED, _DIM, _BOLD, _OFF = "\033[31m", "\033[2m", "\033[1m", "\033[0m"
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_TURNS = {code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))}
"""Characters that change the direction of the following text, or end a line."""


def plain(text: str) -> str:
    """Return the text with control characters escaped: it may contain what strangers have written into a topic."""
    return text.translate(_CONTROLS | _TURNS)


def is_text(argument: str) -> bool:
    """Whether an argument was UTF-8; other bytes arrive as surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_colour() -> bool:
    """Whether standard error is a terminal with colours."""
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def say(text: str = "") -> None:
    """Print a line for the user at the terminal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the one place that prints progress


def dim(text: str) -> str:
    """Return less prominent text."""
    return f"{_DIM}{text}{_OFF}" if has_colour() else text


def bold(text: str) -> str:
    """Return more prominent text."""
    return f"{_BOLD}{text}{_OFF}" if has_colour() else text


def complain(error: EngineError, script: str | None = None, *, is_warning: bool = False) -> None:
    """Print an error or a warning, and underline its position if there is a script."""
    word = "warning" if is_warning else "error"
    for complaint in error.complaints if isinstance(error, ScriptRefused) else [error]:
        label = f"{_RED}{word}{_OFF}" if has_colour() else word
        position = f" at {complaint.at}" if complaint.at else ""
        say(f"{label} {bold(complaint.code)}{position}: {plain(complaint.message)}")
        for line in _excerpt(complaint, script):
            say(line)
        if complaint.hint:
            say(f"  hint: {plain(complaint.hint)}")


def read_script(path: str) -> str:
    """Return the text of a script; `-` is standard input."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text("utf-8-sig")
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = why_unreadable(error)
        raise UnreadableScriptError(
            f"{path} cannot be read: {reason}", hint="name a file, or - for standard input"
        ) from None


def why_unreadable(error: OSError | ValueError) -> str:
    """Return why a file could not be read as text."""
    if isinstance(error, OSError):
        return error.strerror or message_of(error)
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else message_of(error)


class UnusableFileError(EngineError):
    """The command cannot use a file or directory of this machine."""

    code = "cli.unusable_file"


class EmptyArgumentError(EngineError):
    """An argument is empty, usually because a shell variable is not set."""

    code = "cli.empty_argument"


class UnreadableArgumentError(EngineError):
    """An argument is not valid text."""

    code = "cli.unreadable_argument"


class UnreadableScriptError(EngineError):
    """The script file cannot be read."""

    code = "cli.unreadable_script"


def _excerpt(error: EngineError, script: str | None) -> Sequence[str]:
    if script is None or error.at is None or isinstance(error, RunError):
        return ()
    lines = script.split("\n")
    if not 1 <= error.at.line <= len(lines):
        return ()
    line = lines[error.at.line - 1].rstrip("\r").replace("\t", " ")
    line = line.translate(dict.fromkeys(_CONTROLS | _TURNS, "\ufffd"))  # as wide as it was: the place is below it
    return (f"  {dim(f'{error.at.line:>4} |')} {line}", f"  {dim('     |')} {' ' * (error.at.column - 1)}^")
