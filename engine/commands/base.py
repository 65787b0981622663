"""What a verb of the command line is."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Command:
    """A verb: its name and help, the arguments it takes, and what it does; `run` gives the exit code. Every help begins
    with a capital verb in the imperative and ends without a full stop, as that of every argument does."""

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def path(text: str) -> Path:
    """The argument that names a file or a directory. An empty one is most often a variable that is not set, and would
    be taken for this directory."""
    if not text:
        raise ArgumentTypeError("is empty")
    return Path(text)
