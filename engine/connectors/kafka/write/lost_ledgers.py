"""Record in the state directory of a sink's ledgers in Kafka, to detect their loss."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.delivery.durable import replace_durably
from engine.delivery.epoch import Epoch
from engine.errors import LedgerLostError, message_of

REFRESHED_EVERY = timedelta(days=1)
"""Interval of rewriting a ledger. Brokers delete the offsets of a group without members after seven days without a
commit."""


@dataclass(frozen=True, slots=True)
class LedgerMemory:
    """Names under which a lineage of the sink writes, and the parts whose ledgers must exist."""

    name: str
    topic: str
    lineage: str
    taken: tuple[int, ...] = ()
    refreshed: str = ""

    def part_name(self, part: int) -> str:
        """Return the name of a part's transactions and of its ledger."""
        return f"{self.name}.{part}"

    def is_stale(self, now: datetime) -> bool:
        """Whether the ledgers must be written again before the broker forgets them."""
        return bool(self.taken) and now - datetime.fromisoformat(self.refreshed) >= REFRESHED_EVERY

    def with_taken(self, parts: set[int], now: datetime) -> LedgerMemory:
        """Return the memory after these parts were written."""
        before = set(self.taken)
        refreshed = now.isoformat() if parts >= before or not before else self.refreshed
        return replace(self, taken=tuple(sorted(before | parts)), refreshed=refreshed)


def name_of(prefix: str, job: str, table: str, epoch: Epoch) -> str:
    """Return the sink's name in Kafka. Lineages with a common beginning share it, so that a run fences off its
    predecessor; other pipelines of the same name do not share it."""
    first = epoch.parents[-1][0] if epoch.parents else epoch.lineage
    return f"{prefix}{job}.{table}.{first[:12]}"


def recall(directory: Path, name: str, topic: str, epoch: Epoch) -> LedgerMemory:
    """Return the memory of this lineage and topic under its recorded names, even if the configured ones differ."""
    try:
        content = json.loads((directory / "kafka.json").read_bytes())
        memory = LedgerMemory(**{**content, "taken": tuple(content["taken"])})
    except FileNotFoundError:
        return LedgerMemory(name, topic, epoch.lineage)
    except (ValueError, TypeError, KeyError) as broken:
        raise LedgerLostError(
            f"{directory / 'kafka.json'} cannot be read: {message_of(broken)}",
            hint="put it back from a copy, or restore a savepoint",
        ) from broken
    is_same = (memory.lineage, memory.topic) == (epoch.lineage, topic)
    return memory if is_same else LedgerMemory(name, topic, epoch.lineage)


def remember(directory: Path, memory: LedgerMemory) -> None:
    """Replace the stored memory."""
    replace_durably(directory / "kafka.json", json.dumps(asdict(memory)).encode())


def utc_now() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)
