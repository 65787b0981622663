"""What every storage promises: a folder, and a bucket of each kind of server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

import pytest

from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.delivery.storage import LocalStorage, Storage
from tests.cluster.stores import KINDS, new_bucket, serving
from tests.s3.faulty_store import FaultyStore, Request, faulty
from tests.s3.store import Store


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Starts a server of a kind when it is first used, and gives its URL."""
    with ExitStack() as running:

        @lru_cache
        def start(kind: str) -> str:
            return running.enter_context(serving(kind, tmp_path_factory.mktemp(kind)))

        yield start


@pytest.fixture(params=["folder", *KINDS])
def storage(
    request: pytest.FixtureRequest,
    servers: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Storage:
    if request.param == "folder":
        return LocalStorage(tmp_path / "objects")
    store = new_bucket(servers(request.param), f"b{abs(hash(request.node.nodeid)):x}")
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return state_storage(read_state_url(f"{store.url}/objects"))


def test_object_that_was_put_is_read_and_replaced(storage: Storage) -> None:
    assert storage.get("a/b") is None
    storage.put("a/b", b"1")
    storage.put("a/b", b"2")
    found = storage.get("a/b")
    assert found is not None
    assert found.content == b"2"


def test_object_is_created_once(storage: Storage) -> None:
    version = storage.create("a", b"mine")
    assert version is not None
    assert storage.create("a", b"theirs") is None
    found = storage.get("a")
    assert found is not None
    assert (found.content, found.version) == (b"mine", version)


def test_creator_that_repeats_its_request_learns_that_it_was_first(storage: Storage) -> None:
    version = storage.create("a", b"mine")
    assert storage.create("a", b"mine") == version


def test_of_creators_at_the_same_time_one_succeeds(storage: Storage) -> None:
    with ThreadPoolExecutor(4) as pool:
        for number in range(3):
            versions = list(pool.map(lambda each, name=f"{number}": storage.create(name, f"{each}".encode()), range(4)))
            assert sum(version is not None for version in versions) == 1


def test_object_is_replaced_only_at_the_version_that_was_read(storage: Storage) -> None:
    first = storage.create("a", b"1")
    assert first is not None
    second = storage.compare_and_put("a", b"2", first)
    assert second is not None
    assert storage.compare_and_put("a", b"3", first) is None
    assert storage.compare_and_put("a", b"2", first) == second
    assert storage.compare_and_put("gone", b"3", first) is None
    found = storage.get("a")
    assert found is not None
    assert (found.content, found.version) == (b"2", second)


def test_of_swaps_of_the_same_version_one_succeeds(storage: Storage) -> None:
    version = storage.create("a", b"first")
    assert version is not None
    with ThreadPoolExecutor(4) as pool:
        for number in range(3):
            begun: str = version
            swaps = list(
                pool.map(
                    lambda each, begun=begun, number=number: storage.compare_and_put(
                        "a", f"{number}-{each}".encode(), begun
                    ),
                    range(4),
                )
            )
            [version] = [swapped for swapped in swaps if swapped is not None]


def test_listing_has_what_was_written_and_not_what_was_deleted(storage: Storage) -> None:
    for name in ("b/2", "b/1", "a", "bc"):
        storage.put(name, name.encode() * 3)
    assert storage.list() == {"a": 3, "b/1": 9, "b/2": 9, "bc": 6}
    assert list(storage.list("b/")) == ["b/1", "b/2"]
    assert list(storage.list("b")) == ["b/1", "b/2", "bc"]
    storage.delete(["b/1", "never/there"])
    assert list(storage.list("b/")) == ["b/2"]
    assert storage.get("b/1") is None


def test_large_file_is_stored_and_read_in_parts(storage: Storage, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40_000
    (tmp_path / "large").write_bytes(content)
    storage.put("large", tmp_path / "large")
    with storage.open_range("large") as whole:
        assert whole.read() == content
    with storage.open_range("large", 1_000_001, 500) as part:
        assert part.read() == content[1_000_001:1_000_501]
    with storage.open_range("large", len(content) - 3) as rest:
        assert rest.read() == content[-3:]
    with storage.open_range("large", 7, 0) as nothing:
        assert nothing.read() == b""
    with pytest.raises(FileNotFoundError):
        storage.open_range("gone")


def test_object_is_copied(storage: Storage) -> None:
    storage.put("a", b"1")
    storage.copy("a", "b/c")
    storage.put("a", b"2")
    found = storage.get("b/c")
    assert found is not None
    assert found.content == b"1"
    with pytest.raises(FileNotFoundError):
        storage.copy("gone", "d")


@pytest.mark.parametrize("change", ["create", "compare_and_put"])
def test_first_answer_that_is_lost_does_not_make_a_loser(
    bucket: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    calls: dict[str, Callable[[Storage, str], str | None]] = {
        "create": lambda storage, _: storage.create("b", b"mine"),
        "compare_and_put": lambda storage, version: storage.compare_and_put("a", b"mine", version),
    }
    with faulty(bucket.endpoint) as between:
        monkeypatch.setenv("AWS_ENDPOINT_URL", between.url)
        storage = state_storage(read_state_url(f"s3://{bucket.bucket}/objects"))
        version = storage.create("a", b"first")
        assert version is not None
        lose_once(between)
        assert calls[change](storage, version) is not None
        assert len(between.failed) == 1


def lose_once(between: FaultyStore) -> None:
    """Lose the answer of the next PUT."""

    def fault(request: Request) -> str | None:
        return "lost" if request.method == "PUT" and not between.failed else None

    between.fault = fault  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["../a", "/a", "a//b", "a/.", ""])
def test_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of an object"):
        LocalStorage(tmp_path).get(name)
