"""What a driver inherits: what it needs, and no secret of anybody else's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.jobs.disk import DataDirectory
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.driver_environment import driver_environment
from engine.jobs.processes.runner import LocalRunner
from tests.jobs.builders import assigned

ID = "pl_aaaaaaaaaaaaaaaa"
SCRIPT = "... 'auth.password' = '{{ secret:KAFKA }}', 'x' = '${secret:SHARED}'"


def assignment(tmp_path: Path, **changes: object) -> Assignment:
    fields = {"job_id": "job_aaaaaaaaaaaaaaaa", "pipeline_id": ID, "generation": 1, "query": SCRIPT}
    return assigned(tmp_path, **{**fields, **changes})


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "SPARK_LOCAL_DIRS", "PYTHONPATH"),
        *("AWS_REGION", "ARROYO_VAR_HOST", "ARROYO_NET_ALLOW", "ARROYO_SECRETS_DIR", "ARROYO_CACHE", "ARROYO_FAULT"),
        *("http_proxy", "HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "LD_LIBRARY_PATH"),
    ],
)
def test_a_driver_inherits_the_variables_that_it_needs(name: str) -> None:
    assert driver_environment({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        *("ARROYO_TOKEN", "ARROYO__API__TOKEN", "ARROYO_SECRETS_KEY", "ARROYO_SECRET_OTHER", "arroyo_var_x"),
        *("AIRFLOW__CORE__FERNET_KEY", "AIRFLOW_CONN_SHOP", "DATABASE_URL", "GITHUB_TOKEN", "SSH_AUTH_SOCK"),
    ],
)
def test_a_driver_does_not_inherit_other_variables(name: str) -> None:
    assert driver_environment({name: "x"}, script=SCRIPT) == {}


def test_the_secrets_that_a_script_names_are_inherited() -> None:
    environ = {"ARROYO_SECRET_KAFKA": "a", "ARROYO_SECRET_SHARED": "b", "ARROYO_SECRET_OTHER": "c"}

    inherited = driver_environment(environ, script=SCRIPT)

    assert inherited == {"ARROYO_SECRET_KAFKA": "a", "ARROYO_SECRET_SHARED": "b"}


def test_the_secrets_of_a_pipeline_win_over_those_of_the_machine() -> None:
    inherited = driver_environment({"ARROYO_SECRET_KAFKA": "a"}, script=SCRIPT, secrets={"KAFKA": "b"})

    assert inherited == {"ARROYO_SECRET_KAFKA": "b"}


def test_the_owner_of_the_control_plane_may_name_more() -> None:
    environ = {"KRB5_CONFIG": "a", "HADOOP_CONF_DIR": "b", "HADOOP_USER": "c", "OTHER": "d"}

    assert driver_environment(environ, names=("KRB5_CONFIG", "HADOOP_*")) == {
        "KRB5_CONFIG": "a",
        "HADOOP_CONF_DIR": "b",
        "HADOOP_USER": "c",
    }


def test_a_driver_has_its_secrets_in_its_environment_and_nobody_has_them_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", "mysql://me:s3cret@shop")
    directory = DataDirectory(tmp_path)
    prints = "import json, os, pathlib, sys; print(json.dumps(dict(os.environ)), pathlib.Path(sys.argv[2]).read_text())"
    runner = LocalRunner(directory, [sys.executable, "-c", prints])

    holder = runner.launch(assignment(tmp_path, secrets={"KAFKA": "open sesame"}))

    runner._children[holder.pid].wait(60)
    printed, _, assigned = directory.log(ID, 1).read_text().partition("} {")
    assert '"ARROYO_SECRET_KAFKA": "open sesame"' in printed
    assert "s3cret" not in printed
    assert "sesame" not in assigned
    assert "sesame" not in directory.assignment(ID, 1).read_text()
    assert "sesame" not in repr(assignment(tmp_path, secrets={"KAFKA": "open sesame"}))
