"""Write the rows of one operator's state into the empty state of another operator, with other value columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class StateRewriter:
    """Copies the state of an operator of one checkpoint into an operator of another checkpoint. Java does the work."""

    java: Any

    @property
    def has_same_keys(self) -> bool:
        """Whether both states have the same keys, which begin with a window."""
        return bool(self.java.hasSameKeys())

    @property
    def has_wider_keys(self) -> bool:
        """Whether the new keys are the old ones in types that are as wide or wider."""
        return bool(self.java.hasWiderKeys())

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns of the old values, and those of the new ones."""
        return _listed(self.java.columnsBefore()), _listed(self.java.columnsAfter())

    @property
    def window_starts(self) -> tuple[int, ...]:
        """Return the starts of the windows seen so far, in microseconds, in order."""
        return tuple(map(int, _listed(self.java.windowStarts())))

    def rewrite(self, partition: int, version: int, state_id: str, origins: Sequence[str]) -> str:
        """Copy the rows of a partition into the new state, each column from its origin; return the id of its version
        1."""
        return str(self.java.rewrite(partition, version, state_id, ",".join(origins)))

    def rewrite_all(self, version: int, state_ids: Sequence[str], origins: Sequence[str]) -> tuple[str, ...]:
        """Copy the rows of all partitions to their partitions of the new state; return the ids of its version 1."""
        return _listed(self.java.rewriteAll(version, ",".join(state_ids), ",".join(origins)))

    def fill(self, partitions: int, origins: Sequence[str]) -> tuple[str, ...]:
        """Write all rows into this many partitions of the new state; return the ids of its version 1."""
        return _listed(self.java.fill(partitions, ",".join(origins)))


def state_rewriter(spark: SparkSession, old: Path, operator: int, new: Path, new_operator: int) -> StateRewriter:
    """Return the writer that copies the state of an operator in checkpoint `old` to an operator in checkpoint `new`."""
    return StateRewriter(_java(spark, _root(old), operator, _root(new), new_operator))


def filler(spark: SparkSession, rows: DataFrame, keys: int, new: Path, new_operator: int) -> StateRewriter:
    """Return the writer that puts rows, whose first `keys` columns are the key, into the state of an operator in
    checkpoint `new`."""
    return StateRewriter(_java(spark, rows._jdf, keys, _root(new), new_operator))  # noqa: SLF001 - see below


def _java(spark: SparkSession, *arguments: object) -> object:
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    assert jvm is not None
    made: object = jvm.arroyo.StateRewriter(spark._jsparkSession, *arguments)  # noqa: SLF001 - see above
    return made


def _root(checkpoint: Path) -> str:
    return (checkpoint.absolute() / "state").as_uri()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
