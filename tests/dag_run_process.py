"""The process in which example DAGs are played one after the other: `python -m tests.dag_run_process`, and what is to
be played as JSON. What came of each is in the file that this names, since any library may print what it likes."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import DAG
from airflow.utils.db import upgradedb
from airflow.utils.session import create_session
from sqlalchemy import select


def main(arguments: str) -> None:
    """Play them, and have the person at hand who answers what tasks ask."""
    wish = json.loads(arguments)
    upgradedb()
    is_over, answered = threading.Event(), set[str]()
    person = threading.Thread(target=answer, args=(wish["answers"], is_over, answered), daemon=True)
    person.start()
    try:
        outcomes = {example: play(example, wish["params"]) for example in wish["examples"]}
    finally:
        is_over.set()
        person.join(60)
    assert answered == set(wish["answers"]), f"only {sorted(answered)} have asked a person"
    Path(wish["outcomes"]).write_text(json.dumps(outcomes, default=str))


def play(example: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run an example: what else its file has without a schedule first, as what it stands on."""
    module = importlib.import_module(f"dags_examples.{example}")
    before = [
        dag for dag in vars(module).values() if isinstance(dag, DAG) and dag is not module.dag and dag.schedule is None
    ]
    for dag in before:
        assert str(dag.test(run_conf=dict(params)).state) == "success", dag.dag_id
    run = module.dag.test(run_conf=dict(params))
    instances = run.get_task_instances()
    return {
        "states": {ti.task_id: str(ti.state) for ti in instances},
        "returned": {ti.task_id: ti.xcom_pull(task_ids=ti.task_id) for ti in instances},
    }


def answer(answers: Mapping[str, str], is_over: threading.Event, answered: set[str]) -> None:
    """Give the answers that the tasks of these names ask for, by the API that Airflow's page asks, and note who has
    asked, until it is over."""
    if not answers:
        return
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    client = TestClient(create_app("core"))
    headers = {"Authorization": f"Bearer {client.get('/auth/token').json()['access_token']}"}
    while not is_over.wait(0.5):
        with create_session() as session:
            asked = session.execute(
                select(TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id)
                .join(HITLDetail, HITLDetail.ti_id == TaskInstance.id)
                .where(TaskInstance.state == "awaiting_input", HITLDetail.responded_at.is_(None))
            ).all()
        for dag_id, run_id, task_id in asked:
            path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
            body = {"chosen_options": [answers[task_id]], "params_input": {}}
            client.patch(path, json=body, headers=headers).raise_for_status()
            answered.add(task_id)


if __name__ == "__main__":
    main(sys.argv[1])
