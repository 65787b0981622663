"""Queries through the engine, in a session as a run opens it."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.queries.base import Query
from benchmarks.nexmark.queries.windowed import DELAY
from benchmarks.nexmark.tables import declared
from benchmarks.nexmark.turns import PARALLELISM, Play, Played, Turn
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import Backfill

_TYPES = {"i": "BIGINT", "t": "TEXT", "ts": "TIMESTAMP NOT NULL"}
_TABLE = """CREATE TABLE {table} ({columns}, WATERMARK FOR datetime AS datetime - INTERVAL '{delay} seconds')
WITH (connector = 'filesystem', path = '{folder}/{table}', format = '{kind}', type = 'source',
  'bad_data.check' = '{check}');
"""
_TOPIC = """CREATE TABLE {table} ({columns}, WATERMARK FOR datetime AS datetime - INTERVAL '{delay} seconds')
WITH (connector = 'kafka', bootstrap_servers = '{brokers}', topic = '{topic}', 'source.offset' = 'earliest',
  format = 'json', type = 'source', 'bad_data.check' = '{check}');
"""
_SIDE = """CREATE TEMPORARY TABLE side (key BIGINT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '{folder}/side.csv', format = 'csv');
"""
_NOWHERE = "CREATE TABLE answer_of_{name} WITH (connector = 'blackhole');\n"
_FILE = """CREATE TABLE answer_of_{name}
WITH (connector = 'single_file', path = '{folder}/{name}.json', format = '{form}', type = 'sink');
"""


def script(queries: Sequence[Query], turn: Turn, answers: Path | None = None) -> str:
    """The whole script of queries that are played together; their answers go into a folder, or nowhere."""
    text = ""
    for table in dict.fromkeys(table for query in queries for table in query.tables):
        if table == "side":
            text += _SIDE.format(folder=turn.folder)
        else:
            text += _table(table, turn)
    for query in queries:
        form = "debezium_json" if query.is_updating else "json"
        text += (_FILE if answers else _NOWHERE).format(name=query.name, folder=answers, form=form)
        text += f"INSERT INTO answer_of_{query.name} {query.in_sql('ours')};\n"
    return text


def _table(table: str, turn: Turn) -> str:
    columns = declared(table, _TYPES)
    if turn.topics is None:
        return _TABLE.format(
            table=table, columns=columns, delay=DELAY, folder=turn.folder, kind=turn.kind, check=turn.check
        )
    brokers, topic = turn.topics.brokers, turn.topics.of(table)
    return _TOPIC.format(table=table, columns=columns, delay=DELAY, brokers=brokers, topic=topic, check=turn.check)


def open_peer(scratch: Path) -> Play:
    """A session for all turns."""
    spark = open_session(app_name="ours", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    turns = count()

    def play(turn: Turn) -> Played:
        query, reports, answers = QUERIES[turn.query], list[EpochReport](), scratch / "answers"
        # a state of its own: what Spark still writes for that of the turn before would be found in it
        for folder in (*scratch.glob("state-*"), answers):
            shutil.rmtree(folder, ignore_errors=True)
        answers.mkdir()
        state = scratch / f"state-{next(turns)}"
        sql = script([query], turn, answers if turn.shows else None)
        spec = RunSpec(
            query.name,
            sql,
            state,
            PARALLELISM,
            settings=replace(
                PLAIN_SETTINGS,
                max_epoch_rows=turn.epoch_rows,
                fuse=turn.fuse,
                by_pane=None,
                backfill=None if turn.topics is None else Backfill(),
            ),
        )
        run_in(spark, spec, Control(), reports.append)
        phases: defaultdict[str, float] = defaultdict(float)
        for report in reports:
            for name, length in report.phases.items():
                phases[name] += length / timedelta(seconds=1)
        return Played(len(reports), dict(phases), read_answer(query, answers) if turn.shows else None)

    return play


def read_answer(query: Query, answers: Path) -> Sequence[Sequence[object]]:
    """The rows of its file; of changes, those that are there in the end."""
    lines = [json.loads(line) for line in (answers / f"{query.name}.json").read_text().splitlines()]
    if not query.is_updating:
        return [list(line.values()) for line in lines]
    table: Counter[tuple[object, ...]] = Counter()
    for line in lines:
        for name, sign in (("before", -1), ("after", 1)):
            if line[name] is not None:
                table[tuple(line[name].values())] += sign
    return list(table.elements())
