"""What is read off the picture of a plan as it is stored: the nodes of its graph."""

from __future__ import annotations

from collections.abc import Mapping


def table_of(node: Mapping[str, str]) -> str | None:
    """The table that a node reads or writes, also one with spaces in its name; None of all other nodes."""
    operator = node["operator"]
    if operator not in ("Scan", "Write"):
        return None
    return node["description"].removeprefix(f"{operator} ").partition(" (")[0]
