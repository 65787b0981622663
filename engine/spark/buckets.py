"""Operators of our own that keep state: their rows are dealt out to buckets, and each bucket takes its step.

On the way rows are packed as Arrow into one binary column, since Spark hands rows to stateful Python value by
value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.updating.chunks import Chunks
    from engine.updating.step import Kept, Outcome

PACKED = "bucket int, payload binary"
_INLINE = 16_384
"""Chunks up to so many bytes are kept beside the list of chunks, which saves a call for each."""


class Bucketed(Protocol):
    """An operator: how a task deals out its rows, and the step of a bucket."""

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """The rows of each bucket, packed."""

    def step(self, kept: Kept, payloads: Sequence[bytes]) -> Outcome:
        """One epoch of one bucket."""


def run_in_buckets(parts: Sequence[tuple[DataFrame, Bucketed]], operator: Bucketed, schema: StructType) -> DataFrame:
    """The rows, with the columns of `schema`, that the steps of all buckets send out. Each input comes with how it is
    packed."""
    packed = [rows.mapInArrow(_packer(one), PACKED) for rows, one in parts]
    together = packed[0]
    for more in packed[1:]:
        together = together.union(more)
    stepped = together.groupBy("bucket").transformWithState(
        BucketProcessor(operator), outputStructType="payload binary", outputMode="append", timeMode="None"
    )
    return stepped.mapInArrow(_unpack, schema)


_ROWS_AT_ONCE = 200_000


def _packer(operator: Bucketed) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        gathered: list[pa.RecordBatch] = []
        for batch in batches:
            if batch.num_rows:
                gathered.append(batch)
            if sum(one.num_rows for one in gathered) >= _ROWS_AT_ONCE:
                yield from packed(pa.Table.from_batches(gathered))
                gathered = []
        if gathered:
            yield from packed(pa.Table.from_batches(gathered))

    def packed(rows: pa.Table) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - see above

        buckets, payloads = zip(*operator.pack(rows), strict=True)
        columns = [pa.array(buckets, pa.int32()), pa.array(payloads, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["bucket", "payload"])

    return pack


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from engine.updating.packing import from_bytes  # noqa: PLC0415 - only tasks need it

    for batch in batches:
        for payload in batch.column(0):
            for table in from_bytes(payload.as_buffer()):
                yield from table.to_batches()


class BucketProcessor(StatefulProcessor):
    """Keeps what a bucket keeps: a list of chunks with the small ones, and the large ones by number."""

    def __init__(self, operator: Bucketed) -> None:
        self._operator = operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._head = handle.getValueState("head", "list string, small binary")
        self._large = handle.getMapState("chunks", "number int", "chunk binary")

    def handleInputRows(self, key: object, rows: Iterator[Row], timerValues: object) -> Iterator[Row]:  # noqa: N802, N803
        """One step of one bucket."""
        from engine.updating.packing import to_bytes  # noqa: PLC0415 - only tasks need it

        stored = self._load()
        outcome = self._operator.step(stored.kept, [row.payload for row in rows])
        self._save(stored, outcome.kept)
        if outcome.out.num_rows:
            yield Row(payload=to_bytes([outcome.out]))

    def close(self) -> None:
        """There is nothing to close."""

    def _load(self) -> _Stored:
        from engine.updating.chunks import Chunks  # noqa: PLC0415 - see above
        from engine.updating.packing import from_bytes  # noqa: PLC0415
        from engine.updating.step import Kept  # noqa: PLC0415

        head = self._head.get()
        if head is None:
            return _Stored(Kept(), {}, 0)
        content = json.loads(head[0])
        small = iter(from_bytes(bytes(head[1])))
        numbers: dict[int, pa.Table] = {}
        tables: dict[str, Chunks] = {}
        for name, (keys, places) in content["tables"].items():
            chunks = []
            for number in places:
                if number is None:
                    chunks.append(next(small))
                    continue
                numbers[number] = self._chunk(number)
                chunks.append(numbers[number])
            tables[name] = Chunks(tuple(keys), tuple(chunks))
        return _Stored(Kept(tables, *content["marks"]), numbers, content["next"])

    def _chunk(self, number: int) -> pa.Table:
        from engine.updating.packing import from_bytes  # noqa: PLC0415 - see above

        found = self._large.getValue((number,))
        if found is None:
            raise AssertionError(number)
        return from_bytes(bytes(found[0]))[0]

    def _save(self, stored: _Stored, kept: Kept) -> None:
        from engine.updating.packing import to_bytes  # noqa: PLC0415 - see above

        known = {id(table): number for number, table in stored.numbers.items()}
        following, staying = stored.following, set[int]()
        small: list[pa.Table] = []
        tables: dict[str, tuple[Sequence[str], list[int | None]]] = {}
        for name, chunks in kept.tables.items():
            places: list[int | None] = []
            for table in chunks.tables:
                number = known.get(id(table))
                if number is None and table.nbytes <= _INLINE:
                    small.append(table)
                elif number is None:
                    number, following = following, following + 1
                    self._large.updateValue((number,), (to_bytes([table]),))
                if number is not None:
                    staying.add(number)
                places.append(number)
            tables[name] = (chunks.keys, places)
        for number in stored.numbers.keys() - staying:
            self._large.removeKey((number,))
        marks = (kept.newest, kept.rows_seen, kept.swept)
        content = {"tables": tables, "next": following, "marks": marks}
        self._head.update((json.dumps(content), to_bytes(small)))


class _Stored:
    """What was read of a bucket, with the large chunks by number."""

    def __init__(self, kept: Kept, numbers: Mapping[int, pa.Table], following: int) -> None:
        self.kept = kept
        self.numbers = numbers
        self.following = following
