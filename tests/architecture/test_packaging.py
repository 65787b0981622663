"""What is installed, and from where, is said once and names no host."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import airflow_provider_arroyo
import engine
from engine.cli.main import main

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = sorted((ROOT / "constraints").glob("python*.txt"))
OF_OLD_AIRFLOW = sorted((ROOT / "constraints").glob("airflow*.txt"))


@pytest.mark.parametrize("path", [*CONSTRAINTS, *OF_OLD_AIRFLOW], ids=lambda path: path.stem)
def test_constraints_are_plain_names_and_versions(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]

    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+", line)] == []


def test_spark_and_its_client_are_of_one_version() -> None:
    extras = PROJECT["optional-dependencies"]
    pins = [line for line in (*extras["engine"], *extras["spark"]) if line.startswith("pyspark")]
    versions = {line.partition("==")[2] for line in pins}

    assert len(pins) == 2
    assert len(versions) == 1
    for path in CONSTRAINTS:
        pinned = dict(line.split("==") for line in path.read_text().splitlines() if "==" in line)
        assert {pinned["pyspark"], pinned["pyspark-client"]} == versions


def test_the_base_install_has_neither_spark_nor_a_sql_parser() -> None:
    names = {re.split(r"[<>=\[ ]", line)[0] for line in PROJECT["dependencies"]}

    assert names == {"apache-airflow", "httpx"}


def test_the_oldest_airflow_is_the_one_that_the_tests_are_run_with() -> None:
    [floor] = [line.partition(">=")[2] for line in PROJECT["dependencies"] if line.startswith("apache-airflow>=")]
    [versions] = OF_OLD_AIRFLOW
    makefile = (ROOT / "Makefile").read_text()

    assert versions.stem == f"airflow{floor}"
    assert f"apache-airflow=={floor}" in versions.read_text().splitlines()
    assert f"$(or $(VERSION),{floor})" in makefile
    assert re.findall(r"\$\(or \$\(VERSION\),([^)]+)\)", makefile).count(floor) == makefile.count("$(or $(VERSION),")
    assert "$(MAKE) --no-print-directory test-airflow" in makefile.partition("\ntest-all:")[2].partition("\n\n")[0]


def test_every_verb_of_the_makefile_has_a_line_of_help() -> None:
    text = (ROOT / "Makefile").read_text()
    verbs = re.findall(r"^([a-z]+):", text, re.MULTILINE)

    assert {"setup", "check", "test", "demo", "docs"} <= set(verbs)
    assert [verb for verb in verbs if not re.search(rf"^{verb}:.*## \S", text, re.MULTILINE)] == []


def test_the_packages_say_that_they_are_typed() -> None:
    assert (ROOT / "engine" / "py.typed").exists()
    assert (ROOT / "airflow_provider_arroyo" / "py.typed").exists()


def test_whatever_names_the_version_names_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    [newest, *_] = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert PROJECT["dynamic"] == ["version"]
    assert {
        "engine": engine.__version__,
        "provider": airflow_provider_arroyo.__version__,
        "installed": version(PROJECT["name"]),
        "command line": capsys.readouterr().out.removeprefix("arroyo ").strip(),
        "changelog": newest,
    } == dict.fromkeys(("engine", "provider", "installed", "command line", "changelog"), engine.__version__)


def test_the_licence_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text()

    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_every_python_that_is_promised_has_its_constraints() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))

    assert [f"python{number}" for number in promised] == [path.stem for path in CONSTRAINTS]


def test_the_wheel_takes_every_example_and_what_it_reads_but_not_the_demonstration() -> None:
    spec = importlib.util.spec_from_file_location("arroyo_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    files = {path for path in (ROOT / "dags_examples").rglob("*") if path.is_file() and path.suffix != ".pyc"}

    assert set(module.example_files()) == {path for path in files if not path.name.startswith("demo")}
    assert not (ROOT / module.TARGET).exists(), "examples are in one place"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorial.md"])
def test_a_page_installs_a_wheel_and_names_a_file_of_constraints(page: str) -> None:
    text = (ROOT / page).read_text()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))

    assert "pip install airflow-provider" not in blocks.replace("'", "")
    assert "make wheel" in blocks
    assert set(re.findall(r"constraints/(\S+?\.txt)", blocks)) <= {path.name for path in CONSTRAINTS}
    assert "--constraint" in blocks


@pytest.mark.parametrize("script", ["web.py", "wheel.py"])
def test_a_build_takes_no_option_for_a_folder(script: str) -> None:
    asked = subprocess.run(
        [sys.executable, ROOT / ".ci" / script, "--help"], capture_output=True, text=True, check=False
    )

    assert asked.returncode == 2
    assert script in asked.stderr


def test_no_folder_of_the_repository_has_the_name_of_an_option() -> None:
    assert [path.name for path in ROOT.iterdir() if path.name.startswith("-")] == []
