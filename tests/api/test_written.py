"""What sinks have written is shown as it lies there, and dead letters with a script that reads them again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.compile import compile_script
from engine.connectors import newest
from engine.connectors.newest import newest_rows
from engine.control.upgrades.plan_query import plan_query
from engine.errors import NotReadBackError
from tests.api.conftest import Plane
from tests.api.test_stored_tables import use

QUERY = """CREATE TABLE orders (id BIGINT NOT NULL, "it's named" TEXT, at TIMESTAMP) WITH (
  connector = 'filesystem', type = 'source', path = '{0}/in', format = 'json',
  bad_data = 'dead_letter', 'dead_letter.table' = 'rejected');
CREATE TABLE rejected (source TEXT, error TEXT, record TEXT)
  WITH (connector = 'filesystem', type = 'sink', path = '{0}/rejected', format = 'json');
CREATE TABLE good WITH (connector = 'filesystem', type = 'sink', path = '{0}/good', format = 'parquet');
CREATE TABLE elsewhere WITH (connector = 'blackhole', type = 'sink');
INSERT INTO good SELECT id, "it's named" FROM orders;
INSERT INTO elsewhere SELECT id FROM orders;
"""


@pytest.fixture
def written(plane: Plane, tmp_path: Path) -> Plane:
    use(plane, plan=partial(plan_query, may_hold_secrets=False))
    plane.run(query=QUERY.format(tmp_path))
    return plane


def show(plane: Plane, table: str, **query: Any) -> dict[str, Any]:
    return plane.get(f"/pipelines/orders/written/{table}" + "".join(f"?{name}={query[name]}" for name in query))


def test_tables_say_what_they_hold_and_whether_it_can_be_shown(written: Plane) -> None:
    listed = written.get("/pipelines/orders/written")["data"]

    assert [(table["name"], table["role"], table["sources"]) for table in listed] == [
        ("elsewhere", "rows", []),
        ("good", "rows", []),
        ("rejected", "dead letters", ["orders"]),
    ]
    assert [table["unreadable"] is None for table in listed] == [False, True, True]


def test_the_newest_rows_of_files_are_shown(written: Plane, tmp_path: Path) -> None:
    assert show(written, "good")["data"] == []
    (tmp_path / "good").mkdir()
    pq.write_table(pa.table({"id": [1, 2, 2**60], "raw": [b"", None, b"ab"]}), tmp_path / "good" / "a.parquet")

    assert show(written, "Good", limit=2) == {
        "data": [{"id": 2, "raw": None}, {"id": 2**60, "raw": "2 bytes"}],
        "has_more": False,
        "hasMore": False,
        "role": "rows",
        "left_out": None,
        "replay": None,
    }


def test_dead_letters_come_with_a_script_that_reads_them_again(written: Plane, tmp_path: Path) -> None:
    (tmp_path / "rejected").mkdir()
    letter = {"source": "orders", "error": "<b>", "record": '{"id": "x"}'}
    (tmp_path / "rejected" / "a.json").write_text(json.dumps(letter) + "\n")

    shown = show(written, "rejected")

    assert (shown["role"], shown["data"]) == ("dead letters", [letter])
    program = compile_script(shown["replay"])
    assert program.writes[0].schema.names == ("id", "it's named", "at", "record")
    assert str(tmp_path / "rejected") in shown["replay"]


def test_output_of_a_sink_without_files_is_refused(written: Plane) -> None:
    def refused(table: str) -> tuple[int, str]:
        answer = written.http.get(f"/api/v1/pipelines/orders/written/{table}")
        return answer.status_code, answer.json()["code"]

    assert refused("elsewhere") == (409, "pipeline.not_read_back")
    assert refused("orders") == (404, "pipeline.no_such_sink")


def test_only_the_newest_rows_of_many_files_are_read(tmp_path: Path) -> None:
    import os

    for number in range(5):
        path = tmp_path / f"{9 - number}.json"
        path.write_text("".join(f'{{"n": {number * 10 + row}}}\n' for row in range(10)))
        os.utime(path, ns=(number, number))
    (tmp_path / "_draft.json").write_text('{"n": -1}\n')

    assert [row["n"] for row in newest_rows(tmp_path, 13).rows] == list(range(37, 50))

    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f"{number} {'x' * 100}\n" for number in range(50_000)) + '{"n": 1}\n[2]\n')
    last = newest_rows(lines, 100_000).rows
    assert last[-2:] == [{"n": 1}, {"value": [2]}]
    assert 5_000 < len(last) < 20_000
    assert last[0]["value"].endswith("x" * 100)
    assert newest_rows(tmp_path / "nothing", 5).rows == []


LONG = '{"n": 0, "text": "' + "x" * 1024 * 1024 + '"}\n'


@pytest.mark.parametrize(
    ("after", "rows", "left_out"),
    [
        ({"b.json": LONG}, [], "the newest row of b.json is longer than 1 MiB"),
        ({"b.json": LONG + '{"n": 2}\n'}, [2], "of b.json the last 1 MiB is read"),
        ({"b.json": '{"n": 2}\n' * 3}, [1, 2, 2, 2], None),
        ({"b.json.gz": ""}, [], "b.json.gz is compressed, and not looked into"),
        ({"b.json": LONG, "c.json": '{"n": 3}\n'}, [3], "the newest row of b.json is longer than 1 MiB"),
    ],
)
def test_unreadable_file_is_named_and_older_rows_are_not_shown_as_newest(
    written: Plane, tmp_path: Path, after: dict[str, str], rows: list[int], left_out: str | None
) -> None:
    import os

    (tmp_path / "rejected").mkdir()
    for number, (name, text) in enumerate({"a.json": '{"n": 1}\n', **after}.items()):
        (tmp_path / "rejected" / name).write_text(text)
        os.utime(tmp_path / "rejected" / name, ns=(number, number))

    shown = show(written, "rejected")

    assert ([row["n"] for row in shown["data"]], shown["left_out"]) == (rows, left_out)


def test_files_that_are_too_many_or_too_large_together_are_said_not_to_be_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (tmp_path / f"{number}.json").write_text('{"n": 1}\n' * 10)

    assert newest_rows(tmp_path, 1000).left_out is None
    monkeypatch.setattr(newest, "_MOST_FILES", 4)
    assert newest_rows(tmp_path, 1000).left_out is None
    monkeypatch.setattr(newest, "_MOST_FILES", 2)
    assert newest_rows(tmp_path, 1000).left_out == "only the newest 2 files are looked into"
    assert newest_rows(tmp_path, 20).left_out is None
    monkeypatch.setattr(newest, "_MOST_BYTES", 100)
    few = newest_rows(tmp_path, 1000)
    assert (len(few.rows), few.left_out) == (
        20,
        "they are in files before those whose rows, of 1 MiB together, are shown",
    )


def test_lines_that_no_answer_can_hold_are_shown_as_text(written: Plane, tmp_path: Path) -> None:
    (tmp_path / "rejected").mkdir()
    lines = ['{"a": NaN}', r'{"a": "\ud800"}', r'{"\udfff": 1}', '{"a": ' * 300 + "1" + "}" * 300]
    (tmp_path / "rejected" / "a.json").write_text("\n".join(lines))

    assert show(written, "rejected")["data"] == [{"a": None}, *({"value": line} for line in lines[1:])]


def test_a_file_that_is_no_parquet_is_named(written: Plane, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "a.parquet").write_text("nonsense")

    answer = written.http.get("/api/v1/pipelines/orders/written/good")

    assert answer.is_client_error
    assert "a.parquet cannot be read" in answer.text


def write_group(path: Path, rows: int, text: str, *, use_dictionary: bool = False) -> None:
    """Rows that are all in one group."""
    table = pa.table({"n": range(rows), "text": [text] * rows})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=use_dictionary)


@pytest.mark.parametrize(
    ("count", "width", "use_dictionary"), [(500_000, 100, False), (500_000, 100, True), (12_000, 20_000, True)]
)
def test_a_large_group_of_rows_is_decoded_some_at_a_time(
    tmp_path: Path, count: int, width: int, use_dictionary: bool
) -> None:
    write_group(tmp_path / "a.parquet", count, "x" * width, use_dictionary=use_dictionary)
    pool, pa_pool = pa.proxy_memory_pool(pa.system_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        rows = newest_rows(tmp_path, 3).rows
    finally:
        pa.set_memory_pool(pa_pool)

    assert [row["n"] for row in rows] == [count - 3, count - 2, count - 1]
    assert 0 < (pool.max_memory() or 0) < 10_000_000  # of 54,000,000, and of 240,000,000


def test_wide_rows_are_limited_to_a_megabyte(tmp_path: Path) -> None:
    import os

    for number in range(3):
        path = tmp_path / f"{number}.parquet"
        write_group(path, 100, "x" * 30_000)
        os.utime(path, ns=(number, number))

    shown = newest_rows(tmp_path, 1000)
    rows = [row["n"] for row in shown.rows]

    assert rows == list(range(100 - len(rows), 100))
    assert shown.left_out == "of 2.parquet about the last 1 MiB is shown"
    assert 30 <= len(rows) <= 70
    (tmp_path / "2.parquet").unlink()
    (tmp_path / "9.json").write_text("".join(f'{{"n": {n}, "text": "{"x" * 30_000}"}}\n' for n in range(100)))
    assert [row["n"] for row in newest_rows(tmp_path, 1000).rows] == list(range(100))[-34:]


def test_a_group_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest, "_LARGEST_GROUP", 1000)
    write_group(tmp_path / "a.parquet", 1_000, "x")

    with pytest.raises(NotReadBackError, match=r"a\.parquet has a group of \d+ bytes"):
        newest_rows(tmp_path, 1)


def test_a_group_is_too_large_by_what_becomes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_group(tmp_path / "a.parquet", 1_000, "x" * 20_000, use_dictionary=True)
    monkeypatch.setattr(newest, "_LARGEST_GROUP", 1_000_000)
    assert (tmp_path / "a.parquet").stat().st_size < 100_000

    with pytest.raises(NotReadBackError, match=r"a\.parquet has a group of \d+ bytes"):
        newest_rows(tmp_path, 1)


def test_rows_of_several_groups_and_files_come_in_their_order(tmp_path: Path) -> None:
    import os

    for number in range(2):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"n": range(number * 10, number * 10 + 10)}), path, row_group_size=4)
        os.utime(path, ns=(number, number))

    for limit in (1, 2, 3, 7, 11, 100):
        assert [row["n"] for row in newest_rows(tmp_path, limit).rows] == list(range(20))[-limit:]


LATE = """CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT, WATERMARK FOR at) WITH (
  connector = 'filesystem', type = 'source', path = '{0}/in', format = 'json', late_rows = 'too_late');
CREATE TABLE too_late (event_time TIMESTAMP, amount BIGINT)
  WITH (connector = 'filesystem', type = 'sink', path = '{0}/late', format = 'parquet');
CREATE TABLE sums (start TIMESTAMP, amount BIGINT)
  WITH (connector = 'filesystem', type = 'sink', path = '{0}/sums', format = 'json');
INSERT INTO sums SELECT w.start, amount
FROM (SELECT tumble(INTERVAL '1 minute') AS w, sum(amount) AS amount FROM orders GROUP BY 1);
"""


def test_late_rows_are_told_from_those_in_time(plane: Plane, tmp_path: Path) -> None:
    use(plane, plan=partial(plan_query, may_hold_secrets=False))
    plane.run(query=LATE.format(tmp_path))
    (tmp_path / "late").mkdir()
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    pq.write_table(pa.table({"event_time": [noon], "amount": [77]}), tmp_path / "late" / "a.parquet")

    listed = plane.get("/pipelines/orders/written")["data"]

    assert [(table["name"], table["role"]) for table in listed] == [("sums", "rows"), ("too_late", "late rows")]
    late = show(plane, "too_late")
    assert (late["role"], late["replay"]) == ("late rows", None)
    assert late["data"] == [{"event_time": "2026-01-01T12:00:00+00:00", "amount": 77}]
