"""Put files into a bucket: complete, once, and without overwriting.

An object is created only if there is none. An existing object must have the same bytes, according to the digest in its
metadata. So a lost response does no harm, and neither does a run that has been replaced.

Even a small file is sent as a multipart upload, because an upload can be aborted, and with it a run that stalls just
before the end. A plain put cannot. Only empty files are put directly.

    a run that stalls                  its successor
    begins an upload
    checks its fence: valid
                                       raises the fence, aborts the uploads of that run's keys, deletes the objects
    completes the upload: refused, the upload does not exist; it stops at its fence

See `docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from engine.connectors.files.s3_client import connect, errors_explained, is_gone, is_taken, knows_no_conditions
from engine.connectors.files.s3_mark import MarkObject
from engine.connectors.files.storage import Prefix, StorageOptions
from engine.connectors.files.target import Build
from engine.delivery.epoch import Epoch
from engine.delivery.faults import Point, reach
from engine.delivery.fence import check_fence
from engine.delivery.file_ledger import WritePermit
from engine.delivery.manifests import EpochManifest
from engine.delivery.ownership import MARK, Mark
from engine.errors import OutputChangedError, SupersededError, TargetUnavailableError

_DIGEST = "arroyo-sha256"
_GRACE = timedelta(days=1)
"""Age from which an unfinished upload counts as abandoned; a file takes minutes, not hours."""
_AT_ONCE = 4
"""Number of parts that are sent in parallel: enough to hide latency, few enough for the driver's memory."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    size: int
    digest: str


class Bucket:
    """Keys of a bucket below a prefix."""

    def __init__(
        self,
        prefix: Prefix,
        options: StorageOptions,
        directory: Path,
        job: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._prefix = prefix
        self._options = options
        self._directory = directory
        self._drafts = directory / "drafts"
        self._job = job
        self._clock = clock

    @property
    def _client(self) -> Any:
        """Return the client. Only the driver uses it, never a task."""
        return connect(self._prefix, self._options)

    def __str__(self) -> str:
        return str(self._prefix)

    @property
    def mark(self) -> Mark:
        """Return the mark, which is an object below the prefix."""
        return MarkObject(self._prefix, self._options)

    def is_fresh(self) -> bool:
        """Whether no key except that of the mark begins with the prefix."""
        with errors_explained(self._prefix):
            answer = self._client.list_objects_v2(Bucket=self._prefix.bucket, Prefix=self._prefix.key(""), MaxKeys=2)
        return all(entry["Key"] == self._prefix.key(MARK) for entry in answer.get("Contents", ()))

    def probe(self) -> None:
        """Raise if the bucket does not answer. Only an object could show that it can be written, too."""
        self.is_fresh()

    def has(self, name: str) -> bool:
        """Whether an object of that name exists."""
        return self._head(name) is not None

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Write the file on this disk and upload it."""
        folder = self._drafts / str(epoch.generation)
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / secrets.token_hex(8)
        try:
            build(draft)
            with draft.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            file = _File(draft, draft.stat().st_size, digest)
            origin = {"job": self._job, "lineage": manifest.lineage, "epoch": str(manifest.epoch)}
            metadata = {f"arroyo-{key}": value for key, value in origin.items()} | {_DIGEST: digest}
            self._send(name, file, metadata, epoch)
        finally:
            draft.unlink(missing_ok=True)

    def size(self, name: str) -> int:
        """Return the size of an existing object."""
        return int(self._head(name)["ContentLength"])

    def withdraw(self, epoch: Epoch, manifest: EpochManifest) -> None:
        """Abort the uploads in progress, then delete the objects."""
        keys = {self._prefix.key(file.name) for file in manifest.files}
        with errors_explained(self._prefix):
            for upload in self._uploads():
                if upload["Key"] in keys:
                    self._abort(upload["Key"], upload["UploadId"])
            for key in keys:
                self._client.delete_object(Bucket=self._prefix.bucket, Key=key)

    def finish(self, permit: WritePermit, manifest: EpochManifest) -> None:
        """Do nothing: a listing of the bucket has the objects already."""

    def begin(self, permit: WritePermit) -> None:
        """Remove drafts of earlier runs, and abort uploads below the prefix that have been unfinished for a day."""
        for folder in self._drafts.glob("*"):
            if folder.name.isdigit() and int(folder.name) < permit.epoch.generation:
                shutil.rmtree(folder, ignore_errors=True)
        with errors_explained(self._prefix):
            for upload in self._uploads():
                if self._clock() - upload["Initiated"] > _GRACE:
                    self._abort(upload["Key"], upload["UploadId"])

    def _send(self, name: str, file: _File, metadata: dict[str, str], epoch: Epoch) -> None:
        send = self._send_in_parts if file.size else self._send_at_once
        with errors_explained(self._prefix):
            try:
                send(name, file, metadata, epoch, {"IfNoneMatch": "*"})
            except ClientError as wrong:
                if is_taken(wrong):
                    self._compare(name, file)
                elif knows_no_conditions(wrong):
                    if self.has(name):
                        self._compare(name, file)
                    else:
                        send(name, file, metadata, epoch, {})
                else:
                    raise

    def _send_at_once(
        self, name: str, file: _File, metadata: dict[str, str], epoch: Epoch, condition: dict[str, str]
    ) -> None:
        check_fence(self._directory, epoch)
        with file.path.open("rb") as content:
            self._client.put_object(
                Bucket=self._prefix.bucket, Key=self._prefix.key(name), Body=content, Metadata=metadata, **condition
            )

    def _send_in_parts(
        self, name: str, file: _File, metadata: dict[str, str], epoch: Epoch, condition: dict[str, str]
    ) -> None:
        where = {"Bucket": self._prefix.bucket, "Key": self._prefix.key(name)}
        upload = {**where, "UploadId": self._client.create_multipart_upload(**where, Metadata=metadata)["UploadId"]}
        size = max(self._options.part_size, math.ceil(file.size / self._options.max_parts))

        def send(number: int) -> dict[str, Any]:
            with file.path.open("rb") as content:
                content.seek(number * size)
                answer = self._client.upload_part(**upload, PartNumber=number + 1, Body=content.read(size))
            return {"PartNumber": number + 1, "ETag": answer["ETag"]}

        try:
            # not before the upload has begun: a run that replaces this one from here on aborts it
            check_fence(self._directory, epoch)
            with ThreadPoolExecutor(_AT_ONCE) as senders:
                parts = list(senders.map(send, range(math.ceil(file.size / size))))
            reach(Point.WHILE_PUBLISHING, epoch.number)
            self._client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, **condition)
        except (ClientError, SupersededError):
            self._abort(upload["Key"], upload["UploadId"])
            raise

    def _compare(self, name: str, file: _File) -> None:
        """Raise unless the existing object equals the one to be created."""
        head = self._head(name)
        if head is None:
            raise TargetUnavailableError(
                f"{self._prefix}: {name} was reported to exist, and does not",
                hint="start again; the next attempt looks once more",
            )
        if (head["ContentLength"], head["Metadata"].get(_DIGEST)) != (file.size, file.digest):
            raise OutputChangedError(
                f"{self._prefix}: {name} exists already with different contents",
                hint="it was changed, or another job writes to the same location; move it away and start again",
            )

    def _head(self, name: str) -> Any:
        with errors_explained(self._prefix):
            try:
                return self._client.head_object(Bucket=self._prefix.bucket, Key=self._prefix.key(name))
            except ClientError as wrong:
                if is_gone(wrong):
                    return None
                raise

    def _uploads(self) -> Iterator[Any]:
        pages = self._client.get_paginator("list_multipart_uploads")
        for page in pages.paginate(Bucket=self._prefix.bucket, Prefix=self._prefix.key("")):
            yield from page.get("Uploads", ())

    def _abort(self, key: str, upload: str) -> None:
        try:
            self._client.abort_multipart_upload(Bucket=self._prefix.bucket, Key=key, UploadId=upload)
        except ClientError as wrong:
            if not is_taken(wrong):  # it is gone already
                raise
