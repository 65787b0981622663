"""A folder of `.sql` files as one DAG: a pipeline per file, and all plans before the first deployment.

    shop/_tables.sql    no pipeline; other files include it: {% from '_tables.sql' import orders %}
    shop/orders.sql     -- Every order, cleaned.
    shop/hours.sql      -- Sales per hour.
                        -- after: orders

    orders.plan ─┬─ planned ── orders.deploy ── hours.deploy
    hours.plan  ─┘

Parsing the DAG reads only the comments at the top of each file and the options of its tables; nothing is requested.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Literal

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, TaskGroup

from airflow_provider_arroyo.operators.base import is_file
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator

_AFTER = "after:"
_OF_PLANS = frozenset(
    {"arroyo_conn_id", "deferrable", "wait_timeout", "poll_interval", "udfs", "keep_state", "reset", "hold_back"}
    | {"approval_timeout", "retries", "retry_delay", "retry_policy", "pool", "queue", "owner"}
)
"""Arguments of a deployment that a plan takes, too."""


@dataclass(frozen=True, slots=True)
class Script:
    """A file of the folder: its name, its first comment, and the files before it."""

    name: str
    file: str
    meaning: str = ""
    after: tuple[str, ...] = ()


def streaming_dag(
    folder: str | Path,
    *,
    dag_id: str | None = None,
    after: Mapping[str, Sequence[str]] | None = None,
    files: Mapping[str, Mapping[str, Any]] | None = None,
    operator_args: Mapping[str, Any] | None = None,
    on_loss: Literal["fail", "approve"] = "fail",
    **dag_args: Any,
) -> DAG:
    """Return one DAG that deploys a pipeline for each `.sql` file of a folder, called as the file is without its
    ending.

    Nothing is deployed before all files are planned: a script that cannot take over the state of its pipeline, or would
    lose something of it, fails its plan, and all goes on as it was. Then each is deployed, in the order of `after`.
    Files that begin with an underscore are no pipelines; they are there to be included.

    :param folder: the folder; a relative one is beside the file that calls this.
    :param dag_id: by default the folder's name.
    :param after: which pipelines are deployed before a pipeline, for example since it reads what they write. A file
        says it itself in a comment at its top: `-- after: orders, clicks`.
    :param files: arguments of `StreamingSqlOperator` for single pipelines, by their names.
    :param operator_args: the same for all of them.
    :param on_loss: `fail`; or `approve`: a plan that loses something waits for a person, and exactly what they approve
        is deployed.
    :param dag_args: arguments of the DAG.
    """
    frame = inspect.currentframe()
    caller = Path(frame.f_back.f_code.co_filename if frame is not None and frame.f_back is not None else __file__)
    place = (caller.parent / folder).absolute()
    scripts = in_order(read_scripts(place), after or {})
    chosen = files or {}
    if unknown := sorted(set(chosen) - {script.name for script in scripts}):
        raise ValueError(f"files names {', '.join(unknown)}, and {place} has no such .sql file")
    given_paths = dag_args.pop("template_searchpath", None) or []
    paths = [str(place), *([given_paths] if isinstance(given_paths, str) else given_paths)]
    defaults = {"schedule": None, "catchup": False, "max_active_runs": 1}
    dag = DAG(dag_id=dag_id or place.name, template_searchpath=paths, **{**defaults, **dag_args})
    dag.fileloc = str(caller)  # Airflow takes the file that makes the object
    with dag:
        planned = EmptyOperator(task_id="planned")
        deployments: dict[str, StreamingSqlOperator] = {}
        for script in scripts:
            arguments = _with_paths({**(operator_args or {}), **chosen.get(script.name, {})}, place)
            deployments[script.name] = _tasks(script, arguments, planned, on_loss)
            for earlier in script.after:
                deployments[earlier] >> deployments[script.name]
    return dag


def read_scripts(folder: Path) -> Sequence[Script]:
    """Return the scripts of a folder by name, with the settings in the comments at their tops."""
    paths = sorted(path for path in folder.glob("*.sql") if not path.name.startswith(("_", ".")))
    if not paths:
        raise ValueError(f"there is no .sql file in {folder}")
    return [_read(path) for path in paths]


def in_order(scripts: Sequence[Script], after: Mapping[str, Sequence[str]]) -> Sequence[Script]:
    """Return the scripts, each after those on which it depends, by its comments or by `after`. Otherwise they are
    sorted by name."""
    known = {script.name: script for script in scripts}
    earlier = {name: tuple(dict.fromkeys((*script.after, *after.get(name, ())))) for name, script in known.items()}
    for name, names in [*earlier.items(), *after.items()]:
        if unknown := [other for other in (name, *names) if other not in known]:
            raise ValueError(f"{name} is to come after {', '.join(names)}, and there is no {unknown[0]}.sql")
    try:
        sorter = TopologicalSorter(earlier)
        sorter.prepare()
    except CycleError as error:
        raise ValueError(f"these wait for each other: {', '.join(error.args[1])}") from None
    ordered: list[Script] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += [Script(name, known[name].file, known[name].meaning, earlier[name]) for name in ready]
        sorter.done(*ready)
    return ordered


def _read(path: Path) -> Script:
    meaning: list[str] = []
    after: list[str] = []
    for line in _comments_at_top(path):
        if line.lower().startswith(_AFTER):
            after += [name.strip().removesuffix(".sql") for name in line[len(_AFTER) :].split(",") if name.strip()]
        else:
            meaning.append(line)
    return Script(path.stem, path.name, "\n".join(meaning).strip(), tuple(after))


def _comments_at_top(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if line.startswith("--"):
                yield line.removeprefix("--").strip()
            elif line:
                return


def _tasks(script: Script, arguments: Mapping[str, Any], planned: EmptyOperator, on_loss: str) -> StreamingSqlOperator:
    """Return a plan task before the point that joins all plans, and a deployment after it."""
    of_plan = {name: value for name, value in arguments.items() if name in _OF_PLANS}
    common = {"pipeline": script.name, "sql": script.file, "doc_md": script.meaning or None}
    with TaskGroup(script.name, tooltip=script.meaning):
        plan = UpgradePlanOperator(task_id="plan", on_loss=on_loss, **{**common, **of_plan})
        approved = f"{{{{ ti.xcom_pull(task_ids='{plan.task_id}')['id'] or '' }}}}" if on_loss == "approve" else None
        deploy = StreamingSqlOperator(task_id="deploy", **{**common, "accept_loss": approved, **arguments})
    plan >> planned >> deploy
    return deploy


def _with_paths(arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the arguments, with files of functions relative to the scripts, not to the DAG."""
    udfs = arguments.get("udfs")
    if udfs is None:
        return arguments
    return {**arguments, "udfs": [str(folder / udf) if is_file(udf) else udf for udf in udfs]}
