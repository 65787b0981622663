"""Whether a record is good is a property of its table: columns that no query reads are checked as well."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import types
from engine.compile import compile_script
from engine.connectors.base import Table
from engine.connectors.files.csv_rows import read_csv
from engine.connectors.files.parquet_rows import read_rows
from engine.connectors.lookups import narrow_table
from engine.errors import BadRecordError
from engine.formats import make_decoder
from engine.formats.base import Decoded, Decoder
from engine.formats.csv import CsvOptions
from engine.formats.debezium.options import DebeziumOptions
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema

JSON = JsonOptions(format="json")
N, D = Field("n", types.BIGINT), Field("d", types.DOUBLE)
TABLE = Schema(
    (
        N,
        D,
        Field("t", types.TEXT),
        Field("j", types.JSON),
        Field("b", types.BOOLEAN),
        Field("s", types.Integer(16)),
        Field("at", types.TIMESTAMP),
        Field("x", types.TEXT, nullable=False),
    )
)
GOOD = '{"n":1,"d":0.5,"t":"a","j":[1],"b":true,"s":7,"at":"2026-01-01T00:00:00Z","x":"x"}'
FLAT = '{"n":1,"d":0.5,"t":"a","j":1,"b":true,"s":7,"at":"2026-01-01T00:00:00Z","x":"x"}'


def decode(decoder: Decoder, *lines: str) -> Decoded:
    return decoder.decode_lines("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ('"d":true', "column 'd': expected a number, found true"),
        ('"d":' + "9" * 309, f"column 'd': {'9' * 57}... is out of range for DOUBLE"),
        ('"t":{"a":1}', "column 't': expected TEXT, found {\"a\": 1}"),
        ('"t":["a"]', "column 't': expected TEXT, found [\"a\"]"),
        ('"t":"\\ud800"', "column 't': its text has half of a surrogate pair"),
        ('"b":"yes"', "column 'b': expected BOOLEAN, found \"yes\""),
        ('"s":70000', "column 's': 70000 is out of range for SMALLINT"),
        ('"n":9223372036854775808', "column 'n': 9223372036854775808 is out of range for BIGINT"),
        ('"at":"noon"', "column 'at': expected TIMESTAMP like 2023-10-09T17:13:20.5Z, found \"noon\""),
        ('"x":null', "column 'x': it is NOT NULL, and the record has null"),
    ],
)
@pytest.mark.parametrize("usual", [GOOD, FLAT])
@pytest.mark.parametrize("read", ["n", "d", "t"])
def test_a_value_that_does_not_fit_is_bad_whichever_column_is_read(
    usual: str, read: str, member: str, reason: str
) -> None:
    names = {part.split(":")[0] for part in member.split(",")}
    bad = json.dumps({name: value for name, value in json.loads(usual).items() if f'"{name}"' not in names})
    bad = bad[:-1] + f",{member}}}"
    schema = Schema(tuple(field for field in TABLE if field.name == read))

    decoded = decode(make_decoder(JSON, schema, declared=TABLE), usual, bad, usual)

    assert [(record.index, record.reason) for record in decoded.bad] == [(1, reason)]
    assert decoded.rows.schema.names == [read]
    assert decoded.rows.num_rows == 2


def test_a_missing_or_odd_value_that_fits_is_no_bad_data() -> None:
    lines = (
        '{"n":1,"x":"a"}',
        '{"n":2,"t":5,"x":true}',
        '{"n":"3","d":"0.5","s":7.0,"x":""}',
        '{"n":4,"x":"{[","z":[{}]}',
    )

    decoded = decode(make_decoder(JSON, Schema((N,)), declared=TABLE), *lines)

    assert not decoded.bad
    assert decoded.rows.to_pydict() == {"n": [1, 2, 3, 4]}


def test_random_records_are_judged_the_same_whichever_columns_are_read() -> None:
    values = [
        "1",
        "-0",
        "1.5",
        "7e2",
        "1e999",
        "true",
        "null",
        '"a"',
        '"2026-01-01T00:00:00Z"',
        "[]",
        "{}",
        "[1]",
        "70000",
    ]
    chance = random.Random(42)
    fields = [field for field in TABLE if field.type != types.JSON]
    for _ in range(150):
        declared = Schema(tuple(chance.sample(fields, chance.randint(2, len(fields)))))
        usual = {name: value for name, value in json.loads(FLAT).items() if name in declared.names}
        lines = [json.dumps(usual)] * 3
        lines[1] = "{" + ",".join(f'"{name}":{chance.choice(values)}' for name in declared.names) + "}"
        whole = decode(make_decoder(JSON, declared), *lines)
        schema = Schema(tuple(field for field in declared if chance.random() < 0.4) or declared.fields[:1])

        part = decode(make_decoder(JSON, schema, declared=declared), *lines)

        assert list(part.bad) == list(whole.bad), lines
        assert part.rows.to_pylist() == whole.rows.select(list(schema.names)).to_pylist(), lines


def test_a_change_is_bad_when_an_unread_column_of_its_image_is() -> None:
    options = DebeziumOptions(format="debezium_json")
    lines = ('{"op":"c","after":{"n":1,"d":2}}', '{"op":"c","after":{"n":2,"d":true}}')

    decoded = decode(make_decoder(options, Schema((N,)), declared=Schema((N, D))), *lines)

    assert decoded.rows.to_pydict() == {"n": [1], "_retract": [False]}
    assert [record.index for record in decoded.bad] == [1]


def table(script: str, name: str = "i") -> Table:
    return compile_script(script).tables[name]


def source(path: Path, form: str, columns: str, *, more: str = "bad_data = 'drop'") -> Table:
    return table(
        f"CREATE TABLE i ({columns}) WITH (connector = 'filesystem', type = 'source', path = '{path}', "
        f"format = '{form}', "
        f"{more}); CREATE TABLE o (n BIGINT) WITH (connector = 'blackhole'); INSERT INTO o SELECT n FROM i;"
    )


def test_a_record_of_csv_is_bad_when_an_unread_column_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,d\n1,0.5\n2,x\n")

    options = CsvOptions(format="csv")
    whole = replace(source(tmp_path, "json", "n BIGINT, d DOUBLE"), schema=Schema((N, D)), format=options)

    (chunk,) = read_csv(narrow_table(whole, Schema((N,))), tmp_path / "a.csv", "none")

    assert (chunk.rows.to_pydict(), chunk.dropped) == ({"n": [1]}, 1)


@pytest.mark.parametrize("statistics", [True, False])
def test_a_row_of_parquet_is_bad_when_an_unread_column_is_null_and_must_not_be(
    tmp_path: Path, statistics: bool
) -> None:
    pq.write_table(pa.table({"n": [1, 2], "d": [0.5, None]}), tmp_path / "a", write_statistics=statistics)
    read = source(tmp_path, "parquet", "n BIGINT, d DOUBLE NOT NULL")

    (chunk,) = read_rows(read, tmp_path / "a", 0, None)

    assert (chunk.rows.to_pydict(), chunk.dropped) == ({"n": [1]}, 1)
    with pytest.raises(BadRecordError, match="a NOT NULL column of i is null"):
        list(
            read_rows(
                source(tmp_path, "parquet", "n BIGINT, d DOUBLE NOT NULL", more="idle_time = -1"),
                tmp_path / "a",
                0,
                None,
            )
        )


def test_only_used_columns_are_checked_where_the_table_says_so(tmp_path: Path) -> None:
    checked = source(tmp_path, "json", "n BIGINT, d DOUBLE")
    unchecked = source(tmp_path, "json", "n BIGINT, d DOUBLE", more="bad_data.check = 'used_columns'")

    assert (checked.schema.names, checked.declared) == (("n",), Schema((N, D)))
    assert (unchecked.schema.names, unchecked.declared) == (("n",), None)
