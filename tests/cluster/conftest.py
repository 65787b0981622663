"""A cluster and object stores for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.cluster.parts import Cluster, namespaces, running
from tests.cluster.stores import KINDS, ObjectStore, new_bucket, serving


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, which see no files of this machine. Who kills a part of it starts another one."""
    if namespaces() is None:
        assert not os.environ.get("CI"), "this user may have no namespaces: it is not known whether a cluster works"
        pytest.skip("this user may have no namespaces of its own, so workers would see the files of this machine")
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def store_urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The servers that tests have asked for, by their kind."""
    with ExitStack() as opened:
        yield _Servers(opened, tmp_path_factory)


class _Servers(dict[str, str]):
    """Starts a server when it is first asked for."""

    def __init__(self, opened: ExitStack, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._opened, self._folders = opened, folders

    def __missing__(self, kind: str) -> str:
        self[kind] = self._opened.enter_context(serving(kind, self._folders.mktemp(kind)))
        return self[kind]


@pytest.fixture(params=KINDS)
def object_store(store_urls: dict[str, str], request: pytest.FixtureRequest) -> ObjectStore:
    """A bucket of a test's own, in each kind of store."""
    return new_bucket(store_urls[request.param], f"b{abs(hash(request.node.nodeid)):x}")


@pytest.fixture
def moto_store(store_urls: dict[str, str], request: pytest.FixtureRequest) -> ObjectStore:
    """A bucket of a test's own, for what is the same in each kind of store."""
    return new_bucket(store_urls["moto"], f"m{abs(hash(request.node.nodeid)):x}")
