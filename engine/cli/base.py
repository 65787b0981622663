"""What a verb of the command line is."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Command:
    """What a verb does: the arguments it takes, and its work; `run` gives the exit code."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def path(text: str) -> Path:
    """The argument that names a file or a directory. An empty one is most often a variable that is not set, and would
    be taken for this directory."""
    if not text:
        raise ArgumentTypeError("is empty")
    return Path(text)
