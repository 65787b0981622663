"""One script is written by a function, from a list that is only known when the run begins: a statement for each shop.

`@task.streaming_sql` deploys what the function returns. All shops are read in one pass by one pipeline; its input ends,
so the task waits until it is finished.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, task

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

ORDERS = """
CREATE TABLE orders WITH (connector = 'impulse', event_rate = 1000, message_count = 300);
"""
SHOP = """
CREATE TABLE {shop} (order_id BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{folder}/shops/{shop}.json'
);
INSERT INTO {shop} SELECT counter FROM orders WHERE counter % {shops} = {number};
"""

with DAG(
    dag_id="script_from_a_list",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def find_shops() -> list[str]:
        """Find the shops there are; a real one would ask a table."""
        return ["north", "south", "west"]

    @task.streaming_sql(
        pipeline="orders_by_shop",
        settings={"quick": "true"},
        wait_for="finished",
        wait_timeout=timedelta(minutes=30),
        on_kill="stop",
    )
    def orders_by_shop(shops: list[str], folder: str) -> str:
        """Write the script: the table that is read, and a file for each shop."""
        statements = (
            SHOP.format(shop=shop, folder=folder, shops=len(shops), number=number) for number, shop in enumerate(shops)
        )
        return ORDERS + "".join(statements)

    orders_by_shop(find_shops(), "{{ params.folder }}")


if __name__ == "__main__":
    dag.test()
