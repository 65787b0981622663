"""Each connector of Amazon's services finds the region in the same places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.connectors.aws_region import region_of
from engine.connectors.delta.sink import _storage
from engine.connectors.files.s3_access import s3_access
from engine.connectors.files.s3_client import connect as s3_client
from engine.connectors.files.storage import BucketOptions, Prefix, StorageOptions
from engine.connectors.kinesis.client import connect as kinesis_client
from engine.connectors.kinesis.options import KinesisConnectionOptions

BUCKET = Prefix("shop", "orders")

REGIONS: dict[str, Callable[[], Any]] = {
    "files": lambda: s3_client(BUCKET, BucketOptions()).meta.region_name,
    "state": lambda: s3_access(BUCKET).region,
    "delta": lambda: _storage(BUCKET, StorageOptions())["AWS_REGION"],
    "kinesis": lambda: kinesis_client(KinesisConnectionOptions()).meta.region_name,
}


@pytest.mark.parametrize("where", REGIONS)
@pytest.mark.parametrize("variables", [("AWS_REGION",), ("AWS_DEFAULT_REGION",), ("AWS_REGION", "AWS_DEFAULT_REGION")])
def test_the_region_is_that_of_the_environment(
    where: str, variables: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "some")
    for number, name in enumerate(variables):
        monkeypatch.setenv(name, f"eu-central-{number + 1}")

    assert REGIONS[where]() == "eu-central-1"


def test_an_option_is_stronger_and_an_endpoint_without_a_region_has_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "")
    assert (region_of("eu-west-1"), region_of(None, "http://store")) == ("eu-west-1", "eu-central-1")

    monkeypatch.setenv("AWS_REGION", "")
    assert (region_of(), region_of(None, "http://store")) == (None, "us-east-1")
