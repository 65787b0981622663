"""Log of a Delta table. A transaction in each commit of a sink records its epoch.

    version 5     add day=1/0000000007-3f.parquet       transaction job/orders/3f = 7
    a run repeats epoch 7: it reads transaction 7, and commits nothing
    version 6     remove day=1/0000000007-3f.parquet    transaction job/orders/3f = 2**62
    version 6 was a restore to epoch 5: a stale run of the old lineage finds all its epochs committed

The version of the transaction is the epoch. It is read and written through the same handle, so only one of two
concurrent writers commits. A restored pipeline has a transaction of its own, and closes that of its previous lineage.
See `docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from engine.delivery.epoch import Epoch
from engine.errors import MissingPackageError, TargetUnavailableError, UnwritableTargetError, message_of

try:
    from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'delta' needs the Python package deltalake", hint="pip install 'airflow-provider-arroyo[delta]'"
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSED = 2**62
"""A transaction version above every epoch."""
_TIMES = 8
_REFUSED = re.compile(r"AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|NoSuchBucket|Forbidden|Permission denied")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that is in place already; `keys` has the columns that are not in the file."""

    name: str
    rows: int
    size: int
    keys: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """The log of one table, as one sink writes it. `app` is the name of its transactions without the lineage."""

    uri: str
    storage: Mapping[str, str]
    schema: pa.Schema
    keys: tuple[str, ...]
    app: str

    def exists(self) -> bool:
        """Whether there is a table."""
        with self._errors_explained():
            return bool(DeltaTable.is_deltatable(self.uri, dict(self.storage)))

    def create(self, *, may_differ: bool = False) -> None:
        """Create the table unless it exists; raise an error if its columns differ. A table that this pipeline has
        written before `may_differ`: missing columns are added, and columns that others or a later version of the
        pipeline have added are accepted."""
        for _ in range(_TIMES if may_differ else 1):
            missing = self._missing(may_differ=may_differ)
            if not missing:
                return
            with self._errors_explained(), suppress(CommitFailedError):
                DeltaTable(self.uri, storage_options=dict(self.storage)).alter.add_columns(missing)

    def _missing(self, *, may_differ: bool) -> list[Field]:
        """Return the columns that the table lacks."""
        with self._errors_explained():
            table = DeltaTable.create(
                self.uri,
                Schema.from_arrow(self.schema),
                mode="ignore",
                partition_by=list(self.keys) or None,
                storage_options=dict(self.storage),
            )
            present = {field.name: field for field in table.schema().fields}
            keys = tuple(table.metadata().partition_columns)
        fields = {field.name: field for field in Schema.from_arrow(self.schema).fields}
        columns = {name: field.type for name, field in present.items()}
        declared = {name: field.type for name, field in fields.items()}
        shared = columns.keys() & declared.keys()
        differs = any(columns[name] != declared[name] for name in shared) or keys != self.keys
        further = [name for name in columns if name not in shared]
        is_fit = not differs and (
            all(present[name].nullable for name in further) if may_differ else columns == declared
        )
        if not is_fit:
            listing = ", ".join(f"{name} {kind.type}" for name, kind in columns.items())
            raise UnwritableTargetError(
                f"the Delta table {self.uri} has different columns: {listing}; "
                f"partitioned by {', '.join(keys) or 'none'}",
                hint="write to another path, or declare the columns and 'partitioning.fields' that the table has",
            )
        return [field for name, field in fields.items() if name not in shared]

    def add(self, epoch: Epoch, files: Sequence[DataFile], now: int) -> None:
        """Commit an epoch's files, once."""

        def actions(_: DeltaTable) -> list[AddAction | RemoveAction]:
            return [
                AddAction(file.name, file.size, file.keys, now // 1000, True, f'{{"numRecords": {file.rows}}}')
                for file in files
            ]

        self._commit(application_of(self.app, epoch.lineage), epoch.number, actions, epoch)

    def remove(self, epoch: Epoch, lineage: str, names: Iterable[str], now: int) -> None:
        """Remove the files of an abandoned lineage, and prevent its further commits."""
        doomed = set(names)

        def actions(table: DeltaTable) -> list[AddAction | RemoveAction]:
            present = doomed & _names(table)
            return [
                RemoveAction(path=name, data_change=True, deletion_timestamp=now // 1000) for name in sorted(present)
            ]

        self._commit(application_of(self.app, lineage), _CLOSED, actions, epoch, always=bool(doomed))

    def _commit(
        self,
        name: str,
        version: int,
        actions: Callable[[DeltaTable], list[AddAction | RemoveAction]],
        epoch: Epoch,
        *,
        always: bool = False,
    ) -> None:
        """Commit these actions together with the version, unless the log has that version."""
        metadata = {"lineage": epoch.lineage, "epoch": str(epoch.number), "generation": str(epoch.generation)}
        refused: Exception | None = None
        for _ in range(_TIMES):
            with self._errors_explained():
                table = DeltaTable(self.uri, storage_options=dict(self.storage))
                changes = actions(table)
                committed = table.transaction_version(name)
                if committed is not None and committed >= version and not (always and changes):
                    return
                properties = CommitProperties(custom_metadata=metadata, app_transactions=[Transaction(name, version)])
                try:
                    table.create_write_transaction(
                        changes, "append", table.schema(), partition_by=list(self.keys) or None,
                        commit_properties=properties,
                    )  # fmt: skip
                except CommitFailedError as wrong:
                    refused = wrong  # by another writer, or by ourselves with a lost answer: check again
                else:
                    return
        raise TargetUnavailableError(
            f"the Delta table {self.uri} refuses commits: {refused}",
            hint="other writers commit too often; try again later",
        ) from refused

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except TableNotFoundError as wrong:
            raise UnwritableTargetError(
                f"the Delta table at {self.uri} no longer exists",
                hint="put it back, or start with a new state directory to write everything again",
            ) from wrong
        except CommitFailedError:
            raise
        except (DeltaError, OSError) as wrong:
            if isinstance(wrong, DeltaProtocolError) or _REFUSED.search(message_of(wrong)):
                raise UnwritableTargetError(
                    f"the Delta table {self.uri} cannot be written: {message_of(wrong)}",
                    hint="check the option 'path', its permissions, and the 'storage' options",
                ) from wrong
            raise TargetUnavailableError(
                f"the Delta table {self.uri} cannot be written: {message_of(wrong)}",
                hint="check the option 'path', its permissions, and the 'storage' options",
            ) from wrong


def application_of(app: str, lineage: str) -> str:
    """Return the application id under which a lineage of a pipeline records its epochs in a table's log."""
    return f"{app}/{lineage}"


def _names(table: DeltaTable) -> set[str]:
    paths: Any = pa.table(table.get_add_actions(flatten=True)).column("path")
    return {unquote(path) for path in paths.to_pylist()}
