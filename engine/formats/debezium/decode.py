"""Decode Debezium records to inserts and retractions.

    {"op": "c", "after": {"id": 1, "n": 10}}                            +(1, 10)
    {"op": "u", "before": {"id": 1, "n": 10}, "after": {"id": 1, ...}}  -(1, 10)  +(1, 12)
    {"payload": {"op": "d", "before": {"id": 1, "n": 12}}}              -(1, 12)
    {"op": "u", "after": {"id": 1, "n": 13}}                            a bad record: it has no 'before'

The sign is the hidden column `_retract`; see docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.formats.base import BadRecord, Decoded
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.json.decode import JsonDecoder
from engine.formats.lines import split_lines
from engine.plan.tree import RETRACT
from engine.schema import Field, Schema, arrow_schema

Mask = npt.NDArray[np.bool_]


class DebeziumDecoder:
    """Decodes records with or without an envelope. Each gives its retraction first, then its insert; a last column has
    the sign."""

    def __init__(self, options: DebeziumOptions, schema: Schema) -> None:
        self._schema = schema
        image = types.Struct(tuple(types.Member(field.name, field.type) for field in schema))
        change = Schema((Field("before", image), Field("after", image), Field("op", types.TEXT)))
        payload = types.Struct(tuple(types.Member(field.name, field.type) for field in change))
        wrapped = Schema((*change, Field("payload", payload)))
        self._records = JsonDecoder(options.model_copy(update={"include_schema": False}), wrapped)

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited changes; the block ends with a newline or with the input."""
        return self._rows(self._records.decode_lines(block), lambda: split_lines(block))

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one change per payload; NULL payloads, which Debezium sends behind a delete, are skipped."""
        return self._rows(self._records.decode_messages(payloads), lambda: payloads)

    def _rows(self, changes: Decoded, records: Callable[[], pa.BinaryArray]) -> Decoded:
        """Return the rows of the changes that have the fields that their operation needs, and why the others are
        bad."""
        operations = _without_envelopes(changes.rows)
        numbers = np.arange(len(operations.takes)) if changes.origin is None else changes.origin.to_numpy()
        reasons = dict(self._reasons(operations))
        fits = np.ones(len(operations.takes), np.bool_)
        fits[list(reasons)] = False
        retracted, added = np.flatnonzero(operations.takes & fits), np.flatnonzero(operations.adds & fits)
        # what a change takes back comes before what it adds, and the changes stay in their order
        order = np.argsort(np.concatenate([2 * retracted, 2 * added + 1]), kind="stable")
        indices = pa.array(np.concatenate([retracted, len(fits) + added])[order])
        images = zip(operations.before.flatten(), operations.after.flatten(), strict=True)
        columns = [pa.concat_arrays([before, after]).take(indices) for before, after in images]
        rows = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._schema))
        rows = rows.append_column(RETRACT, pa.array(order < len(retracted)))
        bad = list(changes.bad)
        if reasons:
            raw = records()
            bad += [
                BadRecord(int(numbers[at]), reason, raw[int(numbers[at])].as_py()) for at, reason in reasons.items()
            ]
        origin = pa.array(numbers[np.concatenate([retracted, added])[order]], pa.int64())
        return Decoded(rows, origin, sorted(bad, key=lambda record: record.index))

    def _reasons(self, operations: _Operations) -> Iterator[tuple[int, str]]:
        """Yield each change that cannot be applied, once, with the reason."""
        yield from self._reasons_of_image("before", operations.before, operations.takes)
        yield from self._reasons_of_image("after", operations.after, operations.adds)
        for at in np.flatnonzero(~(operations.takes | operations.adds)):
            operation = operations.names[int(at)].as_py()
            yield int(at), "it has no 'op'" if operation is None else f"its 'op' is {operation!r}, not c, r, u or d"

    def _reasons_of_image(self, name: str, image: pa.StructArray, is_needed: Mask) -> Iterator[tuple[int, str]]:
        """Yield the changes that need this image but lack it or one of its columns, with the reason."""
        for field, column in zip(self._schema, image.flatten(), strict=True):
            if not field.nullable and column.null_count:
                lacks = is_needed & _mask(column.is_null())
                reason = f"column '{name}.{field.name}': it is NOT NULL, and the change has none"
                yield from ((int(at), reason) for at in np.flatnonzero(lacks))
        if image.null_count:
            reason = f"its operation needs '{name}', which it does not have{_NO_BEFORE if name == 'before' else ''}"
            yield from ((int(at), reason) for at in np.flatnonzero(is_needed & _mask(image.is_null())))


_NO_BEFORE = "; Postgres sends it after ALTER TABLE ... REPLICA IDENTITY FULL"


@dataclass(frozen=True, slots=True)
class _Operations:
    """The row images of some records, and which of them retract or insert a row."""

    before: pa.StructArray
    after: pa.StructArray
    names: pa.StringArray
    takes: Mask
    adds: Mask


def _without_envelopes(rows: pa.RecordBatch) -> _Operations:
    before, after, names, payload = rows.columns
    if payload.null_count < len(payload):
        wrapped = pc.and_(payload.is_valid(), names.is_null())
        before, after, names = (
            pc.if_else(wrapped, inner, outer)
            for inner, outer in zip(payload.flatten(), (before, after, names), strict=True)
        )
    takes = pc.is_in(names, pa.array(["u", "d"]))
    adds = pc.is_in(names, pa.array(["c", "r", "u"]))
    return _Operations(before, after, names, _mask(takes), _mask(adds))


def _mask(values: pa.BooleanArray) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)
