"""Assets of a task, taken from its script when the DAG is parsed, so that Airflow's graph shows them before a run.

Airflow activates one name per URI, the first that it parses, and fails tasks with an asset of the same URI and another
name. So assets are declared only on request.

    sql="... path = 's3://lake/counts' ..."     Asset("s3://lake/counts")
    sql="hours.sql"                             assets of the file, next to the DAG or on its `template_searchpath`
    sql="{{ ... }}", a function, a mapped task  none: the script is known only when the task runs
    WatermarkSensor(pipeline="hours/counts")    the outlets of an upstream task that deploys `hours`

Assets of pipelines: `arroyo://HOST/PIPELINE/TABLE`, and the locations that their sinks write.

orders writes counts, to s3://lake/counts     arroyo://plane:5115/orders/counts and s3://lake/counts
orders writes shown, to standard output       arroyo://plane:5115/orders/shown
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from airflow.sdk import DAG, Asset
from airflow.sdk.definitions.asset import AssetUniqueKey
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_arroyo.responses import Pipeline, TableUse


@dataclass(frozen=True, slots=True)
class DeclaredAssets:
    """Assets that a task reads and writes."""

    inlets: tuple[Asset, ...] = ()
    outlets: tuple[Asset, ...] = ()
    tables: Mapping[str, Asset] = field(default_factory=dict)
    """Outlets by their table names in the script, in lower case."""


def declared_assets(sql: Any, dag: DAG | None) -> DeclaredAssets:
    """Return the assets in the script of a task; none if the script is unavailable."""
    from airflow_provider_arroyo.script_places import places_of  # noqa: PLC0415 - few tasks declare anything

    script = _script(sql, dag) if isinstance(sql, str) else None
    if script is None:
        return DeclaredAssets()
    places = places_of(script)
    outlets = {asset.uri: asset for asset in _assets(places.writes)}
    tables = {table: outlets[place] for table, place in places.written.items() if place in outlets}
    return DeclaredAssets(tuple(_assets(places.reads)), tuple(outlets.values()), tables)


def awaited_assets(tables: Iterable[tuple[object, object]], dag: DAG | None) -> tuple[Asset, ...]:
    """Return the assets of tables of pipelines, or of all of a pipeline's, which tasks of the DAG deploy; none of a
    pipeline that no earlier task deploys."""
    found = dict[str, Asset]()
    for pipeline, table in tables:
        for task in () if dag is None else dag.tasks:
            declared = getattr(task, "declared", None)
            if isinstance(declared, DeclaredAssets) and getattr(task, "pipeline", None) == pipeline:
                named = [declared.tables.get(str(table).lower())] if table is not None else declared.outlets
                found |= {asset.uri: asset for asset in named if asset is not None and asset in task.outlets}
    return tuple(found.values())


def without(given: Sequence[Any], declared: Sequence[Asset]) -> list[Any]:
    """Return the assets that a task was given, without the declared ones."""
    return [asset for asset in given if not any(asset is it for it in declared)]


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
    """Yield the folders in which Airflow looks for template files, in order."""
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


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Return the canonical URI; raise if it does not name a host, a pipeline and a table."""
    parts = [part for part in uri.path.split("/") if part]
    if not uri.netloc or len(parts) != 2:
        raise ValueError(
            "URI format arroyo:// must contain a host, a pipeline and a table: arroyo://HOST/PIPELINE/TABLE"
        )
    return uri._replace(netloc=uri.netloc.lower(), path="/" + "/".join(parts), query="")


def create_asset(*, host: str, pipeline: str, table: str, extra: dict[str, Any] | None = None) -> Asset:
    """Return the asset of a table that a pipeline writes."""
    return Asset(uri=f"arroyo://{host}/{quote(pipeline, safe='')}/{quote(table, safe='')}", extra=extra)


def assets_of(url: str, pipeline: Pipeline) -> Iterator[tuple[Asset, TableUse]]:
    """Yield the assets of the tables that a pipeline of the control plane at this address writes, each table's own
    first. None if the control plane does not report its tables."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    for table in pipeline.tables or ():
        if table.direction == "sink":
            yield create_asset(host=host, pipeline=pipeline.name, table=table.name), table
            if table.uri is not None:
                yield Asset(uri=table.uri), table


def active_asset(context: Context, asset: Asset) -> Asset:
    """Return the asset with the name that its URI has in Airflow: an event of another name starts no DAG. One without a
    name there keeps its own."""
    try:
        key = context["outlet_events"][Asset.ref(uri=asset.uri)].key
    except AirflowRuntimeError as error:
        if error.error.error is not ErrorType.ASSET_NOT_FOUND:
            raise
        return asset
    return key.to_asset() if isinstance(key, AssetUniqueKey) else asset
