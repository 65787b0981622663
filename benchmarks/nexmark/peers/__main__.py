"""The process of a peer."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path

from benchmarks.nexmark.turns import Play, Played, Turn


def main(name: str) -> None:
    """Answer each turn with what came of it."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    scratch = Path(tempfile.mkdtemp(prefix=f"nexmark-{name}-"))
    play: Play = importlib.import_module(f"benchmarks.nexmark.peers.{name}").open_peer(scratch)
    answers.write("ready\n")
    for line in sys.stdin:
        turn = Turn.of_line(line)
        start = time.monotonic()
        try:
            played = play(turn)
        except Exception as error:  # noqa: BLE001 - whatever a peer says is told, and the next query is played
            traceback.print_exc()
            played = Played(error=str(error).partition("\n")[0] or repr(error))
        answers.write(replace(played, seconds=time.monotonic() - start).to_line() + "\n")
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
