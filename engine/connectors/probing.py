"""Test a connection or a table before there is a pipeline. Writes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.connectors import connector_of
from engine.connectors.base import HasProbe, SinkContext, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption, known_names, parse_options
from engine.connectors.secret_values import fill_in

_NOTHING_ASKED = "its options are valid; the other system was not contacted"


def probe_connection(connector: Connector, options: Sequence[WithOption]) -> str:
    """Check whether the other system accepts a connection; return its answer in words. Raise the errors of a run."""
    if connector.connection is None or connector.probe is None:
        return _NOTHING_ASKED
    own = [option for option in options if option.name in known_names(connector.connection)]
    return connector.probe(fill_in(parse_options(connector.connection, own, table="the connection"), os.environ))


def probe_table(table: Table, scratch: Path) -> str:
    """Check whether the external object of a table exists; return a description. Raise the errors of a run."""
    connector = connector_of(table)
    form = table.format and fill_in(table.format, os.environ)
    table = replace(table, options=fill_in(table.options, os.environ), format=form)
    if connector.probe is not None:
        return connector.probe(table.options)
    if table.direction == "source" and connector.source is not None and connector.source.receive is not None:
        from engine.connectors.intake.trial import receive_some  # noqa: PLC0415 - few tests need it

        receive_some(connector.source.receive(table), scratch / "intake", 0)
        return "the server answers"
    if table.direction == "source" and connector.source is not None:
        found = len(connector.source.open(table).partitions())
        return f"it can be read, and has {found} partition{'s' * (found != 1)}"
    if table.direction == "sink" and connector.sink is not None:
        sink = connector.sink.open(table, SinkContext(scratch))
        if isinstance(sink, HasProbe):
            sink.probe()
            return "it can be written"
    return _NOTHING_ASKED
