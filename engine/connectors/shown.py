"""Replace the sinks of a script by previews, so that it writes nowhere.

orders     sink, a topic, Avro                   a preview, a JSON object per row
changed    sink, Debezium envelopes              a preview with those envelopes
letters    sink for dead letters                 a preview, too
clicks     source, commits to the group g        reads as before, and commits to preview-g
           its dead letters go to a directory    they are counted and dropped
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from engine.connectors.base import Table
from engine.connectors.preview import PREVIEW, PreviewOptions
from engine.connectors.redirected import reading_beside
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.formats.json.options import JsonOptions

_PREFIX = "preview"


def only_shown(tables: Mapping[str, Table], changing: Collection[str]) -> Mapping[str, Table]:
    """Return the tables for a run that writes nothing; `changing` are the sinks whose rows are updated later."""
    return {name: _shown(table, is_changing=table.name in changing) for name, table in tables.items()}


def _shown(table: Table, *, is_changing: bool) -> Table:
    if table.dead_letter_directory is not None:
        table = replace(table, dead_letter_directory=None, bad_data="drop")
    match table.direction:
        case "lookup":
            return table
        case "source":
            return reading_beside(table, _PREFIX)
        case "sink":
            form = DEBEZIUM_JSON.options.model_validate({}) if is_changing else JsonOptions()
            options = PreviewOptions.model_validate({})
            return replace(table, connector=PREVIEW.name, options=options, format=form, framing=None)
