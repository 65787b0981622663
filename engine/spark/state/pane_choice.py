"""Whether windows that begin with nothing are kept by pane, where nobody has said so.

That pays where epochs are large, and costs where they have some hundred rows. How large they will be is known where
all that is read is there already (docs/decisions/windows-can-be-kept-by-pane.md):

    files in a folder, a range of a topic's history                 large: by pane
    a topic, a folder that is watched, rows that are made by clock  not known: as Spark keeps them
"""

from __future__ import annotations

from engine.compile import Program
from engine.connectors import connector_of
from engine.spark.run.run_spec import RunSpec

_LARGE = 20_000
"""Rows of an epoch from which on it costs no more."""


def begins_by_pane(spec: RunSpec, program: Program) -> bool:
    """Whether the run keeps windows that begin with nothing by pane."""
    if spec.by_pane is not None:
        return spec.by_pane
    if spec.max_epoch_rows is not None and spec.max_epoch_rows < _LARGE:
        return False
    if spec.backfill is not None:
        return not spec.backfill.goes_on
    return is_all_there(program)


def is_all_there(program: Program) -> bool:
    """Whether all rows that a program reads are there when it begins."""
    tables = [program.tables[name] for name in program.scans]
    return all(connector_of(table).is_all_there(table.options) for table in tables)
