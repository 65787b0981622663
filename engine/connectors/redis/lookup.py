"""Look up rows in Redis: one MGET per batch of keys; values are decoded by the table's format."""

from __future__ import annotations

import pyarrow as pa

from engine.connectors.base import LookupResult, Table
from engine.connectors.redis.client import Client, connect, errors_explained
from engine.connectors.redis.options import RedisLookupOptions
from engine.errors import BadRecordError
from engine.formats import make_decoder
from engine.formats.base import Decoded

_AT_ONCE = 2000
"""Number of keys per request. A server answers one request at a time, so a request must not take long."""


class RedisLookup:
    """A lookup whose row is the string value of a key. A key with a value of another type has no row."""

    is_local = False

    def __init__(self, table: Table, options: RedisLookupOptions) -> None:
        assert table.format is not None
        self._table = table
        self._options = options
        self._decoder = make_decoder(table.format, table.schema, declared=table.declared) if len(table.schema) else None
        self._client: Client | None = None

    def refresh(self) -> None:
        """Do nothing: every key is requested each time."""

    def fetch(self, keys: pa.Array) -> LookupResult:
        """Return the rows of these keys."""
        names: list[str] = keys.to_pylist()
        values: list[bytes | None] = []
        with errors_explained(self._options):
            self._client = self._client or connect(self._options)
            for start in range(0, len(names), _AT_ONCE):
                prefixed = [self._options.key_prefix + name for name in names[start : start + _AT_ONCE]]
                values += _get(self._client, prefixed)
        return self._rows(keys, pa.array(values, pa.binary()))

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _rows(self, keys: pa.Array, values: pa.Array) -> LookupResult:
        if self._decoder is None:
            present = pa.array([index for index, value in enumerate(values) if value.is_valid], pa.int64())
            return LookupResult(self._with_key([], [], keys.take(present)), present)
        decoded = self._decoder.decode_messages(values)
        if decoded.bad and self._table.bad_data == "fail":
            raise self._bad(keys, decoded)
        origin = decoded.origin
        if origin is None:
            origin = pa.array(range(decoded.rows.num_rows), pa.int64())
        names = list(decoded.rows.schema.names)
        return LookupResult(self._with_key(list(decoded.rows.columns), names, keys.take(origin)), origin)

    def _with_key(self, columns: list[pa.Array], names: list[str], keys: pa.Array) -> pa.RecordBatch:
        key_names = [name for name, _ in self._table.metadata]
        return pa.RecordBatch.from_arrays([*columns, *(keys for _ in key_names)], names=[*names, *key_names])

    def _bad(self, keys: pa.Array, decoded: Decoded) -> BadRecordError:
        first = decoded.bad[0]
        shown = first.raw[:120].decode("utf-8", "replace") + ("..." if len(first.raw) > 120 else "")
        name = self._options.key_prefix + keys[first.index].as_py()
        return BadRecordError(
            f"table {self._table.name}, key {name!r}: {first.reason}. The value is: {shown}",
            hint="correct the value, or treat such keys as missing with bad_data = 'drop'",
        )


def _get(client: Client, names: list[str]) -> list[bytes | None]:
    """Return the values of some keys; in a cluster each node gets its own."""
    from redis.cluster import RedisCluster  # noqa: PLC0415 - whoever got here has it

    values = client.mget_nonatomic(names) if isinstance(client, RedisCluster) else client.mget(names)
    return [value if value is None or isinstance(value, bytes) else value.encode() for value in values]
