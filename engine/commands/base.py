"""What a verb of the command line is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A verb: its name and help, the arguments it takes, and what it does; `run` gives the exit code. Every help begins
    with a capital verb in the imperative and ends without a full stop, as that of every argument does."""

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
