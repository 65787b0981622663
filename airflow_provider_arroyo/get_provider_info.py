"""Metadata of this provider for Airflow, which calls it at start-up, so it imports nothing of ours."""

from __future__ import annotations

from typing import Any

_NAME = "Arroyo"
_DOCUMENTATION = "https://github.com/airflow-provider-arroyo/airflow-provider-arroyo/blob/main/docs/how-to/airflow.md"


def get_provider_info() -> dict[str, Any]:
    """Return the manifest, as `provider_info.schema.json` of Airflow requires."""
    return {
        "package-name": "airflow-provider-arroyo",
        "name": _NAME,
        "description": "Managed streaming SQL for Airflow, on Spark.",
        "integrations": [
            {
                "integration-name": _NAME,
                "external-doc-url": _DOCUMENTATION,
                "tags": ["software"],
            }
        ],
        "hooks": _modules("hooks.arroyo"),
        "operators": _modules(
            "operators.base",
            "operators.delete",
            "operators.fork",
            "operators.move",
            "operators.next_partition",
            "operators.push_partitions",
            "operators.rehearse",
            "operators.reprocess",
            "operators.rescale",
            "operators.restore",
            "operators.rollback",
            "operators.savepoint",
            "operators.savepoint_retention",
            "operators.start",
            "operators.stop",
            "operators.stream_backfill",
            "operators.streaming_sql",
            "operators.upgrade_plan",
        ),
        "sensors": _modules(
            "sensors.base",
            "sensors.checkpoint",
            "sensors.freshness",
            "sensors.job_state",
            "sensors.lag",
            "sensors.watermark",
        ),
        "triggers": _modules("triggers.partition", "triggers.pipeline", "triggers.sensor"),
        "asset-uris": [
            {
                "schemes": ["arroyo"],
                "handler": "airflow_provider_arroyo.declared_assets.sanitize_uri",
                "factory": "airflow_provider_arroyo.declared_assets.create_asset",
            }
        ],
        "queues": ["airflow_provider_arroyo.message_queue.ArroyoMessageQueue"],
        "notifications": ["airflow_provider_arroyo.notifications.arroyo.ArroyoNotifier"],
        "plugins": [{"name": "arroyo", "plugin-class": "airflow_provider_arroyo.plugin.ArroyoPlugin"}],
        "extra-links": ["airflow_provider_arroyo.links.PipelineLink"],
        "task-decorators": [
            {
                "name": "streaming_sql",
                "class-name": "airflow_provider_arroyo.decorators.streaming_sql.streaming_sql_task",
            }
        ],
        "cli": ["airflow_provider_arroyo.cli.get_commands"],
        "connection-types": [_connection_type()],
    }


def _modules(*modules: str) -> list[dict[str, Any]]:
    names = [f"airflow_provider_arroyo.{module}" for module in modules]
    return [{"integration-name": _NAME, "python-modules": names}]


def _connection_type() -> dict[str, Any]:
    return {
        "connection-type": "arroyo",
        "hook-class-name": "airflow_provider_arroyo.hooks.arroyo.ArroyoHook",
        "hook-name": _NAME,
        "ui-field-behaviour": {
            "hidden-fields": ["login"],
            "relabeling": {"password": "Token", "schema": "Scheme"},
            "placeholders": {"host": "http://127.0.0.1", "port": "5115", "schema": "http"},
        },
        "conn-fields": {
            "embedded": {
                "label": "Embedded",
                "description": "Use a control plane on the machine of the task; start it when there is none.",
                "schema": {"type": ["boolean", "null"], "default": False},
            },
            "data_dir": {
                "label": "Data directory",
                "description": "Where an embedded control plane keeps its data; by default `arroyo` in AIRFLOW_HOME.",
                "schema": {"type": ["string", "null"]},
            },
            "verify": {
                "label": "Verify TLS",
                "description": "true, false, or the path of a file with certificates to trust.",
                "schema": {"type": ["string", "null"], "default": "true"},
            },
        },
    }
