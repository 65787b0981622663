"""A bucket as a test looks at it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from engine.connectors.base import Table
from engine.delivery.ownership import MARK as OWNER_MARK
from tests.cluster.stores import PASSWORD, USER
from tests.connectors.tables import NUMBERS, Row, table


@dataclass(frozen=True)
class Store:
    """A bucket, and the URL at which the server is reached."""

    client: Any
    endpoint: str
    bucket: str

    def table(self, form: str = "json", endpoint: str | None = None, **options: Any) -> Table:
        """A table that writes below `out` in the bucket."""
        keys = {"storage__access_key_id": USER, "storage__secret_access_key": PASSWORD}
        path = f"s3::{endpoint or self.endpoint}/{self.bucket}/out"
        return table("filesystem", NUMBERS, path=path, type="sink", format=form, **keys, **options)

    def keys(self) -> list[str]:
        """What there is below `out`, without that and without the mark of the owner."""
        objects = self.client.list_objects_v2(Bucket=self.bucket, Prefix="out/").get("Contents", [])
        names = [summary["Key"].removeprefix("out/") for summary in objects]
        return [name for name in names if name != OWNER_MARK]

    def read(self, name: str) -> bytes:
        """The bytes of an object below `out`."""
        return bytes(self.client.get_object(Bucket=self.bucket, Key=f"out/{name}")["Body"].read())

    def rows(self) -> list[Row]:
        """All rows, by number."""
        rows: list[Row] = []
        for name in self.keys():
            if name.endswith(".parquet"):
                rows += pq.ParquetFile(io.BytesIO(self.read(name))).read().to_pylist()
            else:
                rows += [json.loads(line) for line in self.read(name).splitlines()]
        return sorted(rows, key=lambda row: int(row["n"]))

    def uploads(self) -> list[str]:
        """The keys of uploads that are not finished."""
        unfinished = self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])
        return [upload["Key"] for upload in unfinished]
