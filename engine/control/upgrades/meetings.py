"""Where two pipelines stand that read the same input, and bringing one to where the other one is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.jobs.decisions.spec import Spec

if TYPE_CHECKING:
    from engine.spark.upgrade.hand_over import Standing


class Meetings(Protocol):
    """Looks at states, and compares places in tables."""

    def standing(self, state: Path) -> Standing | None:
        """Return how far the pipeline of a state has read; None before its first epoch."""

    def has_read(self, spec: Spec, at: Standing, ends: Sequence[Any]) -> bool:
        """Whether it has read all that lies before these ends."""

    def is_behind(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether it can come to where the other one is, by reading what it has not read."""

    def have_met(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether it is where the other one is."""

    def is_at_one(self, at: Standing) -> bool:
        """Whether all that reads a table has come equally far."""

    def ask(self, state: Path, other: Standing) -> None:
        """Have the next runs of a state come to where another one is, and stay there."""

    def ask_to_finish(self, spec: Spec, state: Path, at: Standing) -> None:
        """Have the next runs of a state finish what is planned, with all that reads a table at one place, and stay
        there."""

    def has_come(self, spec: Spec, state: Path, at: Standing) -> bool:
        """Whether it is where the runs of its state are to come, and plans nothing more; False where none are."""

    def release(self, state: Path) -> None:
        """Let the next runs of a state read on."""


class StateMeetings:
    """Looks at states on the disk of this machine. What compares places is loaded late: the server is there sooner."""

    def __init__(self, connections: str = "") -> None:
        self._connections = connections

    def standing(self, state: Path) -> Standing | None:
        """Return how far the pipeline of a state has read."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.standing(state)

    def has_read(self, spec: Spec, at: Standing, ends: Sequence[Any]) -> bool:
        """Whether it has read all that lies before these ends."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.has_read(self._sources(spec), at.ends, ends)

    def is_behind(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether it can come to where the other one is. What it has planned it will read."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.is_behind(self._sources(spec), at.planned, other.ends)

    def have_met(self, spec: Spec, at: Standing, other: Standing) -> bool:
        """Whether it is where the other one is."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return at.is_settled and hand_over.have_met(self._sources(spec), at.ends, other.ends)

    def is_at_one(self, at: Standing) -> bool:
        """Whether all that reads a table has come equally far."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.by_table(at.ends) is not None

    def ask(self, state: Path, other: Standing) -> None:
        """Have the next runs of a state come to where another one is."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.ask(state, {end.table: end for end in other.ends})

    def ask_to_finish(self, spec: Spec, state: Path, at: Standing) -> None:
        """Have the next runs of a state finish what is planned, and stay there."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.ask(state, hand_over.furthest(self._sources(spec), at.planned))

    def has_come(self, spec: Spec, state: Path, at: Standing) -> bool:
        """Whether it is where the runs of its state are to come."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        return hand_over.has_come(self._sources(spec), state, at)

    def release(self, state: Path) -> None:
        """Let the next runs of a state read on."""
        from engine.spark.upgrade import hand_over  # noqa: PLC0415

        hand_over.release(state)

    def _sources(self, spec: Spec) -> Any:
        from engine.compile import compile_script  # noqa: PLC0415
        from engine.spark.upgrade import hand_over  # noqa: PLC0415
        from engine.udf.declared import name_files  # noqa: PLC0415

        program = compile_script(spec.query, udfs=name_files(spec.udfs), connections=self._connections)
        return hand_over.sources_of(program)
