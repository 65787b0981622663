"""What stands in for the commands of the tutorial where it is played in seconds: each refuses what the real one would
refuse of the command line and of the files, and does of the work only what the next blocks need.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.tutorial_blocks import ROOT

WHEEL = "airflow_provider_arroyo-0.1.0-py3-none-any.whl"
NAMES = ("make", "python3", "pip", "arroyo", "airflow")


def write_stand_ins(folder: Path) -> None:
    """Write an executable for each command into a folder."""
    folder.mkdir()
    for name in NAMES:
        path = folder / name
        path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.tutorial_stand_ins {name} "$@"\n')
        path.chmod(0o755)


def make(arguments: list[str]) -> None:
    """Refuse a target that is not there."""
    [target] = arguments
    assert f"\n{target}:" in (ROOT / "Makefile").read_text()
    Path("dist").mkdir()
    Path("dist", WHEEL).touch()


def python3(arguments: list[str]) -> None:
    """Make the environment, but without pip."""
    assert arguments[:2] == ["-m", "venv"]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *arguments[2:]], check=True)


def pip(arguments: list[str]) -> None:
    """Refuse files that are not there, and an extra that does not exist."""
    command, option, constraints, requirement = arguments
    wheel, _, extra = requirement.removesuffix("]").partition("[")
    assert (command, option, Path(wheel).name) == ("install", "--constraint", WHEEL)
    assert Path(constraints).is_file()
    assert Path(wheel).is_file()
    assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert os.environ["VIRTUAL_ENV"] == str(Path(".venv").resolve())


def arroyo(arguments: list[str]) -> None:
    """Run verbs that need no Java; of others refuse only a command line that does not parse."""
    from engine.cli.main import main, make_parser

    if arguments[0] in ("check", "explain", "--version"):
        raise SystemExit(main(arguments))
    make_parser().parse_args(arguments)
    if arguments[0] == "run":
        assert Path(arguments[1]).is_file()
        hour = Path("by_hour", "2026-01-01-00")
        hour.mkdir(parents=True)
        (hour / "_SUCCESS").touch()
        signal.pause()
    else:
        sys.stdout.write(f"{arguments} with {os.environ['ARROYO__DATA_DIR']}\n")


def airflow(arguments: list[str]) -> None:
    """Have Airflow read the folder of DAGs, and compile the script of the task; the job is a process that waits."""
    home = Path(os.environ["AIRFLOW_HOME"])
    if arguments == ["db", "migrate"]:
        home.mkdir()
        return
    assert arguments[:2] == ["dags", "test"]
    assert json.loads(os.environ["AIRFLOW_CONN_ARROYO_DEFAULT"])["conn_type"] == "arroyo"
    from airflow.dag_processing.dagbag import DagBag

    from engine.compile import compile_script

    bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    assert not bag.import_errors, bag.import_errors
    dag = bag.dags[arguments[2]]
    script = str(vars(dag.get_task("deploy"))["sql"])  # Airflow has put the text of the file in the place of its name
    assert "{{ params.folder }}" in script
    compile_script(script.replace("{{ params.folder }}", dag.params["folder"]))
    (home / "arroyo").mkdir()
    job = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (home / "arroyo" / "server.json").write_text(json.dumps({"pid": job.pid}))


def main() -> None:
    """Stand in for the command that is named first."""
    name, *arguments = sys.argv[1:]
    {"make": make, "python3": python3, "pip": pip, "arroyo": arroyo, "airflow": airflow}[name](arguments)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
