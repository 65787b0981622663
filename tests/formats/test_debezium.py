"""Changes as Debezium writes them: read, folded, written."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from engine.formats import make_decoder, make_encoder
from engine.formats.debezium.encode import NONE, fold
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.record_rows import row_ids
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, INT, TEXT, TIMESTAMP
from engine.types import Decimal as DecimalType

ORDERS = Schema((Field("id", INT, nullable=False), Field("name", TEXT)))
PLAIN = DebeziumOptions()


def change(op: object, before: object = None, after: object = None) -> dict[str, object]:
    return {"before": before, "after": after, "op": op, "source": {"db": "test"}, "ts_ms": 7, "transaction": None}


def row(number: int, name: str | None = None) -> dict[str, object]:
    return {"id": number, "name": name}


def read(*records: object, schema: Schema = ORDERS) -> list[tuple[object, ...]]:
    decoded = make_decoder(PLAIN, schema).decode_lines(
        "".join(json.dumps(record) + "\n" for record in records).encode()
    )
    assert decoded.bad == []
    return [tuple(record.values()) for record in decoded.rows.to_pylist()]


def refusals(*records: object) -> list[tuple[int, str]]:
    decoded = make_decoder(PLAIN, ORDERS).decode_lines(
        "".join(json.dumps(record) + "\n" for record in records).encode()
    )
    return [(refusal.index, refusal.reason) for refusal in decoded.bad]


def test_a_change_takes_back_what_was_and_adds_what_is() -> None:
    records = [
        change("c", None, row(1, "a")),
        change("r", None, row(2)),
        change("u", row(1, "a"), row(1, "b")),
        change("d", row(2), None),
    ]

    assert read(*records) == [(1, "a", False), (2, None, False), (1, "a", True), (1, "b", False), (2, None, True)]


def test_a_change_may_come_in_an_envelope() -> None:
    wrapped = {"schema": {"type": "struct"}, "payload": change("u", row(1, "a"), row(1, "b"))}

    assert read(wrapped, change("c", None, row(2, "c"))) == [(1, "a", True), (1, "b", False), (2, "c", False)]


def test_a_record_that_is_no_change_is_bad_and_says_why() -> None:
    assert refusals(
        change("c", None, row(1)),
        change("t"),
        {"id": 1},
        change("u", None, row(1)),
        change("d", {"name": "a"}),
        change("c"),
        change("c", None, {"id": "x", "name": "y"}),
        {"payload": {"op": "d"}},
    ) == [
        (1, "its 'op' is 't', not c, r, u or d"),
        (2, "it has no 'op'"),
        (3, "its operation needs 'before', which it does not have; Postgres sends it after ALTER TABLE ... REPLICA "
            "IDENTITY FULL"),
        (4, "column 'before.id': it is NOT NULL, and the change has none"),
        (5, "its operation needs 'after', which it does not have"),
        (6, "column 'after.id': expected INT, found \"x\""),
        (7, "its operation needs 'before', which it does not have; Postgres sends it after ALTER TABLE ... REPLICA "
            "IDENTITY FULL"),
    ]  # fmt: skip


def test_every_row_knows_the_record_it_came_from() -> None:
    lines = [change("c", None, row(1)), change("x"), change("u", row(1), row(2)), change("d", row(2))]
    decoded = make_decoder(PLAIN, ORDERS).decode_lines("\n".join(map(json.dumps, lines)).encode())

    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 2, 2, 3]


def test_the_tombstone_behind_a_delete_is_no_record() -> None:
    payloads = pa.array([json.dumps(change("d", row(1))).encode(), None, json.dumps(change("x")).encode()], pa.binary())
    decoded = make_decoder(PLAIN, ORDERS).decode_messages(payloads)

    assert [tuple(record.values()) for record in decoded.rows.to_pylist()] == [(1, None, True)]
    assert [(refusal.index, refusal.raw) for refusal in decoded.bad] == [(2, payloads[2].as_py())]


def test_times_are_milliseconds_and_decimals_bytes_unless_said_otherwise() -> None:
    schema = Schema((Field("at", TIMESTAMP), Field("price", DecimalType(10, 2))))
    image = {"at": 1_500, "price": "AQA="}

    [(at, price, _)] = read(change("c", None, image), schema=schema)

    assert (at, price) == (datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC), Decimal("2.56"))
    rows = pa.RecordBatch.from_arrays([pa.array([at]), pa.array([price])], schema=arrow_schema(schema))
    assert json.loads(make_encoder(PLAIN, schema).encode_lines(rows)) == {"before": None, "after": image, "op": "c"}


def changes(*rows: tuple[int, str, bool, int]) -> pa.RecordBatch:
    numbers, names, retracts, ids = zip(*rows, strict=True)
    columns = [pa.array(numbers, pa.int32()), pa.array(names), pa.array(retracts), pa.array(ids, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["id", "name", "_retract", "_id"])


def written(rows: pa.RecordBatch, options: DebeziumOptions = PLAIN) -> list[dict[str, object]]:
    return [json.loads(line) for line in make_encoder(options, ORDERS).encode_lines(rows).splitlines()]


def test_the_changes_of_an_id_are_written_as_one() -> None:
    rows = changes(
        (1, "a", False, 1),
        (2, "x", True, 2),
        (2, "y", False, 2),
        (2, "y", True, 2),
        (2, "z", False, 2),
        (3, "c", True, 3),
        (4, "new", False, 4),
        (4, "new", True, 4),
        (5, "same", True, 5),
        (5, "same", False, 5),
    )

    assert written(rows) == [
        {"before": None, "after": row(1, "a"), "op": "c"},
        {"before": row(2, "x"), "after": row(2, "z"), "op": "u"},
        {"before": row(3, "c"), "after": None, "op": "d"},
    ]


def test_equal_rows_of_one_id_are_as_many_rows() -> None:
    rows = changes((1, "a", False, 1), (1, "a", False, 1), (1, "b", False, 1), (1, "a", True, 1))

    assert written(rows) == [
        {"before": None, "after": row(1, "a"), "op": "c"},
        {"before": None, "after": row(1, "b"), "op": "c"},
    ]


def test_rows_that_are_never_taken_back_are_all_new() -> None:
    rows = changes((1, "a", False, 1), (1, "a", False, 1)).select([0, 1])

    assert written(rows) == [{"before": None, "after": row(1, "a"), "op": "c"}] * 2


def test_an_envelope_describes_both_images() -> None:
    [line] = written(changes((1, "a", False, 1)), DebeziumOptions(include_schema=True))

    assert line["payload"] == {"before": None, "after": row(1, "a"), "op": "c"}
    image = [{"field": "id", "optional": False, "type": "int32"}, {"field": "name", "optional": True, "type": "string"}]
    assert line["schema"] == {
        "type": "struct",
        "fields": [
            {"field": "before", "type": "struct", "fields": image, "optional": True},
            {"field": "after", "type": "struct", "fields": image, "optional": True},
            {"field": "op", "optional": False, "type": "string"},
        ],
        "optional": False,
        "name": "ArroyoJson.Envelope",
    }


@pytest.mark.parametrize("seed", range(50))
def test_folding_leaves_the_same_rows_as_the_changes_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    expected: Counter[tuple[int, str]] = Counter((number, "a") for number in range(5))
    start = expected.copy()
    stream: list[tuple[int, str, bool]] = []
    for _ in range(chance.randrange(1, 60)):
        key, text = chance.randrange(8), chance.choice("abc")
        retract = expected[key, text] > 0 and chance.random() < 0.6
        expected[key, text] += -1 if retract else 1
        stream.append((key, text, retract))
    ids, texts, retracts = zip(*stream, strict=True)

    before, after = fold(np.array(ids), np.array(retracts), pa.array(texts))

    for old, new in zip(before, after, strict=True):
        assert old == NONE or new == NONE or (ids[old] == ids[new] and texts[old] != texts[new])
        if old != NONE:
            start[ids[old], texts[old]] -= 1
        if new != NONE:
            start[ids[new], texts[new]] += 1
    assert +start == +expected


def test_debezium_round_trip_preserves_rows() -> None:
    rows = changes((1, "a", False, 1), (2, "x", True, 2), (2, "y", False, 2), (3, "c", True, 3))

    again = make_decoder(PLAIN, ORDERS).decode_lines(make_encoder(PLAIN, ORDERS).encode_lines(rows))

    assert again.rows.to_pylist() == rows.select([0, 1, 2]).to_pylist()


def test_the_id_of_a_key_is_always_the_same_and_its_own() -> None:
    keys = [pa.array([1, 2, 1, -5], pa.int32()), pa.array(["a", "a", "a", "b"])]

    ids = row_ids(keys).to_pylist()

    assert ids[0] == ids[2]
    assert len(set(ids)) == 3
    assert ids == row_ids([key.slice(0) for key in keys]).to_pylist()
    assert row_ids([pa.array([1], pa.int64())]).to_pylist() == [6238072747940578789]


def test_changes_are_not_looked_up() -> None:
    message = DEBEZIUM_JSON.check(PLAIN, ORDERS, "lookup", "filesystem")

    assert message == "a lookup table cannot read a stream of changes"


def test_records_without_columns_have_no_changes() -> None:
    options = DebeziumOptions(unstructured=True)

    assert DEBEZIUM_JSON.check(options, Schema((Field("value", BIGINT),)), "source", "single_file") == (
        "'json.unstructured' is not supported for debezium_json, whose rows need columns"
    )
