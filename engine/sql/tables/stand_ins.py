"""Views that stand for refused source tables while the rest of a script is checked.

    CREATE TABLE s (name TEXT) WITH (connector = 'single_file', type = 'source', format = 'json');    path is missing
    SELECT nmae FROM s                                                            and this column is misspelt

Both mistakes are reported at once. The view is never run, since the script is refused.
"""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp

from engine import types
from engine.errors import EngineError, ScriptRefused, TextPosition
from engine.plan.expressions.expr import Literal
from engine.plan.nodes import Scan
from engine.schema import Schema
from engine.sql.catalog import Complaints, View
from engine.sql.scope import Relation
from engine.sql.tables.columns import read_columns
from engine.sql.tables.written_options import given_options, option_named
from engine.sql.text.parse import Script


def stand_in_for(node: exp.Create, script: Script) -> View | None:
    """Return the columns of a refused source; None for other tables, and if the columns are refused as well."""
    if not isinstance(node.this, exp.Schema):
        return None
    complaints = Complaints()
    with suppress(EngineError, ScriptRefused):
        columns = read_columns(node.this.expressions, script, complaints)
        options = given_options(node, script, complaints, TextPosition(1, 1))
        kind, form = option_named("type", options), option_named("format", options)
        is_plain_source = kind is not None and kind.value == "source" and "debezium" not in str(form and form.value)
        if complaints.errors or not is_plain_source or columns.generated or not columns.order:
            return None
        fields = {field.name: field for field in (*columns.physical, *(made.field for made in columns.metadata))}
        moment = Literal(None, types.TIMESTAMP)
        schema = Schema(tuple(fields[name] for name in columns.order))
        return View(Relation(Scan(node.this.this.name, schema, moment, moment, is_changes=False)))
    return None
