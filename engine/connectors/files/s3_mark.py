"""Owner mark of a prefix in a bucket."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from engine.connectors.files.s3_client import connect, errors_explained
from engine.connectors.files.s3_storage import S3Storage
from engine.connectors.files.storage import Prefix, StorageOptions
from engine.delivery.ownership import MARK
from engine.delivery.storage import NoConditionsError


@dataclass(frozen=True, slots=True)
class MarkObject:
    """The object below a prefix that names its owner."""

    prefix: Prefix
    options: StorageOptions

    def read(self) -> bytes | None:
        """Return the content of the object."""
        found = self._storage.get(MARK)
        return None if found is None else found.content

    def create(self, content: bytes) -> bool:
        """Create the object unless it exists. A store without conditional requests is asked first."""
        try:
            return self._storage.create(MARK, content) is not None
        except NoConditionsError:
            if self.read() is not None:
                return False
            self.replace(content)
            return True

    def replace(self, content: bytes) -> None:
        """Replace the mark."""
        self._storage.put(MARK, content)

    @property
    def _storage(self) -> S3Storage:
        return S3Storage(self.prefix, partial(connect, self.prefix, self.options), errors_explained)
