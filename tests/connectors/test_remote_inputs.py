"""Tables whose files are on the disk of the driver, read by tasks that see another disk."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.connectors.base import Cache, Position, Table
from engine.connectors.filesystem.lookup import FilesystemLookup
from engine.connectors.filesystem.options import FilesystemLookupOptions
from engine.delivery import driver_files
from engine.errors import LocalPathOnClusterError, MailboxRefusedError, UnreadableFileError
from engine.formats.protobuf.messages import ProtobufOptions, message_class
from engine.spark.run import mailbox_inputs
from engine.spark.run.mailbox import Mailbox, open_mailbox
from engine.spark.run.mailbox_inputs import Answer, Inputs
from tests.connectors.tables import NUMBERS, read_all, rows, source, start, table
from tests.delivery.remote_workers import remote_worker

THERE = Path("/driver-of-another-machine/in")
"""How tables name the files, which are not on the disk of the workers."""


@dataclass(frozen=True, slots=True)
class InputsThere(Inputs):
    """Gives the files of `here` under the names that they have there."""

    here: Path = Path()

    def read(self, path: str, known_version: object) -> Answer:
        return super(InputsThere, self).read(path.replace(str(THERE), str(self.here)), known_version)

    def list_files(self, path: str, pattern: object) -> Answer:
        return super(InputsThere, self).list_files(path.replace(str(THERE), str(self.here)), pattern)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def mailbox(here: Path, tmp_path: Path) -> Iterator[Mailbox]:
    (tmp_path / "state").mkdir()
    with open_mailbox(tmp_path / "state", "127.0.0.1", "127.0.0.1", 0) as mailbox:
        mailbox.inputs = InputsThere((here,), here)
        yield mailbox


@contextmanager
def worker(mailbox: Mailbox, tmp_path: Path) -> Iterator[None]:
    with (
        patch.object(driver_files, "_current", None),
        remote_worker(mailbox, tmp_path / "worker", keeps_files=True),
    ):
        yield


def write_json(path: Path, *numbers: int) -> None:
    path.write_text("".join(json.dumps({"n": n, "name": f"row {n}"}) + "\n" for n in numbers))


def read_there(of: Table, there: Table, mailbox: Mailbox, tmp_path: Path) -> list[object]:
    """Plan on the driver, which has the files as `of`, and read in a worker, to which they are as `there`."""
    planner = source(of)
    first: Mapping[str, Position] = start(planner)
    last = planner.advance(first, None)
    slices = [part for name, end in last.items() for part in planner.slices(name, first[name], end, 3)]
    with worker(mailbox, tmp_path):
        reader = source(there)
        return [row for part in slices for chunk in reader.read(part) for row in rows([chunk.rows])]


@pytest.mark.parametrize("kind", ["single_file", "gzip", "json", "parquet"])
def test_workers_read_the_rows_that_the_driver_would(kind: str, mailbox: Mailbox, here: Path, tmp_path: Path) -> None:
    def of(folder: Path) -> Table:
        form = "parquet" if kind == "parquet" else "json"
        name = {"single_file": "a.json", "gzip": "a.json.gz"}.get(kind)
        connector, path = ("filesystem", folder) if name is None else ("single_file", folder / name)
        metadata = {"file": "filename"}
        return table(connector, NUMBERS, metadata, path=path, type="source", format=form)

    for name, numbers in (("a", (1, 2)), ("b", (3,))):
        if kind == "parquet":
            pq.write_table(pa.table({"n": numbers, "name": ["x"] * len(numbers)}), here / f"{name}.parquet")
        else:
            write_json(here / f"{name}.json", *numbers)
    (here / "a.json.gz").write_bytes(gzip.compress(b'{"n": 5, "name": "x"}\n')) if kind == "gzip" else None

    read = read_there(of(here), of(THERE), mailbox, tmp_path)

    assert read == json.loads(json.dumps(read_all(source(of(here)))).replace(str(here), str(THERE)))
    assert read


def lookup(path: Path) -> FilesystemLookup:
    of = table("filesystem", NUMBERS, {"n": "key"}, path=path, type="lookup", format="csv")
    of = replace(of, primary_key=("n",), cache=Cache(0, None), metadata=())
    assert isinstance(of.options, FilesystemLookupOptions)
    return FilesystemLookup(of, of.options)


def test_lookup_in_files_follows_their_changes(mailbox: Mailbox, here: Path, tmp_path: Path) -> None:
    (here / "shops.csv").write_text("n,name\n1,one\n2,two\n")
    with worker(mailbox, tmp_path):
        shops = lookup(THERE)
        shops.refresh()
        assert shops.fetch(pa.array([2, 3])).rows.to_pylist() == [{"n": 2, "name": "two"}]

        (here / "new.csv").write_text("n,name\n3,three\n")
        shops.refresh()
        assert shops.fetch(pa.array([2, 3])).rows.column("name").to_pylist() == ["two", "three"]


def test_copy_is_used_again_until_the_file_changes(mailbox: Mailbox, here: Path, tmp_path: Path) -> None:
    write_json(here / "a.json", 1)
    with worker(mailbox, tmp_path):
        first = driver_files.readable(THERE / "a.json")
        assert driver_files.readable(THERE / "a.json") == first

        (here / "draft").write_text("{}")
        (here / "draft").replace(here / "a.json")
        second = driver_files.readable(THERE / "a.json")
        assert second.read_text() == "{}"
        assert not first.exists()


def test_only_some_copies_are_kept(mailbox: Mailbox, here: Path, tmp_path: Path) -> None:
    for number in range(40):
        write_json(here / f"{number}.json", number)
    with worker(mailbox, tmp_path):
        copies = [driver_files.readable(THERE / f"{number}.json") for number in range(40)]

        assert [copy.exists() for copy in copies] == [False] * 24 + [True] * 16


def test_file_that_no_table_reads_is_not_given(mailbox: Mailbox, tmp_path: Path) -> None:
    (tmp_path / "state/secret").write_text("s")
    with worker(mailbox, tmp_path):
        for path in (tmp_path / "state/secret", THERE / "../state/secret", Path("/etc/passwd")):
            with pytest.raises(MailboxRefusedError, match="no table of the script reads it"):
                driver_files.readable(path)
    assert mailbox.counts.refused == 3


def test_file_that_is_gone_is_named_as_the_driver_names_it(mailbox: Mailbox, tmp_path: Path) -> None:
    with worker(mailbox, tmp_path), pytest.raises(UnreadableFileError, match=f"{THERE}/a.json cannot be read"):
        driver_files.readable(THERE / "a.json")


def test_file_that_is_too_large_for_workers_is_refused(
    mailbox: Mailbox, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_inputs, "MOST_READ_BYTES", 10)
    write_json(here / "a.json", 1)
    with worker(mailbox, tmp_path), pytest.raises(LocalPathOnClusterError, match=r"a.json is on the disk of the dri"):
        driver_files.readable(THERE / "a.json")


def test_paths_that_tables_read_are_given(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    tables = [
        table("single_file", NUMBERS, path=tmp_path / "a.json", type="source", format="json"),
        table("filesystem", NUMBERS, path=tmp_path / "b", type="source", format="parquet"),
        table("filesystem", NUMBERS, path=tmp_path / "c", type="lookup", format="csv"),
        table("single_file", NUMBERS, path=tmp_path / "out.json", type="sink", format="json"),
    ]
    with open_mailbox(tmp_path / "state", "127.0.0.1", "127.0.0.1", 0, tables=tables) as mailbox:
        assert mailbox.inputs.paths == (tmp_path / "a.json", tmp_path / "b", tmp_path / "c")

        # those of the query before, which finishes an epoch
        mailbox.admit([table("single_file", NUMBERS, path=tmp_path / "d.json", type="source", format="json")])
        assert mailbox.inputs.paths[-1] == tmp_path / "d.json"


def test_descriptors_travel_with_their_options(tmp_path: Path) -> None:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="shop", syntax="proto3")
    file.message_type.add(name="Order")
    path = tmp_path / "a.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    options = ProtobufOptions(descriptor=path, message="shop.Order")

    sent = pickle.dumps(options.with_files())
    path.unlink()

    assert message_class(pickle.loads(sent)).DESCRIPTOR.full_name == "shop.Order"
