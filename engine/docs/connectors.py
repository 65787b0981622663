"""Reference of connectors and their options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.connectors import CONNECTORS
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.docs.models import code, options_table, page, section, table
from engine.formats import FORMATS
from engine.formats.base import Format


def formats_page() -> str:
    """Return every format."""
    return page("Formats", "A table's `format` says how a record is written as bytes.", map(_format, FORMATS))


def _format(form: Format) -> str:
    carried = ", ".join(code(connector.name) for connector in VISIBLE if form.name in connector.formats)
    listing = options_table(form.options, without=frozenset({"format"}))
    return section(form.name, form.summary, f"Carried by {carried}." if carried else "", listing or "No options.")


_PROMISES = """\
- **exactly-once**: every row exists once, whatever is killed when, for readers that honour it: published files, table
  snapshots, `read_committed`. Each sink records what it has taken in its own ledger, next to or within the target.
- **at-least-once**: no row is lost; after a crash some may exist twice, with a key that identifies duplicates.
- **best effort**: for inspection.

No sink can promise:

- Restoring an older savepoint writes again what was written since, except where the sink takes it back (files do).
- Deleting ledgers (files of the state directory, consumer groups, topics) or checkpoints ends the guarantee. The
  pipeline then stops with a name for what it found, rather than guess.
- A target that loses what it has acknowledged (Redis without fsync, an unclean election of a Kafka leader,
  `min.insync.replicas = 1`, an asynchronous replica that takes over) loses it behind our back.
- Functions of the user's are code of their author, and are run as such.
- The output of a query that is not deterministic is written once; the state that it leaves behind may come from another
  run of the same epoch."""

VISIBLE = tuple(connector for connector in CONNECTORS if not connector.hidden)
"""Documented connectors."""


def connectors_page() -> str:
    """Return every connector that is not hidden, and the options that all tables have."""
    overview = table(
        ["connector", "reads", "writes", "is looked up", "guarantee when writing", ""],
        [
            [
                f"[{connector.name}](connectors/{connector.name}.md)",
                "yes" if "source" in connector.options else "",
                "yes" if "sink" in connector.options else "",
                "yes" if "lookup" in connector.options else "",
                "" if connector.sink is None else connector.sink.guarantee,
                connector.summary,
            ]
            for connector in VISIBLE
        ],
    )
    general = section("Options of every table", options_table(TableOptions))
    introduction = "A table is declared with `CREATE TABLE name (columns) WITH (connector = '...', ...)`."
    return page("Connectors", f"{introduction}\n\n{overview}", [general, section("What is promised", _PROMISES)])


def connector_pages() -> dict[str, Callable[[], str]]:
    """Return a page for every connector that is not hidden, by its path without the ending."""
    return {f"connectors/{connector.name}": partial(connector_page, connector) for connector in VISIBLE}


def connector_page(connector: Connector) -> str:
    """Return the page of a connector: its purpose, guarantee and options."""
    paragraphs = _columns_and_formats(connector)
    for direction, options in connector.options.items():
        paragraphs.append(f"## As {direction}")
        if direction == "sink" and (sink := connector.sink) is not None:
            paragraphs.append(f"Guarantee: **{sink.guarantee}**.")
            paragraphs.append("\n".join(f"- {limit}" for limit in sink.limits))
        if direction == "source" and (source := connector.source) is not None:
            paragraphs.append("\n".join(f"- {limit}" for limit in source.limits))
        paragraphs.append(options_table(options) or "No options.")
    paragraphs.append("Options that every table has are on [another page](../connectors.md).")
    return page(connector.name, connector.summary, [text for text in paragraphs if text])


def _columns_and_formats(connector: Connector) -> list[str]:
    paragraphs = []
    if connector.formats:
        formats = ", ".join(map(code, sorted(connector.formats)))
        has_choice = len(connector.formats) > 1
        default = f"; {code(connector.default_format)} by default" if has_choice and connector.default_format else ""
        paragraphs.append(f"{'Formats' if has_choice else 'Format'}: {formats}{default}.")
    if connector.schema:
        columns = ", ".join(code(f"{field.name} {field.type}") for field in connector.schema)
        paragraphs.append(f"Its columns, when none are declared: {columns}.")
    if connector.metadata:
        keys = ", ".join(code(f"{key} ({field.type})") for key, field in connector.metadata.items())
        paragraphs.append(f"`METADATA FROM` knows {keys}.")
    return paragraphs
