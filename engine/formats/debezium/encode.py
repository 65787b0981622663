"""Encode inserts and retractions as Debezium records.

    -(1, 10) +(1, 12)   {"before": {"id": 1, "n": 10}, "after": {"id": 1, "n": 12}, "op": "u"}
    +(2, 5)             {"before": null, "after": {"id": 2, "n": 5}, "op": "c"}
    -(3, 7)             {"before": {"id": 3, "n": 7}, "after": null, "op": "d"}

The rows of an epoch with the same id are folded first (`fold.py`, docs/decisions/changes-are-folded-at-the-sink.md).
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.formats.debezium.fold import NONE, Numbers, fold
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.json.encode import JsonEncoder, connect_fields, join_texts
from engine.plan.tree import RETRACT, ROW_ID
from engine.schema import Schema


class DebeziumEncoder:
    """Encodes rows of one schema, folded by id; append-only rows are all creations."""

    def __init__(self, options: DebeziumOptions, schema: Schema) -> None:
        self._width = len(schema)
        self._rows = JsonEncoder(options.model_copy(update={"include_schema": False}), schema)
        self._head = f'{{"schema":{_envelope(schema, options)},"payload":' if options.include_schema else ""
        self._tail = "}" if options.include_schema else ""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Return one line per change, each ended by a newline."""
        return join_texts(self._texts(rows)) if rows.num_rows else b""

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per change."""
        return self._texts(rows).cast(pa.binary())

    def encode_changes(self, rows: pa.RecordBatch) -> tuple[pa.BinaryArray, pa.Int64Array]:
        """Return one payload per change, and the row that each is about: the version after it, or the one before a
        delete."""
        contents, before, after = self._changes(rows)
        origin = np.where(after == NONE, before, after)
        return self._written(contents, before, after).cast(pa.binary()), pa.array(origin)

    def _texts(self, rows: pa.RecordBatch) -> pa.StringArray:
        return self._written(*self._changes(rows))

    def _changes(self, rows: pa.RecordBatch) -> tuple[pa.StringArray, Numbers, Numbers]:
        contents = self._rows.texts(rows.select(list(range(self._width))))
        return contents, *_folded(rows, contents)

    def _written(self, contents: pa.StringArray, before: Numbers, after: Numbers) -> pa.StringArray:
        operations = pa.array(np.where(before == NONE, "c", np.where(after == NONE, "d", "u")), pa.string())
        texts = [_images(contents, before), ',"after":', _images(contents, after), ',"op":"', operations]
        return pc.binary_join_element_wise(f'{self._head}{{"before":', *texts, f'"}}{self._tail}', "")


def _folded(rows: pa.RecordBatch, contents: pa.StringArray) -> tuple[Numbers, Numbers]:
    if RETRACT not in rows.schema.names:
        return np.full(rows.num_rows, NONE, np.int64), np.arange(rows.num_rows)
    ids, retracts = rows.column(ROW_ID), rows.column(RETRACT)
    return fold(ids.to_numpy(zero_copy_only=False), retracts.to_numpy(zero_copy_only=False), contents)


def _images(contents: pa.StringArray, rows: Numbers) -> pa.StringArray:
    return pc.fill_null(contents.take(pa.array(rows, mask=rows == NONE)), "null")


def _envelope(schema: Schema, options: DebeziumOptions) -> str:
    image = {"type": "struct", "fields": connect_fields(schema, options), "optional": True}
    operation = {"field": "op", "optional": False, "type": "string"}
    fields = [{"field": "before", **image}, {"field": "after", **image}, operation]
    described = {"type": "struct", "fields": fields, "optional": False, "name": "ArroyoJson.Envelope"}
    return json.dumps(described, separators=(",", ":"))
