"""One broker for all the tests of Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.broker import Broker, running


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A cluster of one node, shared by the whole session: a test makes topics of its own, and who kills the node starts
    it again."""
    with running(tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster
