"""Result of a rehearsal: the number of rows of both queries per sink, and the differing rows.

counts    old 100,000 rows, new 100,000 rows; 1 row is only in the old one, and 1 only in the new one
- {"user": "ann", "n": 7}
+ {"user": "ann", "n": 8}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DifferentRow:
    """A row that only one of the queries has, as JSON, and how many more copies of it that query has."""

    row: str
    is_new: bool
    times: int


@dataclass(frozen=True, slots=True)
class SinkDifference:
    """Comparison of a sink over the columns that both queries write. The rows of a query are None if it does not write
    the sink; `examples` are some of the differing rows."""

    sink: str
    rows_old: int | None
    rows_new: int | None
    only_old: int = 0
    only_new: int = 0
    columns: tuple[str, ...] = ()
    added_columns: tuple[str, ...] = ()
    removed_columns: tuple[str, ...] = ()
    incomparable_columns: tuple[str, ...] = ()
    examples: tuple[DifferentRow, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether a reader of the sink would see other rows; a sink or a column that is new makes no difference."""
        is_gone = self.rows_new is None and bool(self.rows_old)
        return bool(self.only_old or self.only_new or is_gone or self.removed_columns or self.incomparable_columns)


@dataclass(frozen=True, slots=True)
class PlayedRange:
    """Range of a table that was read: from the positions in the savepoint to the end positions; None if the table ends
    by itself."""

    begin: object
    end: object


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """Result of a completed rehearsal. `plan` is the id of the upgrade plan, `rows_in` the number of rows read per
    table, and `ranges` the positions between which they were read."""

    plan: str
    epoch: int
    rows_in: Mapping[str, int]
    sinks: tuple[SinkDifference, ...]
    remarks: tuple[str, ...] = ()
    ranges: Mapping[str, PlayedRange] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether any sink differs."""
        return any(sink.differs for sink in self.sinks)


def to_json(report: RehearsalReport) -> dict[str, object]:
    """The report in plain values."""
    return {
        "differs": report.differs,
        "plan": report.plan,
        "epoch": report.epoch,
        "rows_in": dict(report.rows_in),
        "ranges": {table: {"from": played.begin, "to": played.end} for table, played in report.ranges.items()},
        "sinks": [_sink_to_json(sink) for sink in report.sinks],
        "remarks": list(report.remarks),
    }


def _sink_to_json(sink: SinkDifference) -> dict[str, object]:
    return {
        "sink": sink.sink,
        "differs": sink.differs,
        "rows_old": sink.rows_old,
        "rows_new": sink.rows_new,
        "only_old": sink.only_old,
        "only_new": sink.only_new,
        "columns": list(sink.columns),
        "added_columns": list(sink.added_columns),
        "removed_columns": list(sink.removed_columns),
        "incomparable_columns": list(sink.incomparable_columns),
        "examples": [_row_to_json(row) for row in sink.examples],
    }


def _row_to_json(row: DifferentRow) -> dict[str, object]:
    return {"row": row.row, "in": "new" if row.is_new else "old", "times": row.times}


def to_text(report: RehearsalReport) -> str:
    """The report for people; it ends with a line break."""
    read = ", ".join(f"{rows:,} of {table}" for table, rows in sorted(report.rows_in.items())) or "none"
    lines = [f"rows read since epoch {report.epoch}: {read}", ""]
    for sink in report.sinks:
        lines += _lines(sink)
    lines += [f"note: {remark}" for remark in report.remarks]
    lines += ["", f"plan {report.plan}: {_summary(report.sinks)}", ""]
    return "\n".join(lines)


def _lines(sink: SinkDifference) -> list[str]:
    if sink.rows_old is None:
        return [f"{sink.sink}: written by the new query only, {sink.rows_new:,} rows"]
    if sink.rows_new is None:
        return [f"{sink.sink}: not written by the new query, {sink.rows_old:,} rows in the old one"]
    lines = [
        f"{sink.sink}: {sink.rows_old:,} rows in the old query, {sink.rows_new:,} in the new one; "
        f"{sink.only_old:,} only in the old one, {sink.only_new:,} only in the new one"
    ]
    for words, columns in (
        ("new, not compared", sink.added_columns),
        ("no longer written", sink.removed_columns),
        ("of another type, not compared", sink.incomparable_columns),
    ):
        if columns:
            lines.append(f"    columns that are {words}: {', '.join(columns)}")
    for row in sink.examples:
        times = f"  ({row.times} times)" if row.times > 1 else ""
        lines.append(f"    {'+' if row.is_new else '-'} {row.row}{times}")
    return lines


def _summary(sinks: Sequence[SinkDifference]) -> str:
    different = [sink.sink for sink in sinks if sink.differs]
    if not different:
        return "no row differs"
    return f"{', '.join(different)} differ{'s'[: len(different) == 1]}"
