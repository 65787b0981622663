"""In a test a script's tables are files of rows, whatever their connectors; what cannot be one is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.compile import Program, compile_script
from engine.connectors.single_file.options import SingleFileOptions
from engine.connectors.stand_ins import prepare_outputs
from engine.errors import ScriptRefused

KAFKA = "connector = 'kafka', bootstrap_servers = 'nowhere:1', topic = 't'"
WINDOWS = "SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS n FROM orders GROUP BY 1"


def compiled(folder: Path, sql: str, *tables: str) -> Program:
    (folder / "in").mkdir(exist_ok=True)
    for name in tables:
        (folder / "in" / f"{name}.json").touch()
    return compile_script(sql, stand_ins=folder)


def source(columns: str, more: str = "format = 'json'") -> str:
    return f"CREATE TABLE orders ({columns}) WITH ({KAFKA}, type = 'source', {more});\n"


def test_sources_and_sinks_are_files_and_columns_around_a_record_are_read_from_it(tmp_path: Path) -> None:
    script = source("at TIMESTAMP NOT NULL, o BIGINT METADATA FROM 'offset_id', WATERMARK FOR at AS at")
    script += "SELECT at, o FROM orders;"
    program = compiled(tmp_path, script, "orders")

    table = program.tables["orders"]
    assert isinstance(table.options, SingleFileOptions)
    assert (table.connector, table.options.path) == ("single_file", tmp_path / "in" / "orders.json")
    assert (table.schema.names, table.metadata) == (("at", "o"), ())
    assert {sink.connector for sink in program.tables.values()} == {"single_file"}


def test_the_time_that_a_connector_knows_is_read_from_the_row_where_it_counts(tmp_path: Path) -> None:
    counted = compiled(tmp_path, f"{source('id BIGINT')}{WINDOWS};", "orders")
    declared = compiled(tmp_path, f"{source('at TIMESTAMP NOT NULL, WATERMARK FOR at AS at')}{WINDOWS};", "orders")

    assert "__event_time" in counted.tables["orders"].schema.names
    assert "__event_time" not in declared.tables["orders"].schema.names


def test_changes_come_and_go_as_debezium_has_them(tmp_path: Path) -> None:
    changes = source("id BIGINT PRIMARY KEY, n BIGINT", "format = 'debezium_json'")
    program = compiled(tmp_path, f"{changes}SELECT n, count(*) FROM orders GROUP BY n;", "orders")
    prepare_outputs(program.tables.values(), tmp_path)

    [(name, told)] = json.loads((tmp_path / "out" / "tables.json").read_text()).items()
    assert {table.format.format for table in program.tables.values() if table.format} == {"debezium_json"}
    assert (name, told["are_changes"]) == ("select_1", True)
    assert (tmp_path / "out" / "select_1.json").read_text() == ""


@pytest.mark.parametrize(
    ("sql", "tables", "words"),
    [
        ("SELECT id FROM orders;", (), "table orders is read, and the test has no rows for it"),
        ("SELECT id FROM orders;", ("orders", "order"), "rows for table order, which the script does not read"),
        (
            "CREATE TEMPORARY TABLE names (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT) WITH ("
            "connector = 'redis', address = 'redis://nowhere:1', format = 'json', 'lookup.cache.max_bytes' = '1'); "
            "SELECT o.id, n.name FROM orders AS o LEFT JOIN names AS n ON o.id::TEXT = n.id;",
            ("orders",),
            "table names is looked up in a redis",
        ),
    ],
)
def test_connector_without_a_stand_in_is_refused_by_name(
    sql: str, tables: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ScriptRefused) as refused:
        compiled(tmp_path, source("id BIGINT") + sql, *tables)

    assert [error.code for error in refused.value.complaints] == ["sql.stand_in"], refused.value.complaints
    assert words in str(refused.value.complaints[0])


def test_a_table_that_nobody_reads_needs_no_rows(tmp_path: Path) -> None:
    other = source("id BIGINT").replace("TABLE orders", "TABLE others")

    assert "others" not in compiled(tmp_path, f"{source('id BIGINT')}{other}SELECT id FROM orders;", "orders").scans
