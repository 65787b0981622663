"""Encode inserts and retractions as Debezium records, after they have been folded: for each id, the first and the last
version of a row.

Encode inserts and retractions as Debezium records.

    -(1, 10) +(1, 12)   {"before": {"id": 1, "n": 10}, "after": {"id": 1, "n": 12}, "op": "u"}
    +(2, 5)             {"before": null, "after": {"id": 2, "n": 5}, "op": "c"}
    -(3, 7)             {"before": {"id": 3, "n": 7}, "after": null, "op": "d"}

The rows of an epoch with the same id are folded first (docs/decisions/changes-are-folded-at-the-sink.md).

An epoch's rows, with id and sign, and the resulting changes:

    0: id 7 -(10)   1: id 7 +(11)   2: id 8 +(5)   3: id 7 -(11)   4: id 7 +(12)   5: id 9 -(3)   6: id 9 +(3)

    (before 0, after 4)    id 7 changed from 10 to 12; 11 was never visible
    (before -, after 2)    id 8 is new
    nothing for id 9       it is unchanged

One or two rows per id are processed as columns; longer sequences one by one
(docs/decisions/changes-are-folded-at-the-sink.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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


Numbers = npt.NDArray[np.int64]
NONE = -1
"""Index of a missing version: before a creation, or after a deletion."""


def fold(ids: Numbers, is_retract: npt.NDArray[np.bool_], contents: pa.StringArray) -> tuple[Numbers, Numbers]:
    """Return the remaining changes of the rows of one id, each as two indices: the retracted version, and the inserted
    one. Equal rows of one id count separately; a row that is retracted and inserted again is no change."""
    if not len(ids):
        return np.array([], np.int64), np.array([], np.int64)
    order = np.argsort(ids, kind="stable")
    differ = ids[order[1:]] != ids[order[:-1]]
    starts = np.flatnonzero(np.concatenate([[True], differ]))
    lengths = np.diff(starts, append=len(ids))
    alone = order[starts[lengths == 1]]
    pairs = starts[lengths == 2]
    replaced = is_retract[order[pairs]] & ~is_retract[order[pairs + 1]]
    before = [np.where(is_retract[alone], alone, NONE), order[pairs[replaced]]]
    after = [np.where(is_retract[alone], NONE, alone), order[pairs[replaced] + 1]]
    many = lengths > 2
    many[lengths == 2] = ~replaced
    for start, length in zip(starts[many], lengths[many], strict=True):
        retracted, added = _fold_long_run(order[start : start + length], is_retract, contents)
        before.append(retracted)
        after.append(added)
    return _without_equal(np.concatenate(before), np.concatenate(after), contents)


def _fold_long_run(
    rows: Numbers, is_retract: npt.NDArray[np.bool_], contents: pa.StringArray
) -> tuple[Numbers, Numbers]:
    """Return the changes of one id, whose rows may be many."""
    texts = contents.take(pa.array(rows)).to_pylist()
    added: dict[str, list[int]] = {}
    retracted: dict[str, list[int]] = {}
    for row, text in zip(rows.tolist(), texts, strict=True):
        same, opposite = (retracted, added) if is_retract[row] else (added, retracted)
        # Equal contents of opposite signs cancel out, whichever came first.
        if opposite.get(text):
            opposite[text].pop()
        else:
            same.setdefault(text, []).append(row)
    return _side_by_side(sorted(chain(*retracted.values())), sorted(chain(*added.values())))


def _side_by_side(retracted: Sequence[int], added: Sequence[int]) -> tuple[Numbers, Numbers]:
    length = max(len(retracted), len(added))
    before, after = np.full(length, NONE, np.int64), np.full(length, NONE, np.int64)
    before[: len(retracted)] = retracted
    after[: len(added)] = added
    return before, after


def _without_equal(before: Numbers, after: Numbers, contents: pa.StringArray) -> tuple[Numbers, Numbers]:
    """Return the changes that have an effect, in the order in which they began."""
    both = np.flatnonzero((before != NONE) & (after != NONE))
    same = pc.equal(contents.take(pa.array(before[both])), contents.take(pa.array(after[both])))
    keep = np.ones(len(before), np.bool_)
    keep[both[np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)]] = False
    before, after = before[keep], after[keep]
    order = np.argsort(np.where(before == NONE, after, before), kind="stable")
    return before[order], after[order]
