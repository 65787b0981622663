"""A schema registry in memory, for the formats that ask one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class MemoryRegistry:
    """A registry, and a subject of it; what is registered gets the number 258."""

    schemas: dict[int, str] = field(default_factory=dict)
    name: str = "orders-value"
    registrations: list[tuple[str, str, str]] = field(default_factory=list)
    """What was registered: under which subject, of which kind, as which text."""

    @property
    def registry(self) -> MemoryRegistry:
        return self

    def schema_of(self, number: int) -> str:
        return self.schemas[number]

    def register(self, subject: str, kind: str, schema: str) -> int:
        self.registrations.append((subject, kind, schema))
        self.schemas[258] = schema
        return 258
