"""Compare the positions of two pipelines with the same input, and bring one to the position of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.checkpoints.lineage import Lineage
from engine.control.rehearsals import RehearsalCheck
from engine.jobs.decisions.rollback import RehearsedChange
from engine.jobs.decisions.spec import PlannedFork, PlannedQuery, ShownUpgrade, Spec, Upgrade
from engine.values.start_positions import StartPosition

if TYPE_CHECKING:
    from engine.spark.upgrade.hand_over import Standing


class Rendezvous(Protocol):
    """Reads states, and compares positions in tables."""

    def standing(self, state: Path) -> Standing | None:
        """Return how far the pipeline of a state has read; None before its first epoch."""

    def has_read(self, spec: Spec, at: Standing, ends: Sequence[Any]) -> bool:
        """Whether the pipeline has read all rows before these ends."""

    def is_behind(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether the pipeline can reach the other's position by reading."""

    def have_met(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether the pipeline is at the other's position."""

    def is_at_one(self, at: Standing) -> bool:
        """Whether all scans of each table have reached the same position."""

    def ask(self, state: Path, other: Standing) -> None:
        """Let the next runs of a state stop at another pipeline's position."""

    def ask_to_finish(self, spec: Spec, state: Path, at: Standing) -> None:
        """Let the next runs of a state finish their planned epochs, with all scans of a table at one position, and stop
        there."""

    def has_come(self, spec: Spec, state: Path, at: Standing) -> bool:
        """Whether the pipeline is where the runs of its state are to stop, and plans nothing more; False if none are to
        stop."""

    def release(self, state: Path) -> None:
        """Let the next runs of a state continue to read."""


class StateRendezvous:
    """Reads states on the disk of this machine. The code that compares positions is imported late, for a fast start of
    the server."""

    def __init__(self, connections: str = "") -> None:
        self._connections = connections

    def standing(self, state: Path) -> Standing | None:
        """Return how far the pipeline of a state has read."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.standing(state)

    def has_read(self, spec: Spec, at: Standing, ends: Sequence[Any]) -> bool:
        """Whether the pipeline has read all rows before these ends."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.has_read(self._sources(spec), at.ends, ends)

    def is_behind(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether the pipeline can reach the other's position; epochs that it has planned count as read."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.is_behind(self._sources(spec), at.planned, other.ends)

    def have_met(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether the pipeline is at the other's position."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return at.is_settled and hand_over.have_met(self._sources(spec), at.ends, other.ends)

    def is_at_one(self, at: Standing) -> bool:
        """Whether all scans of each table have reached the same position."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.by_table(at.ends) is not None

    def ask(self, state: Path, other: Standing) -> None:
        """Let the next runs of a state stop at another pipeline's position."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.ask(state, {end.table: end for end in other.ends})

    def ask_to_finish(self, spec: Spec, state: Path, at: Standing) -> None:
        """Let the next runs of a state finish their planned epochs, and stop there."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.ask(state, hand_over.furthest(self._sources(spec), at.planned))

    def has_come(self, spec: Spec, state: Path, at: Standing) -> bool:
        """Whether the pipeline is where the runs of its state are to stop."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.has_come(self._sources(spec), state, at)

    def release(self, state: Path) -> None:
        """Let the next runs of a state continue to read."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.release(state)

    def _sources(self, spec: Spec) -> Any:
        from engine.compile import compile_script  # noqa: PLC0415
        from engine.spark.upgrade import hand_over  # noqa: PLC0415
        from engine.udf.declared import name_files  # noqa: PLC0415

        program = compile_script(spec.query, udfs=name_files(spec.udfs), connections=self._connections)
        return hand_over.sources_of(program)


PlanQuery = Callable[[str, Sequence[str]], PlannedQuery]
"""Plans a query with its UDFs. Raises ScriptRefused."""
Starts = Mapping[str, StartPosition]
PlanUpgrade = Callable[[Path, str, Sequence[str], Upgrade, Starts], ShownUpgrade | None]
"""Plans an upgrade of the state in a directory to a query with its UDFs; None if there is no state. Raises EngineError
if planning is impossible."""
PlanFork = Callable[[Path, str, Sequence[str], Upgrade, Starts], PlannedFork]
"""Plans a fork of a query with its UDFs from the savepoint in a directory. Raises EngineError if planning is
impossible."""
PlanReprocess = Callable[[str, Sequence[str], Mapping[str, str]], Sequence[str]]
"""Computes the targets of a reprocessing query, from its UDFs and settings. Raises EngineError if it is impossible."""
CheckRedone = Callable[[Path, str, Sequence[str], Starts, Upgrade], None]
"""Refuses a query that takes over a savepoint again and would start a table at another position than before. Raises
EngineError."""
CheckSinks = Callable[[Path, str, Sequence[str], tuple[Lineage, int]], None]
"""Refuses a query that cannot continue with the sinks of the state in a directory, from an epoch of a lineage. Raises
EngineError."""
CheckStarts = Callable[[Path | None, str, Sequence[str], Starts, Upgrade], None]
"""Refuses start positions that a run would refuse, given the state or savepoint in a directory, if any. Raises
EngineError."""
CheckRehearsal = Callable[[Path, RehearsedChange, Starts], RehearsalCheck]
"""Checks whether a change can be rehearsed from the state or savepoint in a directory. Raises EngineError if not."""
PlanHandOver = Callable[[Path, Path, str, Sequence[str]], tuple[ShownUpgrade, Sequence[str]]]
"""Plans a hand-over: a query with the state in the second directory and the sinks of the first; includes remarks about
changelog rows. Raises EngineError if it is impossible."""
ChangingSinks = Callable[[str, Sequence[str]], Sequence[str]]
"""Names the tables to which a query writes changelog rows."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans queries and changes of queries. Without the compiler, nothing is checked."""

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
