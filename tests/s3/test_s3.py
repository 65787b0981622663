"""Files in a bucket: each once, whatever answers are lost and whoever else is at it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from engine.connectors.base import SinkContext
from engine.connectors.files.s3_client import errors_explained
from engine.connectors.files.s3_target import Bucket
from engine.connectors.files.storage import Prefix, read_location
from engine.connectors.filesystem.options import FilesystemSinkOptions
from engine.delivery.file_ledger import WritePermit
from engine.errors import (
    AddressRefusedError,
    Cause,
    EngineError,
    OutputChangedError,
    ScriptRefused,
    SupersededError,
    cause_of,
)
from tests.cluster.stores import PASSWORD
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take
from tests.delivery.asleep import asleep_before
from tests.s3.proxy import losing
from tests.s3.store import Store

LARGE = [(number, f"{number:0200d}") for number in range(30_000)]  # more than a part of five megabytes
SMALL_PARTS = {"multipart__target_part_size": "5mb"}


def place(root: Path) -> Path:
    return root / "state" / "sinks" / "t"


def numbers(store: Store) -> list[int]:
    return [row["n"] for row in store.rows()]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_rows_come_into_the_bucket(form: str, store: Store, tmp_path: Path) -> None:
    of = store.table(form, partitioning__fields=("name",))
    for number in range(3):
        take(sink(of, place(tmp_path)), epoch(number), [batch(NUMBERS, (number, "a"))], [batch(NUMBERS, (9, "b"))])

    assert numbers(store) == [0, 1, 2, 9, 9, 9]
    assert store.keys()[0].startswith("name=a/0000000000-one.")
    head = store.client.head_object(Bucket=store.bucket, Key=f"out/{store.keys()[0]}")
    assert {"arroyo-lineage", "arroyo-epoch", "arroyo-job", "arroyo-sha256"} <= set(head["Metadata"])


def test_a_large_file_goes_in_parts(store: Store, tmp_path: Path) -> None:
    take(sink(store.table(**SMALL_PARTS), place(tmp_path)), epoch(0), [batch(NUMBERS, *LARGE)])

    [name] = store.keys()
    head = store.client.head_object(Bucket=store.bucket, Key=f"out/{name}")
    assert head["ETag"].endswith('-2"')
    assert len(numbers(store)) == len(LARGE)
    assert store.uploads() == []
    assert not list(place(tmp_path).rglob("drafts/*/*"))


def is_complete(request: bytes) -> bool:
    return request.startswith(b"POST") and b"uploadId=" in request.partition(b"\r\n")[0]


def is_put(request: bytes) -> bool:
    return request.startswith(b"PUT")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("rows", "loses"), [(LARGE, is_complete), (LARGE[:9], is_put)], ids=["in parts", "in one"])
def test_an_answer_that_is_lost_loses_and_doubles_nothing(
    rows: list[tuple[int, str]], loses: Any, times: int, store: Store, tmp_path: Path
) -> None:
    with losing(store.endpoint, loses) as proxy:
        of = store.table(endpoint=proxy.url, **SMALL_PARTS)
        take(sink(of, place(tmp_path)), epoch(0), [batch(NUMBERS, (-1, "first"))])
        proxy.drops = times
        take(sink(of, place(tmp_path)), epoch(1), [batch(NUMBERS, *rows)])

    assert proxy.dropped == times
    assert numbers(store) == [-1, *(number for number, _ in rows)]
    assert store.uploads() == []


class Crash(BaseException):
    """The process is gone."""


def test_files_that_are_there_already_are_compared(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise Crash

    def run() -> None:
        take(sink(store.table(), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    with monkeypatch.context() as patched:
        patched.setattr(WritePermit, "record", crash)
        with pytest.raises(Crash):
            run()
    before = store.read("0000000000-one.json")
    run()
    assert store.read("0000000000-one.json") == before


def test_an_object_of_somebody_else_is_left_alone(store: Store, tmp_path: Path) -> None:
    content = b'{"n":1,"name":"b"}\n'  # as long as ours
    store.client.put_object(Bucket=store.bucket, Key="out/0000000000-one.json", Body=content)

    with pytest.raises(OutputChangedError) as refused:
        take(sink(store.table(), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    assert refused.value.hint
    assert store.read("0000000000-one.json") == content


def test_a_restore_takes_objects_away_again(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        take(sink(store.table(), place(tmp_path)), epoch(number), [batch(NUMBERS, (number, "a"))])

    restored = epoch(1, "two", generation=2, parents=(("one", 0),))
    take(sink(store.table(), place(tmp_path)), restored, [batch(NUMBERS, (7, "a"))])

    assert numbers(store) == [0, 7]


@pytest.mark.parametrize(
    "where",
    [
        "engine.connectors.files.rolling_sink:decide_manifest",
        "engine.connectors.files.rolling_sink:join_segments",
        "engine.connectors.files.s3_target:Bucket._send_in_parts",
        "engine.connectors.files.s3_target:check_fence",
        "engine.connectors.files.s3_target:ThreadPoolExecutor",
        "engine.connectors.files.s3_target:reach",
        "engine.connectors.files.rolling_sink:WritePermit.record",
    ],
)
def test_a_history_that_was_left_puts_nothing_into_the_bucket_after_a_restore(
    where: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restore() -> None:
        (tmp_path / "state" / "generation").write_text("2\n")
        restored = epoch(1, "two", generation=2, parents=(("one", 0),))
        take(sink(store.table(), place(tmp_path)), restored, [batch(NUMBERS, (7, "new"))])
        assert store.uploads() == []

    # this server has every upload begin in 2010: it would be aborted as forgotten
    monkeypatch.setattr("engine.connectors.files.s3_target._GRACE", timedelta(days=36_500))
    take(sink(store.table(), place(tmp_path)), epoch(0), [batch(NUMBERS, (0, "both"))])
    asleep_before(monkeypatch, where, restore)

    with pytest.raises(SupersededError):
        take(sink(store.table(), place(tmp_path)), epoch(1), [batch(NUMBERS, (1, "old"))])

    assert numbers(store) == [0, 7]
    assert store.uploads() == []


def test_a_restored_pipeline_may_begin_where_there_is_nothing(store: Store, tmp_path: Path) -> None:
    first_epoch = epoch(1, "two", generation=2, parents=(("one", 0),))
    take(sink(store.table(), place(tmp_path)), first_epoch, [batch(NUMBERS, (7, "a"))])
    assert numbers(store) == [7]

    with pytest.raises(EngineError) as refused:
        take(sink(store.table(), place(tmp_path / "other")), first_epoch, [batch(NUMBERS, (8, "a"))])

    assert refused.value.code == "delivery.ledger_lost"


def standing(at: datetime) -> Callable[[], datetime]:
    return lambda: at


def test_uploads_that_nobody_has_finished_for_a_day_are_aborted(store: Store, tmp_path: Path) -> None:
    for key in ("out/mine", "elsewhere/theirs"):
        store.client.create_multipart_upload(Bucket=store.bucket, Key=key)
    of = store.table()
    assert isinstance(of.options, FilesystemSinkOptions)
    where = of.options.location
    assert isinstance(where, Prefix)

    [start, _] = [upload["Initiated"] for upload in store.client.list_multipart_uploads(Bucket=store.bucket)["Uploads"]]

    for hours, keys in ((23, ["elsewhere/theirs", "out/mine"]), (25, ["elsewhere/theirs"])):
        later = start + timedelta(hours=hours)
        target = Bucket(where, of.options, tmp_path, "job", clock=standing(later))
        target.begin(WritePermit(tmp_path, epoch(0), None, False, (), 0))
        assert sorted(store.uploads()) == keys


@pytest.mark.parametrize(
    ("change", "code"),
    [("no bucket", "data.unwritable_target"), ("no server", "delivery.unavailable"), ("no leave", "net.refused")],
)
def test_a_bucket_that_cannot_be_written_is_named(
    change: str, code: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.connectors.files.s3_client._TIMES", 1)
    of = store.table()
    if change == "no bucket":
        store.client.delete_bucket(Bucket=store.bucket)
    if change == "no server":
        of = store.table(endpoint="http://127.0.0.1:9")
    if change == "no leave":
        monkeypatch.delenv("ARROYO_NET_ALLOW")
        code = AddressRefusedError.code

    with pytest.raises(EngineError) as refused:
        take(sink(of, place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    assert refused.value.code == code
    assert refused.value.hint
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "answer", "cause"),
    [
        (503, "SlowDown", Cause.OUTAGE),
        (500, "InternalError", Cause.OUTAGE),
        (400, "RequestTimeout", Cause.OUTAGE),
        (400, "ExpiredToken", Cause.OUTAGE),
        (400, "InvalidRequest", Cause.MISTAKE),
        (403, "AccountProblem", Cause.MISTAKE),
        (404, "NoSuchBucket", Cause.MISTAKE),
    ],
)
def test_errors_of_a_server_are_outages_or_mistakes(status: int, answer: str, cause: Cause) -> None:
    response: Any = {"Error": {"Code": answer}, "ResponseMetadata": {"HTTPStatusCode": status}}

    with pytest.raises(EngineError) as raised, errors_explained(Prefix("bucket", "a")):
        raise ClientError(response, "PutObject")

    assert cause_of(raised.value) is cause


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("s3://bucket/a/b/", Prefix("bucket", "a/b")),
        ("s3://bucket", Prefix("bucket", "")),
        ("s3::https://minio.example:9000/bucket/a", Prefix("bucket", "a", "https://minio.example:9000")),
        ("file:///data", Path("/data")),
        ("data/out", Path("data/out")),
    ],
)
def test_a_path_may_be_a_bucket(path: str, read: Path | Prefix) -> None:
    assert read_location(path) == read


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "gs://bucket/x"}, "must be a directory, s3://"),
        ({"path": "s3://"}, "must name a bucket"),
        ({"path": "s3::https://me:mine@host/bucket/x"}, "must not hold keys, since a URL is printed"),
        ({"path": "s3://bucket/x", "multipart__target_part_size": "1mb"}, "greater than or equal to 5242880"),
    ],
)
def test_buckets_that_cannot_be_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ScriptRefused, match=message):
        table("filesystem", NUMBERS, type="sink", format="json", **options)


def test_a_key_without_a_prefix_is_the_name() -> None:
    assert Prefix("b", "").key("x") == "x"
    assert SinkContext(Path()).job == ""
