"""The assets of a task as its script says them where the DAG is read, so that Airflow's graph shows them at once.

Airflow lets one name of a URI be active, that which it has read first, and fails all tasks with an asset of another
name. So nothing is declared unless the task is told to.

sql="... path = 's3://lake/counts' ..."     Asset("s3://lake/counts")
sql="hours.sql"                             what is in the file, beside the DAG or on its `template_searchpath`
sql="{{ ... }}", a function, a mapped task  none: that is known when the task runs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset

from airflow_provider_arroyo.script_places import places_of


@dataclass(frozen=True, slots=True)
class DeclaredAssets:
    """What a task reads and what it writes."""

    inlets: tuple[Asset, ...] = ()
    outlets: tuple[Asset, ...] = ()


def declared_assets(sql: Any, dag: DAG | None) -> DeclaredAssets:
    """The assets in the script of a task. What is not to be had as a script declares nothing."""
    script = _script(sql, dag) if isinstance(sql, str) else None
    if script is None:
        return DeclaredAssets()
    places = places_of(script)
    return DeclaredAssets(tuple(_assets(places.reads)), tuple(_assets(places.writes)))


def _script(sql: str, dag: DAG | None) -> str | None:
    if not sql.endswith(".sql") or "\n" in sql:
        return sql
    for folder in _folders(dag):
        try:
            return (folder / sql).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return None


def _folders(dag: DAG | None) -> Iterator[Path]:
    """Where Airflow looks for files of templates, in its order."""
    if dag is None:
        return
    yield Path(dag.folder)
    given = dag.template_searchpath or []
    yield from map(Path, [given] if isinstance(given, str) else given)


def _assets(uris: Iterable[str]) -> Iterator[Asset]:
    for uri in uris:
        try:
            yield Asset(uri=uri)
        except ValueError:  # the provider of that kind of place wants more of a URI
            continue
