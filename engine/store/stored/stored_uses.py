"""Which pipelines use what is kept for all of them.

The text of a version holds the statements that were put in front of it when it was deployed, each below a line that
says which connection or table it was; so do the files of its functions. That is all that is written down.

    -- stored table ct_5Yz0nq0bGmS2cXvW as it was at deployment
    CREATE TABLE "orders" ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from sqlalchemy import Connection, Text, and_, or_, select, type_coerce

from engine.store.pipelines.pipelines import PIPELINES
from engine.store.pipelines.previews import PREVIEWS
from engine.store.pipelines.versions import VERSIONS
from engine.store.stored import stored_tables

_MARK = re.compile(r"^(?:--|#) stored (?:connection|table|function) ((?:cp|ct|udf)_[A-Za-z0-9]{16}) ", re.MULTILINE)


def mark(kind: Literal["connection", "table", "function"], stored_id: str) -> str:
    """The line above what was put into a version's text."""
    return f"{'#' if kind == 'function' else '--'} stored {kind} {stored_id} as it was at deployment\n"


def is_marked(text: str) -> bool:
    """Whether a file of functions was put there."""
    return text.startswith("# stored function ") and _MARK.match(text) is not None


def users(connection: Connection) -> Mapping[str, Sequence[str]]:
    """Return the users of each stored object, by its id: "pipeline" or "table" and a name, in order. Previews do not
    count."""
    current = and_(VERSIONS.c.pipeline_id == PIPELINES.c.id, VERSIONS.c.number == PIPELINES.c.version)
    udfs = type_coerce(VERSIONS.c.udfs, Text)
    marked = or_(VERSIONS.c.query.contains("-- stored "), udfs.contains("# stored function "))
    previewed = select(PREVIEWS.c.pipeline_id)
    query = select(PIPELINES.c.name, VERSIONS.c.query, VERSIONS.c.udfs).where(
        current, marked, PIPELINES.c.id.not_in(previewed)
    )
    found: dict[str, list[str]] = {}
    for name, text, files in connection.execute(query.order_by(PIPELINES.c.name)):
        texts = [text, *files]
        for stored_id in dict.fromkeys(stored for part in texts for stored in _MARK.findall(part)):
            found.setdefault(stored_id, []).append(f"pipeline {name}")
    for table in stored_tables.tables(connection):
        if table.profile_id is not None:
            found.setdefault(table.profile_id, []).append(f"table {table.name}")
    return found
