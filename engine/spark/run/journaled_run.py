"""A run whose whole state is in a bucket: what it supports, and the folder in which it works.

    arroyo run q.sql --state-dir s3://bucket/jobs/q

    s3://bucket/jobs/q/journal, snapshots, blobs, lease    the files of the state directory
    s3://bucket/jobs/q/operators                           the state of operators
    /tmp/arroyo-x7f3/state                                 where the driver works: empty at first, removed at the end

What was not tried with a journal is refused by name, before anything is claimed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from engine.checkpoints.journal import journaled
from engine.checkpoints.journal_lease import LEASE
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.relocate import bring_home_in_bucket
from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.checkpoints.state_pointer import adopt_folder, read_pointer, state_folder
from engine.compile import Program
from engine.connectors.base import Table
from engine.connectors.files.storage import read_location
from engine.connectors.filesystem.options import FilesystemSinkOptions, FilesystemSourceOptions
from engine.errors import NotInBucketError, SettingError
from engine.spark.run.run_spec import RunSpec
from engine.values.cluster import is_one_jvm

SOURCES = frozenset({"impulse", "nexmark", "single_file", "filesystem"})
SINKS = frozenset({"filesystem", "blackhole"})
_OPERATORS = "operators"
LEASE_SECONDS = "ARROYO_STATE_LEASE"
_LOCAL = "use a local --state-dir with the setting state_url, which has the state of operators in a bucket"


def refuse_unsupported(program: Program, spec: RunSpec, *, is_warm: bool = False) -> None:
    """Raise NotInBucketError if the run needs something that does not work with its whole state in a bucket."""
    if spec.cluster.state_url is not None:
        raise NotInBucketError("state_url has no use with a --state-dir in a bucket", hint="leave out state_url")
    if spec.master is not None and not is_one_jvm(spec.master):
        raise NotInBucketError(f"the master {spec.master} needs a local --state-dir", hint=_LOCAL)
    given = {
        "--force": spec.force,
        "--upgrade": spec.upgrade is not None,
        "--stand-ins": spec.stand_ins is not None,
        "--warm": is_warm,
    }
    for option, is_given in given.items():
        if is_given:
            raise NotInBucketError(f"{option} does not work with a --state-dir in a bucket", hint=_LOCAL)
    written = {write.table for write in program.writes}
    for name, table in program.tables.items():
        reason = _fault(table, is_read=name in program.scans, is_written=name in written)
        if reason is not None:
            raise NotInBucketError(f"{reason} ({name!r}) does not work with a --state-dir in a bucket", hint=_LOCAL)


def _fault(table: Table, *, is_read: bool, is_written: bool) -> str | None:
    if table.dead_letter_directory is not None:
        return "a directory of dead letters"
    if is_read and table.connector not in SOURCES:
        return f"the source {table.connector}"
    if is_written and table.connector not in SINKS:
        return f"the sink {table.connector}"
    if not is_read and not is_written:
        return f"the lookup {table.connector}" if table.direction == "lookup" else None
    if isinstance(table.options, FilesystemSourceOptions) and table.options.watch:
        return "a watched directory"
    if isinstance(table.options, FilesystemSinkOptions) and isinstance(read_location(table.options.path), Path):
        return "a sink on the disk of this machine"
    return None


def _lease(environment: Mapping[str, str]) -> float:
    """Return the seconds after which a run that does not renew its lease may be replaced."""
    text = environment.get(LEASE_SECONDS, str(LEASE.total_seconds()))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise SettingError(f"{LEASE_SECONDS} must be a number of seconds up to an hour, not {text!r}")
    return seconds


@contextmanager
def in_bucket(url: str, program: Program, spec: RunSpec, *, is_warm: bool = False) -> Iterator[RunSpec]:
    """Give the specification of the run in a new folder, which has the files of the state that is in the bucket."""
    refuse_unsupported(program, spec, is_warm=is_warm)
    prefix = read_state_url(url)
    operators = replace(prefix, prefix=prefix.key(_OPERATORS))
    with tempfile.TemporaryDirectory(prefix="arroyo-", ignore_cleanup_errors=True) as folder:
        paths = StatePaths(Path(folder).resolve() / "state")
        with journaled(state_storage(prefix), paths.root, _lease(os.environ)):
            if (pointer := read_pointer(paths.checkpoint)) is not None:
                bring_home_in_bucket(state_storage(read_state_url(pointer.url)), state_folder(paths.checkpoint))
                adopt_folder(paths)
            cluster = replace(spec.cluster, state_url=str(operators))
            yield replace(spec, state_dir=paths.root, settings=replace(spec.settings, cluster=cluster))
