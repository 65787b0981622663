"""Topics that Spark reads itself, by its own source on the JVM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row

from engine.cli.scripts.run import INTERRUPTED
from engine.compile import compile_script
from engine.connectors.base import Slice
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.spark import KafkaSparkRead
from engine.connectors.options import parse_options
from engine.connectors.secret_values import fill_in
from engine.errors import MissingPackageError, ScriptRefused
from engine.spark.read.slices_read_by_spark import slices_of
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.connectors.tables import given, table
from tests.kafka.broker import Broker
from tests.kafka.jars import spark_kafka
from tests.kafka.tables import VALUE, place
from tests.streams.play import kill_in_epoch, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = """n BIGINT, t TEXT, k BYTEA METADATA FROM 'key', at BIGINT METADATA FROM 'timestamp',
  place BIGINT METADATA FROM 'offset_id', part INT METADATA FROM 'partition', topic TEXT METADATA FROM 'topic',
  hs ARRAY<STRUCT<key TEXT, value BYTEA>> METADATA FROM 'headers'"""
SQL = """
CREATE TABLE events ({columns}) WITH (
  connector = 'kafka', bootstrap_servers = '{broker}', topic = '{topic}', type = 'source', format = 'json',
  source.offset = 'earliest', source.reader = '{reader}',
  bad_data = 'dead_letter', dead_letter.path = '{folder}/letters'
);
CREATE TABLE output WITH (connector = 'single_file', path = '{folder}/output.json', format = 'json', type = 'sink');
INSERT INTO output
SELECT upper(t) AS t, n + 1 AS n, encode(k, 'hex') AS k, at, place, part, topic, hs FROM events WHERE n <> 7;
"""


def spec_of(folder: Path, broker: Broker, topic: str, reader: str) -> RunSpec:
    folder.mkdir(exist_ok=True)
    sql = SQL.format(columns=COLUMNS, broker=broker.address, topic=topic, reader=reader, folder=folder)
    return RunSpec("read", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=10))


def run_alone(spec: RunSpec, count: int) -> int:
    """Run in a process of its own until so many rows are written in all; how many rows it says that it has read."""
    file = spec.state_dir.with_suffix(".sql")
    file.write_text(spec.sql)
    command = [sys.executable, "-m", "engine", "run", str(file), "--state-dir", str(spec.state_dir)]
    command += ["--set", "quick=true", "--json-progress", "--max-epoch-rows", str(spec.settings.max_epoch_rows)]
    rows_in, is_told, log_lines = 0, False, []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if not line.startswith("{"):
                log_lines.append(line)
                continue
            rows_in += json.loads(line)["rows_in"]
            if not is_told and len(read_rows(spec.state_dir.parent / "output.json")) >= count:
                is_told = True
                running.send_signal(signal.SIGINT)
    assert (running.returncode, log_lines) == (INTERRUPTED, [])
    return rows_in


def sorted_rows(folder: Path) -> list[str]:
    return sorted(json.dumps(row) for row in read_rows(folder / "output.json"))


def letters(folder: Path) -> list[str]:
    return sorted(str(row["record"]) for path in (folder / "letters").rglob("*.json*") for row in read_rows(path))


def test_spark_reads_the_same_through_kills(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_JARS", ",".join(map(str, spark_kafka())))
    topic, rows = broker.create_topic(partitions=2), 44
    for partition in (0, 1):
        texts = [json.dumps({"n": n, "t": f"x{n}"}) for n in range(12)]
        with broker.transaction(topic, *texts, partition=partition):
            pass
        with broker.transaction(topic, *texts, partition=partition, abort=True):
            pass
        broker.produce(topic, '{"n": "none"', None, *texts, partition=partition, key="k", headers=[("a", b"1")])
    jvm_spec, python_spec = (spec_of(tmp_path / reader, broker, topic, reader) for reader in ("jvm", "python"))

    kill_in_epoch(jvm_spec, 2)
    rows_in = run_alone(jvm_spec, rows)
    control = Control()

    def note(report: EpochReport) -> None:
        if len(sorted_rows(tmp_path / "python")) == rows:
            control.stop("checkpoint")

    run_in(spark, python_spec, control, note)

    assert sorted_rows(tmp_path / "jvm") == sorted_rows(tmp_path / "python")
    assert letters(tmp_path / "jvm") == letters(tmp_path / "python")
    assert 0 < rows_in < 48


def test_spark_without_its_archives_is_said_to_lack_them(spark: SparkSession, tmp_path: Path, broker: Broker) -> None:
    with pytest.raises(MissingPackageError, match="Spark has no source 'kafka' to read events with"):
        run_in(spark, spec_of(tmp_path / "jvm", broker, broker.create_topic(), "jvm"), Control())


@pytest.mark.unit
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT count(*) FROM events GROUP BY tumble(INTERVAL '1 minute')", "cannot read for windows"),
        ("SELECT t, count(*) FROM events GROUP BY t", "cannot read for windows or for rows that change"),
        ("SELECT n FROM events UNION ALL SELECT n FROM others", "every table or none; it does not read others"),
    ],
)
def test_option_that_spans_epochs_is_refused(query: str, says: str) -> None:
    options = "connector = 'kafka', bootstrap_servers = 'none', topic = 'x', type = 'source', format = 'json'"
    tables = f"CREATE TABLE events (n BIGINT, t TEXT) WITH ({options}, source.reader = 'jvm');"
    tables += f"CREATE TABLE others (n BIGINT) WITH ({options});"

    with pytest.raises(ScriptRefused) as refused:
        compile_script(f"{tables} {query};")

    assert refused.value.complaints[0].code == "option.bad_value"
    assert says in refused.value.complaints[0].message


@pytest.mark.unit
def test_an_epoch_that_another_reader_had_cut_into_slices_is_read_whole() -> None:
    cut = [("a/0", 0, 5), ("a/0", 5, 9), ("a/1", 2, 3)]
    rows = [Row(partition=name, start=json.dumps(place(low)), end=json.dumps(place(high))) for name, low, high in cut]

    slices = slices_of(rows)

    assert [assigned.slice for assigned in slices.values()] == [
        Slice("a/0", place(0), place(9)),
        Slice("a/1", place(2), place(3)),
    ]


@pytest.mark.unit
def test_spark_is_told_which_records_and_how_to_log_in() -> None:
    login = {"auth__type": "sasl", "auth__username": "me", "auth__password": "{{ secret:p }}", "ssl__ca": "CA"}
    more = {"auth__mechanism": "SCRAM-SHA-256", "topic": "a,b", "source__reader": "jvm"}
    options = parse_options(KafkaSourceOptions, given(bootstrap_servers="one:9092", **login, **more), table="t")
    options = fill_in(options, {"ARROYO_SECRET_p": 'hu"sh'})
    of = table("kafka", VALUE, bootstrap_servers="x", type="source", format="raw_string", topic="a")

    spark_options = KafkaSparkRead(of, options).options_of(
        [Slice("a/0", place(3), place(9)), Slice("b/2", place(0), place(1))]
    )

    assert json.loads(spark_options["assign"]) == {"a": [0], "b": [2]}
    assert json.loads(spark_options["startingOffsets"]) == {"a": {"0": 3}, "b": {"2": 0}}
    assert json.loads(spark_options["endingOffsets"]) == {"a": {"0": 9}, "b": {"2": 1}}
    assert spark_options["kafka.isolation.level"] == "read_committed"
    assert spark_options["kafka.security.protocol"] == "SASL_SSL"
    assert spark_options["kafka.sasl.jaas.config"].endswith(
        'ScramLoginModule required username="me" password="hu\\"sh";'
    )
    assert spark_options["kafka.ssl.truststore.certificates"] == "CA"
