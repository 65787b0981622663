"""A CREATE TABLE whose columns and options have been read on their own, and now must fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.connectors.base import Table
from engine.connectors.kinds import Connector
from engine.connectors.options import ReadOptions
from engine.errors import TableColumnError, TextPosition
from engine.schema import Field, Schema
from engine.sql.complaints import Complaints
from engine.sql.tables.columns import MetadataColumn, TableColumns
from engine.sql.text.parse import Script

Filled = tuple[str, str]
"""A column, and what the connector calls the value that fills it."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is written of a table; `positions` says where each option stands."""

    name: str
    connector: Connector
    columns: TableColumns
    options: ReadOptions
    script: Script
    at: TextPosition
    positions: Mapping[str, TextPosition]

    def table(self, schema: Schema, metadata: Sequence[Filled] = ()) -> Table:
        """The table as its connector works on it: `schema` are the columns that are decoded or encoded."""
        general = self.options.general
        return Table(
            name=self.name,
            connector=self.connector.name,
            direction=self.options.direction,
            options=self.options.connector,
            schema=schema,
            format=self.options.format,
            metadata=tuple(metadata),
            bad_data=general.bad_data,
            bad_data_check=general.bad_data_check,
            dead_letter_directory=general.dead_letter_path,
            dead_letter_table=general.dead_letter_table,
            idle_time=general.idle_after,
            quiet_after=general.quiet_after,
            framing=general.framing,
            framing_max_length=general.framing_newline_max_length,
            primary_key=self.columns.keys,
        )

    def metadata_fields(self, complaints: Complaints) -> tuple[Field, ...]:
        """The columns that the connector fills; one that it does not know goes to the complaints."""
        for column in self.columns.metadata:
            with complaints.collect(self.script.position(column.written)):
                self._check_metadata(column)
        return tuple(column.field for column in self.columns.metadata)

    def filled(self) -> tuple[Filled, ...]:
        """Return the metadata columns, each with the key that the connector fills in."""
        return tuple((column.field.name, column.key) for column in self.columns.metadata)

    def _check_metadata(self, column: MetadataColumn) -> None:
        declared = self.connector.metadata.get(column.key)
        if declared is None:
            names = ", ".join(self.connector.metadata) or "none"
            raise TableColumnError(f"there is no metadata field '{column.key}'", hint=f"this connector has: {names}")
        if declared.type != column.field.type:
            raise TableColumnError(
                f"metadata field '{column.key}' is of type {declared.type}, not {column.field.type}",
                hint=f"declare the column as {declared.type}",
            )
