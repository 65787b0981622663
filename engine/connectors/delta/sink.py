"""Write a Delta table: data files are invisible until the table's log lists them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from engine.connectors.aws_region import region_of
from engine.connectors.base import SinkContext, Table
from engine.connectors.delta.log import DataFile, DeltaLog
from engine.connectors.delta.options import DeltaOptions
from engine.connectors.files.partitions import NO_VALUE, Partitioner
from engine.connectors.files.plan import Layout
from engine.connectors.files.rolling_sink import RollingFilesSink, open_target
from engine.connectors.files.storage import Location, StorageOptions
from engine.connectors.files.target import Build, FileTarget
from engine.delivery.epoch import Epoch
from engine.delivery.file_ledger import WritePermit
from engine.delivery.manifests import EpochManifest
from engine.delivery.ownership import Mark
from engine.errors import LedgerLostError
from engine.schema import arrow_schema


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """A directory of data files with a Delta log."""

    files: FileTarget
    log: DeltaLog

    def __str__(self) -> str:
        return str(self.files)

    @property
    def mark(self) -> Mark:
        """Return the ownership mark, which readers of the table do not see."""
        return self.files.mark

    def is_fresh(self) -> bool:
        """Whether the table does not exist."""
        return not self.log.exists()

    def probe(self) -> None:
        """Raise if files cannot be written there, or if the log cannot be read."""
        self.files.probe()
        self.log.exists()

    def has(self, name: str) -> bool:
        """Whether a file exists, in the table or not."""
        return self.files.has(name)

    def size(self, name: str) -> int:
        """Return the size of a file."""
        return self.files.size(name)

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Write a file in its place; it is not in the table yet."""
        self.files.publish(name, build, epoch, manifest)

    def finish(self, permit: WritePermit, manifest: EpochManifest) -> None:
        """Commit the epoch's files."""
        if manifest.files:
            depth = len(self.log.keys)
            files = [
                DataFile(file.name, file.rows, self.files.size(file.name), _keys(file.name, depth))
                for file in manifest.files
            ]
            self.log.add(permit.epoch, files, _now())

    def withdraw(self, epoch: Epoch, manifest: EpochManifest) -> None:
        """Remove the files from the table; readers of an older version still find them."""
        self.log.remove(epoch, manifest.lineage, [file.name for file in manifest.files], _now())

    def begin(self, permit: WritePermit) -> None:
        """Create the table, or check that it is unchanged; prevent further commits of the abandoned lineage."""
        if any(entry.rows for entry in permit.ledger) and not self.log.exists():
            raise LedgerLostError(
                f"the Delta table at {self.log.uri} no longer exists",
                hint="put it back, or start with a new state directory to write everything again",
            )
        self.files.begin(permit)
        self.log.create(may_differ=bool(permit.ledger))
        for lineage, _ in permit.epoch.parents[:1]:
            self.log.remove(permit.epoch, lineage, (), _now())


def open_delta_sink(table: Table, options: DeltaOptions, context: SinkContext) -> RollingFilesSink:
    """Return the sink of a Delta table."""
    keys = tuple(field.name for name in options.fields if (field := table.schema.find(name)) is not None)
    suffix = ".parquet" if options.suffix is None else options.suffix
    layout = Layout(options.prefix, suffix, options.strategy, options.policy, len(keys))
    partitioner = Partitioner(table.schema, keys, options.time_pattern, keeps_fields=False)
    uri = str(options.location.absolute()) if isinstance(options.location, Path) else options.location.url
    log = DeltaLog(
        uri, _storage(options.location, options), arrow_schema(table.schema), keys, f"{context.job}/{table.name}"
    )
    target = DeltaTarget(open_target(options.location, options, context), log)
    return RollingFilesSink(table, layout, partitioner, target, context, takes_over=options.existing == "take_over")


def _storage(location: Location, options: StorageOptions) -> Mapping[str, str]:
    if isinstance(location, Path):
        return {}
    endpoint = location.endpoint or options.endpoint
    secrets = {
        "AWS_ACCESS_KEY_ID": options.access_key_id,
        "AWS_SECRET_ACCESS_KEY": options.secret_access_key,
        "AWS_SESSION_TOKEN": options.session_token,
    }
    settings = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region_of(options.region, endpoint)}
    settings |= {name: secret.get_secret_value() for name, secret in secrets.items() if secret is not None}
    if endpoint and endpoint.startswith("http:"):
        settings["AWS_ALLOW_HTTP"] = "true"
    return {"aws_conditional_put": "etag"} | {name: value for name, value in settings.items() if value is not None}


def _keys(name: str, depth: int) -> dict[str, str | None]:
    """Return the values in the names of a file's `depth` innermost directories; those of time come before them."""
    directories = name.split("/")[:-1]
    pairs = (part.partition("=") for part in directories[len(directories) - depth :])
    return {unquote(key): None if value == NO_VALUE else unquote(value) for key, _, value in pairs}


def _now() -> int:
    return time.time_ns() // 1000
