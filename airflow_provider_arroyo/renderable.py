"""Decide whether the triggerer can render a value for a task that starts there: without user macros, XComs or
variables."""

from __future__ import annotations

from datetime import datetime

from jinja2 import Environment, TemplateError, meta, nodes

_NAMES = {
    "data_interval_end",
    "data_interval_start",
    "ds",
    "ds_nodash",
    "logical_date",
    "run_id",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
}
"""Template variables of a run that need no request."""


def is_renderable(value: object) -> bool:
    """Whether the triggerer comes to the same value as a worker would; False where that is not sure."""
    if isinstance(value, list | tuple):
        return all(map(is_renderable, value))
    if not isinstance(value, str):
        return value is None or isinstance(value, int | float | datetime)
    environment = Environment(autoescape=True)
    try:
        template = environment.parse(value)
        names = meta.find_undeclared_variables(template)
    except TemplateError:  # a filter that is not known here is one, too
        return False
    filters = {used.name for used in template.find_all(nodes.Filter)}
    return names <= _NAMES and filters <= environment.filters.keys()
