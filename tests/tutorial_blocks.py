"""The blocks of `docs/tutorial.md`, and a shell in which they are played in order."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
ENDLESS = re.compile(r"^arroyo run ", re.MULTILINE)
"""What the tutorial says to end with Ctrl-C."""
_BLOCK = re.compile(r"([^\n]*)\n\n```(\w+)\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"Put this into `([^`]+)`:$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code with what it is: a file to be written, or commands for a shell."""

    text: str
    file: str | None = None

    @property
    def is_endless(self) -> bool:
        """Whether a reader ends it with Ctrl-C."""
        return self.file is None and ENDLESS.search(self.text) is not None


def read_blocks(page: str) -> list[Block]:
    """Return all blocks of a page. Raise if one is neither a file nor commands."""
    blocks = []
    for before, language, text in _BLOCK.findall(page):
        named = _FILE.search(before)
        if named is None and language != "sh":
            raise ValueError(f"a block of {language} after {before!r} names no file to put it into")
        blocks.append(Block(text, None if named is None else named[1]))
    if page.count("\n```") != 2 * len(blocks):
        raise ValueError("some block has no line of text before it")
    return blocks


class ShellError(AssertionError):
    """A block that failed, with what it printed."""


class Shell:
    """One terminal: what a block exports, and where it goes, holds for the next ones."""

    def __init__(self, folder: Path, environment: Mapping[str, str], limit: float = 600) -> None:
        self._limit = limit
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        """Return the shell."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all that the shell has started and that is not a daemon."""
        self._kill()
        self._process.communicate(timeout=60)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def play(self, block: Block, until: Callable[[Path], bool] = lambda _: True) -> str:
        """Do what a block says and return what it prints. Interrupt an endless one once `until` holds of the folder."""
        if block.file is not None:
            path = self.folder / block.file
            try:
                path.write_text(block.text)
            except OSError as error:
                raise ShellError(f"{block.file} cannot be written: {error}") from error
            return ""
        stop = threading.Event()
        watch = threading.Thread(target=self._interrupt_once, args=(until, stop), daemon=True)
        if block.is_endless:
            watch.start()
        lines, status = [], None
        for line in self._lines_of(block.text):
            found = re.fullmatch(r"done:(\d+)\n", line)
            if found is None:
                lines.append(line)
            else:
                status = int(found[1])
                break
        stop.set()
        output = "".join(lines)
        if status != 0 and not (block.is_endless and status == 130):
            raise ShellError(f"status {status} of\n{block.text}\n{output[-5000:]}")
        return output

    @property
    def folder(self) -> Path:
        """Where the shell is now."""
        return Path(f"/proc/{self._process.pid}/cwd").resolve()

    def _lines_of(self, text: str) -> Iterator[str]:
        commands, printed = self._process.stdin, self._process.stdout
        assert commands is not None
        assert printed is not None
        # the first command that fails ends the block, as a reader would stop there
        joined = " &&\n".join(line for line in text.strip().splitlines() if line)
        commands.write(f"{joined}\necho done:$?\n")
        commands.flush()
        timer = threading.Timer(self._limit, self._kill)
        timer.start()
        try:
            yield from _lines(printed)
        finally:
            timer.cancel()

    def _interrupt_once(self, until: Callable[[Path], bool], stop: threading.Event) -> None:
        while not stop.wait(0.1):
            if until(self.folder):
                break
        if not stop.is_set():
            for child in _children(self._process.pid):
                os.kill(child, signal.SIGINT)


def _lines(printed: IO[str]) -> Iterator[str]:
    for line in printed:  # noqa: UP028 - `yield from` would close the pipe at the end of the first block
        yield line
    raise ShellError("the shell ended before the block did: it took too long, or left the shell")


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
