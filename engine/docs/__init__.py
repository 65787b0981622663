"""Generate the reference pages from declarations, one module per page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.docs.airflow import airflow_page, airflow_pages
from engine.docs.airflow_results import states_page
from engine.docs.changelog import sql_support_page
from engine.docs.connectors import connector_pages, connectors_page, formats_page
from engine.docs.dialects import dialects_page
from engine.docs.errors import errors_page
from engine.docs.settings import cli_page, cli_pages, functions_page, metrics_page, run_settings_page, settings_page
from engine.docs.web_types import api_page, api_pages, web_types

FOLDER = Path("docs") / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "connectors": connectors_page,
    **connector_pages(),
    "formats": formats_page,
    "functions": functions_page,
    "functions-of-other-engines": dialects_page,
    "sql-support": sql_support_page,
    "errors": errors_page,
    "settings": settings_page,
    "run-settings": run_settings_page,
    "states": states_page,
    "metrics": metrics_page,
    "cli": cli_page,
    **cli_pages(),
    "api": api_page,
    **api_pages(),
    "airflow": airflow_page,
    **airflow_pages(),
}

WEB_TYPES = Path("engine") / "web" / "src" / "api" / "types.ts"
"""API types of the web UI."""


def stale_pages(root: Path) -> list[str]:
    """Return the pages below `root` that do not say what the declarations say."""
    stale: list[str] = []
    for name, page in PAGES.items():
        path = root / FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != page():
            stale.append(name)
    if (root / WEB_TYPES).read_text() != web_types():
        stale.append(str(WEB_TYPES))
    return stale


def write_pages(root: Path) -> None:
    """Write all pages."""
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        path = root / FOLDER / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(page())
    (root / WEB_TYPES).write_text(web_types())
