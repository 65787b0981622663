"""Probe a storage for what a state relies on, before a state is there.

    arroyo doctor storage s3://bucket/jobs

    fit        objects are created once          8 creators at a time, one succeeded
    fit        objects are compared and swapped  a stale version was refused
    warning    versions of objects               kept: deleted objects remain until a rule removes old versions
    unfit      lifecycle rules                   rule 'tidy' deletes objects below jobs/ after 30 days

The probe writes below `doctor-<random>/` and deletes that again.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.connectors.files.storage import Prefix, read_location
from engine.delivery.storage import LocalStorage, NoConditionsError, Storage
from engine.errors import SettingError, message_of

if TYPE_CHECKING:
    from engine.connectors.files.s3_storage import S3Storage

_CREATORS = 8
_LARGE = 9 << 20
"""Bytes. boto3 sends files in parts from 8 MiB on."""
_ARCHIVES = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_ABANDONED = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StorageFinding:
    """The result of one check."""

    check: str
    verdict: Literal["fit", "warning", "unfit"]
    text: str


def open_storage(url: str) -> Storage:
    """Return the storage that a URL or a path of this machine names."""
    try:
        location = read_location(url)
    except ValueError as error:
        raise SettingError(f"the URL {message_of(error)}", hint="write s3://bucket/prefix or a folder") from error
    return state_storage(read_state_url(url)) if isinstance(location, Prefix) else LocalStorage(location.absolute())


def probe_storage(storage: Storage) -> list[StorageFinding]:
    """Return what was found, check by check. An error of the store itself, such as a missing permission, is raised."""
    folder = f"doctor-{secrets.token_hex(6)}"
    try:
        findings = [check(storage, folder) for check in _CHECKS]
    finally:
        storage.delete(storage.list(f"{folder}/"))
    return findings if isinstance(storage, LocalStorage) else [*findings, *_of_bucket(storage)]  # type: ignore[arg-type]


def _creates_once(storage: Storage, folder: str) -> StorageFinding:
    check, name = "objects are created once", f"{folder}/once"
    contents = [secrets.token_bytes(16) for _ in range(_CREATORS)]
    try:
        with ThreadPoolExecutor(_CREATORS) as pool:
            versions = list(pool.map(lambda each: storage.create(name, each), contents))
        winners = [each for each, version in zip(contents, versions, strict=True) if version is not None]
    except NoConditionsError:
        return StorageFinding(check, "unfit", "the store does not support If-None-Match")
    found = storage.get(name)
    if len(winners) != 1 or found is None or found.content != winners[0]:
        text = f"{len(winners)} of {_CREATORS} creators at a time succeeded: the store ignores If-None-Match"
        return StorageFinding(check, "unfit", text)
    return StorageFinding(check, "fit", f"{_CREATORS} creators at a time, one succeeded")


def _swaps(storage: Storage, folder: str) -> StorageFinding:
    check, name = "objects are compared and swapped", f"{folder}/swapped"
    storage.put(name, secrets.token_bytes(16))
    first = storage.get(name)
    try:
        if first is None or storage.compare_and_put(name, secrets.token_bytes(16), first.version) is None:
            return StorageFinding(check, "unfit", "the store refused the version that it had returned")
        if storage.compare_and_put(name, secrets.token_bytes(16), first.version) is not None:
            return StorageFinding(check, "unfit", "a stale version was accepted: the store ignores If-Match")
    except NoConditionsError:
        return StorageFinding(check, "unfit", "the store does not support If-Match")
    return StorageFinding(check, "fit", "a stale version was refused")


def _lists(storage: Storage, folder: str) -> StorageFinding:
    check, names = "listings are up to date", [f"{folder}/listed/{number}" for number in range(3)]
    for name in names:
        storage.put(name, b"1")
        if name not in storage.list(f"{folder}/listed/"):
            return StorageFinding(check, "unfit", "an object that was just written is not listed")
    storage.delete(names[:1])
    if list(storage.list(f"{folder}/listed/")) != names[1:]:
        return StorageFinding(check, "unfit", "an object that was just deleted is still listed")
    return StorageFinding(check, "fit", "each listing had the objects of that moment")


def _stores_large(storage: Storage, folder: str) -> StorageFinding:
    check, name = "large objects", f"{folder}/large"
    content = secrets.token_bytes(1 << 10) * (_LARGE >> 10)
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        storage.put(name, Path(file.name))
    first = _LARGE - 5000
    with storage.open_range(name, first, 2000) as part:
        if part.read() != content[first : first + 2000]:
            return StorageFinding(check, "unfit", "a part of a large object was read with other content")
    return StorageFinding(check, "fit", f"{_LARGE >> 20} MiB were written, and a part was read")


_CHECKS: Sequence[Callable[[Storage, str], StorageFinding]] = (_creates_once, _swaps, _lists, _stores_large)


def _of_bucket(storage: S3Storage) -> Iterator[StorageFinding]:
    """Yield what is configured for the bucket."""
    client, bucket = storage.client(), storage.prefix.bucket
    yield _asked("versions of objects", lambda: _versions(client.get_bucket_versioning(Bucket=bucket)))
    yield _asked("lifecycle rules", lambda: _rules(_rules_of(client, bucket), storage.prefix))
    yield _asked("unfinished uploads", lambda: _uploads(_uploads_of(client, storage.prefix), datetime.now(UTC)))


def _asked(check: str, ask: Callable[[], StorageFinding]) -> StorageFinding:
    """Return a finding; a warning if the store does not answer the question, or not to us."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - boto3 is an extra

    from engine.connectors.files.s3_client import code_of  # noqa: PLC0415 - as above

    try:
        return ask()
    except ClientError as error:
        return StorageFinding(check, "warning", f"unknown: the store answers {code_of(error) or message_of(error)}")


def _versions(answer: Mapping[str, Any]) -> StorageFinding:
    check = "versions of objects"
    if answer.get("Status") == "Enabled":
        return StorageFinding(
            check, "warning", "kept: objects that are deleted or replaced remain until a rule expires old versions"
        )
    return StorageFinding(check, "fit", "not kept")


def _rules_of(client: Any, bucket: str) -> Sequence[Mapping[str, Any]]:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - boto3 is an extra

    from engine.connectors.files.s3_client import code_of  # noqa: PLC0415 - as above

    try:
        rules: Sequence[Mapping[str, Any]] = client.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    except ClientError as error:
        if code_of(error) == "NoSuchLifecycleConfiguration":
            return ()
        raise
    return rules


def _rules(rules: Sequence[Mapping[str, Any]], prefix: Prefix) -> StorageFinding:
    check = "lifecycle rules"
    harm = [text for rule in rules if (text := _harm(rule, prefix)) is not None]
    if harm:
        return StorageFinding(check, "unfit", "; ".join(harm))
    return StorageFinding(check, "fit", "none deletes or archives objects of a state")


def _harm(rule: Mapping[str, Any], prefix: Prefix) -> str | None:
    """Return what a rule does to a state; None if it does nothing to it. Objects of a state have no tags."""
    filters = rule.get("Filter", {})
    both = filters.get("And", {})
    if rule.get("Status") != "Enabled" or "Tag" in filters or both.get("Tags"):
        return None
    start = str(filters.get("Prefix") or both.get("Prefix") or rule.get("Prefix") or "")
    own = prefix.key("")
    if not (own.startswith(start) or start.startswith(own)):
        return None
    name, where = rule.get("ID") or "without a name", start or "the whole bucket"
    expiration = rule.get("Expiration", {})
    if "Days" in expiration or "Date" in expiration:
        when = f"after {expiration['Days']} days" if "Days" in expiration else f"on {expiration['Date']:%Y-%m-%d}"
        return f"rule {name!r} deletes objects of {where} {when}"
    kinds = {str(move.get("StorageClass")) for move in rule.get("Transitions", ())}
    if archives := sorted(kinds & _ARCHIVES):
        return f"rule {name!r} moves objects of {where} to {archives[0]}, where they cannot be read at once"
    return None


def _uploads_of(client: Any, prefix: Prefix) -> Sequence[datetime]:
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=prefix.bucket, Prefix=prefix.key(""))
    return [upload["Initiated"] for page in pages for upload in page.get("Uploads", ())]


def _uploads(begun: Sequence[datetime], now: datetime) -> StorageFinding:
    check, old = "unfinished uploads", sum(now - each > _ABANDONED for each in begun)
    if old:
        text = f"{old} for more than a day: they cost as stored objects; set a rule AbortIncompleteMultipartUpload"
        return StorageFinding(check, "warning", text)
    return StorageFinding(check, "fit", "none is older than a day")
