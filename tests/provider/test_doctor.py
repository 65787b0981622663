"""The doctor finds traps in DAG files by file and line, and none where there is none; it runs nothing of them."""

from __future__ import annotations

import ast
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_arroyo import __main__ as commands
from airflow_provider_arroyo import cli
from airflow_provider_arroyo.doctor.examine import examine
from airflow_provider_arroyo.doctor.files import DagFile, read_dag_file
from airflow_provider_arroyo.doctor.schedules import Ends, read_schedule, window_lengths
from airflow_provider_arroyo.testing import FakeControlPlane

HEAD = """
raise SystemExit("this file was run")
from datetime import UTC, datetime, timedelta
from airflow.sdk import DAG
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator as Backfill
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
SQL = '''
SELECT tumble(INTERVAL '2 hours') AS window, count(*) FROM a GROUP BY 1;
'''
"""
NOTHING = DagFile(Path("nothing.py"), ast.parse(""))
LINE = HEAD.count("\n") + 1


def found(folder: Path, text: str) -> list[tuple[int, str]]:
    """The lines behind the head of a file with this text, and what is wrong there."""
    path = folder / "a_dag.py"
    path.write_text(HEAD + text)
    return [(finding.line - LINE, finding.code) for finding in examine([path]).findings]


def gate(arguments: str, dag: str = "schedule='@hourly'") -> str:
    return (
        f"with DAG('d', {dag}):\n"
        "    StreamingSqlOperator(task_id='s', pipeline='p', sql=SQL)\n"
        f"    WatermarkSensor(task_id='g', pipeline='p', {arguments})\n"
    )


@pytest.mark.parametrize(
    ("past", "is_naive"),
    [
        ("datetime(2026, 1, 1)", True),
        ("datetime(2026, 1, 1, tzinfo=UTC)", False),
        ("datetime(2026, 1, 1, 0, 0, 0, 0, UTC)", False),
        ("datetime.now()", True),
        ("datetime.now(UTC)", False),
        ("datetime.utcnow()", True),
        ("'2026-01-01T05:00:00'", True),
        ("'2026-01-01T05:00:00Z'", False),
        ("'2026-01-01'", False),
        ("'{{ ts }}'", False),
        ("something()", False),
    ],
)
def test_an_instant_needs_a_zone(past: str, is_naive: bool, tmp_path: Path) -> None:
    assert found(tmp_path, gate(f"past={past}")) == [(2, "dag.naive_instant")] * is_naive


def test_a_name_stands_for_what_the_file_gives_it(tmp_path: Path) -> None:
    assert found(tmp_path, "AT = datetime(2026, 1, 1)\nWatermarkSensor(task_id='g', pipeline='p', past=AT)\n") == [
        (0, "dag.naive_instant")
    ]


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ("'@hourly'", ["dag.gate_within_window"]),
        ("'0 */2 * * *'", []),
        ("'30 */2 * * *'", ["dag.gate_within_window"]),
        ("'@daily'", []),
        ("timedelta(hours=3)", ["dag.gate_within_window"]),
        ("timedelta(hours=4)", []),
        ("'7 3 1 * *'", []),
        ("None", ["dag.gate_without_interval"]),
    ],
)
def test_a_gate_on_the_end_of_an_interval_wants_windows_that_end_there(
    schedule: str, code: list[str], tmp_path: Path
) -> None:
    assert found(tmp_path, gate("poke_interval=5", f"schedule={schedule}")) == [(2, one) for one in code]
    assert found(tmp_path, gate("past='{{ data_interval_end }}'", f"schedule={schedule}")) == [
        (2, one) for one in code if one == "dag.gate_within_window"
    ]


ASSET = "from airflow.sdk import Asset, CronDataIntervalTimetable\nhours = Asset('hours')\n"


@pytest.mark.parametrize(
    "schedule", ["[hours]", "hours", "hours | Asset('b')", "(hours, Asset('b'))", "PartitionedAssetTimetable(hours)"]
)
def test_a_gate_in_a_dag_that_assets_start_wants_an_instant(schedule: str, tmp_path: Path) -> None:
    text = ASSET + gate("poke_interval=5", f"schedule={schedule}")

    assert found(tmp_path, text) == [(4, "dag.gate_without_interval")]
    assert found(tmp_path, text.replace("poke_interval=5", "past='{{ ts }}'")) == []


RANGE = "start='{{ data_interval_start }}', end='{{ data_interval_end }}'"


@pytest.mark.parametrize(
    ("schedule", "arguments", "is_empty"),
    [
        ("'@hourly'", RANGE, True),
        ("'5 * * * *'", RANGE, True),
        ("timedelta(hours=1)", RANGE, True),
        ("2 * timedelta(hours=1)", RANGE, True),
        ("CronTriggerTimetable('@hourly', timezone='UTC')", RANGE, True),
        ("CronTriggerTimetable('@hourly', timezone='UTC', interval=timedelta(hours=1))", RANGE, False),
        ("CronDataIntervalTimetable('@hourly', timezone='UTC')", RANGE, False),
        ("'@continuous'", RANGE, False),
        ("made_elsewhere()", RANGE, False),
        ("'@hourly'", "", False),
        ("'@hourly'", "end='{{ data_interval_end }}'", False),
        ("'@hourly'", "start='{{ data_interval_start - macros.timedelta(hours=1) }}', end='{{ ts }}'", False),
        ("None", "", True),
        ("'@once'", "start='2026-01-01'", True),
        ("[hours]", "end='2026-01-01'", True),
        ("[hours]", "start='2026-01-01', end='2026-01-02'", False),
        ("None", "start='2026-01-01', then_continue=True", False),
        ("None", "length=timedelta(hours=1)", False),
        ("[hours]", "length=timedelta(hours=1)", True),
    ],
)
def test_a_range_wants_intervals_that_are_not_empty(
    schedule: str, arguments: str, is_empty: bool, tmp_path: Path
) -> None:
    text = f"with DAG('d', max_active_runs=1, schedule={schedule}):\n"
    text += f"    Backfill(task_id='b', pipeline='p', sql='x', pool='few', {arguments})\n"

    assert found(tmp_path, ASSET + text) == [(3, "dag.empty_interval")] * is_empty


@pytest.mark.parametrize(("schedule", "is_empty"), [("'@daily'", True), ("'@continuous'", False)])
def test_a_script_between_the_ends_of_an_interval_wants_one(schedule: str, is_empty: bool, tmp_path: Path) -> None:
    script = "\"SELECT * FROM a WHERE t >= '{{ data_interval_start }}' AND t < '{{ data_interval_end | ts }}'\""
    text = f"with DAG('d', schedule={schedule}):\n    StreamingSqlOperator(task_id='s', pipeline='p', sql={script})\n"

    assert found(tmp_path, text) == [(1, "dag.empty_interval")] * is_empty


@pytest.mark.parametrize(
    ("dag", "kind", "pipeline", "teardown", "is_found"),
    [
        ("schedule='@hourly'", "Stop", "'p'", "stop.as_teardown(setups=deploy)", True),
        ("schedule=None", "Stop", "'p'", "deploy >> stop.as_teardown()", True),
        ("schedule=None", "Delete", "'p'", "stop.as_teardown()", True),
        ("schedule=None, max_active_runs=2", "Stop", "'p'", "stop.as_teardown()", True),
        ("schedule=None, max_active_runs=1", "Stop", "'p'", "stop.as_teardown()", False),
        ("schedule=None", "Stop", "'p-{{ run_id }}'", "stop.as_teardown()", False),
        ("schedule=None", "Stop", "name_of()", "stop.as_teardown()", False),
        ("schedule=None", "Stop", "'p'", "deploy >> stop", False),
    ],
)
def test_a_stop_in_a_teardown_wants_one_run_at_a_time(
    dag: str, kind: str, pipeline: str, teardown: str, is_found: bool, tmp_path: Path
) -> None:
    text = (
        "from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator as Stop\n"
        "from airflow_provider_arroyo.operators.delete import DeletePipelineOperator as Delete\n"
        f"with DAG('d', {dag}):\n"
        "    deploy = StreamingSqlOperator(task_id='s', pipeline='p', sql=SQL)\n"
        f"    stop = {kind}(task_id='e', pipeline={pipeline})\n"
        f"    {teardown}\n"
    )

    assert found(tmp_path, text) == [(4, "dag.stop_in_teardown")] * is_found
    direct = text.replace("    stop = ", "    (").replace("pipeline={pipeline})", "").replace(f"    {teardown}\n", "")
    if "as_teardown" in teardown:
        assert found(tmp_path, direct.rstrip() + ").as_teardown()\n") == [(4, "dag.stop_in_teardown")] * is_found


def test_a_script_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text("SELECT hop(INTERVAL '25 minutes', INTERVAL '50 minutes') AS w FROM a;")
    text = gate("poke_interval=5").replace("sql=SQL", "sql='two.sql'")

    assert found(tmp_path, text) == [(2, "dag.gate_within_window")]


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        ("mode='poke'", True),
        ("mode='poke', timeout=60", False),
        ("mode='poke', timeout=7200", True),
        ("mode='poke', deferrable=True", False),
        ("deferrable=False, timeout=timedelta(hours=2)", True),
        ("mode='poke', timeout=60 * 60 * 8", True),
        ("mode='poke', timeout=8 * HOUR", True),
        ("mode='poke', timeout=HOUR / 2", False),
        ("mode='poke', timeout=2 * timedelta(minutes=20, seconds=HOUR)", True),
        ("mode='poke', timeout=HOUR + timedelta(hours=1)", False),
        ("mode='poke', timeout=timedelta(hour=8)", False),
        ("mode='poke', timeout=timedelta(hours=99999999999)", False),
        ("mode='poke', timeout=timedelta(**LENGTH)", False),
        ("mode='poke', timeout=1e300", False),
        ("mode='poke', timeout=1 / 0", False),
        ("mode='poke', timeout=AGAIN", False),
        ("mode='poke', timeout=ONE", False),
        ("deferrable=False, mode='reschedule'", False),
        ("timeout=7200", False),
    ],
)
def test_a_long_wait_is_not_to_hold_a_worker(arguments: str, holds: bool, tmp_path: Path) -> None:
    text = f"WatermarkSensor(task_id='g', pipeline='p', past='{{{{ ts }}}}', {arguments})\n"
    constants = "HOUR = 3600\nAGAIN = AGAIN + 1\nONE = timedelta(hours=OTHER)\nOTHER = timedelta(hours=ONE)\n"

    assert found(tmp_path, text + constants) == [(0, "dag.held_worker")] * holds


def test_default_args_count(tmp_path: Path) -> None:
    dag = "schedule='@daily', default_args={'mode': 'poke'}"

    assert found(tmp_path, gate("past='{{ ts }}'", dag)) == [(2, "dag.held_worker")]


@pytest.mark.parametrize(
    ("dag", "arguments", "is_missing"),
    [
        ("schedule='@daily'", "", True),
        ("schedule='@daily', max_active_runs=1", "", False),
        ("schedule='@daily'", ", pool='few'", False),
        ("schedule=None", ", start='2026-01-01', end='2026-01-02'", False),
    ],
)
def test_backfills_side_by_side_want_a_pool(dag: str, arguments: str, is_missing: bool, tmp_path: Path) -> None:
    text = f"with DAG('d', {dag}):\n    Backfill(task_id='b', pipeline='p', sql='x'{arguments})\n"

    assert found(tmp_path, text) == [(1, "dag.backfill_without_pool")] * is_missing


def test_mapped_backfills_want_a_pool_in_any_dag(tmp_path: Path) -> None:
    text = "with DAG('d', schedule=None):\n    Backfill.partial(task_id='b', pipeline='p', sql='x').expand(start=[])\n"

    assert found(tmp_path, text) == [(1, "dag.backfill_without_pool")]


@pytest.mark.parametrize(
    ("option", "is_shown"),
    [
        ("'auth.password' = 'hunter2'", True),
        ("password = 'hunter2'", True),
        ("'auth.password' = '${secret:KAFKA}'", False),
        ("'auth.password' = '{{ conn.kafka.password }}'", True),
        ("'auth.password' = '{{ var.value.kafka_token }}'", True),
        ("topic = '{{ var.value.topic }}'", False),
    ],
)
def test_secrets_do_not_belong_into_scripts(option: str, is_shown: bool, tmp_path: Path) -> None:
    script = f'"""\nCREATE TABLE a (b TEXT) WITH (connector = \'kafka\',\n    {option}\n);\n"""'

    assert (
        found(tmp_path, f"StreamingSqlOperator(task_id='s', pipeline='p', sql={script})\n")
        == [(2, "dag.shown_secret")] * is_shown
    )


def test_a_comparison_is_no_option(tmp_path: Path) -> None:
    text = "StreamingSqlOperator(task_id='s', pipeline='p', sql=\"SELECT 1 FROM a WHERE token = 'x'\")\n"

    assert found(tmp_path, text) == []


ASSETS = """
from airflow.sdk import DAG, Asset, AssetWatcher, PartitionedAssetTimetable, StartOfDayMapper
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.push_partitions import PushPartitionsOperator
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger
hours = Asset("hours")
plain = Asset(name="plain", uri="arroyo://plane/orders/counts")
pulled = Asset("pulled", watchers=[AssetWatcher(name="w", trigger=WatermarkEventTrigger(pipeline="p", every="1 hour"))])
with DAG("feed", schedule="@continuous"):
    NextPartitionOperator(task_id="n", pipeline="p", partitions=hours, every="1 hour", consumer="c")
    PushPartitionsOperator(
        task_id="p", pipeline="p", partitions=plain, every="1 hour", consumer="d", with_keys=False
    )
"""
AFTER_ASSETS = ASSETS.count("\n")
BY_PARTITIONS = "PartitionedAssetTimetable(assets={})"


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ("[hours]", "dag.never_started"),
        ("hours", "dag.never_started"),
        ("(hours | Asset('other'))", "dag.never_started"),
        ("[Asset('hours')]", "dag.never_started"),
        (BY_PARTITIONS.format("hours"), None),
        (BY_PARTITIONS.format("plain"), "dag.never_started"),
        (BY_PARTITIONS.format("pulled"), "dag.never_started"),
        ("[plain]", None),
        ("[pulled]", None),
        (BY_PARTITIONS.format("Asset('of somebody else')"), None),
        (
            "PartitionedAssetTimetable(assets=hours, default_partition_mapper=StartOfDayMapper(input_format='%Y%m%d'))",
            "dag.partition_key_format",
        ),
        ("PartitionedAssetTimetable(assets=hours, default_partition_mapper=StartOfDayMapper())", None),
    ],
)
@pytest.mark.parametrize("beside", [False, True], ids=["in one file", "in a file of its own"])
def test_a_dag_is_to_be_started_by_the_events_that_there_are(
    schedule: str, code: str | None, beside: bool, tmp_path: Path
) -> None:
    consumer = f"with DAG('batch', schedule={schedule}):\n    pass\n"
    (tmp_path / "feed.py").write_text(ASSETS + ("" if beside else consumer))
    if beside:
        names = "from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, StartOfDayMapper\n"
        names += "hours, plain = Asset('hours'), None\n"
        own = {"hours": "Asset('hours')", "plain": "Asset('plain')", "pulled": "Asset('pulled')"}
        for name, asset in own.items():
            consumer = re.sub(rf"(?<!')\b{name}\b(?!')", asset, consumer)
        (tmp_path / "batch.py").write_text(f"# no trap\n{consumer}")

    findings = examine([tmp_path]).findings

    line = 2 if beside else AFTER_ASSETS + 1
    place = tmp_path / ("batch.py" if beside else "feed.py")
    assert [(finding.file, finding.line, finding.code) for finding in findings] == (
        [(str(place), line, code)] if code else []
    )


@pytest.mark.parametrize(
    "writer",
    [
        "BashOperator(task_id='b', bash_command='true', outlets=[{asset}])",
        "PythonOperator.partial(task_id='m', outlets={asset}).expand(op_args=[])",
        "@task(outlets=[{asset}])\ndef write():\n    pass",
        "with DAG('w', default_args={{'outlets': [{asset}]}}):\n    pass",
    ],
)
@pytest.mark.parametrize("consumer", [("hours", "[hours]"), ("pulled", BY_PARTITIONS.format("pulled"))])
@pytest.mark.parametrize("beside", [False, True], ids=["in one file", "in a file of its own"])
def test_an_ordinary_task_may_make_the_events_that_others_do_not(
    writer: str, consumer: tuple[str, str], beside: bool, tmp_path: Path
) -> None:
    asset, schedule = consumer
    feed = f"{ASSETS}with DAG('batch', schedule={schedule}):\n    pass\n"
    (tmp_path / "feed.py").write_text(feed + ("" if beside else writer.format(asset=asset)))
    if beside:
        (tmp_path / "writer.py").write_text(writer.format(asset=f"Asset('{asset}')"))

    assert examine([tmp_path]).findings == []


SHOP = """
from airflow.sdk import Asset
NAME = "hours"
hours = Asset(NAME)
DAILY = [hours]
"""


@pytest.mark.parametrize(
    ("imported", "schedule"),
    [
        ("from shop.assets import hours", "[hours]"),
        ("from shop.assets import hours as h", "h"),
        ("from shop.assets import DAILY", "DAILY"),
        ("from shop import assets", "[assets.hours]"),
        ("import shop.assets", "[shop.assets.hours]"),
        ("import shop.assets as a", "a.hours & a.hours"),
        ("from shop import hours", "[hours]"),
        ("from .shop.assets import hours", "[hours]"),
        ("from . import shop", "[shop.hours]"),
        ("from shop.nothing import hours", None),
        ("from elsewhere import hours", None),
        ("from ....shop.assets import hours", None),
        ("from shop.round import hours", None),
        ("import shop.broken", None),
    ],
)
def test_an_asset_may_be_said_in_another_module(imported: str, schedule: str | None, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("from .assets import hours")
    (tmp_path / "shop" / "assets.py").write_text(SHOP)
    (tmp_path / "shop" / "round.py").write_text("from shop.again import hours")
    (tmp_path / "shop" / "again.py").write_text("from shop.round import hours")
    (tmp_path / "shop" / "broken.py").write_text("def (:")
    feed = ASSETS.replace('hours = Asset("hours")', "from shop.assets import hours")
    (tmp_path / "feed.py").write_text(feed)
    (tmp_path / "batch.py").write_text(f"{imported}\nDAG('batch', schedule={schedule or '[hours]'})\n")

    findings = [(Path(finding.file).name, finding.line, finding.code) for finding in examine([tmp_path]).findings]

    assert findings == ([("batch.py", 2, "dag.never_started")] if schedule else [])


BY_IT = f"DAG('d', schedule={BY_PARTITIONS.format('pulled')})"


@pytest.mark.parametrize(
    ("dag", "line"),
    [
        ("@asset(schedule=[hours])\ndef days():\n    pass", 1),
        ("@asset.multi(schedule=[hours], outlets=[Asset('days')])\ndef days():\n    pass", 1),
        ("@asset(schedule=None)\ndef hours():\n    pass\nDAG('d', schedule=[Asset('hours')])", None),
        ("@asset(schedule=None, name='hours')\ndef it():\n    pass\nDAG('d', schedule=[Asset('hours')])", None),
        ("@asset(schedule=None, name='pulled')\nasync def it():\n    pass\n" + BY_IT, None),
        ("@asset.multi(schedule=None, outlets=[hours])\ndef it():\n    pass\nDAG('d', schedule=[hours])", None),
        ("def it():\n    pass\nDAG('d', schedule=[hours])", 3),
        ("@task(schedule=[hours])\ndef days():\n    pass", None),
    ],
)
def test_a_function_may_be_an_asset_and_its_dag(dag: str, line: int | None, tmp_path: Path) -> None:
    (tmp_path / "feed.py").write_text(ASSETS + dag)

    findings = [(finding.line, finding.code) for finding in examine([tmp_path]).findings]

    assert findings == ([] if line is None else [(AFTER_ASSETS + line, "dag.never_started")])


def test_two_assets_want_two_consumers(tmp_path: Path) -> None:
    (tmp_path / "feed.py").write_text(ASSETS.replace('consumer="d"', 'consumer="c"'))

    [finding] = examine([tmp_path]).findings

    assert (finding.line, finding.code) == (11, "dag.shared_consumer")


@pytest.mark.parametrize(
    ("arguments", "stops"),
    [
        ("on_kill='stop'", True),
        ("on_kill='savepoint_and_stop', deferrable=False", True),
        ("on_kill='stop', deferrable=True", False),
        ("on_kill='stop', deferrable=chosen()", False),
        ("on_kill='detach'", False),
        ("", False),
    ],
)
def test_a_worker_that_is_drained_is_not_to_stop_a_stream(arguments: str, stops: bool, tmp_path: Path) -> None:
    task = f"StreamingSqlOperator(task_id='s', pipeline='p', sql=SQL, {arguments})\n"

    assert found(tmp_path, task) == [(0, "dag.stopped_by_eviction")] * stops


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("yield TriggerEvent(1)", True),
        ("while True:\n            yield await look()", False),
        ("while True:\n            if done():\n                return\n            yield await look()", True),
        ("async for change in changes():\n            yield change", False),
        ("while not done:\n            yield await look()\n            break", True),
        ("while True:\n            for change in changes():\n                break\n            yield 1", False),
        ("while True:\n            while True:\n                break\n            yield 1", False),
        ("def age(change):\n            return 1\n        while True:\n            yield await look()", False),
    ],
)
def test_a_trigger_of_a_watcher_is_not_to_end(body: str, ends: bool, tmp_path: Path) -> None:
    trigger = f"class Mine(BaseEventTrigger):\n    async def run(self):\n        {body}\n"

    assert found(tmp_path, trigger) == [(1, "dag.returning_trigger")] * ends
    assert found(tmp_path, trigger.replace("BaseEventTrigger", "BaseTrigger")) == []


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    assert found(tmp_path, "def (:\n") == [(0, "dag.unreadable")]


def test_files_of_others_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def (:\n")

    assert examine([tmp_path]).files == []


def test_our_own_examples_have_no_traps() -> None:
    examination = examine([Path(__file__).parents[2] / "dags_examples"])

    assert examination.findings == []
    assert len(examination.files) >= 10
    assert sum(len(read_dag_file(path).tasks) for path in examination.files) >= 30


@pytest.mark.parametrize(
    "text",
    [
        "* * * *",
        "x 1 * * *",
        "*/7 * * * *",
        "1-5 * * * *",
        "0 0 * * 1",
        "@once",
        "² 1 * * *",
        "70 1 * * *",
        "0 24 * * *",
    ],
)
def test_an_unknown_schedule_gives_no_finding(text: str) -> None:
    assert read_schedule(NOTHING, ast.Constant(text)) is None


def test_windows_and_intervals_are_compared_by_where_they_end() -> None:
    assert list(window_lengths("tumble(interval '999999999999 hours')")) == []
    assert list(window_lengths("tumble(interval '90 minutes'), HOP(INTERVAL '1 hour', INTERVAL '2 hours')")) == [
        timedelta(minutes=90),
        timedelta(hours=1),
    ]
    assert Ends(timedelta(days=1), timedelta(minutes=30)).cut(timedelta(hours=1))
    assert not Ends(timedelta(days=1), timedelta(hours=3)).cut(timedelta(hours=1))


def run(*arguments: str) -> int:
    """The exit code of `python -m airflow_provider_arroyo` with these arguments."""
    try:
        commands.main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_doctor_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(HEAD + gate("past=datetime(2026, 1, 1)"))

    assert run("doctor", str(tmp_path)) == 1
    assert f"a.py:{LINE + 2}: dag.naive_instant: past of WatermarkSensor has no zone" in capsys.readouterr().out
    assert run("doctor", "--format", "json", str(tmp_path)) == 1
    [finding] = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["line"]) == ("dag.naive_instant", LINE + 2)
    assert run("doctor", str(tmp_path / "nowhere")) == 2


def test_pipelines_and_plans_are_shown(
    plane: FakeControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane.add("orders", plan={"is_refused": False, "loses_nothing": False, "text": "a count is lost"})
    (tmp_path / "new.sql").write_text("SELECT 1")

    assert run("list") == 0
    assert capsys.readouterr().out.startswith("orders  Running")
    assert run("plan", "orders", str(tmp_path / "new.sql")) == cli.FOUND
    assert "a count is lost" in capsys.readouterr().out
    assert run("plan", "nothing", str(tmp_path / "new.sql")) == cli.REFUSED
    assert "pipeline.not_found" in capsys.readouterr().err
    assert run("list", "--conn-id", "nowhere") == cli.REFUSED
    assert "`nowhere` isn't defined" in capsys.readouterr().err
