"""Sources and lookups whose files are in a bucket: the rows are those of the same files on a disk."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.compile import compile_script
from engine.connectors.base import Cache, Table
from engine.connectors.files.inputs import BucketFile, local_file
from engine.connectors.files.storage import BucketOptions, Prefix
from engine.connectors.filesystem.lookup import FilesystemLookup
from engine.connectors.filesystem.options import FilesystemLookupOptions
from engine.delivery import driver_files
from engine.errors import MissingFileError, ScriptRefused, SourceRefusedError
from tests.cluster.stores import PASSWORD, USER
from tests.connectors.tables import NUMBERS, connector, positions, read_all, source, table
from tests.s3.store import Store

KEYS = {"storage__access_key_id": USER, "storage__secret_access_key": PASSWORD}


@pytest.fixture(autouse=True)
def _own_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(driver_files, "_current", None)


def put(store: Store, name: str, content: bytes) -> None:
    store.client.put_object(Bucket=store.bucket, Key=f"in/{name}", Body=content)


def bucket_table(store: Store, form: str = "json", kind: str = "source", **options: Any) -> Table:
    options = {"path": f"s3::{store.endpoint}/{store.bucket}/in", **KEYS, **options}
    return table("filesystem", NUMBERS, type=kind, format=form, **options)


def content_of(form: str, *numbers: int) -> bytes:
    rows = [{"n": n, "name": f"row {n}"} for n in numbers]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), buffer := io.BytesIO())
        return buffer.getvalue()
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return gzip.compress(lines) if form == "gz" else lines


@pytest.mark.parametrize("form", ["json", "gz", "parquet"])
@pytest.mark.parametrize("most_rows", [None, 2])
def test_rows_are_those_of_the_same_files_on_a_disk(
    form: str, most_rows: int | None, store: Store, tmp_path: Path
) -> None:
    end = "json.gz" if form == "gz" else form
    for name, numbers in (
        (f"a.{end}", (1, 2, 3)),
        (f"b/c.{end}", (4,)),
        (f"_draft.{end}", (5,)),
        (f".x/d.{end}", (6,)),
    ):
        put(store, name, content_of(form, *numbers))
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content_of(form, *numbers))
    kind = "parquet" if form == "parquet" else "json"
    here = table("filesystem", NUMBERS, path=tmp_path / "in", type="source", format=kind)

    of = source(bucket_table(store, kind))

    assert read_all(of, most_rows) == read_all(source(here), most_rows)
    assert [row["n"] for row in read_all(of, most_rows)] == [1, 2, 3, 4]
    assert len(positions(of, most_rows)) == len(positions(source(here), most_rows))


def test_path_may_name_one_object(store: Store) -> None:
    put(store, "a.json", content_of("json", 1))
    put(store, "a.json.old", content_of("json", 2))

    of = bucket_table(store, path=f"s3::{store.endpoint}/{store.bucket}/in/a.json")

    assert [row["n"] for row in read_all(source(of))] == [1]


def test_endpoint_and_keys_may_come_from_the_environment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "a.json", content_of("json", 1))
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", USER)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)

    of = table("filesystem", NUMBERS, path=f"s3://{store.bucket}/in", type="source", format="json")

    assert [row["n"] for row in read_all(source(of))] == [1]


def test_prefix_without_objects_is_named(store: Store) -> None:
    with pytest.raises(MissingFileError, match=f"no file below s3::{store.endpoint}/{store.bucket}/in"):
        source(bucket_table(store)).start("files")


def test_bucket_that_is_not_there_is_refused(store: Store) -> None:
    of = bucket_table(store, path=f"s3::{store.endpoint}/another-bucket/in")

    with pytest.raises(SourceRefusedError, match="another-bucket/in cannot be read"):
        source(of).start("files")


def test_object_is_fetched_again_only_after_it_has_changed(store: Store) -> None:
    prefix = Prefix(store.bucket, "in", store.endpoint)
    options = BucketOptions.model_validate({key.replace("__", "."): value for key, value in KEYS.items()})
    file = BucketFile(prefix, "a.json", options)
    put(store, "a.json", b"1")
    first = local_file(file)
    assert local_file(file) == first

    put(store, "a.json", b"2")
    assert local_file(file).read_bytes() == b"2"
    assert not first.exists()

    store.client.delete_object(Bucket=store.bucket, Key="in/a.json")
    with pytest.raises(MissingFileError, match=r"in/a\.json"):
        local_file(file)


def test_lookup_lists_a_bucket_only_from_time_to_time(store: Store) -> None:
    of = bucket_table(store, "csv", "lookup")
    of = replace(of, primary_key=("n",), cache=Cache(0, None))
    assert isinstance(of.options, FilesystemLookupOptions)
    now = [0.0]
    put(store, "a.csv", b"n,name\n1,one\n")
    names = FilesystemLookup(of, of.options, clock=lambda: now[0])

    def name_of(number: int) -> list[Any]:
        names.refresh()
        found: list[Any] = names.fetch(pa.array([number])).rows.column("name").to_pylist()
        return found

    assert name_of(1) == ["one"]
    put(store, "b.csv", b"n,name\n2,two\n")
    with patch("engine.connectors.filesystem.lookup.list_inputs", side_effect=AssertionError):
        assert name_of(2) == []
    now[0] = 11.0
    assert name_of(2) == ["two"]


def test_watching_a_bucket_is_refused_before_the_run() -> None:
    script = """
    CREATE TABLE t (n BIGINT) WITH (connector = 'filesystem', type = 'source', path = 's3://bucket/in', format = 'json',
      'source.watch' = 'true');
    SELECT n FROM t;
    """
    with pytest.raises(ScriptRefused, match=r"'source.watch' needs a directory of this machine"):
        compile_script(script)


def test_fingerprint_excludes_the_bucket_connection() -> None:
    def fingerprint(path: str, more: str = "") -> str:
        return compile_script(
            f"CREATE TABLE t (n BIGINT) WITH (connector = 'filesystem', type = 'source', path = '{path}', "
            f"format = 'json'{more}); SELECT n FROM t;"
        ).fingerprint

    assert fingerprint("s3://bucket/in") == fingerprint("s3://bucket/in", ", 'storage.region' = 'eu-central-1'")
    assert fingerprint("s3://bucket/in") != fingerprint("s3://bucket/other")
    assert fingerprint("/data//in/") == fingerprint("file:///data/in")
    kind = connector("filesystem").source
    assert kind is not None
    options = kind.options.model_validate({"path": "/data/in"})
    assert json.loads(options.model_dump_json(exclude=set(options.changeable))) == {
        "path": "/data/in", "regex_pattern": None, "compression": None, "watch": False, "settle_time": "PT1S",
    }  # fmt: skip
