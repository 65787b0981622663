"""Read and write the state of many shards of a task in one round trip to Spark.

Spark answers the requests of a task one by one, and a shard needs four. Sent one at a time, most of their cost is the
latency between two processes:

    to Spark     shard 0: read head; shard 4: read head; ...     shard 0: write head; shard 4: write head; ...
    from Spark   head, head, ...                                 done, done, ...

The pipe cannot deadlock: of each request and its response one is short, and long responses are read as they arrive.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

if TYPE_CHECKING:
    from engine.updating.bucket_state import BucketWrite, LargeChunk

_PROTOCOL = 0
_BEFORE_REQUEST = struct.Struct("!ii")
"""The version of the protocol, and the length of the request."""
_HEAD = StructType().add("list", StringType()).add("small", BinaryType())
_NUMBER = StructType().add("number", IntegerType())
_CHUNK = StructType().add("chunk", BinaryType())


class BucketStore:
    """State of a task: for each shard, by label, a head and numbered large chunks."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        # types and not their text, which Spark would be asked twice to read
        handle.getValueState("head", _HEAD)
        handle.getMapState("chunks", _NUMBER, _CHUNK)
        self._client: Any = handle._statefulProcessorApiClient  # noqa: SLF001 - Spark's worker has it, and hands it to nobody else

    def heads(self, labels: Sequence[int]) -> list[tuple[str, bytes] | None]:
        """Return the listing of each shard and its small chunks; None if it has no state yet."""
        answers = self._ask([request for label in labels for request in (self._choice(label), _of_head({"get": {}}))])
        rows = [self._row(answer) for answer in answers[1::2]]
        return [None if row is None else (row[0], bytes(row[1])) for row in rows]

    def chunks(self, label: int, chunks: Sequence[LargeChunk]) -> list[bytes]:
        """Return large chunks of a shard."""
        keys = [self._bytes(_NUMBER, chunk.number) for chunk in chunks]
        answers = self._ask([self._choice(label), *(_of_chunks({"getValue": {"userKey": key}}) for key in keys)])
        contents: list[bytes] = []
        for chunk, answer in zip(chunks, answers[1:], strict=True):
            row = self._row(answer)
            assert row is not None, chunk
            contents.append(bytes(row[0]))
        return contents

    def write(self, writes: Mapping[int, BucketWrite]) -> None:
        """Write the changes of each shard."""
        self._ask([request for label, write in writes.items() for request in self._requests(label, write)])

    def set_timers(self, timers: Mapping[int, tuple[int | None, int | None]]) -> None:
        """Replace the timer of each shard: delete the old one and set the new one, in milliseconds."""
        requests: list[bytes] = []
        for label, (before, after) in timers.items():
            requests.append(self._choice(label))
            if before is not None:
                requests.append(_of_timers({"delete": {"expiryTimestampMs": before}}))
            if after is not None:
                requests.append(_of_timers({"register": {"expiryTimestampMs": after}}))
        self._ask(requests)

    def _requests(self, label: int, write: BucketWrite) -> Iterator[bytes]:
        yield self._choice(label)
        for chunk, (_, content) in write.new_chunks.items():
            key, value = self._bytes(_NUMBER, chunk.number), self._bytes(_CHUNK, content)
            yield _of_chunks({"updateValue": {"userKey": key, "value": value}})
        for chunk in write.gone_chunks:
            yield _of_chunks({"removeKey": {"userKey": self._bytes(_NUMBER, chunk.number)}})
        yield _of_head({"valueStateUpdate": {"value": self._bytes(_HEAD, write.listing, write.small)}})

    def _choice(self, label: int) -> bytes:
        """Return the request that selects the shard for the requests after it."""
        key = self._client._serialize_to_bytes(self._client.key_schema, (label,))  # noqa: SLF001 - see above
        return _message({"implicitGroupingKeyRequest": {"setImplicitKey": {"key": key}}})

    def _ask(self, requests: Sequence[bytes]) -> list[bytes]:
        """Return Spark's answers after sending all requests."""
        stream = self._client.sockfile
        for request in requests:
            stream.write(_BEFORE_REQUEST.pack(_PROTOCOL, len(request)))
            stream.write(request)
        stream.flush()
        # all are read before one of them is complained of, so that what comes next is not taken for an answer to it
        answers = [self._client._receive_proto_message() for _ in requests]  # noqa: SLF001 - see above
        for status, error, _ in answers:
            if status != 0:
                raise PySparkRuntimeError(f"Spark cannot read or keep the state of a bucket: {error}")
        return [value for _, _, value in answers]

    def _bytes(self, fields: StructType, *values: object) -> bytes:
        content: bytes = self._client._serialize_to_bytes(fields, values)  # noqa: SLF001 - see above
        return content

    def _row(self, answer: bytes) -> Sequence[Any] | None:
        row: Sequence[Any] | None = self._client._deserialize_from_bytes(answer) if answer else None  # noqa: SLF001 - see above
        return row


def _of_head(call: Mapping[str, Any]) -> bytes:
    return _message({"stateVariableRequest": {"valueStateCall": {"stateName": "head", **call}}})


def _of_chunks(call: Mapping[str, Any]) -> bytes:
    return _message({"stateVariableRequest": {"mapStateCall": {"stateName": "chunks", **call}}})


def _of_timers(call: Mapping[str, Any]) -> bytes:
    return _message({"statefulProcessorCall": {"timerStateCall": call}})


def _message(request: Mapping[str, Any]) -> bytes:
    from pyspark.sql.streaming.proto.StateMessage_pb2 import StateRequest  # noqa: PLC0415 - only tasks need it

    content: bytes = StateRequest(**request).SerializeToString()
    return content
