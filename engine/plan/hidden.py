"""The hidden columns: what rows carry beside the columns of their relation's schema.

    stream part   columns, _timestamp, _wm                   and _heartbeat, from a source to where Spark is told of it
    changes       columns, _timestamp, _retract, _id         and _wm, between joins of appended rows
    a sink        columns, _retract, _id where rows change   and _timestamp, where files are laid out by time

No script can select them; `row_time()` reads the event time. Their names are written to state and must stay.
"""

from __future__ import annotations

from collections.abc import Container

EVENT_TIME = "_timestamp"
"""The event time of the row. Every relation of the stream part has it as soon as anything looks at time."""
WATERMARK = "_wm"
"""The watermark of the row's source in its epoch: no older row will be accepted. There where windows must close."""
RETRACT = "_retract"
"""Whether the row is taken back (true) or added (false); never NULL. There where rows are changes."""
ROW_ID = "_id"
"""BIGINT and never NULL, the same for all versions of one row. There where rows are changes."""
HEARTBEAT = "_heartbeat"
"""True on the one row of an epoch that holds no data, so that the watermark arrives even when nothing was read."""

HIDDEN = (EVENT_TIME, WATERMARK, RETRACT, ROW_ID, HEARTBEAT)
"""All of them, in the order in which they stand behind the columns of a schema."""


def is_hidden(name: str) -> bool:
    """Whether a column of that name is a hidden one."""
    return name in HIDDEN


def hidden_in(columns: Container[str], names: Container[str]) -> list[str]:
    """The hidden columns among those of rows, in the order of `HIDDEN`. `names` are those of the relation's schema,
    which may have such a name where rows are never taken back."""
    return [name for name in HIDDEN if name in columns and name not in names]
