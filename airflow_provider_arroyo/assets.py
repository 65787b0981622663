"""Assets of pipelines: `arroyo://HOST/PIPELINE/TABLE`, and the locations that their sinks write.

orders writes counts, to s3://lake/counts     arroyo://plane:5115/orders/counts and s3://lake/counts
orders writes shown, to standard output       arroyo://plane:5115/orders/shown
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from airflow.sdk import Asset
from airflow.sdk.definitions.asset import AssetUniqueKey
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_arroyo.answers import Pipeline, TableUse


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """The URI as all spell it; one that names no host, pipeline and table is refused."""
    parts = [part for part in uri.path.split("/") if part]
    if not uri.netloc or len(parts) != 2:
        raise ValueError(
            "URI format arroyo:// must contain a host, a pipeline and a table: arroyo://HOST/PIPELINE/TABLE"
        )
    return uri._replace(netloc=uri.netloc.lower(), path="/" + "/".join(parts), query="")


def create_asset(*, host: str, pipeline: str, table: str, extra: dict[str, Any] | None = None) -> Asset:
    """The asset of a table that a pipeline writes."""
    return Asset(uri=f"arroyo://{host}/{quote(pipeline, safe='')}/{quote(table, safe='')}", extra=extra)


def assets_of(url: str, pipeline: Pipeline) -> Iterator[tuple[Asset, TableUse]]:
    """The assets of what a pipeline of the control plane at this address writes, each table's own first. None where the
    control plane does not say what it writes."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    for table in pipeline.tables or ():
        if table.direction == "sink":
            yield create_asset(host=host, pipeline=pipeline.name, table=table.name), table
            if table.uri is not None:
                yield Asset(uri=table.uri), table


def active_asset(context: Context, asset: Asset) -> Asset:
    """The asset by the name that its URI has in Airflow: an event of another name starts nobody. One that no DAG has
    named keeps its own."""
    try:
        key = context["outlet_events"][Asset.ref(uri=asset.uri)].key
    except AirflowRuntimeError as error:
        if error.error.error is not ErrorType.ASSET_NOT_FOUND:
            raise
        return asset
    return key.to_asset() if isinstance(key, AssetUniqueKey) else asset
