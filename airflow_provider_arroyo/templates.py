"""Render templates, and refuse undefined names with their location.

    SELECT '{{ ds }}'                '2026-01-31'
    SELECT '{{ KAFKA_PASSWORD }}'    template.undefined: 'KAFKA_PASSWORD' is undefined in line 1 of the template
    SELECT '{{ secret:KAFKA }}'      template.syntax: ...
    SELECT '${secret:KAFKA}'         unchanged: the control plane resolves it

A DAG may render undefined variables as empty text (`template_undefined`). In a script that would silently change a
password, a topic or a path.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import jinja2

from airflow_provider_arroyo.errors import TemplateError

SECRETS_HINT = "A secret is written ${secret:NAME} in a DAG, which templates leave alone."


def strict(environment: jinja2.Environment) -> jinja2.Environment:
    """Return the environment with strict undefined values."""
    finalize = environment.finalize or _defined
    return environment.overlay(undefined=jinja2.StrictUndefined, finalize=finalize)


def refusal(error: jinja2.UndefinedError | jinja2.TemplateSyntaxError) -> TemplateError:
    """Return the error of a template, with the line."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        where = _where(error.lineno, error.filename)
        return TemplateError(f"{error.message} {where}", code="template.syntax", hint=SECRETS_HINT)
    hint = f"Define it, or give it a default: {{{{ name | default('...') }}}}. {SECRETS_HINT}"
    message = f"{error.message} {_where_raised(error.__traceback__)}"
    return TemplateError(message, code="template.undefined", hint=hint)


def _defined(value: object) -> object:
    """The value of an expression; an undefined one is refused here, where its line is known."""
    if isinstance(value, jinja2.Undefined):
        str(value)
    return value


def _where_raised(trace: TracebackType | None) -> str:
    """The place in the innermost template that an error has passed through."""
    where = "in the template"
    while trace is not None:
        # Airflow renders without the part of Jinja that puts the template's lines into a traceback.
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, jinja2.Template):
            where = _where(template.get_corresponding_lineno(trace.tb_lineno), template.filename)
        trace = trace.tb_next
    return where


def _where(line: int | None, filename: str | None) -> str:
    name = "the template" if filename in (None, "<template>", "<unknown>") else Path(str(filename)).name
    return f"in line {line} of {name}"
