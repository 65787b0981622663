"""A folder of `.sql` files is one DAG: a pipeline for each, all of them planned before the first is deployed.

`shop_pipelines/first_shop.sql` reads what `orders.sql` writes, and a comment declares it: `-- after: orders`. Both take
that table from `_tables.sql`, which is no pipeline. Their inputs end, so each is waited for until it is finished.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow_provider_arroyo.streaming_dag import streaming_dag

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

dag = streaming_dag(
    "shop_pipelines",
    dag_id="folder_of_sql",
    operator_args={"settings": {"quick": "true"}, "wait_for": "finished"},
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
)


if __name__ == "__main__":
    dag.test()
