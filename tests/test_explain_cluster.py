"""`arroyo explain --cluster`: what is asked of a cluster, and what a start would refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.cli.scripts.explain_cluster import describe_cluster
from engine.compile import compile_script
from engine.values.run_settings import read_run_settings

TICKS = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 10);"
COUNTS = TICKS + " SELECT count(*) FROM t GROUP BY tumble(INTERVAL '1 second');"
CLUSTER = {"master": "spark://127.0.0.1:7077", "driver_host": "10.0.0.5"}


def described(sql: str, texts: dict[str, str], environ: dict[str, str] | None = None) -> dict[str, str]:
    text = describe_cluster(read_run_settings(texts), compile_script(sql), 4, environ or {})
    assert text.startswith("cluster\n")
    return dict(line.strip().split("  ", 1) for line in text.splitlines()[1:])


def test_explain_shows_the_requested_cluster() -> None:
    chosen = {"executor_memory": "2g", "executor_cores": "2", "mailbox_port": "7102", "spark.network.timeout": "60s"}
    shown = {
        name: text.strip()
        for name, text in described(
            COUNTS, {**CLUSTER, **chosen, "state_url": "s3://bucket/jobs"}, {"ARROYO_SPARK_SECRET": "hush"}
        ).items()
    }

    assert shown["cores"] == "4 in all, 2 per executor"
    assert shown["memory"] == "2g per executor, 2g for the driver"
    assert shown["driver"] == "executors connect to 10.0.0.5"
    assert shown["ports"].endswith("mailbox_port 7102")
    assert shown["state"] == "s3://bucket/jobs"
    assert shown["files"].startswith("from tasks to the driver's mailbox")
    assert shown["spark.network.timeout"] == "60s"
    assert shown["security"] == "connections are authenticated and encrypted"
    assert "hush" not in str(shown)
    assert "refused" not in shown


def test_explain_shows_settings_that_a_start_would_refuse() -> None:
    assert "setting.no_state_url" in described(COUNTS, CLUSTER)["refused"]
    assert "setting.invalid" in described(COUNTS, {"master": "yarn", "state_url": "s3://bucket/jobs"})["refused"]
    assert "refused" not in described(TICKS + " SELECT counter FROM t;", CLUSTER)
    assert "refused" not in described(COUNTS, {**CLUSTER, "shared_disk": "on"})


def test_the_command_takes_settings_as_a_run_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.sql").write_text(COUNTS)
    command = ["explain", str(tmp_path / "q.sql")]

    assert main([*command, "--cluster", "--set", "master=local[2]"]) == 0
    assert "none: the master is local[2]" in capsys.readouterr().out
    assert main([*command, "--set", "master=local[2]"]) == 2
    assert main([*command, "--cluster", "--set", "mastr=local[2]"]) == 2
