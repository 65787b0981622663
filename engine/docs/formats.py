"""Reference of formats and their options."""

from __future__ import annotations

from engine.docs.connectors import VISIBLE
from engine.docs.markdown import code, page, section
from engine.docs.models import options_table
from engine.formats import FORMATS
from engine.formats.base import Format


def formats_page() -> str:
    """Every format."""
    return page("Formats", "A table's `format` says how a record is written as bytes.", map(_format, FORMATS))


def _format(form: Format) -> str:
    carried = ", ".join(code(connector.name) for connector in VISIBLE if form.name in connector.formats)
    listing = options_table(form.options, without=frozenset({"format"}))
    return section(form.name, form.summary, f"Carried by {carried}." if carried else "", listing or "No options.")
