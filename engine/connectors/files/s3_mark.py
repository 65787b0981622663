"""Owner mark of a prefix in a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from engine.connectors.files.s3_client import connect, errors_explained, is_gone, is_taken, knows_no_conditions
from engine.connectors.files.storage import Prefix, StorageOptions
from engine.delivery.ownership import MARK


@dataclass(frozen=True, slots=True)
class MarkObject:
    """The object below a prefix that names its owner."""

    prefix: Prefix
    options: StorageOptions

    def read(self) -> bytes | None:
        """Return the content of the object."""
        with errors_explained(self.prefix):
            try:
                content: bytes = self._client.get_object(**self._where)["Body"].read()
            except ClientError as wrong:
                if is_gone(wrong):
                    return None
                raise
        return content

    def create(self, content: bytes) -> bool:
        """Create the object unless it exists."""
        with errors_explained(self.prefix):
            try:
                self._client.put_object(**self._where, Body=content, IfNoneMatch="*")
            except ClientError as wrong:
                if is_taken(wrong):
                    return False
                if not knows_no_conditions(wrong):
                    raise
                if self.read() is not None:
                    return False
                self.replace(content)
        return True

    def replace(self, content: bytes) -> None:
        """Replace the mark."""
        with errors_explained(self.prefix):
            self._client.put_object(**self._where, Body=content)

    @property
    def _client(self) -> Any:
        return connect(self.prefix, self.options)

    @property
    def _where(self) -> dict[str, str]:
        return {"Bucket": self.prefix.bucket, "Key": self.prefix.key(MARK)}
