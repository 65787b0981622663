"""A source that plays a script: which rows come when, in which partition, and what time it is meanwhile.

`tests/__init__.py` has the engine find its connector here, in Spark's workers and in drivers of their own, too.

The script is a JSON file: `{"steps": [{"now": "2024-01-01T00:00:00Z", "rows": {"slow": [{...}]}}], "bounded": true}`.
Each look at the source plays one step; the clock of idleness stands at the step's `now`. With `"knows_end": true` a
partition is at its end in every step that has no rows for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field as Option

from engine.connectors.base import Chunk, Options, Position, Slice, Source, Table
from engine.connectors.kinds import SourceKind
from engine.formats import make_decoder
from tests.json_connector import json_connector
from tests.witness import WITNESS


class ScriptedOptions(Options):
    """Which script."""

    path: Path = Option(description="The JSON file with the steps.")


class ScriptedSource:
    """Plays a script. A position is the number of rows of a partition that were played."""

    def __init__(self, table: Table, path: Path) -> None:
        content = json.loads(path.read_text())
        self._table = table
        self._steps = [(step.get("now"), step.get("rows", {})) for step in content["steps"]]
        self._step: int | None = None
        self.bounded = bool(content.get("bounded", True))
        self._knows_end = bool(content.get("knows_end", False))

    def now(self) -> datetime:
        """The time of the step that was played last."""
        played = [now for now, _ in self._steps[: (self._step or 0) + 1] if now]
        return datetime.fromisoformat(played[-1]) if played else datetime(2000, 1, 1, tzinfo=UTC)

    def partitions(self) -> Sequence[str]:
        """All partitions of the script, from the start."""
        return sorted({name for _, rows in self._steps for name in rows})

    def start(self, partition: str) -> Position:
        """Before the first row."""
        return 0

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Play the next step; a script says itself how many rows come at once."""
        self._step = self._reached(at) if self._step is None else self._step + 1
        return {name: max(_number(position), self._rows_until(name)) for name, position in at.items()}

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether the steps that were played have no further row of it, in a script that knows its end."""
        return self._knows_end and _number(at) == self._rows_until(partition)

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether the script is bounded, over, and played."""
        is_over = self._step is not None and self._step >= len(self._steps) - 1
        return self.bounded and is_over and _number(at) >= sum(len(rows.get(partition, [])) for _, rows in self._steps)

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """The range as one piece: the order of a partition's rows is what a script is about."""
        return [Slice(partition, start, end)]

    def read(self, piece: Slice) -> Iterator[Chunk]:
        """The rows between two positions."""
        rows = [row for _, rows in self._steps for row in rows.get(piece.partition, [])]
        lines = "".join(json.dumps(row) + "\n" for row in rows[_number(piece.start) : _number(piece.end)])
        assert self._table.format is not None
        decoded = make_decoder(self._table.format, self._table.schema).decode_lines(lines.encode())
        yield Chunk(decoded.rows, dropped=len(decoded.bad))

    def _reached(self, at: Mapping[str, Position]) -> int:
        """The step to play after a restart: the first one with rows that are not played yet."""
        for number in range(len(self._steps)):
            self._step = number
            if any(self._rows_until(name) > _number(position) for name, position in at.items()):
                return number
        return len(self._steps) - 1

    def _rows_until(self, partition: str) -> int:
        return sum(len(rows.get(partition, [])) for _, rows in self._steps[: (self._step or 0) + 1])


def _number(position: Position) -> int:
    return position if isinstance(position, int) else 0


def _open(table: Table) -> Source:
    assert isinstance(table.options, ScriptedOptions)
    return ScriptedSource(table, table.options.path)


SCRIPTED = json_connector(
    name="scripted",
    summary="Plays a script of rows and times.",
    source=SourceKind(options=ScriptedOptions, open=_open),
)

CONNECTORS = (SCRIPTED, WITNESS)
