"""Connectors and their options."""

from __future__ import annotations

from engine.connectors import CONNECTORS
from engine.connectors.base import Connector
from engine.connectors.options import TableOptions
from engine.docs.markdown import code, page, section, table
from engine.docs.models import options_table


def connectors_page() -> str:
    """Every connector that is not hidden, and the options that all tables have."""
    shown = [connector for connector in CONNECTORS if not connector.hidden]
    overview = table(
        ["connector", "reads", "writes", "is looked up", "guarantee when writing", ""],
        [
            [
                f"[{one.name}](#{one.name})",
                "yes" if "source" in one.options else "",
                "yes" if "sink" in one.options else "",
                "yes" if "lookup" in one.options else "",
                one.guarantee if "sink" in one.options else "",
                one.summary,
            ]
            for one in shown
        ],
    )
    general = section("Options of every table", options_table(TableOptions))
    introduction = "A table is declared with `CREATE TABLE name (columns) WITH (connector = '...', ...)`."
    return page("Connectors", f"{introduction}\n\n{overview}", [general, *map(_connector, shown)])


def _connector(connector: Connector) -> str:
    formats = ", ".join(map(code, sorted(connector.formats)))
    paragraphs = [connector.summary]
    if formats:
        default = f", {code(connector.default_format)} by default" if connector.default_format else ""
        paragraphs.append(f"Formats: {formats}{default}.")
    if connector.schema:
        columns = ", ".join(code(f"{field.name} {field.type}") for field in connector.schema)
        paragraphs.append(f"Its columns, when none are declared: {columns}.")
    if connector.metadata:
        keys = ", ".join(code(f"{key} ({field.type})") for key, field in connector.metadata.items())
        paragraphs.append(f"`METADATA FROM` knows {keys}.")
    for direction, options in connector.options.items():
        listing = options_table(options)
        paragraphs.append(f"### {connector.name} as {direction}")
        paragraphs.append(listing or "No options.")
    return section(connector.name, *paragraphs)
