"""A sink that looks at the others: which files there are, and how long, whenever an epoch has been committed.

It must be the first sink of a script: what it sees when it takes epoch 8 is what epoch 7 has left behind in all sinks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pydantic import Field as Option

from engine.connectors.base import Epoch, Options, SinkContext, Table
from engine.connectors.kinds import SinkKind
from tests.json_connector import json_connector


class WitnessOptions(Options):
    """Where to look."""

    path: Path = Option(description="The directory with what the others write, in `out`, and what is noted of it.")


class Witness:
    """Notes the files that can be read before each epoch."""

    def __init__(self, table: Table, context: SinkContext) -> None:
        assert isinstance(table.options, WitnessOptions)
        self._folder = table.options.path

    def open(self, epoch: Epoch, task: int) -> _Nothing:
        """Rows are not looked at."""
        return _Nothing()

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Note what the epoch before has left behind; what was noted already may not be seen any more."""
        path = self._folder / "witnessed" / f"{epoch.number - 1}.json"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(visible_files(self._folder)))


class _Nothing:
    def write(self, rows: pa.RecordBatch) -> None:
        """Let go of the rows."""

    def close(self) -> bytes:
        """There is nothing to commit."""
        return b""


def visible_files(folder: Path) -> dict[str, int]:
    """The files that readers of the other sinks see now, and their sizes."""
    out = folder / "out"
    files = (path for path in out.rglob("*.json") if not path.name.startswith((".", "_")))
    return {str(path.relative_to(out)): path.stat().st_size for path in files}


WITNESS = json_connector(
    name="witness",
    summary="Notes what the other sinks show.",
    sink=SinkKind(options=WitnessOptions, open=Witness, guarantee="exactly-once"),
)
