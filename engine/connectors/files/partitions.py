"""Choose the directory of a row, by its event time, by column values, or both.

partitioning.fields = (country), partitioning.time_pattern = '%Y-%m-%d'
n=1, country='de', 2024-01-31 10:00    2024-01-31/country=de, which ends at 2024-02-01 00:00
n=2, country=NULL, 2024-01-31 11:00    2024-01-31/country=__HIVE_DEFAULT_PARTITION__
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.files.time_folders import end_of
from engine.errors import UnwritableTargetError
from engine.plan.tree import EVENT_TIME
from engine.schema import Schema
from engine.values.instants import to_micros

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_SAFE = " !$'()*+,;@&-._~"
"""Characters besides letters and digits that are not escaped in directory names. `/`, `=` and `%` have a meaning
there."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows of one directory, with the end of its time range and the oldest event time, if directories are named by
    time."""

    directory: str
    rows: pa.RecordBatch
    until: int | None = None
    oldest: int | None = None


class Partitioner:
    """Splits batches by directory: `time pattern/column=value/...`. `written` has the columns in the files: all
    columns, or without `keeps_fields` all but those in directory names."""

    def __init__(
        self, schema: Schema, fields: Sequence[str], time_pattern: str | None, *, keeps_fields: bool = True
    ) -> None:
        self._fields = [self._index(schema, name) for name in fields]
        self._names = [schema.names[index] for index in self._fields]
        self._pattern = time_pattern
        self._left_out = frozenset() if keeps_fields else frozenset(self._fields)
        self._width = len(schema)
        self.written = Schema(tuple(field for at, field in enumerate(schema) if at not in self._left_out))

    def split(self, rows: pa.RecordBatch) -> Iterator[PartitionRows]:
        """Yield the rows of each directory, in their order, without the event time; directories in the order of their
        first rows."""
        table_rows = self._written_columns(rows)
        keys = self._keys(rows)
        if not keys:
            if rows.num_rows:
                yield PartitionRows("", table_rows)
            return
        codes = _codes(keys)
        for code in codes.dictionary:
            chosen = pc.equal(codes.indices, pc.index(codes.dictionary, code))
            first = pc.index(chosen, True).as_py()
            values = [key[first] for key in keys]
            times = (None, None) if self._pattern is None else self._span(rows.column(EVENT_TIME).filter(chosen))
            yield PartitionRows(self._folder(values), table_rows.filter(chosen), *times)

    def _written_columns(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that are written to files, and the hidden ones except the event time."""
        names = [None if at in self._left_out else name for at, name in enumerate(rows.schema.names)]
        return rows.select(
            [at for at, name in enumerate(names) if name is not None and (at < self._width or name != EVENT_TIME)]
        )

    def _keys(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns whose values choose a row's directory."""
        fields = [rows.column(index) for index in self._fields]
        return fields if self._pattern is None else [_coarse(rows.column(EVENT_TIME), self._pattern), *fields]

    def _span(self, times: pa.TimestampArray) -> tuple[int | None, int | None]:
        """Return the end of the time bucket of a directory with these rows, and their oldest time."""
        latest, oldest = pc.max(times), pc.min(times)
        until = end_of(latest.as_py(), self._pattern or "") if latest.is_valid else None
        return until, None if times.null_count or not oldest.is_valid else to_micros(oldest.as_py())

    def _folder(self, values: list[pa.Scalar]) -> str:
        parts = []
        if self._pattern is not None:
            parts.append(_time_folder(values.pop(0), self._pattern))
        for name, value in zip(self._names, values, strict=True):
            text = NO_VALUE if not value.is_valid else quote(_spelled(value), safe=_SAFE) or NO_VALUE
            parts.append(f"{quote(name, safe=_SAFE)}={text}")
        return "/".join(parts)

    @staticmethod
    def _index(schema: Schema, name: str) -> int:
        for index, column in enumerate(schema.names):
            if column.lower() == name.lower():
                return index
        raise UnwritableTargetError(
            f"'partitioning.fields' names {name!r}, which is no column of the table",
            hint=f"it has {', '.join(schema.names)}",
        )


def _coarse(times: pa.TimestampArray, pattern: str) -> pa.TimestampArray:
    """Return the times truncated to the precision of the pattern, so that few of them differ."""
    directives = {pattern[at + 1] for at in range(len(pattern) - 1) if pattern[at] == "%"}
    if directives <= set("Yymdj%"):
        return pc.floor_temporal(times, unit="day")
    if directives <= set("YymdjHI%p"):
        return pc.floor_temporal(times, unit="hour")
    if directives <= set("YymdjHIMp%R"):
        return pc.floor_temporal(times, unit="minute")
    return pc.floor_temporal(times, unit="second")


def _codes(keys: list[pa.Array]) -> pa.DictionaryArray:
    """Return a number per combination of keys."""
    texts = [
        pc.binary_join_element_wise(pc.if_else(key.is_valid(), "=", "-"), pc.fill_null(key.cast(pa.string()), ""), "")
        for key in keys
    ]
    return pc.binary_join_element_wise(*texts, "\x00").dictionary_encode()


def _time_folder(value: pa.Scalar, pattern: str) -> str:
    if not value.is_valid:
        return NO_VALUE
    return str(value.as_py().strftime(pattern)).strip("/")


def _spelled(value: pa.Scalar) -> str:
    return str(value.cast(pa.string()).as_py())
