"""An S3 of the tests' own, over HTTP, and tables that write to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.cluster.stores import KINDS, PASSWORD, USER, serving
from tests.s3.store import Store


@pytest.fixture(scope="session", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of each kind."""
    with serving(request.param, tmp_path_factory.mktemp(request.param)) as url:
        yield url


@pytest.fixture
def store(server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A bucket that nobody else has."""
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client: Any = boto3.client(
        "s3", endpoint_url=server, region_name="us-east-1", aws_access_key_id=USER, aws_secret_access_key=PASSWORD
    )
    bucket = f"b{abs(hash(request.node.nodeid)):x}"
    client.create_bucket(Bucket=bucket)
    return Store(client, server, bucket)


@pytest.fixture
def bucket(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A bucket that is reached by the variables of the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", USER)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
    return store
