"""Commands `airflow arroyo`. Airflow imports this module at every start, so it imports nothing else before a command
runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.cli.cli_config import ActionCommand, Arg, GroupCommand

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from airflow.cli.cli_config import CLICommand

    from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
    from airflow_provider_arroyo.responses import Pipeline

FOUND = 1
"""Exit code if the DAG linter has findings, or a plan is refused or loses state."""
REFUSED = 2


def _argument(flag: str, **options: Any) -> Arg:
    return Arg((flag,), **options)  # type: ignore[no-untyped-call]  # Airflow leaves it untyped


_CONNECTION = _argument("--conn-id", help="Ask the control plane of this connection", default="arroyo_default")
_FORMAT = _argument("--format", help="Print text, or JSON for programs", choices=("text", "json"), default="text")


def get_commands() -> list[CLICommand]:
    """Return the commands in Airflow's form."""
    path = _argument("paths", help="Read these files and folders; by default Airflow's own", nargs="*", type=Path)
    script = _argument("script", help="Read the new script from this file, templates already rendered", type=Path)
    return [
        GroupCommand(
            name="arroyo",
            help="Look after streaming SQL pipelines and the DAGs that use them",
            subcommands=(
                ActionCommand("list", "List the pipelines of a control plane", list_pipelines, (_CONNECTION, _FORMAT)),
                ActionCommand(
                    "plan",
                    "Show what would become of a pipeline's state under another script",
                    plan,
                    (_argument("pipeline", help="Name or id of the pipeline"), script, _CONNECTION, _FORMAT),
                    epilog="exit codes: 0 nothing is lost, 1 refused or something is lost, 2 the question is refused",
                ),
                ActionCommand(
                    "doctor",
                    "Find traps in DAG files, which are read and not run",
                    doctor,
                    (path, _FORMAT),
                    epilog="exit codes: 0 nothing found, 1 findings, 2 there is no such file",
                ),
            ),
        )
    ]


def list_pipelines(arguments: Namespace) -> None:
    """Print a line for each pipeline."""
    from airflow_provider_arroyo.airflow_versions import AirflowException  # noqa: PLC0415 - see above
    from airflow_provider_arroyo.hooks.arroyo import ArroyoHook  # noqa: PLC0415

    try:
        pipelines = sorted(_all_pipelines(ArroyoHook(arguments.conn_id)), key=lambda it: it.name)
    except AirflowException as error:
        _refuse(str(error))
    if arguments.format == "json":
        fields = ("id", "name", "state", "parallelism", "version")
        _say(json.dumps([{field: getattr(it, field) for field in fields} for it in pipelines], indent=2))
        return
    width = max((len(it.name) for it in pipelines), default=0)
    for it in pipelines:
        _say(f"{it.name:{width}}  {it.state:18}  parallelism {it.parallelism}  {it.id}")


def _all_pipelines(hook: ArroyoHook) -> Iterator[Pipeline]:
    """Yield the pipelines of all pages."""
    from airflow_provider_arroyo import requests  # noqa: PLC0415 - see above

    page = hook.send(requests.list_pipelines())
    while page:
        yield from page
        page = hook.send(requests.list_pipelines(page[-1].id))


def plan(arguments: Namespace) -> None:
    """Print the plan of an upgrade, as the control plane makes it."""
    from airflow_provider_arroyo.airflow_versions import AirflowException  # noqa: PLC0415 - see above
    from airflow_provider_arroyo.approval import plan_upgrade  # noqa: PLC0415
    from airflow_provider_arroyo.hooks.arroyo import ArroyoHook  # noqa: PLC0415

    try:
        script = arguments.script.read_text()
        answer = ArroyoHook(arguments.conn_id).send(plan_upgrade(arguments.pipeline, script))
    except (AirflowException, OSError, UnicodeDecodeError) as error:
        _refuse(str(error))
    losses = {"refused": answer.is_refused, "loses_nothing": answer.loses_nothing}
    _say(json.dumps({**losses, "id": answer.id, "plan": answer.plan}) if arguments.format == "json" else answer.text)
    if answer.is_refused or not answer.loses_nothing:
        sys.exit(FOUND)


def doctor(arguments: Namespace) -> None:
    """Print the findings in DAG files."""
    from airflow_provider_arroyo.doctor.examine import examine  # noqa: PLC0415 - see above
    from airflow_provider_arroyo.doctor.run_rules import as_json, as_text  # noqa: PLC0415

    paths = arguments.paths or [_dags_folder()]
    if missing := [str(path) for path in paths if not path.exists()]:
        _refuse(f"there is no {', no '.join(missing)}")
    examination = examine(paths)
    show = as_json if arguments.format == "json" else as_text
    _say(show(examination.findings, examination.files))
    if examination.findings:
        sys.exit(FOUND)


def _dags_folder() -> Path:
    from airflow.configuration import conf  # noqa: PLC0415 - see above

    return Path(conf.get("core", "dags_folder"))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _refuse(text: str) -> NoReturn:
    sys.stderr.write(f"{text}\n")
    sys.exit(REFUSED)
