"""The sides of a benchmark: processes that stay up, and do a piece of work whenever they are asked for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Side:
    """One process, which answers a line with a line."""

    process: subprocess.Popen[str]

    @classmethod
    def start(
        cls,
        module: str,
        *arguments: str,
        python: Path | None = None,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Side:
        """The module as a program, in another Python if one is named, with this in its environment besides; it says a
        line when it is ready. What else it has to say goes into the log."""
        with (log or Path("/dev/null")).open("w") as errors:
            process = subprocess.Popen(
                [python or sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
                env={**os.environ, **(environment or {})},
            )
        side = cls(process)
        side._read()
        return side

    def ask(self, question: str) -> str:
        """Its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self._read()

    def end(self) -> None:
        """Let it end, and wait for that."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise SystemExit(f"a side of the benchmark ended: {self.process.args!r}")
        return line
