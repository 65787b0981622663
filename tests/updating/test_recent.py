"""Chunks that a process remembers: none is taken for another, and there are never too many."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from engine.updating import chunk_cache
from engine.updating.chunk_cache import RecentChunks


def table(number: int) -> pa.Table:
    return pa.table({"number": pa.array([number] * 10, pa.int64())})


SIZE = table(0).nbytes


class Loads:
    """Counts how often a chunk had to be loaded."""

    def __init__(self, recent: RecentChunks) -> None:
        self.recent = recent
        self.loaded: list[int] = []

    def get(self, number: int) -> int:
        def load() -> pa.Table:
            self.loaded.append(number)
            return table(number)

        return self.recent.get(str(number), load)["number"][0].as_py()


def test_a_chunk_is_loaded_once() -> None:
    loads = Loads(RecentChunks())

    assert [loads.get(number) for number in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert loads.loaded == [1, 2]


def test_a_chunk_that_was_written_need_not_be_loaded_until_it_is_gone() -> None:
    loads = Loads(RecentChunks())
    loads.recent.keep("1", table(1))

    assert (loads.get(1), loads.loaded) == (1, [])
    loads.recent.forget("1")
    assert (loads.get(1), loads.loaded) == (1, [1])


def test_new_keys_without_room_do_not_evict_keys_in_use() -> None:
    loads = Loads(RecentChunks(2 * SIZE))

    for _ in range(20):
        loads.recent.begin_round()
        assert [loads.get(number) for number in (1, 2, 3)] == [1, 2, 3]

    assert loads.loaded == [1, 2, *[3] * 20]


def test_unused_chunks_make_room() -> None:
    loads = Loads(RecentChunks(2 * SIZE))
    loads.get(1)

    for _ in range(20):
        loads.recent.begin_round()
        assert [loads.get(number) for number in (2, 3)] == [2, 3]

    assert loads.loaded.count(3) == 17


def test_keys_without_room_in_memory_are_stored_in_unnamed_files(tmp_path: Path) -> None:
    loads = Loads(RecentChunks(SIZE, tmp_path, 2 * SIZE))

    for _ in range(20):
        loads.recent.begin_round()
        assert [loads.get(number) for number in (1, 2, 3, 4)] == [1, 2, 3, 4]

    assert loads.loaded == [1, 2, 3, *[4] * 20]
    assert list(tmp_path.iterdir()) == []
    loads.recent.forget("3")
    assert [loads.get(4), loads.get(4)] == [4, 4]
    assert loads.loaded.count(4) == 21


def test_a_full_disk_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_cache, "LEAST_FREE", 1 << 60)
    loads = Loads(RecentChunks(0, tmp_path))
    assert [loads.get(number) for number in (1, 1)] == [1, 1]
    assert loads.loaded == [1, 1]

    loads = Loads(RecentChunks(0, tmp_path / "nowhere"))
    assert [loads.get(number) for number in (1, 1)] == [1, 1]
    assert loads.loaded == [1, 1]


def test_process_killed_while_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[Path] = []

    def begin(*arguments: object) -> pa.ipc.RecordBatchStreamWriter:
        names.extend(tmp_path.iterdir())
        return new_stream(*arguments)

    new_stream = pa.ipc.new_stream
    monkeypatch.setattr(pa.ipc, "new_stream", begin)
    assert chunk_cache.mapped(table(1), tmp_path) == table(1)
    assert names == []
