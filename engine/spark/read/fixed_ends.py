"""Make a copy of a state read its tables up to their current end, and no further.

    the savepoint    epoch 41: clicks is read up to p0 at 9, and its watermark is 12:00
    now              p0 ends at 30, and there is a p1, which begins at 0 and ends at 4
    the copy         epoch 41: p0 at 9 and p1 at 0; history up to p0 at 30 and p1 at 4

So every run of the copy reads the same rows, whatever arrives meanwhile. All of them count as history, so none is late.
An epoch that was planned after the savepoint is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import write_text
from engine.compile import Program
from engine.connectors import source_kind_of
from engine.connectors.base import HasEnd, HasMovingStart, Position, Source
from engine.spark.read.history import History
from engine.spark.read.offset_log import read_ends
from engine.spark.read.planner import Offset


@dataclass(frozen=True, slots=True)
class FixedEnd:
    """Start positions of a table's partitions that the state does not know yet, and end positions of all partitions.
    None for a table that ends by itself."""

    new: Mapping[str, Position]
    ends: Mapping[str, Position] | None


def ends_now(program: Program, checkpoint: Path, job: str) -> Mapping[str, FixedEnd]:
    """Return the current ends of the tables that a state has started to read; `program` is its query, with secrets
    filled in."""
    fixed: dict[str, FixedEnd] = {}
    for offset in read_ends(checkpoint, _newest(checkpoint)):
        if offset.table in fixed:
            continue
        table = replace(program.tables[offset.table], job=job)
        fixed[offset.table] = _fixed_end(source_kind_of(table).open(table), offset)
    return fixed


def _fixed_end(source: Source, offset: Offset) -> FixedEnd:
    names = [name for name in source.partitions() if name not in offset.positions]
    if isinstance(source, HasMovingStart):
        new = source.begin(names, is_first=offset.sequence == 0)
    else:
        new = {name: source.start(name) for name in names}
    begins = {**offset.positions, **new}
    return FixedEnd(new, source.ends_now(begins, {}) if isinstance(source, HasEnd) else None)


def fix_ends(checkpoint: Path, ends: Mapping[str, FixedEnd]) -> None:
    """Write these ends into a checkpoint that no run uses."""
    epoch = _newest(checkpoint)
    planned = spark_log.read_planned(checkpoint, epoch)
    lines = tuple(_with_end(line, ends) for line in planned.sources)
    for number in (epoch, epoch + 1):
        (checkpoint / "offsets" / f".{number}.crc").unlink(missing_ok=True)
    (checkpoint / "offsets" / str(epoch + 1)).unlink(missing_ok=True)
    write_text(checkpoint / "offsets" / str(epoch), replace(planned, sources=lines).text())


def _with_end(line: str, ends: Mapping[str, FixedEnd]) -> str:
    """Return the log line of a source with another end, in its original format."""
    content = json.loads(line)
    is_text = isinstance(content, str) and content != "-"
    if is_text:
        content = json.loads(content)
    if not isinstance(content, dict):
        return line
    offset = Offset.from_json(content)
    fixed = ends[offset.table]
    # rows that a backfill has left out stay left out
    past = offset.history or History()
    history = replace(past, stop=(), goes_on=False, ends=fixed.ends, is_over=False)
    positions = {**fixed.new, **offset.positions}
    begun = replace(offset, positions=positions, history=history, sequence=max(1, offset.sequence))
    text = json.dumps(begun.to_json())
    return json.dumps(text) if is_text else text


def _newest(checkpoint: Path) -> int:
    newest = spark_log.newest_commit(checkpoint)
    assert newest is not None, "a savepoint has an epoch"
    return newest
