"""A server to post to, for the tests of what posts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.connectors.addresses import ALLOWED
from tests.connectors.http_serving import serving
from tests.connectors.receiver import Receiver


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv(ALLOWED, "localhost")
    with serving(Receiver()) as receiver:
        yield receiver
