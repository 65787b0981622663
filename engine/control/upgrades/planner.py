"""Plans of queries and of changes: what the control plane asks of the compiler, and of the states that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.lineage import Lineage
from engine.control.rehearsals.plan_rehearsal import RehearsalCheck
from engine.jobs.decisions.rehearsal import RehearsedChange
from engine.jobs.decisions.spec import PlannedFork, PlannedQuery, ShownUpgrade, Upgrade
from engine.values.start_positions import StartPosition

PlanQuery = Callable[[str, Sequence[str]], PlannedQuery]
"""Plans a query with its UDFs; raises ScriptRefused."""
Starts = Mapping[str, StartPosition]
PlanUpgrade = Callable[[Path, str, Sequence[str], Upgrade, Starts], ShownUpgrade | None]
"""Says what it comes to when a query with its UDFs takes over the state in a directory; None when there is none. Raises
EngineError when nobody can say."""
PlanFork = Callable[[Path, str, Sequence[str], Upgrade, Starts], PlannedFork]
"""Says what it comes to when a query with its UDFs goes on from the savepoint in a directory. Raises EngineError when
nobody can say."""
PlanReprocess = Callable[[str, Sequence[str], Mapping[str, str]], Sequence[str]]
"""Says where the sinks of a query write that reads its input again, given its UDFs and its settings. Raises EngineError
where that cannot be."""
CheckRedone = Callable[[Path, str, Sequence[str], Starts, Upgrade], None]
"""Refuses a query with its UDFs that takes over a savepoint once more and would begin a table at another place than it
did. Raises EngineError."""
CheckSinks = Callable[[Path, str, Sequence[str], tuple[Lineage, int]], None]
"""Refuses a query with its UDFs that cannot go on with its sinks of the state in a directory, from an epoch of a
history. Raises EngineError."""
CheckStarts = Callable[[Path | None, str, Sequence[str], Starts, Upgrade], None]
"""Refuses start positions that a run of a query with its UDFs would refuse which goes on from the state or savepoint in
a directory, or begins with nothing. Raises EngineError."""
CheckRehearsal = Callable[[Path, RehearsedChange, Starts], RehearsalCheck]
"""Says whether a change can be rehearsed from the state or savepoint in a directory. Raises EngineError when it cannot
be."""
PlanHandOver = Callable[[Path, Path, str, Sequence[str]], tuple[ShownUpgrade, Sequence[str]]]
"""Says what it comes to when a query with its UDFs goes on with the state in the second directory and the sinks of that
in the first, and what there is to say of rows that change. Raises EngineError when it cannot be."""
ChangingSinks = Callable[[str, Sequence[str]], Sequence[str]]
"""Names the tables whose rows a query with its UDFs takes back and gives anew."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans queries and changes of queries. Without the compiler behind it, nothing is checked."""

    plan: PlanQuery
    upgrade: PlanUpgrade = lambda *_: None
    reprocess: PlanReprocess = lambda *_: ()
    changing_sinks: ChangingSinks = lambda *_: ()
    fork: PlanFork = lambda *_: PlannedFork(ShownUpgrade("", "", False, True, "", "", "{}"))
    check_starts: CheckStarts = lambda *_: None
    check_redone: CheckRedone = lambda *_: None
    check_sinks: CheckSinks = lambda *_: None
    hand_over: PlanHandOver = lambda *_: (ShownUpgrade("", "", False, True, "", "", "{}"), ())
    check_rehearsal: CheckRehearsal = lambda *_: RehearsalCheck("", 0)
