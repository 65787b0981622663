"""Find the sink directories of a state that the query writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from engine.checkpoints.running_query import compile_running, query_of_state
from engine.compile import Program
from engine.errors import EngineError


def tables_written(program: Program) -> Mapping[str, str]:
    """Return the sinks by what ends the names of their directories."""
    names = sorted({*(write.table for write in program.writes), *program.dead_letter_tables})
    return {hashlib.sha256(name.lower().encode()).hexdigest()[:8]: name for name in names}


def is_written(state: Path, directory: str) -> bool | None:
    """Whether the query of a state writes to the sink with this directory; None where its script does not say it."""
    try:
        program = compile_running(query_of_state(state))
    except EngineError:
        return None
    return directory.rpartition("_")[2] in tables_written(program)
