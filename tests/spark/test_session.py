"""Starting Java and Spark, and ending them."""

import os
import select
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from engine.errors import (
    Cause,
    DriverCrashedError,
    EpochFailedError,
    JavaStartError,
    JvmDiedError,
    WorkerDiedError,
    cause_of,
)
from engine.spark.jvm import start as java_process
from engine.spark.jvm.conf import driver_conf
from engine.spark.jvm.java import Java, find_java
from engine.spark.jvm.session import death_explained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START_ONLY = """
import os, sys, time
from pathlib import Path
from engine.spark.jvm import start as java_process
from engine.spark.jvm.java import find_java
gateway = java_process.start_gateway(find_java(os.environ), {}, memory="256m", quick=True, log_file=Path(sys.argv[1]))
print(gateway.process.pid, flush=True)
sys.stdin.read()
"""

WHOLE_LIFE = """
import signal, sys
from pathlib import Path
from engine.spark.jvm.session import close_session, open_session
stop = lambda *_: None
signal.signal(signal.SIGINT, stop)
for round in (1, 2):
    spark = open_session(
        app_name="life", master="local[1]", log_dir=Path(sys.argv[1]), quick=True, memory="512m", makes_archive=False
    )
    assert spark.range(5).count() == 5
    assert signal.getsignal(signal.SIGINT) is stop
    close_session(spark)
"""


def test_settings_reach_spark(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.sql.streaming.stateStore.checkpointFormatVersion") == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    assert "PYSPARK_GATEWAY_SECRET" not in os.environ


def test_an_error_of_a_row_is_raised_and_not_printed_besides(
    spark: "SparkSession", capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql("SELECT 1 / id FROM range(1)").collect()

    assert "DIVIDE_BY_ZERO" not in capfd.readouterr().err


def test_a_stop_waits_seconds_for_the_maintenance_of_states_and_not_minutes(spark: "SparkSession") -> None:
    conf = spark._jsparkSession.sessionState().conf()

    assert conf.stateStoreMaintenanceShutdownTimeout() == 5
    assert conf.stateStoreMaintenanceForceShutdownTimeout() == 1


def test_settings_of_the_caller_take_precedence() -> None:
    conf = driver_conf(
        app_name="a", master="local[1]", parallelism=3, scratch=Path("/s"), extra={"spark.sql.ansi.enabled": "false"}
    )

    assert conf["spark.sql.ansi.enabled"] == "false"
    assert conf["spark.sql.shuffle.partitions"] == "3"


def test_java_dies_with_the_process_that_started_it_even_when_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_ONLY, str(tmp_path / "spark.log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        java = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        ended, _, _ = select.select([java], [], [], 30)
    os.close(java)

    assert ended


def test_a_session_says_nothing_on_the_terminal_and_can_be_opened_again(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", WHOLE_LIFE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert (process.stdout, process.stderr, process.returncode) == ("", "", 0)
    assert not list(tmp_path.glob("scratch-*"))
    assert (tmp_path / "spark.log").exists()
    assert "Spark's default log4j profile" not in (tmp_path / "spark.log.stderr").read_text()


def test_a_java_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    java = find_java(os.environ)

    with pytest.raises(JavaStartError, match="Invalid maximum heap size"):
        java_process.start_gateway(java, {}, memory="lots", quick=True, log_file=tmp_path / "spark.log")


def test_a_spark_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", WHOLE_LIFE.replace("512m", "300m"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert "run.java_start: Spark does not start: [INVALID_DRIVER_MEMORY] System memory" in process.stderr


def test_a_java_that_never_answers_is_given_up(tmp_path: Path) -> None:
    sleepy = tmp_path / "java"
    sleepy.write_text("#!/bin/sh\nexec cat\n")
    sleepy.chmod(0o700)
    started = java_process.launch(Java(sleepy, 17), {}, memory="1g", quick=True, log_file=tmp_path / "spark.log")

    with pytest.raises(JavaStartError, match="not up after 0 s"):
        java_process.wait_until_ready(started, timedelta(0))

    assert started.process.returncode is not None
    assert not started.handshake.exists()


def test_a_java_that_fails_again_is_quoted_with_its_own_words_only(tmp_path: Path) -> None:
    lengths = []
    for _ in range(3):
        with pytest.raises(JavaStartError) as refused:
            java_process.start_gateway(
                find_java(os.environ), {}, memory="lots", quick=True, log_file=tmp_path / "spark.log"
            )
        lengths.append(len(refused.value.message))

    assert lengths[0] == lengths[2]


_WORKERS_LAMENT = (
    r'Traceback (most recent call last):\n  File "worker.py", line 2, in main\n    read()\nEOFError\n'
    r"\nDuring handling of the above exception, another exception occurred:\n\n"
    r'Traceback (most recent call last):\n  File "daemon.py", line 9, in manager\n    raise\nOSError: earlier\n'
)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -KILL $$", "the JVM was killed by signal 9 (SIGKILL) while the pipeline ran"),
        ("echo earlier trouble >&2; kill -KILL $$", "the JVM was killed by signal 9 (SIGKILL) while the pipeline ran"),
        (f"printf '{_WORKERS_LAMENT}'; exit 3", "its last words: it said nothing"),
        (f"echo a; printf '{_WORKERS_LAMENT}'; echo b; exit 3", "its last words: a\nb"),
        ("echo Terminating due to java.lang.OutOfMemoryError: Java heap space; exit 3", "its memory was full"),
        ("echo it broke >&2; exit 134", "ended with exit code 134 while the pipeline ran; its last words: it broke"),
        ("echo 12:00 WARN a: adaptive >>$LOG; exit 3", "its last words: it said nothing"),
        (
            "(echo 12:00 WARN a: adaptive; echo 12:01 ERROR b: no disk; echo at c) >>$LOG; exit 3",
            "its last words: 12:01 ERROR b: no disk\nat c",
        ),
    ],
)
def test_a_java_that_dies_is_named_with_how_and_its_last_words(script: str, says: str, tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text(f"#!/bin/sh\nLOG={tmp_path}/spark.log\n{script}\n")
    program.chmod(0o700)
    (tmp_path / "spark.log.stderr").write_text("words of an earlier one\n")
    started = java_process.launch(Java(program, 17), {}, memory="1g", quick=True, log_file=tmp_path / "spark.log")
    gateway = java_process.Gateway(0, "", started.process, log=started.log)

    death = java_process.death_of(gateway, timedelta(seconds=60))

    assert isinstance(death, JvmDiedError)
    assert says in death.message
    assert "earlier" not in death.message
    assert cause_of(death) is Cause.UNKNOWN


def test_settings_are_not_seen_in_the_list_of_processes(tmp_path: Path) -> None:
    sleepy = tmp_path / "java"
    sleepy.write_text("#!/bin/sh\nexec cat\n")
    sleepy.chmod(0o700)

    started = java_process.launch(
        Java(sleepy, 17), {"spark.secret": "hunter2"}, memory="1g", quick=True, log_file=tmp_path / "spark.log"
    )

    assert "hunter2" not in str(started.process.args)
    java_process.stop(java_process.Gateway(0, "", started.process))


@pytest.mark.parametrize("symptom", [WorkerDiedError("a Python process has ended"), EpochFailedError("EOFError")])
def test_error_caused_by_a_dead_jvm_is_reported_as_its_death(
    symptom: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    death = JvmDiedError("the JVM was killed by signal 9")
    java = SimpleNamespace(is_alive=False, death=lambda: death)
    monkeypatch.setattr("engine.spark.jvm.session._java_of_session", lambda: java)

    with pytest.raises(JvmDiedError) as told, death_explained():
        raise symptom

    assert told.value is death


class SparkIsGoneError(PySparkException):
    """An error of Spark's whose text only a JVM that is gone could tell."""

    def __str__(self) -> str:
        raise AssertionError("SparkContext._jvm is None")


def test_spark_error_from_jvm_that_is_ending_is_named_as_its_death(monkeypatch: pytest.MonkeyPatch) -> None:
    death = JvmDiedError("the JVM was killed by signal 15")
    java = SimpleNamespace(is_alive=True, death=lambda: death)
    monkeypatch.setattr("engine.spark.jvm.session._java_of_session", lambda: java)

    with pytest.raises(JvmDiedError) as told, death_explained():
        raise SparkIsGoneError("")

    assert told.value is death


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SparkIsGoneError(""), "SparkIsGoneError: SparkIsGoneError"),
        (PySparkException("[TABLE_GONE] no table\n\tat java"), "PySparkException: [TABLE_GONE] no table"),
    ],
)
def test_spark_error_of_living_jvm_ends_in_no_stack_trace(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = SimpleNamespace(is_alive=True, death=lambda: None)
    monkeypatch.setattr("engine.spark.jvm.session._java_of_session", lambda: java)

    with pytest.raises(DriverCrashedError) as told, death_explained():
        raise error

    assert told.value.message == message
