"""Content of a state partition after an epoch: a snapshot's tables, and later changelogs.

    1_aa.zip            names the tables SSTs/8.sst, and "head" as the key family 2
    SSTs/8.sst          (2, shard 3289): a head, (2, shard 5168): a head
    2_bb.changelog      (2, shard 5168): another head

Windows have one Spark row per window and key. Our own operators have one head per shard, with rows in it and in the
chunks it names, so their rows are counted inside.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from engine.inspection.bytes_read import BytesReader, NotAsWrittenError
from engine.inspection.state_files import read_changes, read_table

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.updating.bucket_state import BucketState, LargeChunk
    from engine.updating.chunks import Chunks

PANES = "panes"
"""Name of a shard's table with windows stored by pane (`updating/panes.py`)."""
_HEADS, _CHUNKS = "head", "chunks"


@dataclass(frozen=True, slots=True)
class StoreContent:
    """Keys of a partition with their values. `families` maps names of key families to their prefixes; empty if there is
    only one."""

    values: Mapping[bytes, bytes]
    families: Mapping[str, int] = field(default_factory=dict)

    def of_family(self, name: str) -> Mapping[bytes, bytes]:
        """Return the keys and values of a family."""
        prefix = self.families[name].to_bytes(2, "little")
        return {key: value for key, value in self.values.items() if key.startswith(prefix)}

    @property
    def rows(self) -> int:
        """Count the rows."""
        if _HEADS not in self.families:
            return len(self.values)
        return sum(table.num_rows for _, table in self.tables_of_buckets())

    def tables_of_buckets(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of all buckets, with their names; raises NotAsWrittenError."""
        for state in self.states_of_buckets():
            with _as_written():
                rows = [(name, table) for name, chunks in state.tables.items() for table in _rows_of(name, chunks)]
            yield from rows

    def states_of_buckets(self) -> Iterator[BucketState]:
        """Yield the state of each shard; raise NotAsWrittenError if it is damaged."""
        from engine.updating.bucket_state import read_head  # noqa: PLC0415 - windows need no Arrow

        for head in self.of_family(_HEADS).values():
            listing, small = binary_fields(head, 2)
            with _as_written():
                state = read_head(listing.decode(), small, self._chunk).state
            yield state

    def _chunk(self, chunk: LargeChunk) -> pa.Table:
        from engine.updating.serialization import from_bytes  # noqa: PLC0415 - see above

        for value in self.of_family(_CHUNKS).values():
            (content,) = binary_fields(value, 1)
            if blake2b(content, digest_size=16).hexdigest() == chunk.digest:
                return from_bytes(content)[0]
        raise KeyError(chunk.digest)


@contextmanager
def _as_written() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, OSError, StopIteration) as error:
        raise NotAsWrittenError("holds a bucket that cannot be read") from error


def _rows_of(name: str, chunks: Chunks) -> Iterator[pa.Table]:
    """Yield the rows of chunks. Chunks of panes are merged only when windows close: none is newer than another."""
    if name == PANES:
        yield from chunks.tables
    elif (rows := chunks.all()) is not None:
        yield rows


def read_store(files: Iterable[Path]) -> StoreContent:
    """Read a state partition from its files, as `contents.files_of` names them; raise NotAsWrittenError if they are
    damaged."""
    values: dict[bytes, bytes] = {}
    families: Mapping[str, int] = {}
    numbers: dict[bytes, int] = {}
    paths = list(files)
    for path in paths:
        if path.suffix == ".zip":
            families = _families(path)
    for path in paths:
        if path.suffix == ".sst":
            for change in read_table(path):
                if numbers.get(change.key, -1) < change.number:
                    numbers[change.key] = change.number
                    _put(values, change.key, change.value)
    for path in sorted((path for path in paths if path.suffix == ".changelog"), key=_version):
        for key, value in read_changes(path):
            _put(values, key, value)
    return StoreContent(values, families)


def read_snapshot(path: Path) -> Mapping[str, object]:
    """Read the table list of a snapshot; raise NotAsWrittenError if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            if (broken := archive.testzip()) is not None:
                raise NotAsWrittenError(f"holds a broken part, {broken}")
            content = json.loads(archive.read("metadata").decode().split("\n", 1)[1])
    except FileNotFoundError:
        raise
    except NotAsWrittenError:
        raise
    except Exception as error:  # the reader of archives fails in a dozen ways over broken ones
        raise NotAsWrittenError("is a snapshot that cannot be read") from error
    if not isinstance(content, dict):
        raise NotAsWrittenError("is a snapshot that cannot be read")
    return content


def binary_fields(row: bytes, count: int) -> Sequence[bytes]:
    """Return the fields of one of Spark's rows, after its version, all of which are texts or bytes."""
    fields = []
    for number in range(count):
        place = BytesReader(row, 1 + 8 + 8 * number)
        size, offset = (int.from_bytes(place.take(4), "little") for _ in range(2))
        fields.append(BytesReader(row, 1 + offset).take(size))
    return fields


def _families(snapshot: Path) -> Mapping[str, int]:
    mapping = read_snapshot(snapshot).get("columnFamilyMapping")
    return {str(name): int(number) for name, number in mapping.items()} if isinstance(mapping, dict) else {}


def _put(values: dict[bytes, bytes], key: bytes, value: bytes | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


def _version(path: Path) -> int:
    return int(path.name.partition("_")[0].partition(".")[0])
