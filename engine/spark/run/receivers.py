"""Receivers of a run: one for each table that reads through an intake log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compile import Program
from engine.connectors import source_kind_of
from engine.connectors.intake.log import LogWriter
from engine.connectors.intake.options import IntakeOptions
from engine.connectors.intake.receiver import ReceivingThread, Reception
from engine.connectors.intake.source import disk_not_shared
from engine.spark.read.scan_spec import safe_name


@dataclass(frozen=True, slots=True)
class Receivers:
    """Threads that receive messages. Their logs are ready before the threads start."""

    threads: Sequence[ReceivingThread] = ()

    def start(self) -> None:
        """Connect all."""
        for thread in self.threads:
            thread.start()

    def raise_failure(self) -> None:
        """Raise the error of a receiver that has given up."""
        for thread in self.threads:
            thread.raise_failure()

    def stop(self) -> None:
        """End all connections."""
        for thread in self.threads:
            thread.stop()


def receivers_of(program: Program, intake: Path, *, has_other_disks: bool, keeps_state: bool = True) -> Receivers:
    """Return the receivers of a program, whose logs are in the directory `intake`. Raise DiskNotSharedError if
    executors cannot read the logs. Receivers of a run that does not keep its state do not know their log, and leave
    nothing behind on a server."""
    threads: list[ReceivingThread] = []
    for name in program.scans:
        table = replace(program.tables[name], intake=intake / safe_name(name))
        receive, options = source_kind_of(table).receive, table.options
        if receive is None:
            continue
        if has_other_disks:
            raise disk_not_shared(name)
        assert isinstance(options, IntakeOptions)
        assert table.intake is not None
        writer = LogWriter(table.intake, options.max_log_bytes, drops_oldest=options.when_full == "drop_oldest")
        receiver = receive(table if keeps_state else replace(table, intake=None))
        threads.append(ReceivingThread(Reception(name, options, receiver, writer)))
    return Receivers(threads)
