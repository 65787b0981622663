"""The report of a committed epoch: Spark's progress, with what readers and sinks have counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compile import Program
from engine.connectors import connector_of
from engine.epoch_report import EpochReport
from engine.plan.completeness import RowPath, row_paths
from engine.plan.nodes import Scan
from engine.plan.tree import walk
from engine.spark import notes
from engine.spark.planner import Offset
from engine.spark.progress import TableCounters, WrittenEpoch, read_progress
from engine.spark.scan_spec import format_name


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes the reports of a program's run; in `notes_directory` readers leave their notes."""

    program: Program
    notes_directory: Path
    lineage: str

    def read(self, progress: Mapping[str, object], written: WrittenEpoch) -> EpochReport:
        """The report of an epoch from Spark's progress, as a dict read from its JSON."""
        report = read_progress(
            progress,
            self._scans(),
            written,
            TableCounters(self._dropped, self._counted, self._keeps_dead_letters),
            paths=self._paths(),
            closes_windows=self.program.parts.closes_windows,
        )
        return replace(report, lineage=self.lineage)

    def _paths(self) -> Mapping[str, frozenset[RowPath]]:
        """How rows come to each sink; one that several statements write has those of all."""
        paths: dict[str, frozenset[RowPath]] = {}
        for write in self.program.writes:
            paths[write.table] = paths.get(write.table, frozenset()) | row_paths(write)
        return paths

    def _scans(self) -> Mapping[str, int]:
        """How often each table is read in an epoch."""
        nodes = (node for branch in self.program.parts.branches for node in walk(branch))
        return Counter(node.table for node in nodes if isinstance(node, Scan))

    def _dropped(self, offset: Offset) -> int:
        """The records of a table that were dropped up to an offset, with those of the epoch that ends there."""
        return offset.dropped + sum(note.dropped for note in self._notes(offset))

    def _keeps_dead_letters(self, table: str) -> bool:
        """Whether what is dropped of a table is kept for a person to look at."""
        return self.program.tables[table].bad_data == "dead_letter"

    def _counted(self, offset: Offset) -> int | None:
        """The rows of a table in the epoch that ends there, if those who read them have counted them."""
        counts = [note.rows for note in self._notes(offset) if note.rows is not None]
        table = self.program.tables[offset.table]
        return sum(counts) if connector_of(table).spark_read(table) else None

    def _notes(self, offset: Offset) -> list[notes.ReaderNote]:
        directory = self.notes_directory / format_name(offset.table)
        return [
            note
            for partition, count in offset.moved.items()
            for note in notes.collect(directory, partition, count, offset.positions[partition])
        ]
