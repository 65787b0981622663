"""A table that rows are looked up in, for us a file and for the oracle a table."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz.queries import Builder, Relation, quoted

ROWS = (("a", "first", 1), ("b", "second", None), ("\u00e4", None, 3), ("", "nothing", 0))
"""The key, and what is found with it; other keys find nothing."""
THEIRS = "CREATE TABLE side (key TEXT, name TEXT, number BIGINT)"


def declaration(folder: Path) -> str:
    """The table, as a script declares it, and its file."""
    path = folder / "side.json"
    path.write_text("".join(json.dumps(dict(zip(("key", "name", "number"), row, strict=True))) + "\n" for row in ROWS))
    options = f"connector = 'filesystem', path = '{path}', format = 'json'"
    return f"CREATE TEMPORARY TABLE side (key TEXT PRIMARY KEY, name TEXT, number BIGINT) WITH ({options});\n"


def looked_up(builder: Builder, source: Relation) -> Relation:
    """The rows with what is found for one of their columns; rows that change cannot be looked up with."""
    texts = [name for name, kind in source.columns.items() if kind == "t"]
    if not texts or source.is_updating or "found" in source.columns:
        return source
    random = builder.random
    listed = ", ".join(f"l.{quoted(name)} AS {quoted(name)}" for name in source.columns)
    kind, key = random.choice(["LEFT", "INNER"]), random.choice(texts)
    select_list = f"{listed}, s.name AS found, s.number AS counted"
    joining = f"FROM {source.name} l {kind} JOIN side s ON l.{quoted(key)} = s.key"
    columns = {**source.columns, "found": "t", "counted": "i"}
    return source.then(
        builder.name(), f"SELECT {select_list} {joining}", f'SELECT {select_list}, l."_at", l."_wm" {joining}', columns
    )
